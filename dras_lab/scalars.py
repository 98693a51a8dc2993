"""Training figures for TensorBoard, as a callback of `training.train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .jobs import DrasLabError

# Where each figure of an episode is shown; the log in CSV has them all.
_GROUPS = {
    "validation": ("mean_wait_h", "max_wait_h", "mean_wait_ratio", "max_wait_ratio", "score"),
    "learning": ("reward", "loss", "entropy", "epsilon", "learning_rate"),
}


class TensorBoard:
    """Writes the figures of each episode where TensorBoard reads them.

    ``train(..., callback=TensorBoard("runs/first"))``, then ``tensorboard --logdir runs``. The
    CSV log is written all the same.

    Parameters
    ----------
    folder : path
        Made with the first episode. Going on with a training after a break goes on here too.

    Raises
    ------
    DrasLabError
        If the package tensorboard is not installed; later, if the folder cannot be made.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise DrasLabError(
                "TensorBoard needs the package tensorboard; pip install 'dras-lab[tensorboard]', "
                "or do without: the figures are in log.csv"
            ) from error
        self.folder = Path(folder)
        self._open = SummaryWriter
        self._writer: Any = None

    def __call__(self, row: dict[str, Any]) -> None:
        """Write the figures of an episode; those it has not are left out."""
        episode = int(row["episode"])
        if self._writer is None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise DrasLabError(f"{self.folder}: cannot be made ({error.strerror})") from error
            # What an attempt that was broken off wrote of this episode and later ones is void.
            self._writer = self._open(str(self.folder), purge_step=episode)
        for group, names in _GROUPS.items():
            for name in names:
                value = float(row.get(name, float("nan")))
                if value == value:
                    self._writer.add_scalar(f"{group}/{name}", value, episode)
        self._writer.flush()

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close()
