"""How fast agents learn and decide, and what a network of Theta's size takes.

    python benchmarks/training.py [--theta]

Decisions a second at 273 nodes with a window of 50 (theta-like, 16 times coarsened): while
learning, everything counted, and while only choosing. `--theta` adds the machine of 4,360 nodes
and its 21.9 million weights a network: milliseconds a greedy decision, and an episode of 1,000
jobs with its peak of memory. One core; processor seconds, since other work may share the machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import torch  # noqa: E402

from dras_lab.agents import Agent, make_agent  # noqa: E402
from dras_lab.simulator import Simulation, simulate  # noqa: E402
from dras_lab.traces import Trace, read_swf  # noqa: E402


def choices(agent: Agent, trace: Trace) -> int:
    """Run a trace and count the decisions."""
    simulation, asked = Simulation(trace, log=False), 0
    while (decision := simulation.next_decision()) is not None:
        simulation.apply(agent(decision))
        asked += 1
    return asked


def rates(agent: Agent, trace: Trace, times: int) -> tuple[float, float]:
    """Decisions a second while learning, and while only choosing; medians."""
    learning, choosing = [], []
    for _ in range(times):
        agent.learning = True
        begin, asked = time.process_time(), 0
        for _ in range(agent.update.runs):
            asked += choices(agent, trace)
            agent.end_run()
        learning.append(asked / (time.process_time() - begin))
        agent.learning = False
        begin = time.process_time()
        choosing.append(choices(agent, trace) / (time.process_time() - begin))
    return statistics.median(learning), statistics.median(choosing)


def theta(trace: Trace) -> None:
    """The machine as it is."""
    for kind in ("pg", "dql"):
        agent = make_agent(kind, trace.nodes)
        spent: list[float] = []

        def timed(decision, agent=agent, spent=spent):  # type: ignore[no-untyped-def]
            begin = time.process_time()
            choice = agent(decision)
            if len(decision.rows) > 1:
                spent.append(time.process_time() - begin)
            return choice

        simulate(trace[:1000], timed, log=False)
        line = f"{kind}, 4,360 nodes: a greedy decision {statistics.median(spent) * 1e3:.1f} ms"
        agent.learning = True
        begin = time.process_time()
        for _ in range(agent.update.runs):
            simulate(trace[:1000], agent, log=False)
            agent.end_run()
        seconds = time.process_time() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{line}; an episode of 1,000 jobs {seconds:.0f} s, peak {peak:.1f} GiB", flush=True)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--theta", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    whole = read_swf("theta-like")
    small = whole.coarsen(16)
    for kind, network in (("pg", "dras"), ("dql", "dras"), ("pg", "scorer")):
        agent = make_agent(kind, small.nodes, network=network)
        learning, choosing = rates(agent, small[:2000], 3)
        print(
            f"{kind} ({network}), {small.nodes} nodes: {learning:,.0f} decisions/s learning, "
            f"{choosing:,.0f} choosing",
            flush=True,
        )
    if arguments.theta:
        theta(whole)


if __name__ == "__main__":
    main()
