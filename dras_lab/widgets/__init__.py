"""Widgets for a notebook: step through a run, change one choice, play, tune, watch training.

They need ipywidgets and nothing else of a notebook; where it is not installed each is a still
picture with a line that says so. What they show is worked out in `replay`, `whatif` and `game`.
"""

from __future__ import annotations

from .explorer import ScheduleExplorer
from .monitor import TrainingMonitor
from .playground import PolicyPlayground
from .queue_game import QueueGame
from .what_if import WhatIf

__all__ = ["PolicyPlayground", "QueueGame", "ScheduleExplorer", "TrainingMonitor", "WhatIf"]
