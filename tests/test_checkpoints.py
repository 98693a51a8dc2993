"""Agents in files: back as they were, and nothing runs, hangs or half-loads from a bad one."""

from __future__ import annotations

import io
import math
import os
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs import trace_of

torch = pytest.importorskip("torch")

from lessons import MEAN_WAIT, picks, practise, two_classes  # noqa: E402

from dras_lab.agents import make_agent, make_update  # noqa: E402
from dras_lab.agents.checkpoints import as_bytes, contents_of, load, read, save, shipped  # noqa: E402
from dras_lab.decisions import Decision  # noqa: E402
from dras_lab.jobs import DrasLabError  # noqa: E402
from dras_lab.rewards import Capability, Capacity, Waits  # noqa: E402
from dras_lab.simulator import simulate  # noqa: E402

JOBS = trace_of([(k, 40 * k, 1 + k % 3, 60 * (1 + k % 7), 50 + k) for k in range(1, 30)], 4)


def small(kind: str = "pg", **options: Any) -> Any:
    options = {"network": "scorer", "hidden": (4, 3), "seed": 3} | options
    return make_agent(kind, 4, 6, **options)


def weights(agent: Any) -> dict[str, Any]:
    found: dict[str, Any] = agent.brain.networks.state_dict()
    return found


def same(one: dict[str, Any], two: dict[str, Any]) -> bool:
    return list(one) == list(two) and all(torch.equal(one[name], two[name]) for name in one)


# -- there and back ---------------------------------------------------------------------------

KINDS = [
    ("pg", {"network": "dras", "hidden": (8, 5), "shared": True}),
    ("pg", {"network": "dras", "scaling": "linear", "activation": "relu", "reward": "capacity"}),
    ("pg", {"prior": [0.1 * k for k in range(9)], "crowd": True, "reward": Waits(late=0.7)}),
    ("dql", {"network": "dras", "update": "published"}),
    ("dql", {"reward": Capability(1, 0, 0), "update": make_update("ours", clip=0.1)}),
    ("decima", {"network": "dras", "reward": Capacity(60)}),
]


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_there_and_back(tmp_path: Path, kind: str, options: dict[str, Any]) -> None:
    agent = small(kind, **options)
    agent.learning = True
    for _ in range(agent.update.runs):
        simulate(JOBS, agent, window=6)
        agent.end_run()
    agent.learning = False
    path = tmp_path / "agent.pt"
    save(agent, path, {"seed": 3, "figures": [1.5, None, "text"]})
    back = load(path)
    assert type(back) is type(agent)
    assert back.config() == agent.config()
    assert same(weights(back), weights(agent))
    assert not back.learning
    assert picks(back, JOBS, window=6) == picks(agent, JOBS, window=6)
    assert read(path)["about"] == {"seed": 3, "figures": [1.5, None, "text"]}
    # A reward of ours comes back with its numbers.
    assert back.reward == agent.reward
    again = tmp_path / "again.pt"
    save(back, again, read(path)["about"])
    assert contents_equal(read(path), read(again))


def contents_equal(one: dict[str, Any], two: dict[str, Any]) -> bool:
    plain = [{k: v for k, v in c.items() if k != "weights"} for c in (one, two)]
    return plain[0] == plain[1] and same(one["weights"], two["weights"])


def test_it_learns_on_like_the_one_that_was_saved(tmp_path: Path) -> None:
    save(small("pg", reward=MEAN_WAIT), tmp_path / "a.pt")
    one, two = (load(tmp_path / "a.pt", nodes=1, window=4, seed=9) for _ in range(2))
    practise(one, two_classes(), 1)
    practise(two, two_classes(), 1)
    assert same(weights(one), weights(two))
    assert not same(weights(one), weights(load(tmp_path / "a.pt")))


def test_what_was_learnt_later_is_not_in_contents_made_before() -> None:
    agent = small("pg", reward=MEAN_WAIT)
    contents = contents_of(agent)
    with torch.no_grad():
        agent.parameters[0].add_(1)
    assert not same(contents["weights"], weights(agent))


def test_about_must_be_plain_or_the_file_could_not_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    save(small(), path, {"score": np.float64(0.5), "phases": (("real", 2),)})
    assert read(path)["about"] == {"score": 0.5, "phases": [["real", 2]]}
    with pytest.raises(DrasLabError, match=r"about: .*int64.* plain values"):
        save(small(), path, {"episodes": np.int64(3)})
    assert read(path)["about"]["score"] == 0.5


def test_shipped_ones_go_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(small(), tmp_path / "mine.pt")
    monkeypatch.setattr("dras_lab.agents.checkpoints._SHIPPED", tmp_path)
    assert list(shipped()) == ["mine"]
    assert same(weights(load("mine")), weights(small()))
    with pytest.raises(DrasLabError, match="yours: cannot be read"):
        load("yours")


