"""What the figures draw: positions, labels, text alternatives; and that nothing is left open."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from dras_lab import plotting

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


def test_the_style_ends_with_its_block() -> None:
    before = plt.rcParams["axes.grid"]
    with plotting.use_style():
        assert plt.rcParams["axes.grid"] is True
    assert plt.rcParams["axes.grid"] == before
