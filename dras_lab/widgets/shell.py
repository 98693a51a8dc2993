"""What all widgets share: a picture, words that say the same, controls, and a still of it all.

A widget is a plain object around ipywidgets, so that it can be made, driven and read where
ipywidgets is missing, and in tests without a browser. Pictures are PNG bytes in one `Image`:
nothing is printed, no thread is started, no figure is left open, nothing flickers.
"""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from matplotlib.figure import Figure

from ..jobs import DrasLabError
from ..plotting import alt_text, say, use_style

WITHOUT = (
    "This is a still picture: ipywidgets is not installed here. "
    "Install it (pip install ipywidgets) and restart the kernel for something to click on."
)

VIEW = "application/vnd.jupyter.widget-view+json"


def toolkit() -> ModuleType | None:
    """ipywidgets, or None where it is not installed."""
    try:
        import ipywidgets
    except ImportError:
        return None
    kit: ModuleType = ipywidgets
    return kit


def _described_image(kit: ModuleType) -> Any:
    """An `Image` that can have a text alternative.

    The browser's side of ipywidgets 8 shows a tooltip only where the length of the description
    is 0, and fails on an `Image`, which has none; so this one has an empty one.
    """
    from traitlets import Unicode

    class Picture(kit.Image):  # type: ignore[name-defined,misc]
        description = Unicode("").tag(sync=True)

    return Picture(format="png", layout={"max_width": "100%"})


def png(figure: Figure) -> bytes:
    """A figure as a PNG file's content; little compressed, since it goes no further than here."""
    content = io.BytesIO()
    figure.savefig(
        content,
        format="png",
        dpi=figure.dpi,
        metadata={"Description": alt_text(figure)},
        pil_kwargs={"compress_level": 1},
    )
    return content.getvalue()


