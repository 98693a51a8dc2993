"""DRAS's network: its published sizes, its layers by hand, and where its weights come from."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from dras_lab.jobs import DrasLabError, Level  # noqa: E402
from dras_lab.networks import (  # noqa: E402
    CORI,
    THETA,
    DrasNetwork,
    RowFilter,
    Shape,
    TwoLevels,
    masked,
    parameter_count,
    shape_for,
)

TINY = Shape(3, 2, (4, 3))


def generator(seed: int = 1) -> Any:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("kind", "shape", "rows", "count"),
    [
        # The four counts that follow from the published layers: 3 for the row filter, rows x
        # first, first x second, and second x outputs + outputs.
        ("pg", THETA, 4460, 21_890_053),
        ("dql", THETA, 4362, 21_449_004),
        ("pg", CORI, 12_176, 161_960_053),
        ("dql", CORI, 12_078, 160_784_004),
    ],
)
def test_the_published_sizes(kind: str, shape: Shape, rows: int, count: int) -> None:
    network = getattr(DrasNetwork, kind)(shape, device="meta")  # takes no memory
    assert network.rows == rows
    assert parameter_count(network) == count
    assert network(torch.empty(2, rows, 2, device="meta")).shape == (2, network.outputs)
    assert network.outputs == (50 if kind == "pg" else 1)


def test_shapes_of_other_machines() -> None:
    assert shape_for(4360) == THETA
    assert shape_for(12_076) == CORI
    assert shape_for(4360, 20) == Shape(4360, 20, (4000, 1000))
    # 273 * 4000 / 4360 = 250.5 and 62.6, up to multiples of 8
    assert shape_for(273) == Shape(273, 50, (256, 64))
    assert shape_for(100, 30) == Shape(100, 30, (96, 24))  # 91.7 and 22.9
    assert shape_for(1, 1) == Shape(1, 1, (8, 8))


def test_the_row_filter_is_a_convolution() -> None:
    rows = torch.rand(4, 7, 2, generator=generator())
    filter_ = RowFilter()
    with torch.no_grad():
        filter_.weight.copy_(torch.tensor([0.7, -0.3]))
        filter_.bias.fill_(0.1)
    expected = functional.conv2d(
        rows[:, None], filter_.weight.view(1, 1, 1, 2), filter_.bias
    ).reshape(4, 7)
    assert torch.allclose(filter_(rows), expected)
    assert filter_(torch.tensor([[2.0, 1.0]])).item() == pytest.approx(2 * 0.7 - 0.3 + 0.1)
    assert parameter_count(filter_) == 3


@pytest.mark.parametrize(("activation", "slope"), [("leaky", 0.01), ("relu", 0.0)])
def test_the_layers_by_hand(activation: str, slope: float) -> None:
    # Two rows, one neuron a layer, one output.
    network = DrasNetwork(2, (1, 1), 1, activation)
    with torch.no_grad():
        network.filter.weight.copy_(torch.tensor([1.0, 2.0]))
        network.filter.bias.fill_(0.5)
        network.first.weight.copy_(torch.tensor([[1.0, -1.0]]))
        network.second.weight.fill_(3.0)
        network.output.weight.fill_(2.0)
        network.output.bias.fill_(0.25)
    # Rows (1, 1) and (0, 2): 1 + 2 + 0.5 = 3.5 and 0 + 4 + 0.5 = 4.5; 3.5 - 4.5 = -1.
    first = -1 * slope
    second = 3 * first * slope
    out = network(torch.tensor([[[1.0, 1.0], [0.0, 2.0]]]))
    assert out.item() == pytest.approx(2 * second + 0.25)
    # The rows the other way round give +1, which no rectifier changes.
    out = network(torch.tensor([[[0.0, 2.0], [1.0, 1.0]]]))
    assert out.item() == pytest.approx(2 * 3 * 1 + 0.25)


def test_biases_are_where_they_belong() -> None:
    network = DrasNetwork.pg(TINY)
    names = {name: tuple(p.shape) for name, p in network.named_parameters()}
    assert names == {
        "filter.weight": (2,),
        "filter.bias": (1,),
        "first.weight": (4, 7),
        "second.weight": (3, 4),
        "output.weight": (2, 3),
        "output.bias": (2,),
    }


def test_values_without_repeating_the_nodes() -> None:
    network = DrasNetwork.dql(Shape(9, 5, (8, 6)), generator=generator())
    jobs = torch.rand(3, 5, 2, 2, generator=generator(2))
    nodes = torch.rand(3, 9, 2, generator=generator(3))
    repeated = torch.cat((jobs, nodes[:, None].expand(3, 5, 9, 2)), dim=2)
    expected = network(repeated.reshape(15, 11, 2)).reshape(3, 5)
    assert torch.allclose(network.values(jobs, nodes), expected, atol=1e-6)
    assert torch.allclose(network.values(jobs[1], nodes[1]), expected[1], atol=1e-6)
    assert expected.std() > 1e-5  # they do differ


# -- first weights ----------------------------------------------------------------------------


def weights(network: Any) -> Any:
    return torch.cat([p.detach().ravel() for p in network.parameters()])


def test_first_weights_come_from_the_generator_alone() -> None:
    one, again, other = (
        weights(DrasNetwork.pg(TINY, generator=generator(seed))) for seed in (1, 1, 2)
    )
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    before = torch.get_rng_state()
    assert torch.equal(weights(DrasNetwork.pg(TINY)), weights(DrasNetwork.pg(TINY)))
    assert torch.equal(torch.get_rng_state(), before)  # the global one is not touched


def test_first_weights_are_in_their_bounds() -> None:
    network = DrasNetwork.pg(shape_for(273), generator=generator())
    for layer, scale in ((network.first, 1), (network.second, 1), (network.output, 0.01)):
        bound = scale / math.sqrt(layer.in_features)
        largest = layer.weight.abs().max().item()
        assert 0.95 * bound < largest <= bound
        assert abs(layer.weight.mean().item()) < 0.05 * bound
    assert network.output.bias.abs().max() == 0
    assert (network.filter.weight >= 0.5).all()
    # A policy begins with all choices nearly equally likely.
    p = torch.softmax(network(torch.rand(1, 373, 2, generator=generator())), -1)
    assert p.max() / p.min() < 1.05


def test_every_weight_gets_a_gradient() -> None:
    network = DrasNetwork.pg(TINY, generator=generator())
    network(torch.rand(5, 7, 2, generator=generator(2))).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())


# -- two levels, masks ------------------------------------------------------------------------


def test_a_network_a_level_or_one_for_both() -> None:
    source = generator()
    two = TwoLevels(lambda: DrasNetwork.pg(TINY, generator=source))
    assert not two.shared
    assert not torch.equal(weights(two.at(Level.SELECT)), weights(two.at("backfill")))
    one = TwoLevels(lambda: DrasNetwork.pg(TINY), shared=True)
    assert one.shared
    assert one.at("select") is one.at(Level.BACKFILL)
    assert parameter_count(two) == 2 * parameter_count(one)
    assert len(two.state_dict()) == 2 * len(one.state_dict())


def test_what_is_masked_has_no_chance_and_no_part_in_the_entropy() -> None:
    logits = torch.tensor([[5.0, 1.0, 1.0], [-3.0, 80.0, 0.0]], requires_grad=True)
    mask = torch.tensor([[False, True, True], [True, False, False]])
    logp = torch.log_softmax(masked(logits, mask), -1)
    p = logp.exp()
    assert p.tolist() == [[0, 0.5, 0.5], [1, 0, 0]]
    entropy = -(p * logp).sum(-1)
    assert entropy.tolist() == pytest.approx([math.log(2), 0])
    entropy.sum().backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[0, 0] == 0


def test_no_such_activation() -> None:
    with pytest.raises(DrasLabError, match="activation: 'tanh' is not one of leaky, relu"):
        DrasNetwork.pg(TINY, activation="tanh")
