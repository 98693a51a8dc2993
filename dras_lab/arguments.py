"""The arguments of the command line: names, checks, help texts with examples."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import NoReturn

from . import __version__

Command = Callable[[argparse.Namespace], None]
DEMO_POLICIES = "fcfs,sjf,saf,wfp3,f1,binpacking,random"


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where help is."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return number


def _window(text: str) -> int | None:
    return None if text == "all" else _count(text)


def _seed(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return number


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def build_parser(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    """The parser of all commands; `commands` says which function does each."""
    parser = _Parser(
        prog="dras-lab",
        description="Replay a supercomputer's job log under a policy, and compare policies.",
        epilog="Try: dras-lab demo",
    )
    parser.add_argument("--version", action="version", version=f"dras-lab {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    def command(name: str, text: str, example: str) -> argparse.ArgumentParser:
        sub = subparsers.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(command=commands[name])
        return sub

    sub = command(
        "inspect",
        "show what a log holds, and what was repaired or refused when it was read",
        "dras-lab inspect theta-like",
    )
    _trace_arguments(sub)
    sub.add_argument(
        "--nodes", type=_count, metavar="N", help="size of the machine, instead of the log's own"
    )
    sub.add_argument(
        "--strict", action="store_true", help="stop at the first line that needs a repair"
    )
    sub.add_argument("--json", action="store_true", help="print JSON")

    sub = command(
        "simulate",
        "run a log under one policy",
        "dras-lab simulate lublin-256 --policy sjf --out schedule.csv",
    )
    _trace_arguments(sub)
    sub.add_argument("--policy", required=True, metavar="NAME", help=_policies_help())
    _run_arguments(sub)
    sub.add_argument("--out", metavar="FILE.csv", help="write the schedule, a row a job")

    sub = command(
        "compare",
        "run a log under several policies and put their measures side by side",
        "dras-lab compare theta-like --policies fcfs,sjf,wfp3 --plot kiviat.png",
    )
    _trace_arguments(sub)
    sub.add_argument(
        "--policies",
        default=DEMO_POLICIES,
        metavar="A,B,...",
        help=f"default {DEMO_POLICIES}; " + _policies_help(),
    )
    _run_arguments(sub)
    sub.add_argument("--out", metavar="FILE.csv", help="write the table")
    sub.add_argument(
        "--plot", metavar="FILE.png", help="write bars and a Kiviat chart (.png, .pdf or .svg)"
    )

    sub = command(
        "generate",
        "make a synthetic log",
        "dras-lab generate lublin --jobs 1000 --load 0.9 --seed 1 --out small.swf",
    )
    _extra_columns(sub)
    sub.add_argument("model", metavar="MODEL", help="lublin, theta-like, or a log to imitate")
    sub.add_argument("--jobs", type=_count, required=True, metavar="N", help="how many jobs")
    sub.add_argument(
        "--load", type=_positive, metavar="X", help="offered load; the model's own by default"
    )
    sub.add_argument("--seed", type=_seed, default=0, metavar="S", help="default 0")
    sub.add_argument("--json", action="store_true", help="print JSON")
    sub.add_argument(
        "--out", required=True, metavar="FILE.swf", help="where to write it (.swf or .swf.gz)"
    )

    sub = command(
        "demo",
        "compare the heuristics on a shipped log, with a table and a figure",
        "dras-lab demo --out demo-output",
    )
    sub.add_argument(
        "--out",
        default="demo-output",
        metavar="DIR",
        help="folder to write to; default demo-output",
    )
    sub.add_argument("--json", action="store_true", help="print JSON")
    sub.set_defaults(
        seed=0, nodes=None, backfill="easy", window=50, overrun="kill", reservation="held", tau=10.0
    )
    return parser


def _policies_help() -> str:
    from .policies import NAMES

    return "one of " + ", ".join(NAMES)


def _trace_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "trace", metavar="TRACE", help="an .swf or .swf.gz file, or theta-like, or lublin-256"
    )
    _extra_columns(sub)


def _extra_columns(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--extra-columns",
        choices=("refuse", "ignore"),
        default="refuse",
        help="what to do with fields past the 18 of the format; default refuse",
    )


def _run_arguments(sub: argparse.ArgumentParser) -> None:
    add = sub.add_argument
    add("--backfill", choices=("easy", "none", "conservative"), default="easy", help="default easy")
    add(
        "--overrun",
        choices=("kill", "keep"),
        default="kill",
        help="end jobs at their request (kill) or let them run on (keep); default kill",
    )
    add(
        "--reservation",
        choices=("held", "renewed"),
        default="held",
        help="default held, as in DRAS",
    )
    add("--nodes", type=_count, metavar="N", help="size of the machine, instead of the log's own")
    add(
        "--coarsen",
        type=_count,
        default=1,
        metavar="K",
        help="divide machine and sizes by K, rounded up",
    )
    add("--jobs", type=_count, metavar="N", help="only the first N jobs")
    add(
        "--window",
        type=_window,
        default=50,
        metavar="W",
        help="jobs a policy sees at once, or all; default 50",
    )
    add(
        "--seed",
        type=_seed,
        default=0,
        metavar="S",
        help="for policies that draw random numbers; default 0",
    )
    add(
        "--tau",
        type=_positive,
        default=10.0,
        metavar="SEC",
        help="bound of the bounded slowdown; default 10",
    )
    add("--json", action="store_true", help="print JSON")
