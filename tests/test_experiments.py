"""Experiments: which runs a grid has, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dras_lab.experiments import Experiment, read_experiment
from dras_lab.jobs import DrasLabError


def written(folder: Path, text: str) -> Path:
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_grid_of_policies() -> None:
    """Only what draws random numbers is run with every seed."""
    runs = Experiment(["a.swf", "b.swf.gz"], ["fcfs", "random"], seeds=[3, 5]).runs()
    assert [run.name for run in runs] == [
        "a--fcfs--seed-3",
        "a--random--seed-3",
        "a--random--seed-5",
        "b--fcfs--seed-3",
        "b--random--seed-3",
        "b--random--seed-5",
    ]
    config = runs[2].config
    assert (config["trace"], config["name"], config["seed"]) == ("a.swf", "random", 5)
    assert config["log"]["part"] == "all"
    assert config["simulation"] == {
        "window": 50,
        "backfill": "easy",
        "overrun": "kill",
        "reservation": "held",
        "tau": 10.0,
    }


def test_a_grid_of_learners() -> None:
    """2 agents under 2 rewards, and a recipe that brings its own, with 2 seeds: 10 runs."""
    pytest.importorskip("torch")
    experiment = Experiment(
        ["theta-like"],
        recipes=["best"],
        agents=["pg", "dql"],
        rewards=["waits", "capacity"],
        seeds=[0, 1],
        training={"episodes": 8, "tensorboard": True},
    )
    runs = experiment.runs()
    assert len(runs) == 10
    assert [run.name for run in runs[1:4]] == [
        "theta-like--recipe-best--seed-1",
        "theta-like--agent-pg--waits--seed-0",
        "theta-like--agent-pg--waits--seed-1",
    ]
    # A recipe has its own plan; what is measured is what nobody has learnt from.
    assert runs[0].config["training"] == {"tensorboard": True}
    assert runs[2].config["training"] == {"episodes": 8, "tensorboard": True}
    assert {run.config["log"]["part"] for run in runs} == {"test"}


def test_logs_of_one_name_get_folders_of_their_own() -> None:
    runs = Experiment(["x/log.swf", "y/log.swf"], ["fcfs"]).runs()
    assert [run.name for run in runs] == ["x-log--fcfs--seed-0", "y-log--fcfs--seed-0"]
    with pytest.raises(DrasLabError, match="two runs would have the folder"):
        Experiment(["x/log.swf", "x-log.swf", "y/log.swf"], ["fcfs"])


def test_a_file(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'traces = ["mine.swf", "theta-like"]\npolicies = ["sjf", "random"]\nseeds = 2\n'
        "schedules = false\n[log]\ncoarsen = 4\njobs = 50\n"
        '[simulation]\nwindow = "all"\nbackfill = "conservative"\n',
    )
    experiment = read_experiment(path)
    runs = experiment.runs()
    assert [run.config["seed"] for run in runs] == [0, 0, 1, 0, 0, 1]
    config = runs[0].config
    assert (config["log"]["coarsen"], config["log"]["jobs"]) == (4, 50)
    assert (config["simulation"]["window"], config["simulation"]["backfill"]) == (
        "all",
        "conservative",
    )
    assert config["schedule"] is False
    # Files are looked for beside the experiment, whatever the folder we are in; shipped names stay.
    assert runs[0].located("mine.swf") == str(tmp_path.resolve() / "mine.swf")
    assert runs[0].located("theta-like") == "theta-like"


FAULTS = {
    "": "traces: name at least one",
    "traces = [": "is not TOML",
    'traces = ["x"]': "nothing to run",
    'trace = ["x"]': "there is no key 'trace' (did you mean 'traces'?)",
    'traces = "x"\npolicies = ["fcfs"]': "traces: 'x' is not a list of names",
    'traces = ["x", "x"]\npolicies = ["fcfs"]': "traces: 'x' is named twice",
    'traces = [""]\npolicies = ["fcfs"]': "traces: '' is not a name",
    'traces = ["x"]\npolicies = ["fcsf"]': "no 'fcsf' (did you mean 'fcfs'?)",
    'traces = ["x"]\npolicies = ["fcfs"]\nseeds = 0': "seeds: 0 is not a number of seeds",
    'traces = ["x"]\npolicies = ["fcfs"]\nseeds = true': "seeds: True is not a number of seeds",
    'traces = ["x"]\npolicies = ["fcfs"]\nseeds = []': "seeds: give",
    'traces = ["x"]\npolicies = ["fcfs"]\nseeds = [1, 1]': "are not different whole numbers",
    'traces = ["x"]\npolicies = ["fcfs"]\nseeds = [-1]': "are not different whole numbers",
    'traces = ["x"]\npolicies = ["fcfs"]\nschedules = 1': "schedules: 1 is not true or false",
    'traces = ["x"]\npolicies = ["fcfs"]\nlog = 3': "log: is a table",
    'traces = ["x"]\npolicies = ["fcfs"]\n[log]\ncoarse = 2': "log: there is no key 'coarse'",
    'traces = ["x"]\npolicies = ["fcfs"]\n[log]\nnodes = 2.5': "nodes: 2.5 is not a whole number",
    'traces = ["x"]\npolicies = ["fcfs"]\n[log]\npart = "last"': "part: 'last' is not one of",
    'traces = ["x"]\npolicies = ["fcfs"]\n[simulation]\ntau = 0': "tau: 0 is not a number above 0",
    'traces = ["x"]\npolicies = ["fcfs"]\n[simulation]\nwindow = 0': "window: 0 is not a whole",
    'traces = ["x"]\npolicies = ["fcfs"]\nrewards = ["waits"]': "rewards: they are for agents",
    'traces = ["x"]\npolicies = ["fcfs"]\n[training]\nepisodes = 3': "'episodes' is for agents",
}
LEARNING_FAULTS = {
    'agents = ["pgg"]': "agents: there is no 'pgg' (did you mean 'pg'?)",
    'recipes = ["bset"]': "recipes: there is no 'bset' (did you mean 'best'?)",
    'agents = ["pg"]\nrewards = ["money"]': "there is no reward 'money'",
    'agents = ["pg"]\n[simulation]\nwindow = "all"': "an agent looks at a window of jobs",
    'agents = ["pg"]\n[log]\npart = "train"': "has seen these jobs",
    'recipes = ["best"]\n[training]\nepisodes = 3': "'episodes' is for agents",
    'agents = ["pg"]\n[training]\nepisode = 3': "training: there is no key 'episode'",
    'agents = ["pg"]\n[training]\nepisodes = 3\nphases = [["real", 2]]': "episodes or phases",
    'agents = ["pg"]\n[training]\nphases = ["real"]': "phases: ['real'] is not pairs",
    'agents = ["pg"]\n[training]\nphases = [["reel", 1]]': "there is no phase 'reel'",
    'agents = ["pg"]\n[training]\nsettings = {speed = 3}': "there is no setting 'speed'",
    'agents = ["pg"]\n[training]\nsettings = {gamma = "x"}': "a value is of the wrong kind",
    'agents = ["pg"]\n[training]\nsettings = {gamma = nan}': "is not a table of numbers",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_faulty_file_is_refused(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DrasLabError) as refused:
        read_experiment(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert FAULTS[text] in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", LEARNING_FAULTS)
def test_faulty_learning_is_refused(tmp_path: Path, text: str) -> None:
    pytest.importorskip("torch")
    with pytest.raises(DrasLabError) as refused:
        read_experiment(written(tmp_path, 'traces = ["x"]\n' + text))
    assert LEARNING_FAULTS[text] in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(DrasLabError, match="cannot be read"):
        read_experiment(tmp_path / "none.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DrasLabError, match="is not TOML"):
        read_experiment(tmp_path / "x.toml")


def test_what_the_docs_say_can_be_read(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = (Path(__file__).parent.parent / "docs" / "experiments.md").read_text(encoding="utf-8")
    toml = text.split("```toml\n")[1].split("```")[0]
    # On each of 2 logs: fcfs, sjf, the file once; random, 2 recipes, 2 times 2 agents 7 times.
    assert len(read_experiment(written(tmp_path, toml)).runs()) == 2 * (3 + 7 * 7)


def test_the_example_can_be_read() -> None:
    pytest.importorskip("torch")
    example = Path(__file__).parent.parent / "examples" / "sweep.toml"
    # fcfs, sjf, wfp3 once; random and the recipe three times each
    assert len(read_experiment(example).runs()) == 9
