"""A mock of the service, as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from typing import TYPE_CHECKING, Any

from svc_mock import control
from svc_mock.program import find_program
from svc_mock.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

_START_TIMEOUT = 60


class Mock:
    """A running mock: one that this object started, or one that was there before."""

    def __init__(self, env: Mapping[str, str], process: subprocess.Popen[str] | None = None) -> None:
        """Use the mock with these variables. Call `start` or `attach` instead."""
        self.env = dict(env)
        """The environment of a client: `SVC_BASE_URL`, `SVC_OPEN_API_KEY` and so on."""
        self.control_url = self.env["SVC_CONTROL_URL"]
        self._process = process

    @classmethod
    def start(cls, *options: str, clock: str = "real", speed: float = 50) -> Self:
        """Start a mock on free ports, which ends with this process at the latest.

        Args:
            options: Further options of the program, such as `"--plan", "pro"` (`svc-mock-server --help`).
            clock: `"real"`, or `"manual"` for a clock that stands still until `advance` moves it.
            speed: How many times as fast as the wall clock the real clock runs.

        """
        command = [find_program(), "--port-base", "0", "--json", "--exit-on-stdin-eof", "--clock", clock]
        if clock == "real":
            command += ["--speed", str(speed)]
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(
                [*command, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
            timer = threading.Timer(_START_TIMEOUT, process.kill)
            timer.start()
            line = process.stdout.readline() if process.stdout else ""
            timer.cancel()
            if not line:
                process.kill()
                process.wait()
                log.seek(0)
                message = f"svc-mock-server did not start: {log.read().strip()}"
                raise RuntimeError(message)
        return cls(json.loads(line), process)

    @classmethod
    def attach(cls, env: Mapping[str, str] = os.environ) -> Self:
        """Use the mock that an environment names, such as that of `svc mock exec` or of a container."""
        return cls({name: value for name, value in env.items() if name.startswith("SVC_")})

    @classmethod
    def from_env(cls, *options: str, speed: float = 50) -> Self:
        """Use the mock that `SVC_CONTROL_URL` names, or start one."""
        return cls.attach() if os.environ.get("SVC_CONTROL_URL") else cls.start(*options, speed=speed)

    def control(self, method: str, path: str, body: Any = None, *, timeout: float = 30, **query: Any) -> Any:
        """Send a request to the control API and return its decoded response."""
        return control.send(method, self.control_url + path, body, query, timeout)

    def workspace(
        self,
        *,
        id: str | None = None,
        plan: str | None = None,
        balance_usd: str | float | None = None,
        team: bool | None = None,
    ) -> Workspace:
        """Create a workspace, with keys, money, faults, webhooks and a journal of its own."""
        fields = {"id": id, "plan": plan, "balance_usd": balance_usd, "team": team}
        body = {name: value for name, value in fields.items() if value is not None}
        return Workspace(self.control, self.control("POST", "/workspaces", body))

    def advance(self, seconds: float) -> None:
        """Move the manual clock, and run all that falls due."""
        self.control("POST", "/clock/advance", {"seconds": seconds})

    def close(self) -> None:
        """End the mock if this object started it."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()

    def __enter__(self) -> Self:
        """Return the mock."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the mock if this object started it."""
        self.close()