# -- other machines ---------------------------------------------------------------------------


def test_a_network_of_dras_has_one_size(tmp_path: Path) -> None:
    save(make_agent("pg", 4, 6), tmp_path / "a.pt")
    assert load(tmp_path / "a.pt", nodes=4, window=6).brain.window == 6
    for other in ({"nodes": 5}, {"window": 7}, {"nodes": 8, "window": 3}):
        with pytest.raises(DrasLabError, match="was trained for 4 nodes and a window of 6") as told:
            load(tmp_path / "a.pt", **other)
        assert "\n" not in str(told.value)


def test_a_scorer_goes_to_other_machines(tmp_path: Path) -> None:
    agent = small()
    save(agent, tmp_path / "a.pt")
    other = load(tmp_path / "a.pt", nodes=20, window=9)
    assert (other.brain.nodes, other.brain.window) == (20, 9)
    assert same(weights(other), weights(agent))
    assert picks(other, JOBS, nodes=20, window=9)
    with pytest.raises(DrasLabError, match="must be at least 1"):
        load(tmp_path / "a.pt", nodes=0)


# -- rewards of one's own ---------------------------------------------------------------------


@dataclass(frozen=True)
class Own:
    """Not ours, and not plain."""

    table: Any = field(default_factory=lambda: np.arange(3))
    name: str = "waits"  # like one of ours

    def __call__(self, decision: Decision, index: int | None) -> float:
        return 1.0


def hasty(decision: Decision, index: int | None) -> float:
    return 1.0


@pytest.mark.parametrize(("reward", "name"), [(Own(), "waits"), (hasty, "hasty")])
def test_a_reward_of_ones_own_is_named_when_it_is_missed(
    tmp_path: Path, reward: Any, name: str
) -> None:
    save(small(reward=reward), tmp_path / "a.pt")
    agent = load(tmp_path / "a.pt")
    picks(agent, JOBS, window=6)  # it chooses without
    agent.learning = True
    with pytest.raises(DrasLabError, match=f"a reward of your own, '{name}'; to learn on, give it"):
        simulate(JOBS, agent, window=6)
    assert agent.config() == small(reward=reward).config()
    with_it = load(tmp_path / "a.pt", reward=reward)
    with_it.learning = True
    simulate(JOBS, with_it, window=6)
    assert load(tmp_path / "a.pt", reward="waits").reward == Waits()


# -- bad files --------------------------------------------------------------------------------


def refused(path: Path, match: str = "is no checkpoint of dras-lab") -> str:
    with pytest.raises(DrasLabError, match=match) as told:
        load(path)
    text = str(told.value)
    assert path.name in text
    assert "\n" not in text
    return text


class Hostile:
    def __init__(self, target: str) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (os.mkdir, (self.target,))


@pytest.mark.parametrize("how", ["pickle", "torch", "inside"])
def test_a_hostile_file_runs_nothing(tmp_path: Path, how: str) -> None:
    marker, path = tmp_path / "it-ran", tmp_path / "a.pt"
    trap = Hostile(str(marker))
    if how == "pickle":
        path.write_bytes(pickle.dumps(trap))
    elif how == "torch":
        torch.save(trap, path)
    else:
        torch.save(contents_of(small()) | {"more": trap}, path)
    refused(path, "nothing in it was run")
    assert not marker.exists()
    # It would have: the trap is a trap.
    if how == "pickle":
        pickle.loads(path.read_bytes())
    else:
        torch.load(path, weights_only=False)
    assert marker.exists()


