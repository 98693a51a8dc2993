"""The networks of DRAS: five layers, one network a level; how networks get their first weights.

What is marked *authors' code* was read in the public code of the authors of DRAS (Fan et al.,
arXiv 2102.06243), *our reading* is of the paper, *ours* is neither. Networks return logits (or
values) and not probabilities: `masked` and a softmax come after, where nothing can underflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from .jobs import DrasLabError

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"leaky": nn.LeakyReLU, "relu": nn.ReLU}
LEVELS = ("select", "backfill")  # the values of `jobs.Level`
NEVER = -1e9  # the logit of a choice that does not exist: its probability is exactly 0


@dataclass(frozen=True)
class Shape:
    """The sizes that make a DRAS network.

    Attributes
    ----------
    nodes, window : int
        N and W.
    hidden : tuple of int
        Widths of the two fully connected layers.
    """

    nodes: int
    window: int
    hidden: tuple[int, int]


THETA = Shape(4360, 50, (4000, 1000))  # authors' code
CORI = Shape(12_076, 50, (10_000, 4000))  # authors' code


def shape_for(nodes: int, window: int = 50) -> Shape:
    """The network for a machine: the published one for Theta and Cori, else one scaled down.

    Ours: the layers keep Theta's proportions to the number of nodes, 4000 and 1000 of 4360,
    rounded up to multiples of 8. That is 256 and 64 for 273 nodes.
    """
    for known in (THETA, CORI):
        if nodes == known.nodes:
            return Shape(nodes, window, known.hidden)
    first, second = (8 * math.ceil(nodes * width / (THETA.nodes * 8)) for width in (THETA.hidden))
    return Shape(nodes, window, (first, second))


# ---------------------------------------------------------------------------------------------
# DRAS's network


class RowFilter(nn.Module):
    """A 1 x 2 convolution with one filter: each row of two numbers becomes one number.

    ``y[b, r] = w[0] * x[b, r, 0] + w[1] * x[b, r, 1] + bias``, what ``Conv2d(1, 1, (1, 2))``
    computes (a test says so), spelt as the sum that it is. Three parameters. Nothing follows
    it but the first fully connected layer (authors' code): an activation here could silence
    the whole network, since all that it sees passes through this one filter.
    """

    def __init__(self, device: str | torch.device | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2, device=device))
        self.bias = nn.Parameter(torch.empty(1, device=device))

    def forward(self, rows: Tensor) -> Tensor:
        """``[..., R, 2]`` to ``[..., R]``."""
        return torch.matmul(rows, self.weight) + self.bias


class DrasNetwork(nn.Module):
    """Five layers: input, row filter, two fully connected without bias, output with bias.

    Widths and biases are those of the authors' code. The activation after each fully connected
    layer is a leaky rectifier in our reading of the paper, a rectifier in the authors' code.

    Parameters
    ----------
    rows : int
        Rows of an input, R: ``2 W + N`` for DRAS-PG, ``2 + N`` for DRAS-DQL.
    hidden : (int, int)
        Widths of the fully connected layers.
    outputs : int
        W logits for DRAS-PG, one value for DRAS-DQL.
    activation : {"leaky", "relu"}
    generator : torch.Generator, optional
        Where the first weights come from; from seed 0 if not given.
    device : str or torch.device, optional
        On ``"meta"`` nothing is stored: good for counting parameters.
    """

    def __init__(
        self,
        rows: int,
        hidden: tuple[int, int],
        outputs: int,
        activation: str = "leaky",
        generator: torch.Generator | None = None,
        device: str | torch.device | None = None,
    ) -> None:
        super().__init__()
        self.rows, self.outputs = rows, outputs
        self.filter = RowFilter(device)
        self.first = linear(rows, hidden[0], False, device)
        self.second = linear(hidden[0], hidden[1], False, device)
        self.output = linear(hidden[1], outputs, True, device)
        self.activation = activation_of(activation)
        initialise(self, generator)

    @classmethod
    def pg(
        cls,
        shape: Shape,
        activation: str = "leaky",
        generator: torch.Generator | None = None,
        device: str | torch.device | None = None,
    ) -> DrasNetwork:
        """DRAS-PG's: an input of ``[2 W + N, 2]``, W logits."""
        rows = 2 * shape.window + shape.nodes
        return cls(rows, shape.hidden, shape.window, activation, generator, device)

    @classmethod
    def dql(
        cls,
        shape: Shape,
        activation: str = "leaky",
        generator: torch.Generator | None = None,
        device: str | torch.device | None = None,
    ) -> DrasNetwork:
        """DRAS-DQL's: an input of ``[2 + N, 2]``, one value."""
        return cls(2 + shape.nodes, shape.hidden, 1, activation, generator, device)

    def forward(self, x: Tensor) -> Tensor:
        """``[B, R, 2]`` to logits ``[B, outputs]``."""
        return self._rest(self.first(self.filter(x)))

    def values(self, jobs: Tensor, nodes: Tensor) -> Tensor:
        """A value a job: `forward` of DRAS-DQL's inputs without repeating the nodes for each.

        The nodes' share of the first layer, nearly all of it, is worked out once for all the
        jobs of a decision.

        Parameters
        ----------
        jobs : Tensor, shape ``[..., C, 2, 2]``
            Two rows a job.
        nodes : Tensor, shape ``[..., N, 2]``
            One row a node, the same for all C.

        Returns
        -------
        Tensor, shape ``[..., C]``
        """
        weight = self.first.weight
        of_jobs = functional.linear(self.filter(jobs), weight[:, :2])
        of_nodes = functional.linear(self.filter(nodes), weight[:, 2:])
        return self._rest(of_jobs + of_nodes.unsqueeze(-2)).squeeze(-1)

    def _rest(self, x: Tensor) -> Tensor:
        x = self.activation(self.second(self.activation(x)))
        out: Tensor = self.output(x)
        return out


class TwoLevels(nn.Module):
    """A network for each of DRAS's two levels, or one for both.

    Parameters
    ----------
    make : callable
        Makes one network. Called once a network, so that a generator it uses gives each its
        own weights.
    shared : bool
        One network for both levels (authors' code); two of the same shape by default.
    """

    def __init__(self, make: Callable[[], nn.Module], shared: bool = False) -> None:
        super().__init__()
        self.networks = nn.ModuleList([make() for _ in LEVELS[: 1 if shared else 2]])
        self._index: Mapping[str, int] = {
            level: 0 if shared else k for k, level in enumerate(LEVELS)
        }

    @property
    def shared(self) -> bool:
        """Whether both levels have the same network."""
        return len(self.networks) == 1

    def at(self, level: str) -> nn.Module:
        """The network of a level, ``"select"`` or ``"backfill"`` (a `jobs.Level` will do)."""
        return self.networks[self._index[level]]


# ---------------------------------------------------------------------------------------------
# Shared by all


def masked(logits: Tensor, mask: Tensor) -> Tensor:
    """Logits whose softmax gives exactly nothing to the choices that `mask` leaves out.

    Parameters
    ----------
    logits : Tensor, shape ``[..., W]``
    mask : Tensor of bool, the same shape
        At least one choice must be left; where none is, all would be equally likely.

    Notes
    -----
    Finite and not minus infinity, so that ``p * log(p)`` of an entropy is 0 and not NaN.
    """
    return logits.masked_fill(~mask, NEVER)


def initialise(network: nn.Module, generator: torch.Generator | None = None) -> None:
    """Give a network its first weights: the same generator state, the same weights.

    Fully connected layers: uniform within ``1 / sqrt(inputs)``, biases 0, and a hundredth of
    that for the one named `output`, so that a policy begins with all choices nearly equally
    likely. The row filter: uniform in [0.5, 1], bias 0, so that neither column is lost.
    Torch's global generator is not touched. Parameters on the meta device are left alone.
    """
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    with torch.no_grad():
        for name, module in network.named_modules():
            if isinstance(module, RowFilter) and not module.weight.is_meta:
                module.weight.copy_(torch.rand(2, generator=generator) * 0.5 + 0.5)
                module.bias.zero_()
            elif isinstance(module, nn.Linear) and not module.weight.is_meta:
                bound = 1 / math.sqrt(module.in_features)
                bound *= 0.01 if name.split(".")[-1] == "output" else 1
                module.weight.uniform_(-bound, bound, generator=generator)
                if module.bias is not None:
                    module.bias.zero_()


def parameter_count(network: nn.Module) -> int:
    """How many numbers a network learns."""
    return sum(parameter.numel() for parameter in network.parameters())


def linear(inputs: int, outputs: int, bias: bool, device: str | torch.device | None) -> nn.Linear:
    """A fully connected layer whose weights are yet to come (`initialise`)."""
    # By way of the meta device, to be without torch's own first weights: they would come from
    # the global generator, and take seconds for a network of Theta's size.
    layer = nn.Linear(inputs, outputs, bias=bias, device="meta")
    return layer.to_empty(device=device or "cpu")


def activation_of(name: str) -> nn.Module:
    """The activation of that name.

    Raises
    ------
    DrasLabError
        If there is none.
    """
    if name not in ACTIVATIONS:
        raise DrasLabError(f"activation: {name!r} is not one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]()
