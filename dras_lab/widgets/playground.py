"""The policy playground: sliders for a linear priority rule and for the load."""

from __future__ import annotations

from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ..gantt import gantt
from ..jobs import DrasLabError
from ..metrics import compare
from ..plotting import bars, kiviat
from ..policies import fcfs, linear
from ..results import Result
from ..simulator import simulate
from ..traces import Trace
from .shell import Shell, blank, span

_SLIDERS = (
    ("size", "nodes (ln)", -2.0, 2.0, 0.05),
    ("request", "request (ln min)", -2.0, 2.0, 0.05),
    ("queued", "queued (hours)", 0.0, 1.0, 0.01),
    ("load", "load (times)", 0.5, 2.0, 0.05),
)


class PolicyPlayground(Shell):
    """Sliders for ``size * ln(nodes) + request * ln(minutes) - queued * queued hours``, and load.

    The smallest score is picked, at both levels. The same trace at the same load under first come,
    first served stands beside it.

    Parameters
    ----------
    trace : Trace
        Some 500 jobs: all is run anew at each move.
    size, request, queued : float
        The weights at the beginning; see `policies.linear`.
    load : float
        How many times as fast the jobs arrive as in the trace.
    **options
        `simulate`'s options.

    Attributes
    ----------
    weights : dict
        The values of the sliders.
    runs : dict
        The two results, ``"linear"`` and ``"fcfs"``.

    Raises
    ------
    DrasLabError
        If a value is outside its slider's range, or for an option that cannot be.
    """

    def __init__(
        self,
        trace: Trace,
        *,
        size: float = 0.6,
        request: float = 0.85,
        queued: float = 0.09,
        load: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__()
        self.trace = trace
        self.options = {"log": False, **options}
        self.weights: dict[str, float] = {}
        self._runs_of_fcfs: dict[float, tuple[Trace, Result]] = {}
        self._simulate(size=size, request=request, queued=queued, load=load)
        self._compose(*self._controls())

    def __repr__(self) -> str:
        weights = ", ".join(f"{name}={value:g}" for name, value in self.weights.items())
        return f"PolicyPlayground({self.trace.name}, {weights})"

    def _simulate(self, **changes: float) -> None:
        """Run the rule with some weights changed, and only then believe in them."""
        weights = {**self.weights, **changes}
        for name, _, low, high, _ in _SLIDERS:
            if not low <= weights[name] <= high:
                raise DrasLabError(f"{name}: {weights[name]:g} is not between {low:g} and {high:g}")
        if not set(changes) <= {name for name, *_ in _SLIDERS}:
            raise DrasLabError(f"there is no slider {', '.join(changes)}")
        load = weights["load"]
        if load not in self._runs_of_fcfs:
            self._runs_of_fcfs.clear()  # the last load is enough to remember
            scaled = self.trace if load == 1 else self.trace.scale_load(load)
            self._runs_of_fcfs[load] = (scaled, simulate(scaled, fcfs, **self.options))
        scaled, first = self._runs_of_fcfs[load]
        rule = linear(*(weights[name] for name in ("size", "request", "queued")))
        self.runs = {"linear": simulate(scaled, rule, **self.options), "fcfs": first}
        self.weights = weights

    def set(self, **changes: float) -> None:
        """Move sliders: ``set(size=1.0, load=1.2)``.

        Raises
        ------
        DrasLabError
            If there is no such slider, or it does not go so far.
        """
        self._simulate(**changes)
        self.draw()

    def _moved(self, name: str, value: float) -> None:
        self.set(**{name: value})

    def reset(self) -> None:
        """All weights zero: first come, first served, at the trace's own load."""
        self.set(size=0.0, request=0.0, queued=0.0, load=1.0)

    # -- what is shown ----------------------------------------------------------------------

    def _figure(self) -> Figure:
        if not self.runs["fcfs"].ran.any():
            return blank("no job ran: there are none, or all are wider than the machine")
        figure = Figure(figsize=(10.5, 6.2), dpi=90)
        both = compare(self.runs)
        for left, column, what in ((0.07, "mean_wait_h", "mean"), (0.38, "max_wait_h", "longest")):
            label = f"{what} wait (hours)"
            ax = bars(both, column, label, figure.add_axes((left, 0.74, 0.22, 0.18)))
            ax.set_title(label, fontsize=10)
            ax.xaxis.set_visible(False)  # the numbers are beside the bars
            ax.spines["bottom"].set_visible(False)
        radar = kiviat(both, figure.add_axes((0.72, 0.64, 0.19, 0.29), projection="polar"))
        radar.tick_params(axis="x", labelsize=7, pad=4)
        radar.legend(loc="lower right", bbox_to_anchor=(-0.12, -0.25), fontsize=8)
        radar.set_xlabel("share of the best of the two", fontsize=8)
        ax = gantt(self.runs["linear"], by="wait", ax=figure.add_axes((0.07, 0.09, 0.76, 0.42)))
        ax.locator_params(nbins=5)
        return figure

    def _text(self) -> str:
        if not self.runs["fcfs"].ran.any():
            return "No job ran: there are none, or all are wider than the machine."
        parts = []
        for name, run in self.runs.items():
            wait = run.wait[run.ran]
            parts.append(f"{name}: mean wait {span(wait.mean())}, longest {span(wait.max())}")
        return f"{'; '.join(parts)}. Look at both: a rule can buy a short mean with a long wait."

    def _controls(self) -> list[Any]:
        if self.kit is None:
            return []
        self._sliders = {}
        for name, label, low, high, step in _SLIDERS:
            slider = self.kit.FloatSlider(
                value=self.weights[name], min=low, max=high, step=step, description=label,
                style={"description_width": "9em"}, layout={"width": "26em"},
                **self._hint("how fast jobs arrive" if name == "load" else f"weight of {label}"),
            )  # fmt: skip
            self._sliders[name] = self._when_moved(slider, partial(self._moved, name))
        return [
            self._row(
                *self._sliders.values(),
                self._button("All zero", "first come, first served", self.reset, "refresh"),
            )
        ]

    def _sync(self) -> None:
        if self.view is not None:
            for name, slider in self._sliders.items():
                slider.value = self.weights[name]
