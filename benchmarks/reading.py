"""How many lines a second `read_swf` reads, unpacking and cleaning included.

    python benchmarks/reading.py [LOG]

Without a log it makes one of 250,000 jobs, packed as the shipped ones are.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from dras_lab.traces import read_swf
from dras_lab.workloads import lublin


def main() -> None:
    """Five readings; the median is what to quote."""
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 1:
            path = Path(sys.argv[1])
        else:
            path = Path(folder) / "lublin-250k.swf.gz"
            lublin(250_000, seed=1).write_swf(path)
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            trace = read_swf(path)
            times.append(time.perf_counter() - begin)
        assert trace.report is not None
        lines = trace.report.read
    print(
        f"{path.name}: {lines:,} jobs, {lines / median(times):,.0f} lines a second "
        f"(median of five; {min(times):.2f} to {max(times):.2f} s)"
    )


if __name__ == "__main__":
    main()
