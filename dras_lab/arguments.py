"""The arguments of the command line: names, checks, help texts with examples."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from . import __version__

Command = Callable[[argparse.Namespace], int | None]
DEMO_POLICIES = "fcfs,sjf,saf,wfp3,f1,binpacking,random"


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and where help is."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def _whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of {least} or more")
        if number >= 1 << 63:
            raise argparse.ArgumentTypeError(f"{text!r} is too large")
        return number

    return parse


_count, _natural = _whole(1), _whole(0)


def _window(text: str) -> int | None:
    return None if text == "all" else _count(text)


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def _choice(help: str, *choices: str) -> dict[str, Any]:
    text = f"{help}; default {choices[0]}" if help else f"default {choices[0]}"
    return {"choices": choices, "default": choices[0], "help": text}


def _said(help: str, *choices: str) -> dict[str, Any]:
    return _choice(help, *choices) | {"default": None}


# What more than one command takes, or what needs a check.
_OPTIONS: dict[str, dict[str, Any]] = {
    "--extra-columns": _choice(
        "what to do with fields past the 18 of the format", "refuse", "ignore"
    ),
    "--nodes": {
        "type": _count,
        "metavar": "N",
        "help": "size of the machine, instead of the log's own",
    },
    "--coarsen": {
        "type": _count,
        "default": 1,
        "metavar": "K",
        "help": "divide machine and sizes by K, rounded up",
    },
    "--jobs": {"type": _count, "metavar": "N", "help": "only the first N jobs"},
    "--part": {
        "choices": ("train", "validation", "test"),
        "help": "only that part of the log: its first 60 %% of jobs, the next 15 %%, or the last "
        "25 %%, which dras-lab train never touches",
    },
    "--backfill": _choice("", "easy", "none", "conservative"),
    "--overrun": _choice("end jobs at their request (kill) or let them run on", "kill", "keep"),
    "--reservation": _choice("held: as in DRAS", "held", "renewed"),
    "--window": {
        "type": _window,
        "default": 50,
        "metavar": "W",
        "help": "jobs a policy sees at once, or all; default 50",
    },
    "--seed": {
        "type": _natural,
        "default": 0,
        "metavar": "S",
        "help": "for all that is drawn at random; default 0",
    },
    "--tau": {
        "type": _positive,
        "default": 10.0,
        "metavar": "SEC",
        "help": "bound of the bounded slowdown; default 10",
    },
    "--json": {"action": "store_true", "help": "print JSON"},
}
_ENGINE = ("--backfill", "--overrun", "--reservation", "--window")
_RUN = (*_ENGINE, "--nodes", "--coarsen", "--jobs", "--part", "--seed", "--tau", "--json")

_TRAIN: dict[str, dict[str, Any]] = {
    # No defaults here: what is not said is as the recipe has it.
    "--recipe": {
        "metavar": "NAME",
        "help": "a way of training that was tried, in place of the choices below: dras-pg, "
        "dras-dql, best, decima-pg or dras-pg-published",
    },
    "--agent": _said("DRAS-PG, DRAS-DQL or Decima-PG", "pg", "dql", "decima"),
    "--network": _said("DRAS's, or a small one that scores each job alike", "dras", "scorer"),
    "--reward": _said("", "capability", "capacity", "waits"),
    "--update": _said("how it learns: our settings, or the published ones", "ours", "published"),
    "--window": {
        "type": _count,
        "default": 50,
        "metavar": "W",
        "help": "jobs the agent sees at once; default 50",
    },
    "--episodes": {
        "type": _count,
        "metavar": "N",
        "help": "job sets to learn from; default 40",
    },
    "--set-jobs": {
        "type": _whole(2),
        "metavar": "N",
        "help": "jobs of a job set; default 1500",
    },
    "--load": {
        "type": _positive,
        "metavar": "X",
        "help": "offered load of sampled and synthetic job sets; default 0.9",
    },
    "--phases": {
        "metavar": "A,B,...",
        "help": "kinds of job sets in the order they come, real ones twice as many as of the "
        "others; default sampled,real,synthetic",
    },
    "--patience": {
        "type": _count,
        "metavar": "N",
        "help": "stop when N episodes brought nothing better",
    },
    "--limit": {
        "type": _positive,
        "metavar": "X",
        "help": "longest wait, as a ratio to fcfs, that a best episode may have at no price; "
        "default 1.1",
    },
    "--rules": {
        "type": _natural,
        "metavar": "N",
        "help": "begin with the best of N linear rules tried at random (scorer); default 60, 0: "
        "with nothing",
    },
    "--tensorboard": {
        "action": "store_true",
        "help": "write the figures of each episode for TensorBoard too, into DIR/tensorboard",
    },
    "--resume": {"action": "store_true", "help": "go on with the training in DIR"},
    "--force": {"action": "store_true", "help": "start anew over the training in DIR"},
}


def build_parser(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    """The parser of all commands; `commands` says which function does each."""
    parser = _Parser(
        prog="dras-lab",
        description="Replay a supercomputer's job log under a policy, compare policies, and train "
        "agents.",
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
    _trace(sub)
    _add(sub, "--nodes")
    sub.add_argument(
        "--strict", action="store_true", help="stop at the first line that needs a repair"
    )
    _add(sub, "--json")

    sub = command(
        "simulate",
        "run a log under one policy",
        "dras-lab simulate lublin-256 --policy sjf --out schedule.csv",
    )
    _trace(sub)
    sub.add_argument("--policy", required=True, metavar="NAME", help=_policies())
    _add(sub, *_RUN)
    sub.add_argument("--out", metavar="FILE.csv", help="write the schedule, a row a job")
    sub.add_argument(
        "--learn", action="store_true", help="an agent goes on learning while it schedules"
    )
    sub.add_argument("--save", metavar="FILE.pt", help="write the agent as --learn left it")

    sub = command(
        "compare",
        "run a log under several policies and put their measures side by side",
        "dras-lab compare theta-like --policies fcfs,sjf,wfp3 --plot kiviat.png",
    )
    _trace(sub)
    sub.add_argument(
        "--policies",
        default=DEMO_POLICIES,
        metavar="A,B,...",
        help=f"default {DEMO_POLICIES}; each is {_policies()}",
    )
    _add(sub, *_RUN)
    sub.add_argument("--out", metavar="FILE.csv", help="write the table")
    sub.add_argument(
        "--plot", metavar="FILE.png", help="write bars and a Kiviat chart (.png, .pdf or .svg)"
    )

    sub = command(
        "train",
        "train a DRAS agent on the first three fifths of a log",
        "dras-lab train theta-like --coarsen 16 --network scorer --reward waits --out my-agent",
    )
    _trace(sub)
    for name, how in _TRAIN.items():
        sub.add_argument(name, **how)
    _add(sub, "--nodes", "--coarsen", "--jobs", "--seed", "--json")
    sub.add_argument(
        "--out", required=True, metavar="DIR", help="folder for the agent and the log of episodes"
    )

    sub = command(
        "sweep",
        "run an experiment: a grid of logs, policies or learners, rewards and seeds",
        "dras-lab sweep examples/sweep.toml --out my-sweep --workers 2",
    )
    sub.add_argument("experiment", metavar="FILE.toml", help="what to run; docs/experiments.md")
    sub.add_argument(
        "--out",
        required=True,
        metavar="DIR",
        help="folder for the runs and the table; finished runs in it are not done again",
    )
    where = sub.add_mutually_exclusive_group()
    where.add_argument(
        "--workers",
        type=_count,
        default=1,
        metavar="N",
        help="processes on this machine; default 1",
    )
    where.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask scheduler instead, tcp://HOST:PORT"
    )
    _add(sub, "--json")

    sub = command(
        "generate",
        "make a synthetic log",
        "dras-lab generate lublin --jobs 1000 --load 0.9 --seed 1 --out small.swf",
    )
    _add(sub, "--extra-columns")
    sub.add_argument("model", metavar="MODEL", help="lublin, theta-like, or a log to imitate")
    sub.add_argument("--jobs", type=_count, required=True, metavar="N", help="how many jobs")
    sub.add_argument(
        "--load", type=_positive, metavar="X", help="offered load; the model's own by default"
    )
    _add(sub, "--seed", "--json")
    sub.add_argument(
        "--out", required=True, metavar="FILE.swf", help="where to write it (.swf or .swf.gz)"
    )

    sub = command(
        "demo",
        "train a small agent on a shipped log and compare it with the heuristics",
        "dras-lab demo --out demo-output",
    )
    sub.add_argument(
        "--out",
        default="demo-output",
        metavar="DIR",
        help="folder to write to; default demo-output",
    )
    _add(sub, "--json")
    return parser


def _add(sub: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        sub.add_argument(name, **_OPTIONS[name])


def _trace(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "trace", metavar="TRACE", help="an .swf or .swf.gz file, or theta-like, or lublin-256"
    )
    _add(sub, "--extra-columns")


def _policies() -> str:
    from .policies import NAMES

    return "one of " + ", ".join(NAMES) + ", or an agent: a checkpoint file or a shipped name"
