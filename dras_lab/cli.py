"""The command line: ``dras-lab inspect | simulate | compare | train | sweep | generate | demo``.

Results go to standard output, everything else to standard error. Exit code 0: done; 1: the
work failed; 2: bad arguments or input, said in one line; 130: interrupted.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from .arguments import Command, build_parser
from .coach import train
from .demo import demo
from .jobs import DrasLabError
from .runners import drivers, engine_options, fit, prepared, read, run, targets, write
from .screen import (
    format_spreads,
    format_table,
    measures,
    picture,
    picture_format,
    print_json,
    print_measures,
    title,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # NumPy's and torch's arithmetic libraries would share out products of a few dozen numbers
    # among threads that wait for each other: ten times as slow on a busy machine. They look
    # here when they are loaded, which is why nothing above imports them.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a file's name may be no text
    try:
        arguments = build_parser(COMMANDS).parse_args(words)
        arguments.words = words
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
    trace = read(arguments, strict=arguments.strict, nodes=arguments.nodes)
    report = trace.report
    if arguments.json:
        print_json(
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
    name, out, save = arguments.policy, arguments.out, arguments.save
    targets(arguments.trace, out, save, agents=[name])
    if save and not arguments.learn:
        raise DrasLabError("--save writes what an agent has learnt: it goes with --learn")
    (driver,) = drivers([name], arguments)  # a wrong name is seen before the log is read
    if arguments.learn and not driver.is_agent:
        raise DrasLabError(f"--learn: {name} does not learn; give a checkpoint as --policy")
    trace = prepared(arguments)
    fit(driver, trace, arguments)
    learning: AbstractContextManager[object] = nullcontext()
    if arguments.learn:
        from .adapting import adapting

        learning = adapting(driver.policy)
    with learning:
        result = run(trace, driver.label, driver.policy, engine_options(arguments))
    found = measures(result, trace, arguments.tau)
    files: dict[str | os.PathLike[str], str | bytes] = {}
    if arguments.learn:
        found["decisions_learnt_from"] = int(driver.policy.figures()["decisions"])
    if save:
        from .agents.checkpoints import as_bytes, contents_of

        about = {"adapted_from": driver.label, "trace": trace.name, "digest": trace.digest()}
        files[save] = as_bytes(contents_of(driver.policy, about))
    if out:
        files[out] = result.csv()
    write(files)
    if arguments.json:
        print_json(found)
        return
    print_measures(found)
    for what, path in (("schedule", out), ("agent", save)):
        if path:
            print(f"{what} written to {path}", file=sys.stderr)


def _compare(arguments: argparse.Namespace) -> None:
    from .metrics import compare

    names = [name.strip() for name in arguments.policies.split(",") if name.strip()]
    if not names:
        raise DrasLabError("--policies: name at least one policy, separated by commas")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DrasLabError(f"--policies: {twice[0]!r} is named twice")
    chosen = drivers(names, arguments)
    targets(arguments.trace, arguments.out, arguments.plot, agents=names)
    if arguments.plot:
        picture_format(arguments.plot)
    trace = prepared(arguments)
    for driver in chosen:
        fit(driver, trace, arguments)
    results = {d.label: run(trace, d.label, d.policy, engine_options(arguments)) for d in chosen}
    table = compare(results, arguments.tau)
    heading = title(trace, results[chosen[0].label])
    files: dict[str | os.PathLike[str], str | bytes] = {}
    if arguments.plot:
        files[arguments.plot] = picture(table, heading, arguments.plot)
    if arguments.out:
        files[arguments.out] = table.to_csv(lineterminator="\n")
    write(files)
    if arguments.json:
        print_json([measures(result, trace, arguments.tau) for result in results.values()])
        return
    print(heading)
    print(format_table(table, arguments.tau))


def _sweep(arguments: argparse.Namespace) -> int:
    from .experiments import read_experiment
    from .sweeps import RUNS, TABLE, sweep

    experiment = read_experiment(arguments.experiment)
    try:
        done = sweep(
            experiment,
            arguments.out,
            workers=arguments.workers,
            scheduler=arguments.scheduler,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
    except KeyboardInterrupt:
        print(
            "dras-lab: interrupted; finished runs are kept, the same command goes on",
            file=sys.stderr,
        )
        return 130
    if arguments.json:
        print_json(
            {
                "folder": arguments.out,
                "files": [RUNS, TABLE],
                "finished": len(done.runs),
                "skipped": done.skipped,
                "failed": done.failed,
            }
        )
    else:
        if len(done.table):
            print(format_spreads(done.table))
        print(f"{len(done.runs)} runs, {done.skipped} of them from before; in {arguments.out}: "
              f"{RUNS} (a row a run), {TABLE} (all measures)")  # fmt: skip
    for name, error in done.failed.items():
        print(f"dras-lab: failed: {name}: {error}", file=sys.stderr)
    return 1 if done.failed else 0


def _generate(arguments: argparse.Namespace) -> None:
    from .workloads import generate

    targets(arguments.model, arguments.out)
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
        print_json({"file": arguments.out, "nodes": trace.nodes, "summary": summary})
        return
    print(
        f"{arguments.out}: {len(trace)} jobs, {trace.nodes} nodes"
        + ("" if load is None else f", offered load {load:.3f}")
    )


COMMANDS: dict[str, Command] = {
    "inspect": _inspect,
    "simulate": _simulate,
    "compare": _compare,
    "train": train,
    "sweep": _sweep,
    "generate": _generate,
    "demo": demo,
}


if __name__ == "__main__":
    raise SystemExit(main())
