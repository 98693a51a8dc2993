"""What the figures draw: positions, labels, text alternatives; and that nothing is left open."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from drawing import easy, entries, new, render
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dras_lab import plotting
from dras_lab.breakdown import class_bars, how_shares
from dras_lab.classes import boxes
from dras_lab.curves import queue_curve, utilisation_curve
from dras_lab.gantt import gantt_difference
from dras_lab.metrics import compare

TABLE = pd.DataFrame(
    {
        "mean_wait_h": [10.0, 5.0, 0.0],
        "max_wait_h": [100.0, 400.0, 200.0],
        "mean_bounded_slowdown": [50.0, 20.0, 25.0],
        "utilisation": [0.75, 0.6, 0.5],
        "makespan_d": [10.0, 10.0, 20.0],
    },
    index=pd.Index(["fcfs", "sjf", "never waits"], name="policy"),
)


def test_bars() -> None:
    ax = Figure().add_subplot()
    assert plotting.bars(TABLE, "mean_wait_h", "mean wait (hours)", ax) is ax
    assert [bar.get_width() for bar in ax.patches] == [10.0, 5.0, 0.0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["fcfs", "sjf", "never waits"]
    assert ax.yaxis_inverted()  # the first policy on top
    assert ax.get_xlabel() == "mean wait (hours)"
    assert "sjf 5;" in plotting.alt_text(ax)


def test_normalised_by_hand() -> None:
    shares = plotting.normalised(TABLE.iloc[:2])
    assert shares["mean_wait_h"].tolist() == [0.5, 1.0]
    assert shares["max_wait_h"].tolist() == [1.0, 0.25]
    assert shares["mean_bounded_slowdown"].tolist() == [0.4, 1.0]
    assert shares["utilisation"].tolist() == pytest.approx([1.0, 0.8])
    assert shares["makespan_d"].tolist() == [1.0, 1.0]


def test_normalised_where_one_did_not_wait_at_all() -> None:
    assert plotting.normalised(TABLE)["mean_wait_h"].tolist() == [0.0, 0.0, 1.0]


def test_where_nothing_ran_there_is_no_share() -> None:
    nothing = TABLE.iloc[:2].copy()
    nothing.loc["sjf", ["mean_wait_h", "max_wait_h"]] = np.nan
    shares = plotting.normalised(nothing)
    assert shares["mean_wait_h"].tolist() == pytest.approx([1.0, np.nan], nan_ok=True)
    ax = Figure().add_subplot(projection="polar")
    assert plotting.kiviat(nothing, ax) is ax


def test_kiviat() -> None:
    ax = Figure().add_subplot(projection="polar")
    assert plotting.kiviat(TABLE.iloc[:2], ax) is ax
    first, second = (line.get_ydata() for line in ax.get_lines())
    # Closed: each ends as it begins.
    assert np.asarray(first).tolist() == pytest.approx([0.5, 1.0, 0.4, 1.0, 1.0, 0.5])
    assert np.asarray(second).tolist() == pytest.approx([1.0, 0.25, 1.0, 0.8, 1.0, 1.0])
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["fcfs", "sjf"]
    assert "sjf: mean wait 1.00, maximum wait 0.25" in plotting.alt_text(ax)
    # The normalisation stands on the figure.
    assert ax.get_xlabel().startswith("share of the best policy's: best / value")
    assert [text.get_text() for text in ax.get_yticklabels()][-1] == "1 = best"


def test_a_kiviat_chart_needs_polar_axes() -> None:
    with pytest.raises(TypeError, match="projection"):
        plotting.kiviat(TABLE, Figure().add_subplot())


def test_more_policies_than_colours_can_still_be_told_apart() -> None:
    many = pd.concat([TABLE] * 4)
    many.index = pd.Index([f"p{k}" for k in range(len(many))])
    ax = Figure().add_subplot(projection="polar")
    plotting.kiviat(many, ax)
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.get_lines()}
    assert len(looks) == len(many)


def test_overview_leaves_nothing_open() -> None:
    figure = plotting.overview(TABLE, "three policies")
    assert len(figure.axes) == 3
    assert figure.get_suptitle() == "three policies"
    assert [ax.get_xlabel() for ax in figure.axes[:2]] == [
        "mean wait (hours)",
        "maximum wait (hours)",
    ]
    assert plt.get_fignums() == []
    text = plotting.alt_text(figure)
    assert text.startswith("three policies. Bar chart of mean wait (hours) by policy: fcfs 10;")
    assert "Kiviat chart" in text


@pytest.mark.parametrize("draw", [plotting.kiviat, lambda t: plotting.bars(t, "utilisation", "u")])
def test_without_axes_there_is_one_new_figure_in_the_style(
    draw: Callable[[pd.DataFrame], Axes],
) -> None:
    ax = draw(TABLE)
    (number,) = plt.get_fignums()
    assert ax.figure is plt.figure(number)
    assert ax.figure.dpi == 110  # the style's
    plt.close(number)
    assert plotting.alt_text(ax.figure).startswith(("Kiviat", "Bar chart"))


@pytest.mark.parametrize(
    ("span", "unit", "at"),
    [
        (599, "seconds", 7200),
        (600, "minutes", 120),
        (4 * 3600 - 1, "minutes", 120),
        (4 * 3600, "hours", 2),
        (4 * 86400, "days", 1 / 12),
    ],
)
def test_time_axis(span: float, unit: str, at: float) -> None:
    axis = plotting.time_axis(1000, span)
    assert axis.label == f"time since the first submission ({unit})"
    assert axis.at(8200) == pytest.approx(at)
    assert axis.at(np.array([1000, 8200])).tolist() == pytest.approx([0, at])


def test_no_two_lines_look_alike() -> None:
    looks = [plotting.line_look(k) for k in range(32)]
    assert len({(look["color"], look["linestyle"]) for look in looks}) == 32


ODD = {"_mine": easy(), "$x$^": easy()}  # a function may have such a name; "$x$^" is no formula


@pytest.mark.parametrize(
    "draw",
    [
        *(utilisation_curve, queue_curve, boxes, class_bars),
        lambda runs, ax: plotting.kiviat(compare(runs), ax),
    ],
)
def test_odd_names_of_policies_are_shown_as_they_are(draw: Callable[..., Axes]) -> None:
    ax = new("polar" if draw.__name__ == "<lambda>" else None)
    draw(ODD, ax=ax)
    assert [text.strip() for text in entries(ax)][:2] == ["_mine", r"\$x\$^"]
    render(ax)


def test_odd_names_beside_bars() -> None:
    for ax in (
        how_shares(ODD, ax=new()),
        plotting.bars(compare(ODD), "max_wait_h", "maximum wait (hours)", new()),
        *gantt_difference(easy(), easy(), names=("_mine", "$x$^"), axes=[new(), new()]),
    ):
        render(ax)


def test_the_style_ends_with_its_block() -> None:
    before = plt.rcParams["axes.grid"]
    with plotting.use_style():
        assert plt.rcParams["axes.grid"] is True
    assert plt.rcParams["axes.grid"] == before
