"""Make the shipped logs, hold them against the real one, or learn from it anew.

    python scripts/make_traces.py                 write traces/*.swf.gz
    python scripts/make_traces.py --check         are the stored ones what would be written?
    python scripts/make_traces.py --table [LOG]   the tables of traces/README.md
    python scripts/make_traces.py --fit LOG       rebuild dras_lab/theta_facts.json

LOG is the real log of Theta of 2022, see traces/README.md. Without it the tables lack its column.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # also where the project is not installed

from dras_lab.files import write_whole  # noqa: E402
from dras_lab.jobs import DrasLabError  # noqa: E402
from dras_lab.policies import make_policy  # noqa: E402
from dras_lab.simulator import simulate  # noqa: E402
from dras_lab.traces import Trace, read_swf  # noqa: E402
from dras_lab.workloads import fit, like, lublin, theta_facts  # noqa: E402

TRACES = ROOT / "traces"
FACTS = ROOT / "dras_lab" / "theta_facts.json"

# Of the seeds 0 to 20, 6 gives the theta-like log with the median wait under FCFS + EASY:
# neither an easy two months nor a hard one. At load 0.9 queues form in lublin-256, and empty.
MAKERS: dict[str, Callable[[], Trace]] = {
    "lublin-256": lambda: lublin(5_000, nodes=256, seed=1, load=0.9),
    "theta-like": lambda: like(theta_facts(), 4_000, seed=6, load=theta_facts().load),
}
YEARS = range(5)  # seeds of the year-long logs that the real one is held against


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    task = parser.add_mutually_exclusive_group()
    task.add_argument("--check", action="store_true", help="compare, write nothing")
    task.add_argument("--table", nargs="?", const="", metavar="LOG", help="print the tables")
    task.add_argument("--fit", metavar="LOG", help="learn the facts from the real log")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.check:
            return check()
        if chosen.table is not None:
            print(shipped_table(), theta_table(chosen.table or None), sep="\n\n")
        elif chosen.fit:
            write_whole(FACTS, fit(read_swf(chosen.fit)).to_json())
            print(f"wrote {FACTS.relative_to(ROOT)}; now make the logs again")
        else:
            for name, make in MAKERS.items():
                make().write_swf(TRACES / f"{name}.swf.gz")
                print(f"wrote traces/{name}.swf.gz")
    except DrasLabError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def packed(trace: Trace) -> bytes:
    """The bytes of the log as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.swf.gz"
        trace.write_swf(path)
        return path.read_bytes()


def check() -> int:
    """Whether the stored logs are what would be written: 0, else 1."""
    wrong = 0
    for name, make in MAKERS.items():
        stored, made = (TRACES / f"{name}.swf.gz").read_bytes(), packed(make())
        if stored == made:
            verdict = "as made"
        elif gzip.decompress(stored) == gzip.decompress(made):
            verdict = "as made, packed by another version of zlib"
        else:
            verdict, wrong = "DIFFERENT from what is made now", 1
        print(f"traces/{name}.swf.gz: {verdict}")
    return wrong


# -- tables ------------------------------------------------------------------------------------


def fcfs_wait_h(trace: Trace) -> float:
    """Mean wait in hours under first come, first served with EASY backfilling."""
    result = simulate(trace, make_policy("fcfs", 0), log=False)
    return float((result.start - result.submit).mean()) / 3600


def shipped_table() -> str:
    """What the shipped logs are."""
    rows = [
        "| log | jobs | nodes | days | offered load | FCFS + EASY, mean wait |",
        "|---" * 6 + "|",
    ]
    for name, make in MAKERS.items():
        trace = make()
        facts = trace.summary()
        rows.append(
            f"| `{name}` | {len(trace):,} | {trace.nodes:,} | {facts['span_s'] / 86400:.1f} "
            f"| {facts['offered_load']:.3f} | {fcfs_wait_h(trace):.1f} h |"
        )
    return "\n".join(rows)


