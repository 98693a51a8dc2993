"""Make `.venv` and install the project in it, with the extras named as arguments.

Needs nothing but the standard library of Python 3.11; `.ci/install` finds such a Python.

What was installed is noted in `.venv/installed-NAME`, with a checksum of pyproject.toml and
constraints.txt, so that nothing is done while they stay as they are (and no network is
needed). An install that was cut short leaves `.venv/installing` behind, and the next call
starts from nothing: a half-unpacked package looks installed to pip.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BUSY = VENV / "installing"
LOG = VENV / "install.log"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def say(text: str) -> None:
    print(text, flush=True)


def stamp(extra: str) -> Path:
    return VENV / f"installed-{extra}"


def fingerprint() -> str:
    """What an install depends on: the two files, and where the tree is (.venv holds its path)."""
    digest = hashlib.sha256(str(ROOT).encode())
    for name in ("pyproject.toml", "constraints.txt"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def is_done(extra: str, want: str) -> bool:
    return stamp(extra).is_file() and stamp(extra).read_text(encoding="utf-8") == want


def python_runs() -> bool:
    """False where the Python that .venv was made with has been removed or moved."""
    if not PYTHON.exists():
        return False
    test = [PYTHON, "-c", "import pip"]
    return subprocess.run(test, check=False, capture_output=True).returncode == 0


def other_installer() -> int | None:
    """The process that is installing here now, if one is."""
    try:
        pid = int(BUSY.read_text(encoding="utf-8"))
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return None if pid == os.getpid() else pid


def create() -> int:
    """A new .venv, marked as being worked on from its first moment to its last."""
    VENV.mkdir(exist_ok=True)
    BUSY.write_text(str(os.getpid()), encoding="utf-8")
    for old in VENV.iterdir():
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        elif old != BUSY:
            old.unlink()
    say(f"creating .venv with Python {sys.version.split()[0]} ...")
    return subprocess.run([sys.executable, "-m", "venv", VENV], check=False).returncode


def packages() -> list[str]:
    """The names at the top of site-packages: what an install that fails may have changed."""
    sites = [*VENV.glob("lib/*/site-packages"), *VENV.glob("Lib/site-packages")]
    return sorted(entry.name for site in sites for entry in site.iterdir())


def pip(extras: list[str]) -> int:
    """Run pip, show a line for each large download, keep everything in a log."""
    target = f".[{','.join(extras)}]" if extras else "."
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar", "off", "-c", "constraints.txt", "-e", target]
    environment = {**os.environ, "PIP_USER": "0", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None
    try:
        with LOG.open("w", encoding="utf-8") as log:
            for line in process.stdout:
                log.write(line)
                if found := re.match(r" *Downloading (\S+?)-([\d.]+)\S* \(([\d.]+ [MG]B)\)", line):
                    say("  fetching {} {}, {}".format(*found.groups()))
                elif line.startswith("Installing collected packages"):
                    say(f"  unpacking {line.count(',') + 1} packages ...")
        return process.wait()
    finally:
        if process.poll() is None:  # we were interrupted: do not leave it working on its own
            process.terminate()
            process.wait()


def install(extras: list[str], want: str) -> int:
    busy_with = other_installer()
    if busy_with is not None:
        print(
            f"another make is installing here (process {busy_with}); wait for it.", file=sys.stderr
        )
        return 1
    if BUSY.exists() or not python_runs():
        code = create()
        if code != 0:
            return code
    BUSY.write_text(str(os.getpid()), encoding="utf-8")

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    names = [re.split(r"[^\w.-]", requirement)[0] for requirement in wanted]
    say(f"installing {', '.join(names)} (the first time about a minute) ...")

    before = packages()
    code = pip(extras)
    if code != 0:
        lines = LOG.read_text(encoding="utf-8").splitlines()
        errors = [line for line in lines if "ERROR" in line] or lines
        print("\n".join(errors[-10:]), file=sys.stderr)
        cause = "was stopped" if code < 0 else "could not install (no network? a proxy?)"
        print(f"pip {cause}; all it said is in .venv/{LOG.name}.", file=sys.stderr)
        print("Run make again to try again.", file=sys.stderr)
        if packages() == before:
            BUSY.unlink()  # nothing was changed: what was there before is still good
        return 1
    for extra in ["base", *extras]:
        stamp(extra).write_text(want, encoding="utf-8")
    BUSY.unlink()
    say("installed.")
    return 0


def main(extras: list[str]) -> int:
    want = fingerprint()
    everything = all(is_done(extra, want) for extra in ["base", *extras])
    if everything and not BUSY.exists() and python_runs():
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    try:
        return install(extras, want)
    except KeyboardInterrupt:
        print("\ninterrupted; the next make starts the install afresh.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
