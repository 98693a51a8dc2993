"""dras_lab: a batch-queue simulator, the DRAS agent, and the lessons that go with them.

Names are loaded when they are first used, so that the first lessons need neither torch nor
widgets, and starting up is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "DrasLabError": "jobs",
    "How": "jobs",
    "Job": "jobs",
    "Level": "jobs",
    "Placement": "jobs",
    "Reservation": "jobs",
    "WaitingJob": "jobs",
    "Trace": "traces",
    "read_swf": "traces",
    "lublin": "workloads",
    "like": "workloads",
    "Decision": "decisions",
    "Choice": "log",
    "DecisionLog": "log",
    "Result": "results",
    "Simulation": "simulator",
    "simulate": "simulator",
    "make_policy": "policies",
    "fcfs": "policies",
    "Encoder": "mdp",
    "Features": "mdp",
    "make_reward": "rewards",
    "linear": "policies",
    "Replay": "replay",
    "what_if": "whatif",
    "PolicyPlayground": "widgets",
    "QueueGame": "widgets",
    "ScheduleExplorer": "widgets",
    "TrainingMonitor": "widgets",
    "WhatIf": "widgets",
    "compare": "metrics",
    "summary": "metrics",
}
__all__ = ["__version__", *sorted(_HOME)]

if TYPE_CHECKING:
    from .decisions import Decision as Decision
    from .jobs import DrasLabError as DrasLabError
    from .jobs import How as How
    from .jobs import Job as Job
    from .jobs import Level as Level
    from .jobs import Placement as Placement
    from .jobs import Reservation as Reservation
    from .jobs import WaitingJob as WaitingJob
    from .log import Choice as Choice
    from .log import DecisionLog as DecisionLog
    from .mdp import Encoder as Encoder
    from .mdp import Features as Features
    from .metrics import compare as compare
    from .metrics import summary as summary
    from .policies import fcfs as fcfs
    from .policies import linear as linear
    from .policies import make_policy as make_policy
    from .replay import Replay as Replay
    from .results import Result as Result
    from .rewards import make_reward as make_reward
    from .simulator import Simulation as Simulation
    from .simulator import simulate as simulate
    from .traces import Trace as Trace
    from .traces import read_swf as read_swf
    from .whatif import what_if as what_if
    from .widgets import PolicyPlayground as PolicyPlayground
    from .widgets import QueueGame as QueueGame
    from .widgets import ScheduleExplorer as ScheduleExplorer
    from .widgets import TrainingMonitor as TrainingMonitor
    from .widgets import WhatIf as WhatIf
    from .workloads import like as like
    from .workloads import lublin as lublin


def __getattr__(name: str) -> Any:
    """Load a public name from the room it lives in (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module 'dras_lab' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
