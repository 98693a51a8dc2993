"""The networks once more in NumPy, for one decision at a time.

While a run goes on a network is asked about one decision, then the next: the arithmetic takes
microseconds, and torch's own calls several times that. A twin computes the same numbers (a
test says so) without torch. It looks at the network's own weights, so that a step of an
optimiser, or `load_state_dict`, shows in it at once; one that was moved or cast needs a new twin.
Learning is torch's alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from .jobs import DrasLabError
from .networks import DrasNetwork
from .scorers import JobScorer, QueueValue

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


def _view(parameter: Tensor | None) -> Floats:
    """A parameter's own memory as an array."""
    assert parameter is not None
    if parameter.device.type != "cpu":
        raise DrasLabError(f"a network on {parameter.device} has no twin; move it to the cpu first")
    array: Floats = parameter.detach().numpy()
    return array


class _Activation:
    """Leaky or plain rectifier, in place."""

    def __init__(self, module: nn.Module) -> None:
        self.slope = float(getattr(module, "negative_slope", 0.0))

    def __call__(self, x: Floats) -> Floats:
        np.maximum(x, x * self.slope, out=x)
        return x


class DrasTwin:
    """The twin of a `DrasNetwork`."""

    def __init__(self, network: DrasNetwork) -> None:
        self.filter, self.bias = _view(network.filter.weight), _view(network.filter.bias)
        self.first, self.second = _view(network.first.weight), _view(network.second.weight)
        self.output, self.last = _view(network.output.weight), _view(network.output.bias)
        self.activation = _Activation(network.activation)

    def __call__(self, x: Floats) -> Floats:
        """One input ``[R, 2]`` to logits ``[outputs]``."""
        return self._rest(self.first @ (x @ self.filter + self.bias))

    def values(self, jobs: Floats, nodes: Floats) -> Floats:
        """Rows ``[C, 2, 2]`` and ``[N, 2]`` to values ``[C]``, as `DrasNetwork.values`."""
        of_nodes: Floats = self.first[:, 2:] @ (nodes @ self.filter + self.bias)
        x: Floats = np.matmul(jobs @ self.filter + self.bias, self.first[:, :2].T)
        x += of_nodes
        return self._rest(x)[:, 0]

    def _rest(self, x: Floats) -> Floats:
        x = self.activation(self.activation(x) @ self.second.T)
        out: Floats = x @ self.output.T + self.last
        return out


class ScorerTwin:
    """The twin of a `JobScorer`."""

    def __init__(self, network: JobScorer) -> None:
        self.job, self.job_bias = _view(network.job.weight), _view(network.job.bias)
        self.machine = _view(network.machine.weight)
        self.crowd = None if network.crowd is None else _view(network.crowd.weight)
        self.second, self.bias = _view(network.second.weight), _view(network.second.bias)
        self.output = _view(network.output.weight)[0]
        self.prior = None if network.prior is None else _view(network.prior)
        self.activation = _Activation(network.activation)

    def __call__(self, jobs: Floats, machine: Floats) -> Floats:
        """Features ``[C, F]`` of jobs, without padding, and ``[G]`` to logits ``[C]``."""
        x = jobs @ self.job.T
        x += self.job_bias
        about = self.machine @ machine
        if self.crowd is not None:
            about += self.crowd @ self.activation(x.copy()).mean(0)
        x += about
        x = self.activation(x) @ self.second.T
        x += self.bias
        logits: Floats = self.activation(x) @ self.output
        if self.prior is not None:
            logits += jobs @ self.prior
        return logits


class ValueTwin:
    """The twin of a `QueueValue`."""

    def __init__(self, network: QueueValue) -> None:
        self.job, self.job_bias = _view(network.job.weight), _view(network.job.bias)
        self.second, self.bias = _view(network.second.weight), _view(network.second.bias)
        self.output, self.last = _view(network.output.weight)[0], _view(network.output.bias)
        self.activation = _Activation(network.activation)

    def __call__(self, jobs: Floats, machine: Floats) -> float:
        """Features ``[C, F]`` of jobs, without padding, and ``[G]`` to the value."""
        crowd = self.activation(jobs @ self.job.T + self.job_bias).mean(0)
        x = self.second @ np.concatenate((crowd, machine)) + self.bias
        return float(self.activation(x) @ self.output + self.last[0])


def softmax(logits: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Probabilities ``[C]``, in float64 so that they add up to 1 for a generator's `choice`."""
    p: npt.NDArray[np.float64] = logits.astype(np.float64)
    p -= p.max()
    np.exp(p, out=p)
    p /= p.sum()
    return p
