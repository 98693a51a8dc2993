"""Sweeps on a Dask cluster of processes on this machine: nothing is lost, nothing differs."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import SMALL
from test_sweeps import LONG, compared, kill_in_the_middle, learners

from dras_lab import crews
from dras_lab.experiments import Experiment
from dras_lab.jobs import DrasLabError
from dras_lab.sweeps import sweep

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    # Dask leaves sockets and loops to the garbage collector when a worker is killed.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def local() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.mark.skipif(os.name == "nt", reason="kills with a signal")
def test_a_cluster_gives_what_one_process_gives_though_one_is_killed(
    tmp_path: Path, local: Any
) -> None:
    experiment = learners(tmp_path, training=LONG)
    workers = {worker.pid for worker in local.workers.values()}
    killed: list[int] = []
    thread = kill_in_the_middle(tmp_path / "many", killed)
    done = sweep(experiment, tmp_path / "many", scheduler=local.scheduler_address)
    thread.join(timeout=5)
    assert set(killed) <= workers
    assert len(killed) == 1
    compared(done, tmp_path, experiment)


def test_a_log_that_a_worker_cannot_read_fails_its_runs_alone(tmp_path: Path, local: Any) -> None:
    (tmp_path / "small.swf").write_text(SMALL, encoding="utf-8")
    experiment = Experiment(["gone.swf", "small.swf"], ["fcfs", "sjf"], base=tmp_path)
    done = sweep(experiment, tmp_path / "out", scheduler=local.scheduler_address)
    assert sorted(done.failed) == ["gone--fcfs--seed-0", "gone--sjf--seed-0"]
    assert all("gone.swf: no such file" in error for error in done.failed.values())
    assert len(done.runs) == 2


@pytest.mark.parametrize("address", ["closed", "silent", "nonsense"])
def test_a_scheduler_that_does_not_answer(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody there; a server that says nothing; no address at all."""
    monkeypatch.setattr(crews, "TIMEOUT", 2)
    (tmp_path / "small.swf").write_text(SMALL, encoding="utf-8")
    experiment = Experiment(["small.swf"], ["fcfs"], base=tmp_path)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        where = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        if address == "silent":
            server.listen()
        elif address == "nonsense":
            where = "a scheduler"
        with pytest.raises(DrasLabError) as refused:
            sweep(experiment, tmp_path / "out", scheduler=where)
    assert str(refused.value).startswith(f"{where}: no Dask scheduler answers there")
    assert "\n" not in str(refused.value)


def test_it_works_where_a_loop_is_running_already(tmp_path: Path, local: Any) -> None:
    """As in a notebook."""
    (tmp_path / "small.swf").write_text(SMALL, encoding="utf-8")
    experiment = Experiment(["small.swf"], ["fcfs"], base=tmp_path)

    async def cell() -> int:
        done = sweep(experiment, tmp_path / "out", scheduler=local.scheduler_address)
        return len(done.runs)

    assert asyncio.run(cell()) == 1
