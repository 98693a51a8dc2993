"""Training figures for TensorBoard, read back by TensorBoard's own reader."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest
from commands import refuses, run
from small_training import QUICK, log_in

from dras_lab.experiments import Experiment
from dras_lab.jobs import DrasLabError
from dras_lab.scalars import TensorBoard
from dras_lab.sweeps import sweep

pytest.importorskip("torch")
pytest.importorskip("tensorboard")
pytestmark = pytest.mark.slow  # TensorBoard takes seconds to load


def shown(folder: Path) -> dict[str, dict[int, float]]:
    """What TensorBoard would draw: value by episode, by name."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), purge_orphaned_data=True).Reload()
    return {
        tag: {event.step: event.value for event in events.Scalars(tag)}
        for tag in events.Tags()["scalars"]
    }


def test_the_figures_are_those_of_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ("train", log_in(tmp_path), "--out", out, *QUICK, "--network", "scorer", "--rules", 0)
    assert run(capsys, *words, "--tensorboard")[0] == 0
    found, log = shown(out / "tensorboard"), pd.read_csv(out / "log.csv").set_index("episode")
    for name in ("validation/mean_wait_ratio", "validation/score", "learning/reward"):
        column = log[name.split("/")[1]]
        assert found[name] == pytest.approx(column.to_dict(), rel=1e-6)  # they are of 32 bits
        assert len(found[name]) == 3
    # DRAS-PG has no epsilon: what is unknown is not drawn.
    assert "learning/epsilon" not in found


def test_going_on_replaces_what_was_lost(tmp_path: Path) -> None:
    """Episodes 1 to 3 written, the last lost with the process; 3 again and 4 go in its place."""
    first = TensorBoard(tmp_path)
    for episode, score in ((1, 0.5), (2, 0.25), (3, 8.0)):
        first({"episode": episode, "score": score})
    first.close()
    second = TensorBoard(tmp_path)
    for episode, score in ((3, 0.75), (4, 1.0)):
        second({"episode": episode, "score": score})
    second.close()
    assert shown(tmp_path) == {"validation/score": {1: 0.5, 2: 0.25, 3: 0.75, 4: 1.0}}


def test_a_sweep_writes_them_too(tmp_path: Path) -> None:
    log_in(tmp_path)
    training = {"network": "scorer", "phases": [["real", 2]], "jobs": 20, "tensorboard": True}
    experiment = Experiment(["busy.swf"], agents=["pg"], training=training, base=tmp_path)
    sweep(experiment, tmp_path / "out")
    folder = tmp_path / "out" / "busy--agent-pg--capability--seed-0" / "training" / "tensorboard"
    assert set(shown(folder)["validation/score"]) == {1, 2}


def test_without_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(DrasLabError, match="needs the package tensorboard"):
        TensorBoard(tmp_path)
    words = ("train", log_in(tmp_path), "--out", tmp_path / "out", "--tensorboard")
    assert "pip install 'dras-lab[tensorboard]'" in refuses(capsys, *words)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DrasLabError, match="cannot be made"):
        TensorBoard(tmp_path / "file" / "x")({"episode": 1})
