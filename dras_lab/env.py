"""The simulator as a gymnasium environment, so that any algorithm can be tried on it.

    import gymnasium
    import dras_lab.env  # registers it

    env = gymnasium.make("dras_lab/Scheduling-v0", trace="lublin-256", window=50)

or, in one line, ``gymnasium.make("dras_lab.env:dras_lab/Scheduling-v0", ...)``. It only
translates: `Simulation` settles what is legal, and a policy makes the same schedule through
both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from os import PathLike
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from . import scenes
from .decisions import Decision
from .jobs import DrasLabError, Level
from .observations import Observation, make_observation
from .results import Result
from .rewards import Reward, earned, make_reward
from .scaling import Floats
from .simulator import Simulation
from .traces import Trace, read_swf

ID = "dras_lab/Scheduling-v0"
Sampler = Callable[[np.random.Generator], Trace]
Mask = npt.NDArray[np.int8]
Step = tuple[Floats, float, bool, bool, dict[str, Any]]


class Choices(Discrete):
    """The actions; `sample` draws from those that are legal now, unless it is given a mask.

    Between `seed` and the next step or reset that is action 0 alone, which is always legal.
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.legal = 1  # actions 0 to legal - 1, and the last one if `passing`
        self.passing = False

    def seed(self, seed: int | None = None) -> int | list[int]:
        """Seed what `sample` draws with."""
        self.legal, self.passing = 1, False
        seeds: int | list[int] = super().seed(seed)
        return seeds

    def sample(self, *given: Any, **named: Any) -> Any:
        """One action, drawn uniformly; with a mask or probabilities as `Discrete` has it."""
        if any(value is not None for value in (*given, *named.values())):
            return super().sample(*given, **named)
        k = int(self.np_random.integers(self.legal + self.passing))
        return np.int64(k if k < self.legal else self.n - 1)


