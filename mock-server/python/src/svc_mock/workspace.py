"""A workspace of the mock: all that one test needs, and nothing that another one sees."""

from __future__ import annotations

import json
import math
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from svc_mock.control import ControlError
from svc_mock.webhooks import WebhookReceiver

if TYPE_CHECKING:
    from typing_extensions import Self

    from svc_mock.control import Control


class Workspace:
    """A workspace with its keys, balance, faults, requests, jobs and webhooks."""

    def __init__(self, control: Control, created: dict[str, Any]) -> None:
        """Use a workspace as the control API described it. Call `Mock.workspace` instead."""
        self._control = control
        self.id: str = created["id"]
        self.open_api_key: str = created["open_api_key"]
        self.developer_api_key: str = created["developer_api_key"]
        self.webhook_secret: str = created["webhook_secret"]
        self.env: dict[str, str] = created["env"]
        """The environment of a client of this workspace."""
        self._receivers: list[WebhookReceiver] = []

    @property
    def base_url(self) -> str:
        """The base URL of the open surface."""
        return self.env["SVC_BASE_URL"]

    @property
    def developer_base_url(self) -> str:
        """The base URL of the developer surface."""
        return self.env["SVC_DEVELOPER_BASE_URL"]

    def fault(self, kind: str, **fields: Any) -> list[dict[str, Any]]:
        """Make the next matching requests of this workspace fail.

        Args:
            kind: Such as `status_503`, `drop_after`, `garbage`, or `error` with a `code`.
            fields: `operation`, `surface`, `code`, `times`, `match` (a text in the body), `probability`,
                `retry_after_seconds`, `delay_ms`.

        """
        body = {"kind": kind, "workspace": self.id, **fields}
        rules: list[dict[str, Any]] = self._control("POST", "/faults", body)["data"]
        return rules

    def requests(self, *, count: int | None = None, timeout: float = 30, **filters: Any) -> list[dict[str, Any]]:
        """Return the requests of this workspace, oldest first; with a `count`, wait for so many.

        Raises:
            TimeoutError: There were fewer than `count` after `timeout` seconds.

        """
        return self._list("/requests", count, timeout, filters)

    def jobs(self, *, count: int | None = None, timeout: float = 30, **filters: Any) -> list[dict[str, Any]]:
        """Return the jobs of this workspace, as `requests` does: `jobs(status="completed", count=1)`."""
        return self._list("/jobs", count, timeout, filters)

    def deliveries(self, *, count: int | None = None, timeout: float = 30, **filters: Any) -> list[dict[str, Any]]:
        """Return the attempts to deliver webhooks of this workspace, as `requests` does."""
        return self._list("/deliveries", count, timeout, filters)

    def ledger(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the ledger's entries of this workspace, or those of one kind: `capture` is a charge."""
        # For a page the mock does not copy its state, as it does for the whole ledger.
        entries: list[dict[str, Any]] = []
        cursor: str | None = "0"
        while cursor is not None:
            page = self._control("GET", "/ledger", workspace=self.id, limit=1000, cursor=cursor)
            entries += page["data"]
            cursor = page["next_cursor"]
        return [entry for entry in entries if kind in (None, entry["kind"])]

    @property
    def balance_usd(self) -> Decimal:
        """The available balance."""
        page = self._control("GET", "/ledger", workspace=self.id, limit=1)
        return Decimal(page["workspaces"][self.id]["available_usd"])

    def verify(self, *, count: Any = 1, **expected: Any) -> None:
        """Assert that there were `count` requests like the expected one.

        Args:
            count: A number, or `{"at_least": 1, "at_most": 3}`.
            expected: `operation`, `method`, `path`, `body` (a subset of the JSON), `status`, `key`.

        Raises:
            AssertionError: There were more or fewer. The message has the nearest requests.

        """
        try:
            self._control("POST", "/verify", {"workspace": self.id, "count": count, **expected})
        except ControlError as error:
            if error.code != "verification_failed":
                raise
            raise AssertionError(json.dumps(error.body, indent=2)) from None

    def webhooks(self, origin: str = "https://hooks.test") -> WebhookReceiver:
        """Start a receiver of this workspace's webhooks to one origin."""
        receiver = WebhookReceiver(self._control, self.id, self.webhook_secret, origin)
        self._receivers.append(receiver)
        return receiver

    def close(self) -> None:
        """Remove the faults and receivers of this workspace."""
        while self._receivers:
            self._receivers.pop().close()
        self._control("DELETE", "/faults", workspace=self.id)

    def __enter__(self) -> Self:
        """Return the workspace."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the faults and receivers of this workspace."""
        self.close()

    def _list(self, path: str, count: int | None, timeout: float, filters: dict[str, Any]) -> list[dict[str, Any]]:
        query = {"workspace": self.id, **filters}
        if count is None:
            data: list[dict[str, Any]] = self._control("GET", path, **query)["data"]
            return data
        deadline = time.monotonic() + timeout
        while True:
            # The mock waits for whole seconds.
            wait = max(0, min(60, math.ceil(deadline - time.monotonic())))
            page = self._control("GET", path, timeout=wait + 30, count=count, wait=wait, **query)
            if page["satisfied"]:
                return list(page["data"])
            if time.monotonic() >= deadline:
                message = f"{page['matched']} of {count} in {path} after {timeout} s: {query}"
                raise TimeoutError(message)
