"""The examples learn: both do better than first come, first served, with fewer steps than usual."""

from __future__ import annotations

import importlib

import pytest
from conftest import ROOT

pytestmark = [pytest.mark.learning, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _can_import_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")


def test_ppo_in_one_file_beats_first_come_first_served(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("gymnasium")
    module = importlib.import_module("cleanrl_ppo")
    ratios = module.main(["--steps", "8192"])
    assert ratios["trained on"] < 0.9
    assert ratios["never seen"] < 0.9
    assert "mean_wait_ratio" in capsys.readouterr().out


def test_maskable_ppo_beats_first_come_first_served() -> None:
    pytest.importorskip("sb3_contrib")
    pytest.importorskip("gymnasium")
    assert importlib.import_module("maskable_ppo").main(["--steps", "12288"]) < 0.9


def test_advantages_by_hand() -> None:
    """Three steps of reward 1: one that goes on, one that ends its episode, one that is cut."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("gymnasium")
    module = importlib.import_module("cleanrl_ppo")
    own = module.Settings(gamma=0.5, gae_lambda=0.5)
    gains = module.advantages(
        torch.ones(3),
        torch.tensor([2.0, 4.0, 6.0]),
        torch.tensor([4.0, 99.0, 8.0]),
        torch.tensor([False, True, False]),
        torch.tensor([False, True, True]),
        own,
    )
    # The last goes on in the value of the state it led to: 1 + 8 / 2 - 6. The second ends:
    # 1 - 4. The first: 1 + 4 / 2 - 2, and a quarter of what follows.
    assert gains.tolist() == [1 - 3 / 4, -3, -1]
