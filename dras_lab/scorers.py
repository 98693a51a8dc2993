"""Networks that score each job of the window alike, and one that values the whole (ours).

They take `mdp.Features`. What they learn carries over from job to job of a window, which the
network of DRAS has to learn place by place.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .jobs import DrasLabError
from .networks import activation_of, initialise, linear


class JobScorer(nn.Module):
    """Scores each job of the window with the same weights, and a summary of the machine.

    Every job goes through the same small network, so the order of the window does not matter:
    jobs in another order get the same logits in that order. Rows of padding change nothing.
    ``logit = v . a(B a(A job + M machine + P crowd)) + prior . job``, with `a` the activation,
    and `crowd` the mean over the window's jobs of ``a(A job)``, if it is asked for.

    Parameters
    ----------
    job_features, machine_features : int
        F and G.
    hidden : (int, int)
        Widths of the hidden layers.
    crowd : bool
        Whether a job's score depends on the other jobs of the window too.
    prior : sequence of float, optional
        Weights, shape ``[F]``, of a linear rule to begin with: greatest first. It learns on
        together with the rest, which begins near zero. Without it there is no such term.
    activation, generator, device
        As for `DrasNetwork`.
    """

    def __init__(
        self,
        job_features: int,
        machine_features: int,
        hidden: tuple[int, int] = (32, 16),
        *,
        crowd: bool = False,
        prior: Sequence[float] | None = None,
        activation: str = "leaky",
        generator: torch.Generator | None = None,
        device: str | torch.device | None = None,
    ) -> None:
        super().__init__()
        self.job = linear(job_features, hidden[0], True, device)
        self.machine = linear(machine_features, hidden[0], False, device)
        self.crowd = linear(hidden[0], hidden[0], False, device) if crowd else None
        self.second = linear(hidden[0], hidden[1], True, device)
        # No bias: it would add the same to every logit, which changes no probability.
        self.output = linear(hidden[1], 1, False, device)
        self.activation = activation_of(activation)
        initialise(self, generator)
        self.prior: nn.Parameter | None = None
        if prior is not None:
            if len(prior) != job_features:
                raise DrasLabError(f"prior has {len(prior)} weights for {job_features} features")
            self.prior = nn.Parameter(torch.tensor(prior, dtype=torch.float32, device=device))

    def forward(self, jobs: Tensor, machine: Tensor, mask: Tensor) -> Tensor:
        """Logits of the window's jobs.

        Parameters
        ----------
        jobs : Tensor, shape ``[B, W, F]``
        machine : Tensor, shape ``[B, G]``
        mask : Tensor of bool, shape ``[B, W]``
            Which rows are jobs. It is not applied to the result: see `masked`.

        Returns
        -------
        Tensor, shape ``[B, W]``
        """
        x = self.job(jobs)
        about = self.machine(machine)
        if self.crowd is not None:
            about = about + self.crowd(_mean(self.activation(x), mask))
        x = self.activation(x + about.unsqueeze(-2))
        logits: Tensor = self.output(self.activation(self.second(x))).squeeze(-1)
        if self.prior is not None:
            logits = logits + torch.matmul(jobs, self.prior)
        return logits


class QueueValue(nn.Module):
    """The value of a whole decision, from the same inputs: a learned baseline.

    Each job goes through the same layer; their mean, and the machine, go through another.
    Order and padding change nothing.

    Parameters
    ----------
    job_features, machine_features, hidden, activation, generator, device
        As for `JobScorer`.
    """

    def __init__(
        self,
        job_features: int,
        machine_features: int,
        hidden: tuple[int, int] = (32, 16),
        *,
        activation: str = "leaky",
        generator: torch.Generator | None = None,
        device: str | torch.device | None = None,
    ) -> None:
        super().__init__()
        self.job = linear(job_features, hidden[0], True, device)
        self.second = linear(hidden[0] + machine_features, hidden[1], True, device)
        self.output = linear(hidden[1], 1, True, device)
        self.activation = activation_of(activation)
        initialise(self, generator)

    def forward(self, jobs: Tensor, machine: Tensor, mask: Tensor) -> Tensor:
        """Values ``[B]``, from what `JobScorer` takes."""
        crowd = _mean(self.activation(self.job(jobs)), mask)
        x = self.activation(self.second(torch.cat((crowd, machine), dim=-1)))
        value: Tensor = self.output(x).squeeze(-1)
        return value


def _mean(x: Tensor, mask: Tensor) -> Tensor:
    """The mean of ``[B, W, H]`` over the rows that `mask` has; 0 where it has none."""
    kept = mask.unsqueeze(-1).to(x.dtype)
    return (x * kept).sum(-2) / kept.sum(-2).clamp(min=1)