def test_a_file_cut_short_is_refused_wherever_it_was_cut(tmp_path: Path) -> None:
    data, path = as_bytes(contents_of(small())), tmp_path / "a.pt"
    for k in range(20):
        path.write_bytes(data[: len(data) * k // 20])
        refused(path)
    path.write_bytes(data[:-1])
    refused(path)


def test_random_bytes_are_refused(tmp_path: Path) -> None:
    rng, path = random.Random(7), tmp_path / "a.pt"
    for start in (b"", b"\x80\x02", b"PK\x03\x04", b"\x80\x04\x95"):
        for size in (1, 10, 1000):
            path.write_bytes(start + rng.randbytes(size))
            refused(path)


def test_bytes_changed_here_and_there_are_refused_or_change_only_numbers(tmp_path: Path) -> None:
    data, path = as_bytes(contents_of(small())), tmp_path / "a.pt"
    rng = random.Random(11)
    outcomes = set()
    for _ in range(150):
        spoilt = bytearray(data)
        for _ in range(rng.choice((1, 4, 40))):
            spoilt[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(spoilt)
        try:
            agent = load(path)
        except DrasLabError as error:
            assert "\n" not in str(error)  # noqa: PT017
            outcomes.add("refused")
        else:
            assert all(torch.isfinite(w).all() for w in weights(agent).values())
            outcomes.add("loaded")
    assert "refused" in outcomes


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The file of a small agent with something changed in it."""
    buffer = io.BytesIO(as_bytes(contents_of(small())))
    contents = torch.load(buffer, weights_only=True)
    change(contents)
    torch.save(contents, path)
    return path


def first_weight(contents: dict[str, Any], value: float) -> None:
    next(iter(contents["weights"].values())).view(-1)[0] = value


def as_doubles(contents: dict[str, Any]) -> None:
    weights = contents["weights"]
    for name in weights:
        weights[name] = weights[name].double()
    first_weight(contents, 1e300)  # finite, and no float32


def wide(contents: dict[str, Any]) -> None:
    """Claims a network of 40 GB, and has weights that pretend to be as many."""
    contents["config"]["brain"]["hidden"] = [100_000, 100_000]
    for name in contents["weights"]:
        contents["weights"][name] = torch.zeros(1).expand(100_000, 100_000)


CHANGES: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("format", lambda c: c.update(format=99), "is a checkpoint of format 99, by dras-lab"),
    ("no format", lambda c: c.pop("format"), "is no checkpoint of dras-lab"),
    ("no config", lambda c: c.pop("config"), "damaged"),
    ("no weights", lambda c: c.pop("weights"), "damaged"),
    ("one weight less", lambda c: c["weights"].popitem(), "damaged"),
    ("weights a list", lambda c: c.update(weights=[1, 2]), "damaged"),
    ("NaN", lambda c: first_weight(c, math.nan), "a weight is not a finite number"),
    ("inf", lambda c: first_weight(c, math.inf), "a weight is not a finite number"),
    ("doubles", as_doubles, "a weight is not a finite number"),
    ("agent", lambda c: c["config"].update(agent="sarsa"), "damaged"),
    ("network", lambda c: c["config"]["brain"].update(kind="cnn"), "no network 'cnn'"),
    ("huge layers", lambda c: c["config"]["brain"].update(hidden=[10**6, 10**6]), "damaged"),
    ("pretended", wide, "damaged"),
    ("infinite", lambda c: c["config"]["brain"].update(nodes=math.inf), "damaged"),
    ("huge machine", lambda c: c["config"]["brain"].update(nodes=10**15), "damaged"),
    ("no layers", lambda c: c["config"]["brain"].update(hidden=[]), "damaged"),
    ("three layers", lambda c: c["config"]["brain"].update(hidden=[4, 3, 2]), "hidden"),
    ("negative", lambda c: c["config"]["brain"].update(hidden=[-4, -3]), "damaged"),
    ("words", lambda c: c["config"]["brain"].update(nodes="many"), "damaged"),
    ("setting", lambda c: c["config"]["update"].update(speed=1), "no setting 'speed'"),
    ("bad setting", lambda c: c["config"]["update"].update(gamma="x"), "damaged"),
    ("reward", lambda c: c["config"]["reward"].update(speed=1), "damaged"),
    ("no reward", lambda c: c["config"].pop("reward"), "damaged"),
]


@pytest.mark.parametrize(("change", "match"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_a_file_with_something_wrong_in_it(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], match: str
) -> None:
    refused(changed(tmp_path / "a.pt", change), match)


@pytest.mark.parametrize("name", ["window", "nodes", "hidden"])
def test_a_network_of_dras_larger_than_its_file_is_not_built(tmp_path: Path, name: str) -> None:
    contents = contents_of(make_agent("pg", 4, 6, hidden=(4, 3)))
    contents["config"]["brain"][name] = [20_000, 20_000] if name == "hidden" else 3_000_000
    torch.save(contents, tmp_path / "a.pt")
    refused(tmp_path / "a.pt", "fewer weights than its network has")


@pytest.mark.parametrize("content", [[1, 2], {"weights": 1}, 3, "text", torch.zeros(2)])
def test_a_torch_file_of_something_else(tmp_path: Path, content: Any) -> None:
    torch.save(content, tmp_path / "a.pt")
    refused(tmp_path / "a.pt", "is no checkpoint of dras-lab")


def test_no_file_or_a_folder(tmp_path: Path) -> None:
    refused(tmp_path / "none.pt", "cannot be read")
    refused(tmp_path, "cannot be read")


def test_on_a_full_disk_the_old_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pt"
    save(small(), path)
    old = path.read_bytes()

    def full(*words: object, **names: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(DrasLabError, match=r"a\.pt: cannot be written \(No space left"):
        save(small("dql"), path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["a.pt"]


def test_a_loaded_dql_agent_does_not_begin_at_random(tmp_path: Path) -> None:
    save(make_agent("dql", 8, 4, update=make_update("ours", floor=0.07)), tmp_path / "a.pt")
    assert load(tmp_path / "a.pt").epsilon == 0.07