class Shell:
    """A widget without its content. What shows it are a `_figure` and `_text` of its own.

    Attributes
    ----------
    words : str
        What is to be seen, in plain text.
    alt : str
        The text alternative of the picture.
    png : bytes
        The picture.
    problem : str
        Why the last click did nothing; empty where it did something.
    view : ipywidgets.Widget or None
        What a notebook shows; None without ipywidgets.
    """

    def __init__(self) -> None:
        self.kit = toolkit()
        self.words = self.alt = self.problem = ""
        self.png = b""
        self.view: Any = None
        self._quiet = False
        if self.kit is not None:
            self._image = _described_image(self.kit)
            self._status = self.kit.HTML()
            self._trouble = self.kit.HTML()
            self._details = self.kit.HTML()

    # -- what a widget says of itself -------------------------------------------------------

    def _figure(self) -> Figure:
        raise NotImplementedError

    def _text(self) -> str:
        raise NotImplementedError

    def _html(self) -> str:
        """What stands below the picture: tables."""
        return ""

    def _sync(self) -> None:
        """Bring the controls in line with the state; they do not answer meanwhile."""

    # -- drawing ----------------------------------------------------------------------------

    def draw(self) -> None:
        """Draw the state anew; the old picture stays until the new one is there."""
        with use_style():
            figure = self._figure()
        self.alt, self.png, self.words = alt_text(figure), png(figure), self._text()
        if self.kit is not None:
            self._image.value = self.png
            self._image.tooltip = self.alt
            self._status.value = (
                f'<div role="status" style="line-height:1.4">{html.escape(self.words)}</div>'
            )
            self._details.value = self._html()
            self._tell("")
            self._sync_quietly()

    def _sync_quietly(self) -> None:
        self._quiet = True
        try:
            self._sync()
        finally:
            self._quiet = False

    def _tell(self, problem: str) -> None:
        self.problem = problem
        if self.kit is not None:
            shown = f'<div role="alert"><b>{html.escape(problem)}</b></div>' if problem else ""
            self._trouble.value = shown

    def _try(self, action: Callable[[], object]) -> None:
        """Do what was clicked; a mistake of the user's becomes a line and not a traceback."""
        try:
            action()
        except DrasLabError as error:
            self._tell(str(error))

    # -- controls ---------------------------------------------------------------------------

    def _button(self, text: str, hint: str, action: Callable[[], object], icon: str = "") -> Any:
        assert self.kit is not None
        button = self.kit.Button(
            description=text, tooltip=hint, icon=icon, layout={"width": "auto"}
        )
        button.on_click(lambda _: self._try(action))
        return button

    def _hint(self, text: str) -> dict[str, str]:
        """The hint of a slider or a field, by the name that it has in this ipywidgets."""
        new = self.kit is not None and self.kit.IntSlider.class_traits().get("tooltip")
        return {"tooltip" if new else "description_tooltip": text}

    def _when_moved(self, control: Any, action: Callable[[Any], object]) -> Any:
        """Call `action` with the control's value when somebody moves it, and not while syncing."""

        def moved(change: Any) -> None:
            if not self._quiet:
                self._try(lambda: action(change["new"]))

        control.observe(moved, names="value")
        return control

    def _row(self, *controls: Any) -> Any:
        assert self.kit is not None
        return self.kit.HBox(controls, layout={"flex_flow": "row wrap", "align_items": "center"})

    def _compose(self, *controls: Any) -> None:
        """Controls above, then words, picture and tables; drawn for the first time."""
        if self.kit is not None:
            parts = (*controls, self._trouble, self._status, self._image, self._details)
            self.view = self.kit.VBox(parts)
        self.draw()

    # -- what a notebook asks for -----------------------------------------------------------

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The live widget where it can be shown, and a still picture for where it cannot."""
        content = base64.b64encode(self.png).decode("ascii")
        data: dict[str, Any] = {"text/plain": repr(self), "image/png": content}
        # By hand: the method that makes this entry is not in ipywidgets 7, which Colab has.
        model = getattr(self.view, "model_id", None)
        if model is not None:
            data[VIEW] = {"version_major": 2, "version_minor": 0, "model_id": model}
        elif self.kit is None:
            data["text/plain"] += "\n" + WITHOUT
            data["text/html"] = (
                f"<p>{html.escape(WITHOUT)}</p><p>{html.escape(self.words)}</p>"
                f'<img alt="{html.escape(self.alt)}" src="data:image/png;base64,{content}">'
                f"{self._html()}"
            )
        return data, {"image/png": {"alt": self.alt}}


def blank(text: str, size: tuple[float, float] = (9.0, 2.0)) -> Figure:
    """A figure that says why there is nothing to see."""
    figure = Figure(figsize=size)
    say(figure.add_axes((0.02, 0.05, 0.96, 0.9)), text)
    return figure


def span(seconds: float) -> str:
    """A length of time as people say it: ``45 s``, ``12 min``, ``3.2 h``, ``2.1 d``.

    Halves are rounded up, and short times keep a tenth of a second: a difference of two means
    is then that of the numbers beside it.
    """
    s = _half_up(abs(seconds), 1)
    sign = "-" if seconds < 0 < s else ""
    if s < 90:
        return f"{sign}{s:g} s"
    for unit, length, most in (("min", 60, 90), ("h", 3600, 48)):
        if s < most * length:
            amount = s / length
            return f"{sign}{_half_up(amount, 1 if amount >= 10 else 2):g} {unit}"
    return f"{sign}{_half_up(s / 86400, 1):,.1f} d"


def _half_up(amount: float, digits: int) -> float:
    """Rounded as people do it; ``round`` takes halves to the even neighbour."""
    scale = 10.0**digits
    return math.floor(amount * scale + 0.5) / scale


def number(count: int, noun: str) -> str:
    """How many of something: ``1 job``, ``3 jobs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def unit_for(seconds: float) -> tuple[float, str]:
    """The unit for an axis that reaches so far: its length in seconds, and its name."""
    for length, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 3 * length:
            return length, name
    return 1.0, "seconds"


def clock(seconds: float) -> str:
    """A time since the first submission: ``03:20:00``, or ``day 4, 03:20:00``."""
    days, rest = divmod(int(seconds), 86400)
    text = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"day {days + 1}, {text}" if days else text


def table(header: Iterable[str], rows: Iterable[Iterable[str]], caption: str) -> str:
    """An HTML table with a caption; its cells are plain text, the first of a row is its head."""
    cell = "padding:1px 8px;text-align:left;border-bottom:1px solid #dddddd"
    lines = [
        f'<table style="border-collapse:collapse;line-height:1.4"><caption style="text-align:left">'
        f"{html.escape(caption)}</caption><thead><tr>"
    ]
    lines += [f'<th scope="col" style="{cell}">{html.escape(text)}</th>' for text in header]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        first, *rest = map(html.escape, row)
        lines.append(f'<tr><th scope="row" style="{cell}">{first}</th>')
        lines += [f'<td style="{cell}">{text}</td>' for text in rest]
        lines.append("</tr>")
    lines.append("</tbody></table>")
    return "".join(lines)
