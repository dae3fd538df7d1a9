"""Puts the program `svc-mock-server` into the wheel, and says which platforms it runs on.

`SVC_MOCK_SERVER` is the path of the program, `SVC_MOCK_PLATFORM` the platform tag of the wheel.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def workspace_version() -> str:
    """Return the version of the workspace, which is that of the program."""
    manifest = Path(__file__).resolve().parents[2] / "Cargo.toml"
    version = re.search(r'\[workspace\.package\]\nversion = "([^"]+)"', manifest.read_text(encoding="utf-8"))
    if version is None:
        message = f"no version in {manifest}"
        raise ValueError(message)
    return version[1]


class ProgramHook(BuildHookInterface[Any]):
    """Adds the program as a script of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the program, unless the package is installed for its own development."""
        if version == "editable":
            return
        program = Path(os.environ["SVC_MOCK_SERVER"])
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['SVC_MOCK_PLATFORM']}"
        build_data["shared_scripts"] = {str(program): program.name}
