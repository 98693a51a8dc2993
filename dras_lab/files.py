"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .jobs import DrasLabError


def check_target(path: str | os.PathLike[str]) -> Path:
    """The path of a file that is going to be written, checked before the work begins.

    Raises
    ------
    DrasLabError
        If its folder does not exist or it is a folder itself.
    """
    target = Path(path)
    if target.is_dir():
        raise DrasLabError(f"{path}: is a folder; name a file in it")
    if not target.parent.is_dir():
        raise DrasLabError(f"{path}: there is no folder {target.parent}; make it first")
    return target


def write_whole(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write a file whole or not at all: a temporary file beside it, then a rename.

    Text is written as UTF-8 with its line ends as they are.

    Raises
    ------
    DrasLabError
        If the folder does not exist or cannot be written to.
    """
    target = check_target(path)
    content = data.encode("utf-8") if isinstance(data, str) else data
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)  # the usual rights, not mkstemp's 0600
        Path(temporary).replace(target)
        temporary = ""
    except OSError as error:
        raise DrasLabError(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        if temporary and Path(temporary).exists():
            Path(temporary).unlink()
