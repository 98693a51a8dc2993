"""What it takes to show a decision to an agent, to score it and to ask its network.

    python benchmarks/agents.py [TRACE] [--decisions N]

Microseconds a decision on two machines: the trace's own, and one 16 times smaller. Everything
is timed on the decisions of one run under random choices, each decision new to what is timed,
and the median is printed. Without torch only what needs none. NumPy's own threads are as
OMP_NUM_THREADS has them; torch has one.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from dras_lab.decisions import Decision
from dras_lab.knapsack import Knapsack
from dras_lab.mdp import Encoder, Features
from dras_lab.rewards import capability, capacity, earned
from dras_lab.simulator import Simulation
from dras_lab.traces import read_swf

Timed = dict[str, Callable[[Decision], object]]


def without_torch(nodes: int, window: int) -> Timed:
    """What every agent needs. An encoder each, so that none finds the other's work done."""
    pg, dql, jobs = (Encoder(nodes, window) for _ in range(3))
    store = np.empty(pg.pg_shape, dtype=np.float32)
    return {
        "list the candidates": lambda d: d.rows,
        "PG input": lambda d: pg.pg(d, store),
        "DQL inputs, whole": dql.dql,
        "DQL inputs, nodes once": lambda d: (jobs.job_rows(d), jobs.node_rows(d)),
        "mask": pg.mask,
        "features": Features(nodes, window),
        "capability reward": lambda d: earned(capability, d, 0),
        "capacity reward": lambda d: earned(capacity, d, 0),
        "knapsack policy": Knapsack(),
    }


def with_torch(nodes: int, window: int) -> Timed:
    """The networks, asked about one decision: in torch, and by their twins in NumPy."""
    import torch

    from dras_lab.networks import DrasNetwork, shape_for
    from dras_lab.scorers import JobScorer
    from dras_lab.twins import DrasTwin, ScorerTwin

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    shape = shape_for(nodes, window)
    encoder, features = Encoder(nodes, window), Features(nodes, window)
    pg, dql = DrasNetwork.pg(shape), DrasNetwork.dql(shape)
    scorer = JobScorer(len(features.job_names), len(features.machine_names))
    pg_twin, dql_twin, scorer_twin = DrasTwin(pg), DrasTwin(dql), ScorerTwin(scorer)
    return {
        "PG input + torch": lambda d: pg(torch.from_numpy(encoder.pg(d))[None]),
        "PG input + twin": lambda d: pg_twin(encoder.pg(d)),
        "DQL inputs + twin": lambda d: dql_twin.values(encoder.job_rows(d), encoder.node_rows(d)),
        "features + scorer's twin": lambda d: (
            (f := features(d)) and scorer_twin(f[0][: len(d.rows)], f[1])
        ),
    }


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", nargs="?", default="theta-like")
    parser.add_argument("--decisions", type=int, default=2000)
    arguments = parser.parse_args()
    whole = read_swf(arguments.trace)
    window = 50
    for trace in (whole.coarsen(16), whole):
        timed = without_torch(trace.nodes, window)
        try:
            timed |= with_torch(trace.nodes, window)
        except ImportError:
            print("torch is not installed: no networks")
        rng = np.random.default_rng(1)
        spent: dict[str, list[float]] = {name: [] for name in timed}
        candidates = 0
        simulation = Simulation(trace, window=window, log=False)
        for _ in range(arguments.decisions if trace.nodes < 1000 else arguments.decisions // 10):
            decision = simulation.next_decision()
            if decision is None:
                break
            for name, ask in timed.items():
                begin = time.perf_counter()
                ask(decision)
                spent[name].append(time.perf_counter() - begin)
            candidates += len(decision.rows)
            simulation.apply(int(rng.integers(len(decision.rows))))
        asked = len(spent["mask"])
        print(f"\n{trace.nodes} nodes, {asked} decisions, {candidates / asked:.0f} jobs on offer")
        for name, times in spent.items():
            print(f"  {name:<26}{statistics.median(times) * 1e6:>9.1f} us")


if __name__ == "__main__":
    main()