class SchedulingEnv(gymnasium.Env[Floats, np.int64]):
    """An episode is a trace, a step is a decision.

    Actions 0 to W - 1 pick a candidate, in queue order; action W passes, which lets time run to
    the next submission or completion. `info` has `action_mask`, int8 of shape ``[W + 1]``, and
    `level`, 1 (select) or 2 (backfill). A pass is offered while a job runs, so that something
    is sure to happen; on an empty machine a job must be picked, although the engine would take
    a pass there too if it knew of submissions to come.

    After the last decision `terminated` is true and the observation is all zeros; the mask
    then has the pass alone. `result` then gives the schedule. Level 2 in the hands of EASY
    earns no reward.

    Parameters
    ----------
    trace : Trace, str, path or callable
        The jobs; a log as `read_swf` takes it; or a sampler, which is given the environment's
        `np_random` at each reset and returns the Trace of that episode.
    nodes : int, optional
        Size of the machine; the trace's own by default. Must be given with a sampler.
    window : int
        W, how many jobs a decision offers at most.
    reward : str or callable
        As `rewards.make_reward` takes it.
    backfill_by : {"agent", "easy"}
        Who fills the holes: the agent, or first come, first served within the environment.
    observation : {"compact", "rows", "rlscheduler", "schedgym"} or an Observation
        As in `observations`.
    passing : bool
        False takes the pass off the mask for good: DRAS never passes.
    horizon : int, optional
        An episode is truncated after so many steps.
    overrun : {"kill", "keep"}
        As `Simulation` has it.
    render_mode : {"ansi", "rgb_array"}, optional
        What `render` returns.

    Raises
    ------
    DrasLabError
        For an argument that is not one of the above.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        trace: Trace | str | PathLike[str] | Sampler,
        nodes: int | None = None,
        window: int = 50,
        reward: str | Reward = "capability",
        backfill_by: str = "agent",
        observation: str | Observation = "compact",
        passing: bool = True,
        horizon: int | None = None,
        overrun: str = "kill",
        render_mode: str | None = None,
    ) -> None:
        if isinstance(trace, str | PathLike):
            trace = read_swf(trace)
        if not (isinstance(trace, Trace) or callable(trace)):
            raise DrasLabError(
                f"trace: {trace!r:.60} is not a Trace, a log's name or path, or a sampler"
            )
        if nodes is None:
            if not isinstance(trace, Trace):
                raise DrasLabError("say how large the machine is (nodes=...): a sampler cannot")
            nodes = trace.nodes
        for name, value in (("nodes", nodes), ("window", window), ("horizon", horizon)):
            if (value is not None or name != "horizon") and not _is_count(value):
                raise DrasLabError(f"{name}: {value!r} is not a whole number of 1 or more")
        if backfill_by not in ("agent", "easy"):
            raise DrasLabError(f"backfill_by: {backfill_by!r} is not one of agent, easy")
        if render_mode not in (None, "ansi", "rgb_array"):
            raise DrasLabError(f"render_mode: {render_mode!r} is not one of ansi, rgb_array")
        self.trace, self.nodes, self.window, self.horizon = trace, nodes, window, horizon
        self.reward = make_reward(reward)
        self.easy, self.passing, self.overrun = backfill_by == "easy", passing, overrun
        self.render_mode = render_mode
        self._see = make_observation(observation, nodes, window)
        high = self._see.high
        self.observation_space = Box(np.zeros_like(high), high, dtype=np.float32)
        self.action_space = self._choices = Choices(window + 1)
        self._simulation: Simulation | None = None
        self.decision: Decision | None = None  # the open one
        self._masks = np.tri(window + 1, k=-1, dtype=np.int8)  # row k begins with k ones
        self._legal, self._pass = 0, True  # actions 0 to legal - 1, and the last one if pass
        self._steps, self._over = 0, True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode; ``options={"trace": Trace}`` brings the jobs of this one.

        Raises
        ------
        DrasLabError
            For an option that there is not, or a trace in which nothing is to be decided.
        """
        super().reset(seed=seed)
        options = dict(options or {})
        trace = options.pop("trace", self.trace)
        if options:
            raise DrasLabError(
                f"reset has no option {next(iter(options))!r}; the only one is trace"
            )
        if not isinstance(trace, Trace):
            trace = trace(self.np_random) if callable(trace) else trace
            if not isinstance(trace, Trace):
                raise DrasLabError(f"an episode needs a Trace, and was given {trace!r:.60}")
        self._simulation = Simulation(
            trace, self.nodes, window=self.window, overrun=self.overrun, log=False
        )
        self._steps = 0
        self._advance()
        self._over = self.decision is None
        if self._over:
            raise DrasLabError(
                f"{trace.name}: none of the {len(trace)} jobs fits a machine of {self.nodes} "
                "nodes, so there is nothing to decide"
            )
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> Step:
        """Make a decision, and go on to the next.

        Raises
        ------
        DrasLabError
            If the action is not one that the mask allows, or the episode has ended. Nothing has
            happened then, and another action can be tried.
        """
        if self._over or self.decision is None or self._simulation is None:
            raise DrasLabError("there is no decision to make: the episode has ended; call reset")
        choice = self._chosen(action)
        reward = earned(self.reward, self.decision, choice)
        self._simulation.apply(choice)
        self._advance()
        self._steps += 1
        terminated = self.decision is None
        truncated = not terminated and self._steps == self.horizon
        self._over = terminated or truncated
        return self._observation(), reward, terminated, truncated, self._info()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The mask as bool, under the name that sb3-contrib asks for."""
        return self._mask().astype(np.bool_)

    def result(self, policy: str = "policy") -> Result:
        """The schedule of an episode that has terminated, for `compare` and the figures.

        Raises
        ------
        RuntimeError
            If there are decisions left to make.
        """
        if self._simulation is None:
            raise RuntimeError("there is no schedule yet; call reset and make the decisions")
        return self._simulation.result(policy)

    def render(self) -> Any:
        """The open decision as text, or as a picture of shape ``[240, 480, 3]``."""
        if self.render_mode == "rgb_array":
            return scenes.picture(self.decision)
        if self.render_mode == "ansi":
            return "no decision is open" if self.decision is None else scenes.text(self.decision)
        return None

    # -- underneath -----------------------------------------------------------------------

    def _advance(self) -> None:
        """Go to the next decision that is the agent's."""
        assert self._simulation is not None
        decision = self._simulation.next_decision()
        while self.easy and decision is not None and decision.level is Level.BACKFILL:
            self._simulation.apply(0)
            decision = self._simulation.next_decision()
        self.decision = decision
        if decision is None:
            self._legal, self._pass = 0, True
        else:
            self._legal = len(decision.rows)
            self._pass = self.passing and decision.free < self.nodes
        self._choices.legal, self._choices.passing = self._legal, self._pass

    def _observation(self) -> Floats:
        if self.decision is None:
            return np.zeros_like(self._see.high)
        return self._see(self.decision)

    def _mask(self) -> Mask:
        mask: Mask = self._masks[self._legal].copy()
        mask[-1] = self._pass
        return mask

    def _info(self) -> dict[str, Any]:
        backfill = self.decision is not None and self.decision.level is Level.BACKFILL
        return {"action_mask": self._mask(), "level": 2 if backfill else 1}

    def _chosen(self, action: np.int64 | int) -> int | None:
        """The index that an action stands for, or None for a pass."""
        try:
            k = operator.index(action)
        except TypeError:
            k = -1
        if 0 <= k < self._legal:
            return k
        if k == self.window:
            if self._pass:
                return None
            why = (
                "no job runs, so nothing is sure to happen that could be waited for"
                if self.passing
                else "this environment was made with passing=False"
            )
            raise DrasLabError(f"action {k} passes, and {why}; pick a job: 0 to {self._legal - 1}")
        if 0 <= k < self.window:
            raise DrasLabError(
                f"action {k} picks job {k + 1} of the window, and {self._legal} are on offer; "
                'info["action_mask"] says what may be picked'
            )
        raise DrasLabError(
            f"{action!r} is no action: 0 to {self.window - 1} pick a job, {self.window} passes"
        )


class Observe(gymnasium.ObservationWrapper[Floats, np.int64, Floats]):
    """The same environment seen in another way, for comparing what different views show.

    Parameters
    ----------
    env : gymnasium.Env
        A `SchedulingEnv`, wrapped or not.
    observation : str or Observation
        As `SchedulingEnv` takes it.
    """

    def __init__(self, env: gymnasium.Env[Floats, np.int64], observation: str | Observation):
        super().__init__(env)
        inner = env.unwrapped
        if not isinstance(inner, SchedulingEnv):
            raise DrasLabError(f"Observe wraps {ID}, not {type(inner).__name__}")
        self._inner = inner
        self._see = make_observation(observation, inner.nodes, inner.window)
        high = self._see.high
        self.observation_space = Box(np.zeros_like(high), high, dtype=np.float32)

    def observation(self, observation: Floats) -> Floats:
        """The view of the decision that is open now; zeros after the last."""
        if self._inner.decision is None:
            return np.zeros_like(self._see.high)
        return self._see(self._inner.decision)


def _is_count(value: Any) -> bool:
    try:
        return operator.index(value) >= 1
    except TypeError:
        return False


if ID not in gymnasium.registry:
    # `step` itself says what is wrong with the order of calls: no wrapper need do it again.
    gymnasium.register(ID, entry_point="dras_lab.env:SchedulingEnv", order_enforce=False)
