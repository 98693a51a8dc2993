"""Scorers of single jobs: order and padding do not matter; and the twins of all networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dras_lab.jobs import DrasLabError  # noqa: E402
from dras_lab.networks import DrasNetwork, Shape, parameter_count  # noqa: E402
from dras_lab.scorers import JobScorer, QueueValue  # noqa: E402
from dras_lab.twins import DrasTwin, ScorerTwin, ValueTwin, softmax  # noqa: E402

B, W, F, G = 4, 6, 5, 3


def generator(seed: int = 1) -> Any:
    return torch.Generator().manual_seed(seed)


def inputs() -> tuple[Any, Any, Any]:
    """Features of windows with 6, 4, 1 and 3 jobs; padding is zero."""
    source = generator(7)
    mask = torch.arange(W) < torch.tensor([6, 4, 1, 3])[:, None]
    jobs = torch.randn(B, W, F, generator=source) * mask[..., None]
    return jobs, torch.randn(B, G, generator=source), mask


def scorers() -> list[JobScorer]:
    prior = [0.5, -1.0, 0.0, 0.25, 2.0]
    made = [
        JobScorer(F, G, (8, 4), generator=generator()),
        JobScorer(F, G, (8, 4), crowd=True, generator=generator()),
        JobScorer(F, G, (8, 4), crowd=True, prior=prior, activation="relu", generator=generator()),
    ]
    for network in made:
        loosen(network)
    return made


def loosen(network: Any) -> None:
    """First weights of the output are tiny and biases zero: give all a size that shows."""
    with torch.no_grad():
        for k, parameter in enumerate(network.parameters()):
            parameter.add_(torch.randn(parameter.shape, generator=generator(k)) * 0.3)


@pytest.mark.parametrize("network", scorers())
def test_the_order_of_the_window_does_not_matter(network: JobScorer) -> None:
    jobs, machine, mask = inputs()
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    logits = network(jobs, machine, mask)
    assert logits.shape == (B, W)
    assert logits[mask].std() > 0.01
    moved = network(jobs[:, order], machine, mask[:, order])
    assert torch.allclose(moved, logits[:, order], atol=1e-6)


@pytest.mark.parametrize("network", scorers())
def test_padding_has_no_influence(network: JobScorer) -> None:
    jobs, machine, mask = inputs()
    logits = network(jobs, machine, mask)
    filled = torch.where(mask[..., None], jobs, torch.full_like(jobs, 9.0))
    assert torch.allclose(network(filled, machine, mask)[mask], logits[mask], atol=1e-6)
    # A wider window with the same jobs, and one window by itself.
    wider = torch.cat((jobs, torch.zeros(B, 3, F)), dim=1)
    more = torch.cat((mask, torch.zeros(B, 3, dtype=torch.bool)), dim=1)
    assert torch.allclose(network(wider, machine, more)[:, :W][mask], logits[mask], atol=1e-6)
    alone = network(jobs[1:2, :4], machine[1:2], mask[1:2, :4])
    assert torch.allclose(alone[0], logits[1, :4], atol=1e-6)


def test_only_with_a_crowd_do_other_jobs_matter() -> None:
    jobs, machine, mask = inputs()
    other = jobs.clone()
    other[:, 1] += 1
    for network, matters in zip(scorers(), (False, True, True), strict=True):
        same = torch.allclose(
            network(jobs, machine, mask)[0, 0], network(other, machine, mask)[0, 0]
        )
        assert same != matters


def test_a_prior_is_a_linear_rule_to_begin_with() -> None:
    jobs, machine, mask = inputs()
    prior = [0.5, -1.0, 0.0, 0.25, 2.0]
    network = JobScorer(F, G, prior=prior, generator=generator())
    without = JobScorer(F, G, generator=generator())
    linear = jobs.numpy() @ np.array(prior, dtype=np.float32)
    rest = network(jobs, machine, mask).detach().numpy() - linear
    assert rest == pytest.approx(without(jobs, machine, mask).detach().numpy(), abs=1e-6)
    assert np.abs(rest).max() < 0.05  # near zero to begin with
    assert parameter_count(network) == parameter_count(without) + F
    with pytest.raises(DrasLabError, match="prior has 2 weights for 5 features"):
        JobScorer(F, G, prior=[1.0, 2.0])


def test_the_value_of_a_decision() -> None:
    jobs, machine, mask = inputs()
    network = QueueValue(F, G, (8, 4), generator=generator())
    loosen(network)
    values = network(jobs, machine, mask)
    assert values.shape == (B,)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    assert torch.allclose(network(jobs[:, order], machine, mask[:, order]), values, atol=1e-6)
    filled = torch.where(mask[..., None], jobs, torch.full_like(jobs, 9.0))
    assert torch.allclose(network(filled, machine, mask), values, atol=1e-6)
    assert not torch.allclose(network(jobs + 1, machine, mask), values)
    assert not torch.allclose(network(jobs, machine + 1, mask), values)
    nobody = torch.zeros_like(mask)
    assert torch.isfinite(network(jobs, machine, nobody)).all()


@pytest.mark.parametrize("make", [JobScorer, QueueValue])
def test_first_weights_come_from_the_generator_alone(make: Any) -> None:
    def weights(seed: int) -> Any:
        network = make(F, G, generator=generator(seed))
        return torch.cat([p.detach().ravel() for p in network.parameters()])

    before = torch.get_rng_state()
    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))
    assert torch.equal(torch.get_rng_state(), before)


# -- twins ------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["leaky", "relu"])
def test_the_twin_of_a_dras_network(activation: str) -> None:
    shape = Shape(9, 5, (8, 6))
    pg = DrasNetwork.pg(shape, activation, generator())
    x = torch.rand(2, 19, 2, generator=generator(3)) - 0.5
    dql = DrasNetwork.dql(shape, activation, generator())
    jobs, nodes = x[0, :10].reshape(5, 2, 2), x[0, 10:]
    for network in (pg, dql):
        loosen(network)
    twin, values = DrasTwin(pg), DrasTwin(dql)
    kept = x.clone()
    for _ in range(2):
        for k in range(2):
            assert twin(x[k].numpy()) == pytest.approx(pg(x)[k].detach().numpy(), abs=1e-5)
        expected = dql.values(jobs, nodes).detach().numpy()
        assert values.values(jobs.numpy(), nodes.numpy()) == pytest.approx(expected, abs=1e-5)
        # What is learnt shows at once.
        for network in (pg, dql):
            optimiser = torch.optim.Adam(network.parameters(), 0.1)
            network(x[:, : network.rows]).square().sum().backward()
            optimiser.step()
        assert np.abs(twin(x[0].numpy()) - pg(x).detach()[0].numpy()).max() < 1e-5
    assert torch.equal(x, kept)  # inputs are not written to


@pytest.mark.parametrize("network", scorers())
def test_the_twin_of_a_scorer(network: JobScorer) -> None:
    jobs, machine, mask = inputs()
    twin = ScorerTwin(network)
    kept = jobs.clone()
    logits = network(jobs, machine, mask).detach().numpy()
    for k, count in enumerate(mask.sum(-1).tolist()):
        shown = twin(jobs[k, :count].numpy(), machine[k].numpy())
        assert shown == pytest.approx(logits[k, :count], abs=1e-5)
    assert torch.equal(jobs, kept)
    network.load_state_dict({k: v * 0.5 for k, v in network.state_dict().items()})
    logits = network(jobs, machine, mask).detach().numpy()
    assert twin(jobs[0].numpy(), machine[0].numpy()) == pytest.approx(logits[0], abs=1e-5)


def test_the_twin_of_a_value() -> None:
    jobs, machine, mask = inputs()
    network = QueueValue(F, G, (8, 4), generator=generator())
    loosen(network)
    twin = ValueTwin(network)
    expected = network(jobs, machine, mask).tolist()
    for k, count in enumerate(mask.sum(-1).tolist()):
        shown = twin(jobs[k, :count].numpy(), machine[k].numpy())
        assert shown == pytest.approx(expected[k], abs=1e-5)


def test_a_network_that_is_not_on_the_cpu_has_no_twin() -> None:
    with pytest.raises(DrasLabError, match="a network on meta has no twin"):
        DrasTwin(DrasNetwork.pg(Shape(3, 2, (4, 3)), device="meta"))


def test_softmax_of_what_a_float_cannot_hold() -> None:
    logits = np.array([1000.0, 1000.0, -1e9], dtype=np.float32)
    assert softmax(logits).tolist() == [0.5, 0.5, 0]
    p = softmax(np.random.default_rng(1).normal(size=50).astype(np.float32))
    assert abs(p.sum() - 1) < 1e-12
