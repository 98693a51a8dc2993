"""Staged training: episodes of sampled, real and synthetic job sets, each followed by validation.

An episode is one job set. After each the agent runs the validation jobs, which it has never
seen, without learning; the best of all episodes by `metrics.balance` is what training returns.
The trainer knows nothing of networks: it runs an agent, and keeps what it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from .agents import Agent
from .jobs import DrasLabError
from .metrics import balance, wait_ratios
from .policies import fcfs
from .runs import RunFolder
from .simulator import simulate
from .traces import Trace
from .workloads import like, sample_jobs

Phase = Literal["sampled", "real", "synthetic"]
PHASES: tuple[Phase, ...] = ("sampled", "real", "synthetic")
Row = dict[str, Any]
Callback = Callable[[Row], object]


@dataclass(frozen=True)
class Plan:
    """What an agent is trained on, and when training ends.

    Attributes
    ----------
    phases : sequence of (str, int)
        Kinds of job sets, ``"sampled"``, ``"real"`` or ``"synthetic"``, in the order they come
        (in our reading of the paper, this one), and how many episodes of each.
    jobs : int
        Jobs of a job set.
    load : float
        Offered load of sampled and synthetic job sets.
    seed : int
        Of the job sets.
    limit : float
        The maximum wait, as a ratio to FCFS with EASY, beyond which it counts: see `balance`.
    patience : int or None
        Training has converged when so many episodes brought nothing better; None for no such end.
    """

    phases: Sequence[tuple[str, int]] = (("sampled", 10), ("real", 20), ("synthetic", 10))
    jobs: int = 1500
    load: float = 0.9
    seed: int = 0
    limit: float = 1.1
    patience: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for name, count in self.phases:
            if name not in PHASES:
                raise DrasLabError(
                    f"there is no phase {name!r}; the phases are {', '.join(PHASES)}"
                )
            if count < 0:
                raise DrasLabError(f"phase {name}: {count} episodes cannot be")
        if not self.episodes:
            raise DrasLabError("a plan needs at least one episode")
        if self.jobs < 2:
            raise DrasLabError(f"a job set of {self.jobs} jobs has nothing to choose; take more")
        if not self.load > 0 or (self.patience is not None and self.patience < 1):
            raise DrasLabError("a plan's load and patience must be above 0")

    @property
    def episodes(self) -> int:
        """How many there are in all."""
        return sum(count for _, count in self.phases)

    def phase(self, episode: int) -> Phase:
        """Which phase an episode, counted from 1, belongs to."""
        for name, count in self.phases:
            if episode <= count:
                return cast(Phase, name)
            episode -= count
        raise DrasLabError("there are no so many episodes")

    def job_set(self, trace: Trace, episode: int) -> Trace:
        """The jobs of an episode: the same for the same seed, whatever came before.

        Sampled: jobs drawn from the log, Poisson arrivals. Real: consecutive jobs of the log,
        from a place drawn at random. Synthetic: jobs like those of the log.
        """
        phase = self.phase(episode)
        rng = np.random.default_rng([self.seed, episode])
        if phase == "real":
            start = int(rng.integers(len(trace) - self.jobs + 1))
            return trace[start : start + self.jobs]
        seed = int(rng.integers(1 << 31))
        if phase == "sampled":
            return sample_jobs(trace, self.jobs, seed=seed, load=self.load)
        return like(trace, self.jobs, seed=seed, load=self.load)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"phases": [list(phase) for phase in self.phases]}


def shared_out(episodes: int, shares: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """So many episodes by the shares of their kinds, at least one of each if there are enough.

    What does not go up becomes real ones.
    """
    least, whole = int(episodes >= len(shares)), sum(shares.values())
    counts = {name: max(episodes * share // whole, least) for name, share in shares.items()}
    counts["real" if "real" in counts else list(counts)[-1]] += episodes - sum(counts.values())
    return tuple(counts.items())


def even_plan(episodes: int, **settings: Any) -> Plan:
    """A plan of so many episodes: a quarter sampled, half real, a quarter synthetic."""
    return Plan(phases=shared_out(episodes, {"sampled": 1, "real": 2, "synthetic": 1}), **settings)


def as_list(traces: Trace | Sequence[Trace]) -> list[Trace]:
    """One trace or several as a list."""
    return [traces] if isinstance(traces, Trace) else list(traces)


class Validation:
    """How good a policy is on jobs that it does not learn from.

    Parameters
    ----------
    trace : Trace or sequence of Trace
        Of several, the mean of the mean waits and the worst of the maxima count.
    window : int
    limit : float
        As in `Plan`.
    **options
        Of `simulate`.

    Raises
    ------
    DrasLabError
        If no job waits under first come, first served.
    """

    def __init__(
        self,
        trace: Trace | Sequence[Trace],
        window: int,
        limit: float = 1.1,
        **options: Any,
    ) -> None:
        self.traces, self.limit = as_list(trace), limit
        self.options = {"window": window, "log": False} | options
        self.baselines = [simulate(trace, fcfs, **self.options) for trace in self.traces]
        for baseline in self.baselines:
            wait_ratios(baseline, baseline)

    def __call__(self, policy: Agent) -> Row:
        """Waits in hours, as ratios to FCFS with EASY, and their balance."""
        results = [simulate(trace, policy, **self.options) for trace in self.traces]
        ratios = list(map(wait_ratios, results, self.baselines))
        waits = [result.wait[result.ran] / 3600 for result in results]
        mean = float(np.mean([ratio[0] for ratio in ratios]))
        longest = max(ratio[1] for ratio in ratios)
        return {
            "mean_wait_h": float(np.mean([wait.mean() for wait in waits])),
            "max_wait_h": float(max(wait.max() for wait in waits)),
            "mean_wait_ratio": mean,
            "max_wait_ratio": longest,
            "score": balance(mean, longest, self.limit),
        }


@dataclass
class Training:
    """What came of a training.

    Attributes
    ----------
    log : DataFrame
        A row an episode.
    best : dict
        The row of the best episode, whose weights the agent has now.
    why : str
        ``"finished"``, ``"converged"`` or ``"interrupted"``.
    """

    log: pd.DataFrame
    best: Row
    why: str


def train(
    agent: Agent,
    trace: Trace,
    validation: Trace | Sequence[Trace],
    plan: Plan | None = None,
    *,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    progress: bool = False,
    callback: Callback | None = None,
    about: dict[str, Any] | None = None,
    **options: Any,
) -> Training:
    """Train an agent; at the end it has the weights of its best episode.

    Parameters
    ----------
    agent : Agent
        New, or one that is to learn on.
    trace : Trace
        What job sets are made from.
    validation : Trace or sequence of Trace
        Jobs to validate on, see `Validation`.
    plan : Plan, optional
    out : path, optional
        A folder for the log of episodes, a checkpoint an episode, the best one, and what
        `resume` goes on from. Without it nothing is written.
    resume : bool
        Go on with the training in `out`, to the same result as if it had never stopped.
    force : bool
        Start anew in a folder that holds a training.
    progress : bool
        A bar with the validation figures, on standard error.
    callback : callable, optional
        Called with the row of each episode.
    about : dict, optional
        Plain values to keep in the checkpoints.
    **options
        Of `simulate`: `backfill`, `overrun`, `reservation`.

    Raises
    ------
    DrasLabError
        If the trace is shorter than a job set, `out` holds a training, nobody waits in the
        validation jobs, the reward or the loss is no finite number, or the disk is full. What
        was saved before stays, and the agent has the weights of its best episode so far.
    KeyboardInterrupt
        If it is broken off before the first episode has ended; the agent is as it was.
    """
    from tqdm import tqdm

    plan = Plan() if plan is None else plan
    if resume and out is None:
        raise DrasLabError("resume: name the folder of the training to go on with (out)")
    if len(trace) < plan.jobs:
        raise DrasLabError(
            f"{trace.name}: has {len(trace)} jobs, fewer than a job set of {plan.jobs}; "
            "take smaller job sets"
        )
    for part in (trace, *as_list(validation)):
        if part.nodes != agent.brain.nodes:
            raise DrasLabError(
                f"{part.name}: is of {part.nodes} nodes, and the agent of {agent.brain.nodes}; "
                "make one for it, or coarsen the log"
            )
    window = agent.brain.window
    judge = Validation(validation, window, plan.limit, nodes=agent.brain.nodes, **options)
    facts = {
        "trace": trace.name,
        "trace_digest": trace.digest(),
        "validation": [part.name for part in as_list(validation)],
        "validation_digest": [part.digest() for part in as_list(validation)],
        "plan": plan.to_dict(),
        "options": options,
    } | (about or {})
    folder = None if out is None else RunFolder(Path(out), agent, facts, resume, force)
    rows: list[Row] = [] if folder is None else folder.rows
    best = min(rows, key=lambda row: float(row["score"]), default=None)
    kept = agent.brain.networks.state_dict() if folder is None else folder.best
    kept = {name: tensor.clone() for name, tensor in kept.items()}
    why = "finished"
    bar = tqdm(
        total=plan.episodes,
        initial=len(rows),
        desc=agent.name,
        unit="episode",
        disable=not progress,
    )
    try:
        for episode in range(len(rows) + 1, plan.episodes + 1):
            if best is not None and episode - best["episode"] > (plan.patience or plan.episodes):
                why = "converged"
                break
            begin = time.perf_counter()
            row = _episode(agent, plan, trace, episode, window, options) | judge(agent)
            row["seconds"] = round(time.perf_counter() - begin, 2)
            rows.append(row)
            better = best is None or row["score"] < best["score"]
            if best is None or better:
                best = row
                weights = agent.brain.networks.state_dict()
                kept = {name: tensor.clone() for name, tensor in weights.items()}
            if folder is not None:
                folder.keep(agent, rows, better)
            if callback is not None:
                callback(row)
            bar.set_postfix_str(
                f"mean {row['mean_wait_ratio']:.2f} max {row['max_wait_ratio']:.2f} of FCFS; "
                f"best {best['mean_wait_ratio']:.2f} {best['max_wait_ratio']:.2f}"
            )
            bar.update()
    except KeyboardInterrupt:
        # What the broken-off episode has learnt goes with it: the last finished one stands.
        why = "interrupted"
    finally:
        bar.close()
        agent.learning = False
        agent.forget()
        agent.brain.networks.load_state_dict(kept)
    if best is None:
        raise KeyboardInterrupt
    return Training(pd.DataFrame(rows), best, why)


def _episode(
    agent: Agent,
    plan: Plan,
    trace: Trace,
    episode: int,
    window: int,
    options: dict[str, Any],
) -> Row:
    """Let the agent learn from one job set."""
    jobs = plan.job_set(trace, episode)
    agent.anneal((episode - 1) / plan.episodes)
    agent.learning = True
    try:
        for _ in range(agent.update.runs):
            simulate(jobs, agent, nodes=agent.brain.nodes, window=window, log=False, **options)
            agent.end_run()
    finally:
        agent.learning = False
    figures = agent.figures()
    return {
        "episode": episode,
        "phase": plan.phase(episode),
        "jobs": len(jobs),
        "decisions": figures.get("decisions", math.nan),
        "reward": figures.get("reward", math.nan),
        "loss": figures.get("loss", math.nan),
        "entropy": figures.get("entropy", math.nan),
        "epsilon": figures.get("epsilon", math.nan),
        "learning_rate": agent.optimiser.param_groups[0]["lr"],
    }
