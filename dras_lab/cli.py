"""The command line: ``dras-lab inspect | simulate | compare | generate | demo``.

Results go to standard output, everything else to standard error. Exit code 0: done; 1: the
work failed; 2: bad arguments or input, said in one line; 130: interrupted.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import DEMO_POLICIES, Command, build_parser
from .files import check_target, write_all
from .jobs import DrasLabError

if TYPE_CHECKING:
    from .results import Result
    from .traces import Trace


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file's name may be no text
    try:
        arguments = build_parser(COMMANDS).parse_args(argv)
        code = arguments.command(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return int(code or 0)
    except SystemExit as stop:
        return int(stop.code or 0)
    except DrasLabError as error:
        print(f"dras-lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dras-lab: interrupted; nothing was written", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) has had enough; Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"dras-lab: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except Exception as error:
        if os.environ.get("DRAS_LAB_DEBUG"):
            raise
        what = str(error).strip().splitlines() or [""]
        print(
            f"dras-lab: failed: {type(error).__name__}: {what[0]} "
            "(a fault of ours; DRAS_LAB_DEBUG=1 shows where)",
            file=sys.stderr,
        )
        return 1


# -- commands ---------------------------------------------------------------------------------


def _inspect(arguments: argparse.Namespace) -> None:
    trace = _read(arguments)
    report = trace.report
    if arguments.json:
        _print_json(
            {
                "trace": trace.name,
                "nodes": trace.nodes,
                "report": None if report is None else report.to_dict(),
                "summary": trace.summary(),
            }
        )
        return
    if report is not None:
        print(report, end="\n\n")
    print(trace.format_summary())


def _simulate(arguments: argparse.Namespace) -> None:
    _targets(arguments.trace, arguments.out)
    _policy(arguments.policy, arguments.seed)  # a wrong name is seen before the log is read
    trace = _prepared(arguments)
    result = _run(trace, arguments.policy, arguments)
    measures = _measures(result, trace, arguments)
    if arguments.out:
        _write({arguments.out: result.csv()})
    if arguments.json:
        _print_json(measures)
        return
    _print_measures(measures)
    if arguments.out:
        print(f"schedule written to {arguments.out}", file=sys.stderr)


def _compare(arguments: argparse.Namespace) -> None:
    from .metrics import compare

    names = [name.strip() for name in arguments.policies.split(",") if name.strip()]
    if not names:
        raise DrasLabError("--policies: name at least one policy, separated by commas")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DrasLabError(f"--policies: {twice[0]!r} is named twice")
    for name in names:
        _policy(name, arguments.seed)
    _targets(arguments.trace, arguments.out, arguments.plot)
    if arguments.plot:
        _picture_format(arguments.plot)
    trace = _prepared(arguments)
    results = {name: _run(trace, name, arguments) for name in names}
    table = compare(results, arguments.tau)
    title = _title(trace, results[names[0]])
    files: dict[str | os.PathLike[str], str | bytes] = {}
    if arguments.plot:
        files[arguments.plot] = _picture(table, title, arguments.plot)
    if arguments.out:
        files[arguments.out] = table.to_csv(lineterminator="\n")
    _write(files)
    if arguments.json:
        _print_json([_measures(result, trace, arguments) for result in results.values()])
        return
    print(title)
    print(_format_table(table, arguments.tau))


def _generate(arguments: argparse.Namespace) -> None:
    from .workloads import generate

    _targets(arguments.model, arguments.out)
    trace = generate(
        arguments.model,
        arguments.jobs,
        seed=arguments.seed,
        load=arguments.load,
        extra_columns=arguments.extra_columns,
    )
    summary = trace.summary()
    load = summary["offered_load"]
    trace.write_swf(arguments.out)
    if arguments.json:
        _print_json({"file": arguments.out, "nodes": trace.nodes, "summary": summary})
        return
    print(
        f"{arguments.out}: {len(trace)} jobs, {trace.nodes} nodes"
        + ("" if load is None else f", offered load {load:.3f}")
    )


def _demo(arguments: argparse.Namespace) -> None:
    from .metrics import compare
    from .traces import read_swf, shipped

    folder = Path(arguments.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DrasLabError(
            f"{folder}: cannot be made ({error.strerror}); name another with --out"
        ) from error
    trace = read_swf(shipped()["theta-like"])  # whatever lies in this folder by that name
    print(
        f"Replaying {len(trace)} jobs of {trace.name} on {trace.nodes} nodes under ...",
        file=sys.stderr,
    )
    results = {}
    for name in DEMO_POLICIES.split(","):
        print(f"  {name}", file=sys.stderr)
        results[name] = _run(trace, name, arguments)
    table = compare(results, baseline="fcfs")
    title = _title(trace, results["fcfs"])
    _write(
        {
            folder / "policies.png": _picture(table, title, "policies.png"),
            folder / "table.csv": table.to_csv(lineterminator="\n"),
        }
    )
    if arguments.json:
        _print_json([_measures(result, trace, arguments) for result in results.values()])
        return
    print(f"\n{title}\n{_format_table(table, arguments.tau)}\n")
    best = table.sort_values("mean_wait_h").iloc[0]
    print(
        f"{best.name} has the shortest mean wait ({best['mean_wait_ratio']:.2f} of fcfs), and its "
        f"longest wait is {best['max_wait_ratio']:.2f} times that of fcfs:\n"
        "a mean alone does not tell who was left waiting."
    )
    print(f"\nWritten: {folder / 'table.csv'} and {folder / 'policies.png'}")


# -- what they share --------------------------------------------------------------------------


def _read(arguments: argparse.Namespace) -> Trace:
    from .traces import read_swf

    return read_swf(
        arguments.trace,
        strict=getattr(arguments, "strict", False),
        nodes=arguments.nodes if getattr(arguments, "command", None) is _inspect else None,
        extra_columns=arguments.extra_columns,
    )


def _prepared(arguments: argparse.Namespace) -> Trace:
    """The trace as the options want it: the first jobs of it, coarsened."""
    trace = _read(arguments)
    refused = _refused_on_reading(trace)
    if refused and trace.report is not None:
        print(
            f"{trace.name}: {refused} of {trace.report.read} jobs refused on reading "
            f"(why: dras-lab inspect {arguments.trace})",
            file=sys.stderr,
        )
    if arguments.nodes is not None and arguments.coarsen != 1:
        print("(--nodes is the size after --coarsen)", file=sys.stderr)
    report = trace.report
    if arguments.jobs is not None:
        trace = trace[: arguments.jobs]
    if arguments.coarsen != 1:
        trace = trace.coarsen(arguments.coarsen)
    trace.report = report
    return trace


def _refused_on_reading(trace: Trace) -> int:
    return 0 if trace.report is None else sum(trace.report.refused.values())


def _policy(name: str, seed: int) -> Callable[..., int | None]:
    from .policies import make_policy

    return make_policy(name, seed)


def _run(trace: Trace, name: str, arguments: argparse.Namespace) -> Result:
    from tqdm import tqdm

    from .simulator import simulate

    # disable=None: no bar where standard error is not a terminal.
    with tqdm(total=len(trace), desc=name, unit="job", leave=False, disable=None) as bar:
        result = simulate(
            trace,
            _policy(name, arguments.seed),
            nodes=arguments.nodes,
            progress=None if bar.disable else lambda ended: bar.update(ended - bar.n),
            backfill=arguments.backfill,
            window=arguments.window,
            overrun=arguments.overrun,
            reservation=arguments.reservation,
            log=False,
        )
    result.policy = name
    if not result.ran.any():
        raise DrasLabError(
            f"{trace.name}: all {len(trace)} jobs are wider than the machine of {result.nodes} "
            "nodes; give a larger one with --nodes"
            if len(trace)
            else f"{trace.name}: there are no jobs to run"
        )
    return result


def _title(trace: Trace, result: Result) -> str:
    options = result.options
    backfill = {"easy": "EASY backfilling", "conservative": "conservative backfilling"}
    window = (
        "the whole queue" if options["window"] is None else f"a window of {options['window']} jobs"
    )
    how = backfill.get(options["backfill"], "no backfilling")
    name = trace.name.encode("utf-8", "replace").decode()
    return (
        f"{name}: {len(trace)} jobs, {result.nodes} nodes; "
        f"{how}, {window}, overrun {options['overrun']}"
    )


# What a table on the screen shows, its heading and its format; files have all columns.
_COLUMNS = {
    "mean_wait_h": ("mean wait", "{:.2f}"),
    "median_wait_h": ("median", "{:.2f}"),
    "max_wait_h": ("max", "{:.1f}"),
    "mean_wait_ratio": ("mean/fcfs", "{:.2f}"),
    "max_wait_ratio": ("max/fcfs", "{:.2f}"),
    "mean_bounded_slowdown": ("slowdown", "{:.1f}"),
    "utilisation": ("utilisation", "{:.3f}"),
    "makespan_d": ("makespan", "{:.1f}"),
    "refused": ("refused", "{:.0f}"),
}


def _format_table(table: Any, tau: float) -> str:
    shown = {
        heading: [pattern.format(value) for value in table[column]]
        for column, (heading, pattern) in _COLUMNS.items()
        if column in table and (column != "refused" or table[column].any())
    }
    rows = [["", *shown], *map(list, zip(map(str, table.index), *shown.values(), strict=True))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in rows
    ]
    note = f"waits in hours, makespan in days, bounded slowdown with tau = {tau:g} s"
    return "\n".join([*lines, note])


# How many decimals are worth printing; what is computed with is never rounded.
_DECIMALS = {
    "mean_wait_s": 3,
    "mean_response_s": 3,
    "mean_bounded_slowdown": 4,
    "max_bounded_slowdown": 4,
    "utilisation": 5,
    "throughput_per_h": 3,
}


def _measures(result: Result, trace: Trace, arguments: argparse.Namespace) -> dict[str, Any]:
    """What ``--json`` says of one run."""
    from .metrics import summary

    measures = {
        key: round(value, _DECIMALS[key]) if key in _DECIMALS and value is not None else value
        for key, value in summary(result, arguments.tau).items()
    }
    return {**measures, "refused_on_reading": _refused_on_reading(trace), **result.options}


def _print_measures(measures: dict[str, Any]) -> None:
    width = max(map(len, measures))
    for key, value in measures.items():
        print(f"{key:<{width}}  {'-' if value is None else value}")


def _picture_format(path: str) -> str:
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in ("png", "pdf", "svg"):
        raise DrasLabError(f"{path}: a figure is written as .png, .pdf or .svg; name it so")
    return kind


def _picture(table: Any, title: str, path: str) -> bytes:
    from .plotting import as_bytes, overview

    return as_bytes(overview(table, title), _picture_format(path))


def _write(files: Mapping[str | os.PathLike[str], str | bytes]) -> None:
    """Write files whose content is there already: an interrupt comes before all or after all."""
    if threading.current_thread() is not threading.main_thread():
        return write_all(files)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        write_all(files)
    finally:
        signal.signal(signal.SIGINT, before)


def _targets(source: str, *paths: str | None) -> None:
    """Check what is going to be written before the work begins."""
    given = [path for path in paths if path is not None]
    for path in given:
        if not path:
            raise DrasLabError("--out, --plot: an empty name; name a file")
        target = check_target(path)
        if target.is_file() and Path(source).is_file() and target.samefile(source):
            raise DrasLabError(f"{path}: is the log that is read; name another file")
    if len({os.path.realpath(path) for path in given}) < len(given):
        raise DrasLabError(f"{given[0]}: is named twice; name a file for each")


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))


COMMANDS: dict[str, Command] = {
    "inspect": _inspect,
    "simulate": _simulate,
    "compare": _compare,
    "generate": _generate,
    "demo": _demo,
}


if __name__ == "__main__":
    raise SystemExit(main())
