"""The program `svc-mock-server` of this package."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

_NAME = "svc-mock-server.exe" if os.name == "nt" else "svc-mock-server"


def find_program() -> str:
    """Return the path of `svc-mock-server`.

    It is the value of `SVC_MOCK_SERVER`, or else the program that was installed with this package, or else the one
    on the path.

    Raises:
        FileNotFoundError: There is none.

    """
    named = os.environ.get("SVC_MOCK_SERVER")
    if named:
        return named
    folders = [Path(sysconfig.get_path("scripts"))]
    if sys.version_info >= (3, 10):
        folders.append(Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))))
    folders.append(Path(__file__).resolve().parents[1] / "bin")  # `pip install --target`
    for folder in folders:
        program = folder / _NAME
        if program.is_file():
            return str(program)
    on_path = shutil.which(_NAME)
    if on_path is None:
        message = f"{_NAME} is neither installed with svc-mock nor on the path; set SVC_MOCK_SERVER"
        raise FileNotFoundError(message)
    return on_path
