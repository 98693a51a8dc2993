"""How an agent learns: the published settings and ours, as numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..jobs import DrasLabError


@dataclass(frozen=True)
class Update:
    """The numbers of an update.

    Attributes
    ----------
    learning_rate : float
        Of Adam.
    anneal : bool
        Whether training lowers it in a straight line to a twentieth at its last episode.
    gamma : float
        Discount from one decision to the next, where the clock runs in decisions.
    horizon : float or None
        Hours after which a reward counts 1/e; the clock then runs in hours. None for decisions.
    runs : int
        Runs of the same jobs that are learnt from together, each the others' baseline. 1: learn
        while the run goes on, from stretches of it.
    every : int
        Scheduling instances (moments at which something is decided) a stretch, if `runs` is 1.
    epochs, batch : int
        How often each decision is learnt from, and how many decisions a step takes.
    clip : float
        How far a step may move a probability, as a share, if there are several steps.
    entropy : float
        How much the policy is paid for staying undecided.
    max_norm : float
        Longer gradients are cut to this length.
    epsilon, decay, floor : float
        DRAS-DQL's share of random choices: the first, its factor a decision, the least.
    target : str
        DRAS-DQL's: ``"return"`` or ``"bootstrap"`` (the reward and the best value that follows).
    """

    learning_rate: float = 1e-3
    anneal: bool = True
    gamma: float = 0.99
    horizon: float | None = None
    runs: int = 1
    every: int = 10
    epochs: int = 1
    batch: int = 512
    clip: float = 0.2
    entropy: float = 0.0
    max_norm: float = 1.0
    epsilon: float = 1.0
    decay: float = 0.995
    floor: float = 0.01
    target: str = "return"

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        fine = {
            "learning_rate": 0 < self.learning_rate < float("inf"),
            "gamma": 0 <= self.gamma <= 1,
            "horizon": self.horizon is None or 0 < self.horizon < float("inf"),
            "runs": self.runs >= 1,
            "every": self.every >= 1,
            "epochs": self.epochs >= 1,
            "batch": self.batch >= 1,
            "clip": self.clip > 0,
            "entropy": self.entropy >= 0,
            "max_norm": self.max_norm > 0,
            "epsilon": 0 <= self.epsilon <= 1,
            "decay": 0 < self.decay <= 1,
            "floor": 0 <= self.floor <= 1,
            "target": self.target in ("return", "bootstrap"),
        }
        for name, good in fine.items():
            if not good:
                raise DrasLabError(f"update: {name} cannot be {getattr(self, name)!r}")

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return asdict(self)


# Our reading of the paper, and what the authors' public code has; see docs/departures.md.
PUBLISHED = Update(anneal=False, gamma=0.95, every=10, max_norm=1e9)
# Ours. Four runs of the same jobs, each the others' baseline, take the noise of the arrivals
# out of what a choice was worth; a clock in hours, since instants without end pass between some
# decisions and days between others; three passes over the same runs, each step held back.
OURS = Update(
    learning_rate=3e-3, gamma=0.97, horizon=48.0, runs=4, epochs=3, decay=0.9998, floor=0.1
)
UPDATES = {"published": PUBLISHED, "ours": OURS}


def make_update(name: str | Update, **changes: Any) -> Update:
    """The settings of that name, with some of them changed.

    Raises
    ------
    DrasLabError
        If there are none of that name, or a change is none of theirs.
    """
    if isinstance(name, str) and name not in UPDATES:
        raise DrasLabError(f"there is no update {name!r}; the updates are {', '.join(UPDATES)}")
    settings = (UPDATES[name] if isinstance(name, str) else name).to_dict()
    unknown = set(changes) - set(settings)
    if unknown:
        raise DrasLabError(f"update: there is no setting {sorted(unknown)[0]!r}")
    return Update(**(settings | changes))
