"""Who does the runs of a sweep: this process, processes beside it, or a Dask cluster.

Each is a generator of outcomes, in the order they come. All call `trials.attempt` and nothing
else, so that what comes out is the same. A run whose process dies is done again.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from .experiments import Run
from .jobs import DrasLabError
from .trials import STARTED, Outcome, attempt

TIMEOUT = 10  # seconds that a scheduler has for an answer
_DIED = "its process died twice: killed, or out of memory (versions.json has what others took)"


def serial(runs: Sequence[Run], out: Path) -> Iterator[Outcome]:
    """One after the other, here."""
    for run in runs:
        yield attempt(run, str(out))


def processes(runs: Sequence[Run], out: Path, workers: int) -> Iterator[Outcome]:
    """In processes of this machine, by joblib, each with one thread.

    When one dies joblib gives up all of them. The runs that were being worked on then are
    suspects: they are done again at the end, one by one, each in a process of its own, so that
    one that is too large for the memory takes no other with it.

    Raises
    ------
    DrasLabError
        If joblib is not installed.
    """
    try:
        import joblib
    except ImportError as error:
        raise DrasLabError(
            "more than one worker needs joblib; pip install 'dras-lab[sweep]', or leave out "
            "--workers"
        ) from error

    def pool(some: Sequence[Run], count: int) -> Iterator[Outcome]:
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = joblib.Parallel(
                n_jobs=count, batch_size=1, return_as="generator_unordered", pre_dispatch=count
            )
            yield from parallel(joblib.delayed(attempt)(run, str(out)) for run in some)

    waiting = {run.name: run for run in runs}
    for run in runs:
        (out / run.name / STARTED).unlink(missing_ok=True)  # of a sweep that was broken off
    suspects: list[Run] = []
    while waiting:
        try:
            # Two at least: with one, joblib works in this process, which must not die.
            for outcome in pool(list(waiting.values()), max(workers, 2)):
                del waiting[outcome.name]
                yield outcome
        except BrokenProcessPool:
            begun = [run for run in waiting.values() if (out / run.name / STARTED).exists()]
            # One that died before it left a mark cannot be told from the rest.
            for run in begun or list(waiting.values()):
                suspects.append(waiting.pop(run.name))
    for run in suspects:
        try:
            yield from pool([run], 2)
        except BrokenProcessPool:
            yield Outcome(run.name, _DIED)


def cluster(runs: Sequence[Run], out: Path, address: str) -> Iterator[Outcome]:
    """On the workers of a Dask scheduler; those that come later help, those that go are missed.

    Raises
    ------
    DrasLabError
        If distributed is not installed, the scheduler does not answer within `TIMEOUT`
        seconds, or it goes away.
    """
    try:
        from distributed import Client, as_completed, rpc
    except ImportError as error:
        raise DrasLabError("--scheduler needs Dask; pip install 'dras-lab[cluster]'") from error
    for name in ("distributed.client", "distributed.core", "distributed.batched"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what they say, we say in a line

    async def knock() -> None:
        async with rpc(address) as scheduler:
            await scheduler.identity()

    # Before there is a Client: one that cannot connect goes on trying, and takes long to close.
    try:
        # In a thread, since a notebook's own has a loop of its own.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, asyncio.wait_for(knock(), TIMEOUT)).result()
    except Exception as error:  # whatever answers, if it is no scheduler
        raise DrasLabError(
            f"{address}: no Dask scheduler answers there (waited up to {TIMEOUT} s); is it "
            "running, and does the address begin with tcp:// or tls://?"
        ) from error
    client = Client(address, timeout=TIMEOUT, set_as_default=False)
    try:
        _greet(client)
        sweep = uuid.uuid4().hex[:12]  # keys are the scheduler's own: no other sweep may have them
        futures = {
            client.submit(attempt, run, str(out), key=f"dras-lab-{sweep}-{run.name}", pure=False):
            run for run in runs
        }  # fmt: skip
        try:
            for future in as_completed(list(futures), loop=client.loop):
                yield _outcome(future, futures.pop(future), address)
        finally:
            if futures:
                client.cancel(list(futures))
        if futures:
            raise DrasLabError(_gone(address))
    finally:
        client.close(timeout=2)


def _greet(client: Any) -> None:
    """Say what a user would otherwise wonder about."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        print("the scheduler has no workers yet; waiting for some ...", file=sys.stderr)
    elif any(worker["nthreads"] > 1 for worker in workers):
        print(
            "some workers have several threads; runs in one process wait for each other: start "
            "them with --nthreads 1",
            file=sys.stderr,
        )


def _outcome(future: Any, run: Run, address: str) -> Outcome:
    if future.status == "finished":
        outcome: Outcome = future.result()
        return outcome
    if future.status == "error":
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            return Outcome(run.name, "its workers died, again and again: killed, or out of memory")
        lines = str(error).strip().splitlines() or [""]
        return Outcome(run.name, f"{type(error).__name__}: {lines[0]}")
    raise DrasLabError(_gone(address))


def _gone(address: str) -> str:
    return (
        f"{address}: the scheduler has gone; finished runs are kept, the same command goes on "
        "when there is one again"
    )
