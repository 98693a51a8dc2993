"""What an agent looks with and thinks with: an encoder of decisions, a network for each level.

An agent learns; a brain is what it learns in. Both kinds give one number a candidate: a logit
where a policy is learned, a value where values are. One decision at a time is answered by the
networks' NumPy twins; learning runs the same networks in torch, many decisions at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..decisions import Decision
from ..jobs import DrasLabError
from ..mdp import Encoder, Features
from ..networks import LEVELS, DrasNetwork, Shape, TwoLevels, shape_for
from ..scorers import JobScorer
from ..twins import DrasTwin, ScorerTwin

Floats = npt.NDArray[np.float32]
Seen = tuple[Floats, ...]


class Brain(Protocol):
    """What agents ask of a brain."""

    kind: str
    nodes: int
    window: int
    networks: TwoLevels

    def see(self, decision: Decision) -> Seen:
        """The decision as arrays, for `ask` now and for `batch` later."""

    def ask(self, level: str, seen: Seen, jobs: int) -> Floats:
        """A number for each of the candidates, shape ``[jobs]``."""

    def batch(self, level: str, seen: Sequence[Seen], mask: Tensor) -> Tensor:
        """The same for many decisions, ``[B, W]``, with gradients; past `mask` anything."""

    def chosen(
        self, level: str, seen: Sequence[Seen], mask: Tensor, chosen: Sequence[int]
    ) -> Tensor:
        """The numbers of one candidate each, ``[B]``: a column a row of `batch`, and cheaper."""

    def config(self) -> dict[str, Any]:
        """The arguments of `make_brain` that make this brain, but for its weights."""


class DrasBrain:
    """The five-layer network of DRAS, one a level, on the rows of jobs and nodes.

    Parameters
    ----------
    nodes, window : int
        N and W.
    head : {"policy", "values"}
        DRAS-PG's input ``[2 W + N, 2]`` and W logits, or DRAS-DQL's ``[2 + N, 2]`` a job and
        its value.
    shared : bool
        One network for both levels (authors' code), or one each.
    hidden : (int, int), optional
        Widths of the fully connected layers; `networks.shape_for` by default.
    scaling, activation
        As in `Encoder` and `DrasNetwork`.
    generator : torch.Generator, optional
        Of the first weights.
    """

    kind = "dras"

    def __init__(
        self,
        nodes: int,
        window: int = 50,
        *,
        head: str = "policy",
        shared: bool = False,
        hidden: tuple[int, int] | None = None,
        scaling: str = "log",
        activation: str = "leaky",
        generator: torch.Generator | None = None,
    ) -> None:
        self.nodes, self.window, self.head = nodes, window, head
        self.encoder = Encoder(nodes, window, scaling)  # type: ignore[arg-type]
        shape = shape_for(nodes, window)
        self.shape = shape if hidden is None else Shape(nodes, window, hidden)
        make = DrasNetwork.pg if head == "policy" else DrasNetwork.dql
        self.activation = activation
        generator = generator or torch.Generator().manual_seed(0)
        self.networks = TwoLevels(lambda: make(self.shape, activation, generator), shared)
        self._make_twins()

    def _make_twins(self) -> None:
        self._twins = {level: DrasTwin(self._at(level)) for level in LEVELS}

    def __getstate__(self) -> dict[str, Any]:
        """A copy's twins must look at the copy's networks: `__setstate__` makes them anew."""
        return {name: value for name, value in vars(self).items() if name != "_twins"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_twins()

    def _at(self, level: str) -> DrasNetwork:
        network = self.networks.at(level)
        assert isinstance(network, DrasNetwork)
        return network

    def see(self, decision: Decision) -> Seen:
        """The rows that the network takes: whole (policy), or of jobs and of nodes (values)."""
        if self.head == "policy":
            return (self.encoder.pg(decision),)
        return self.encoder.job_rows(decision), self.encoder.node_rows(decision)

    def ask(self, level: str, seen: Seen, jobs: int) -> Floats:
        """A logit or a value for each candidate, shape ``[jobs]``."""
        if self.head == "policy":
            return self._twins[level](seen[0])[:jobs]
        return self._twins[level].values(*seen)

    def batch(self, level: str, seen: Sequence[Seen], mask: Tensor) -> Tensor:
        """The same for many decisions, ``[B, W]``."""
        if self.head == "policy":
            out: Tensor = self._at(level)(torch.from_numpy(np.stack([s[0] for s in seen])))
            return out
        jobs = np.zeros((len(seen), self.window, 2, 2), dtype=np.float32)
        for k, s in enumerate(seen):
            jobs[k, : len(s[0])] = s[0]
        nodes = torch.from_numpy(np.stack([s[1] for s in seen]))
        return self._at(level).values(torch.from_numpy(jobs), nodes)

    def chosen(
        self, level: str, seen: Sequence[Seen], mask: Tensor, chosen: Sequence[int]
    ) -> Tensor:
        """One candidate each, ``[B]``."""
        if self.head == "policy":
            return _column(self.batch(level, seen, mask), chosen)
        jobs = torch.from_numpy(np.stack([s[0][k] for s, k in zip(seen, chosen, strict=True)]))
        nodes = torch.from_numpy(np.stack([s[1] for s in seen]))
        out: Tensor = self._at(level)(torch.cat((jobs, nodes), dim=1)).squeeze(-1)
        return out

    def config(self) -> dict[str, Any]:
        """What makes this brain, but for its weights."""
        return {
            "kind": self.kind,
            "nodes": self.nodes,
            "window": self.window,
            "head": self.head,
            "shared": self.networks.shared,
            "hidden": list(self.shape.hidden),
            "scaling": self.encoder.scaling,
            "activation": self.activation,
        }


class ScorerBrain:
    """A small network that scores each job of the window alike, one a level (ours).

    Parameters
    ----------
    nodes, window : int
        N and W.
    prior : sequence of float, optional
        Weights of a linear rule to begin with, one a feature of `Features.job_names`.
    crowd, hidden, activation
        As in `JobScorer`.
    shared, generator
        As for `DrasBrain`. The same network does for a policy and for values.
    """

    kind = "scorer"

    def __init__(
        self,
        nodes: int,
        window: int = 50,
        *,
        shared: bool = False,
        hidden: tuple[int, int] = (32, 16),
        crowd: bool = False,
        prior: Sequence[float] | None = None,
        activation: str = "leaky",
        generator: torch.Generator | None = None,
    ) -> None:
        self.nodes, self.window = nodes, window
        self.features = Features(nodes, window)
        self.hidden, self.crowd, self.activation = hidden, crowd, activation
        self.has_prior = prior is not None
        generator = generator or torch.Generator().manual_seed(0)
        sizes = len(Features.job_names), len(Features.machine_names)

        def make() -> JobScorer:
            return JobScorer(
                *sizes,
                hidden,
                crowd=crowd,
                prior=prior,
                activation=activation,
                generator=generator,
            )

        self.networks = TwoLevels(make, shared)
        self._make_twins()

    def _make_twins(self) -> None:
        self._twins = {level: ScorerTwin(self._at(level)) for level in LEVELS}

    def __getstate__(self) -> dict[str, Any]:
        """A copy's twins must look at the copy's networks: `__setstate__` makes them anew."""
        return {name: value for name, value in vars(self).items() if name != "_twins"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_twins()

    def _at(self, level: str) -> JobScorer:
        network = self.networks.at(level)
        assert isinstance(network, JobScorer)
        return network

    def see(self, decision: Decision) -> Seen:
        """Features of jobs, ``[W, F]``, and of the machine, ``[G]``."""
        return self.features(decision)

    def ask(self, level: str, seen: Seen, jobs: int) -> Floats:
        """A logit or a value for each candidate, shape ``[jobs]``."""
        return self._twins[level](seen[0][:jobs], seen[1])

    def batch(self, level: str, seen: Sequence[Seen], mask: Tensor) -> Tensor:
        """The same for many decisions, ``[B, W]``."""
        jobs = torch.from_numpy(np.stack([s[0] for s in seen]))
        machine = torch.from_numpy(np.stack([s[1] for s in seen]))
        out: Tensor = self._at(level)(jobs, machine, mask)
        return out

    def chosen(
        self, level: str, seen: Sequence[Seen], mask: Tensor, chosen: Sequence[int]
    ) -> Tensor:
        """One candidate each, ``[B]``."""
        return _column(self.batch(level, seen, mask), chosen)

    def config(self) -> dict[str, Any]:
        """What makes this brain, but for its weights (those of the prior among them)."""
        return {
            "kind": self.kind,
            "nodes": self.nodes,
            "window": self.window,
            "shared": self.networks.shared,
            "hidden": list(self.hidden),
            "crowd": self.crowd,
            "prior": [0.0] * len(Features.job_names) if self.has_prior else None,
            "activation": self.activation,
        }


def _column(values: Tensor, chosen: Sequence[int]) -> Tensor:
    return values.gather(1, torch.tensor(chosen)[:, None]).squeeze(1)


KINDS = {kind.kind: kind for kind in (DrasBrain, ScorerBrain)}


def make_brain(kind: str, nodes: int, window: int = 50, **options: Any) -> Brain:
    """A brain of that kind, ``"dras"`` or ``"scorer"``; options as in their classes.

    Raises
    ------
    DrasLabError
        If there is no such kind, or an option is none of its own.
    """
    if kind not in KINDS:
        raise DrasLabError(f"there is no network {kind!r}; the networks are {', '.join(KINDS)}")
    try:
        if (hidden := options.get("hidden")) is not None:
            if not isinstance(hidden, list | tuple) or len(hidden) != 2 or min(hidden) < 1:
                raise DrasLabError(f"hidden: give two widths of 1 or more, not {hidden!r}")
            options["hidden"] = tuple(hidden)
        brain: Brain = KINDS[kind](nodes, window, **options)
    except TypeError as error:
        raise DrasLabError(f"network {kind!r}: {error}") from error
    return brain
