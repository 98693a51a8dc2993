"""What if: another job at one decision, the same policy after it, and both schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..decisions import Policy
from ..gantt import gantt
from ..jobs import DrasLabError
from ..metrics import compare
from ..plotting import PALETTE, set_alt
from ..replay import Replay
from ..results import Result
from ..traces import Trace
from ..whatif import moved, what_if
from .explorer import told
from .shell import Shell, blank, number, span, table, unit_for

MOST_MOVED = 8  # jobs listed on each side
_MEASURES = (
    ("mean_wait_h", "mean wait", 3600.0),
    ("max_wait_h", "longest wait", 3600.0),
    ("mean_bounded_slowdown", "mean bounded slowdown", 0.0),
    ("utilisation", "utilisation", 0.0),
    ("makespan_d", "makespan", 86400.0),
)


class WhatIf(Shell):
    """Change one choice of a run, and see both schedules, their measures, who gained and lost.

    Parameters
    ----------
    result : Result
        The run, with its log of decisions.
    trace : Trace
        What was run.
    policy : callable
        Goes on after the changed choice; copied, so each try starts from the state it is given in.
    k : int, optional
        Which decision is changed; by default the first with a real choice.
    warm : bool
        For a policy that draws random numbers or learns as it goes; see `whatif.what_if`.

    Attributes
    ----------
    k : int
        The decision that is changed.
    choice : int or None
        Index into its candidates; None for a pass.
    changed : Result
        What follows from it.

    Raises
    ------
    DrasLabError
        If the result has no log of decisions, or is not of this trace.
    """

    def __init__(
        self,
        result: Result,
        trace: Trace,
        policy: Policy,
        k: int | None = None,
        *,
        warm: bool = False,
    ) -> None:
        super().__init__()
        self.replay, self.trace, self.policy, self.warm = Replay(result), trace, policy, warm
        self.changed = result
        self.k = 0
        self.choice: int | None = None
        if not len(self.replay):
            self._compose()
            return
        self._simulate(self._first_choice() if k is None else k)
        self._compose(*self._controls())

    def __repr__(self) -> str:
        result = self.replay.result
        what = self.changed.policy if len(self.replay) else f"{result.policy}, no decisions"
        return f"WhatIf({what}, on {result.trace_name})"

    def _first_choice(self) -> int:
        counts = (len(self.replay.log.candidate_rows(k)) for k in range(len(self.replay)))
        return next((k for k, count in enumerate(counts) if count > 1), 0)

    # -- going about ------------------------------------------------------------------------

    def _simulate(self, k: int, choice: int | str | None = "another") -> None:
        """Run it, and only then believe that this is what is shown."""
        if not 0 <= k < len(self.replay):
            raise DrasLabError(
                f"there is no decision {k}: the run has {len(self.replay)}, counted from 0"
            )
        at = self.replay.choice(k)
        if isinstance(choice, str):  # the first candidate that was not chosen
            others = [i for i in range(len(at.candidates)) if i != at.chosen]
            choice = others[0] if others else at.chosen
        changed = what_if(self.replay.result, self.trace, self.policy, k, choice, warm=self.warm)
        self.k, self.choice, self.changed = k, choice, changed
        self.table = moved(self.replay.result, changed)

    def go(self, k: int) -> None:
        """Change decision `k` instead: the first candidate that was not chosen is taken.

        Raises
        ------
        DrasLabError
            If there is no such decision.
        """
        self._simulate(k)
        self.draw()

    def pick(self, choice: int | None) -> None:
        """Take another candidate of this decision, by index; None to pass.

        Raises
        ------
        DrasLabError
            If there is no such candidate, or the policy cannot go on from there.
        """
        self._simulate(self.k, choice)
        self.draw()

    # -- what is shown ----------------------------------------------------------------------

    def _figure(self) -> Figure:
        if not len(self.replay):
            return blank("no decisions: the run has no jobs, or all were refused")
        before, after = self.replay.result, self.changed
        start, end = self._view()
        figure = Figure(figsize=(10.5, 6.2), dpi=90)
        for place, (run, title) in enumerate(
            ((before, f"as it was: {before.policy}"), (after, after.policy))
        ):
            ax = figure.add_axes((0.065, 0.58 - 0.47 * place, 0.55, 0.35))
            gantt(run, start=start, end=end, ax=ax)
            ax.axvline(self._x(ax, start, end), color="#000000", linewidth=1.6)
            ax.set_title(title, parse_math=False, fontsize=10)
            if place == 0:
                ax.set_xlabel("")
            elif (legend := ax.get_legend()) is not None:
                legend.remove()
        self._draw_changes(figure)
        return figure

    def _view(self) -> tuple[float, float]:
        """From a little before the decision to a little after the last job that it moved."""
        before, after, now = self.replay.result, self.changed, int(self.replay.times[self.k])
        differs = before.start != after.start
        last = max((int(r.end[differs].max()) for r in (before, after) if differs.any()), default=0)
        reach = max(float(np.quantile(before.requested_time[before.ran], 0.75)), 10.0)
        end = min(max(float(last), now + 1.5 * reach), now + 8 * reach)
        return now - 0.2 * (end - now), end + 0.02 * (end - now)

    def _x(self, ax: Any, start: float, end: float) -> float:
        """Where the decision is on the time axis."""
        low, high = ax.get_xlim()
        return float(low + (high - low) * (self.replay.times[self.k] - start) / (end - start))

    def _draw_changes(self, figure: Figure) -> None:
        """Bars of the jobs that gained and lost most."""
        ax = figure.add_axes((0.82, 0.11, 0.16, 0.40))
        some = self._most_moved()
        seconds = some["change"].to_numpy(dtype=float)
        length, unit = unit_for(float(np.abs(seconds).max(initial=0)))
        amounts = seconds / length
        colours = [PALETTE[0] if a < 0 else PALETTE[3] for a in amounts]
        hatches = ["" if a < 0 else "///" for a in amounts]
        ax.barh(
            [f"job {j}" for j in some["job_id"]], amounts, color=colours, hatch=hatches,
            edgecolor="#333333", linewidth=0.4,
        )  # fmt: skip
        ax.axvline(0, color="#000000", linewidth=0.8)
        ax.set_ylim(max(len(some), 6) - 0.4, -0.6)
        ax.locator_params(axis="x", nbins=4)
        ax.tick_params(labelsize=8)
        ax.grid(visible=False, axis="y")
        ax.set_xlabel(f"change of wait ({unit})", fontsize=9)
        ax.set_title("sooner ◂   ▸ later", fontsize=9)
        if not len(some):
            ax.text(0.5, 0.5, "no job moved", ha="center", transform=ax.transAxes, fontsize=9)
            ax.set(xticks=[], yticks=[])
        set_alt(ax, f"Change of wait of {len(some)} of {len(self.table)} jobs that moved.")

    def _most_moved(self) -> Any:
        gains, losses = self.table[self.table["change"] < 0], self.table[self.table["change"] > 0]
        kept = [*gains.index[:MOST_MOVED], *losses.index[-MOST_MOVED:]]
        return self.table.loc[kept]

    def _text(self) -> str:
        if not len(self.replay):
            return "There is nothing to change: the run has no jobs, or all were refused."
        gained, lost = int((self.table["change"] < 0).sum()), int((self.table["change"] > 0).sum())
        candidates, total = self.replay.choice(self.k).candidates, int(self.table["change"].sum())
        whom = "nobody" if self.choice is None else f"job {candidates[self.choice]}"
        return (
            f"{told(self.replay, self.k, {})} Instead: {whom}. Sooner: {number(gained, 'job')}; "
            f"later: {number(lost, 'job')}; all waits together change by {span(total)}."
        )

    def _html(self) -> str:
        if not len(self.replay):
            return ""
        both = compare({"as it was": self.replay.result, "changed": self.changed})
        lines = []
        for column, name, seconds in _MEASURES:
            values = both[column].astype(float)
            shown = [span(v * seconds) if seconds else f"{v:.4g}" for v in values]
            less, more = values
            change = span((more - less) * seconds) if seconds else f"{more - less + 0.0:.4g}"
            plus = "+" if change[0] not in "-0" or change.startswith("0.") else ""
            lines.append((name, *shown, plus + change))
        measures = table(("measure", *both.index, "difference"), lines, "Both schedules, measured")
        moves = table(
            ("job", "nodes", "waited", "would wait", "change"),
            (
                (
                    f"{m.job_id}",
                    f"{m.size}",
                    span(m.wait_before),
                    span(m.wait_after),
                    span(m.change),
                )
                for m in self._most_moved().itertuples()
            ),
            f"Who gained and lost most, of {number(len(self.table), 'job')} that moved",
        )
        return (
            '<div style="display:flex;flex-wrap:wrap;gap:2em">'
            f"<div>{measures}</div><div>{moves}</div></div>"
        )

    def _options(self) -> list[tuple[str, int]]:
        """What the choice of jobs offers: label and index; -1 for a pass."""
        at, decision = self.replay.choice(self.k), self.replay[self.k]
        jobs = [
            (
                f"job {job.job_id}: {job.size} nodes, {span(job.requested_time)}"
                + (" (as it was)" if i == at.chosen else ""),
                i,
            )
            for i, job in enumerate(decision.candidates)
        ]
        return [*jobs, ("nobody" + (" (as it was)" if at.chosen is None else ""), -1)]

    def _controls(self) -> list[Any]:
        if self.kit is None:
            return []
        self._slider = self._when_moved(
            self.kit.IntSlider(
                value=self.k, min=0, max=len(self.replay) - 1, description="decision",
                continuous_update=False, layout={"width": "24em"},
                **self._hint("which decision is changed"),
            ),
            self.go,
        )  # fmt: skip
        self._jobs = self._when_moved(
            self.kit.Dropdown(
                options=self._options(), description="instead", layout={"width": "26em"},
                **self._hint("which job is chosen instead"),
            ),
            lambda index: self.pick(None if index < 0 else index),
        )  # fmt: skip
        return [
            self._row(
                self._slider,
                self._button("Back", "one decision back", lambda: self.go(max(self.k - 1, 0))),
                self._button(
                    "Step",
                    "one decision on",
                    lambda: self.go(min(self.k + 1, len(self.replay) - 1)),
                ),
                self._jobs,
            )
        ]

    def _sync(self) -> None:
        if len(self.replay) and self.view is not None:
            self._slider.value = self.k
            self._jobs.options = self._options()
            self._jobs.value = -1 if self.choice is None else self.choice
