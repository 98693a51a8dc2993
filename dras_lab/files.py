"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .jobs import DrasLabError


def check_target(path: str | os.PathLike[str]) -> Path:
    """The path of a file that is going to be written, checked before the work begins.

    Raises
    ------
    DrasLabError
        If its folder does not exist or cannot be written to, or it is a folder itself.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise DrasLabError(f"{path}: is a folder; name a file in it")
        if not target.parent.is_dir():
            raise DrasLabError(f"{path}: there is no folder {target.parent}; make it first")
        target.exists()  # an impossible name is found out here
        may_write = os.access(target.parent, os.W_OK | os.X_OK)
    except OSError as error:
        raise _refused(path, error) from error
    if not may_write:
        raise DrasLabError(f"{path}: the folder may not be written to; name another")
    return target


def write_whole(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write one file whole or not at all; see `write_all`."""
    write_all({path: data})


def write_all(files: Mapping[str | os.PathLike[str], str | bytes]) -> None:
    """Write files whole, and all of them or none: temporary files beside them, then renames.

    Text is written as UTF-8 with its line ends as they are. A link stays a link; what is no
    file, such as a terminal or ``/dev/null``, is written to as it stands.

    Raises
    ------
    DrasLabError
        If a folder does not exist or cannot be written to, or the disk is full.
    """
    waiting: list[tuple[str, Path]] = []
    path: str | os.PathLike[str] = ""
    try:
        for path, data in files.items():
            content = data.encode("utf-8") if isinstance(data, str) else data
            target = Path(os.path.realpath(check_target(path)))
            if target.exists() and not target.is_file():
                target.write_bytes(content)
                continue
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".dras-lab-")
            waiting.append((temporary, target))
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)  # noqa: PTH101  (the usual rights, not mkstemp's)
        while waiting:
            os.replace(*waiting[0])  # noqa: PTH105
            waiting.pop(0)
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        for temporary, _ in waiting:
            Path(temporary).unlink(missing_ok=True)


def _refused(path: str | os.PathLike[str], error: OSError) -> DrasLabError:
    return DrasLabError(f"{path}: cannot be written ({error.strerror}); write somewhere else")