def statistics(trace: Trace) -> dict[str, float]:
    """What the table of the Theta logs shows, by the names of its rows."""
    facts, table = trace.summary(), trace.table
    size, request = table["size"].to_numpy(), table["requested_time"].to_numpy()
    run, gaps = table["run_time"].to_numpy(), np.diff(table["submit_time"])
    held = size * np.minimum(run, request)
    shape = size * 10**7 + request
    rows = {
        "jobs": len(trace),
        "days": facts["span_s"] / 86400,
        "offered load": facts["offered_load"],
        "gap between jobs, mean (s)": gaps.mean(),
        "gap between jobs, coefficient of variation": gaps.std() / gaps.mean(),
        "gaps up to 60 s (%)": 100 * (gaps <= 60).mean(),
        "jobs of the size and request of the job before (%)": 100
        * (shape[1:] == shape[:-1]).mean(),
        "jobs of the 5 commonest sizes of Theta (%)": 100
        * np.isin(size, (128, 256, 1024, 512, 192)).mean(),
    }
    for label, values in (("size", size), ("request (s)", request), ("run time (s)", run)):
        for q in (10, 25, 50, 75, 90, 99):
            rows[f"{label}, {q} %"] = np.quantile(values, q / 100)
    for q in (10, 25, 50, 75, 90):
        rows[f"run time by request, {q} %"] = np.quantile(run / request, q / 100)
    rows["jobs past their request (%)"] = 100 * (run > request).mean()
    for low, high in ((1, 128), (129, 256), (257, 512), (513, 1024), (1025, 2048), (2049, 4360)):
        share = held[(size >= low) & (size <= high)].sum() / held.sum()
        rows[f"node-hours of sizes {low} to {high} (%)"] = 100 * share
    rows["work of a week, standard deviation of the load"] = weekly_load(trace, held).std()
    for kind in ("hour", "weekday"):
        rows[f"arrivals by {kind}, furthest from Theta's rate (mean 1)"] = from_usual(trace, kind)
    rows["FCFS + EASY, mean wait (h)"] = fcfs_wait_h(trace)
    return rows


def weekly_load(trace: Trace, held: np.ndarray) -> np.ndarray:
    """Offered load of each whole week of the log."""
    submit = trace.table["submit_time"].to_numpy()
    week = (submit - submit[0]) // 604_800
    return np.bincount(week, weights=held)[: week[-1]] / (trace.nodes * 604_800)


def from_usual(trace: Trace, kind: str) -> float:
    """Largest difference of the arrivals by hour or weekday from the facts', mean rate 1."""
    counts = np.array(trace.summary()[f"arrivals_by_{kind}"], dtype=float)
    return float(abs(counts / counts.mean() - getattr(theta_facts(), f"{kind}s")).max())


def theta_table(log: str | None) -> str:
    """The real log beside the generated ones, in Markdown."""
    facts = theta_facts()
    year = [statistics(like(facts, facts.jobs, seed=seed)) for seed in YEARS]
    shipped = statistics(MAKERS["theta-like"]())
    known = {} if log is None else statistics(read_swf(log))
    rows = [
        f"| | Theta 2022 | a year of `like`, {len(YEARS)} seeds: mean (least to most) "
        "| `theta-like` |",
        "|---|---:|---:|---:|",
    ]
    for name, value in shipped.items():
        of_log = number(known[name]) if known else "?"
        rows.append(f"| {name} | {of_log} | {spread(y[name] for y in year)} | {number(value)} |")
    return "\n".join(rows)


def number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(values: Iterable[float]) -> str:
    """Mean, least and most."""
    found = list(values)
    if min(found) == max(found):
        return number(found[0])
    return f"{number(sum(found) / len(found))} ({number(min(found))} to {number(max(found))})"


if __name__ == "__main__":
    raise SystemExit(main())
