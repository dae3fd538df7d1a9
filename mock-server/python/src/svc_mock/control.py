"""Requests to the control API of the mock."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Protocol

# The mock is on this machine or in a container beside it: a proxy of the environment is not for it.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ControlError(Exception):
    """The control API refused a request."""

    def __init__(self, status: int, body: Any) -> None:
        """Keep the status and the decoded body of the response."""
        error = body.get("error", {}) if isinstance(body, dict) else {}
        super().__init__(f"{status} {error.get('code', '')}: {error.get('message', body)}")
        self.status = status
        self.code: str | None = error.get("code")
        self.body = body


class Control(Protocol):
    """Sends a request to the control API of one mock, and returns its decoded response."""

    def __call__(self, method: str, path: str, body: Any = None, *, timeout: float = 30, **query: Any) -> Any:
        """Send it. Further arguments are fields of the query."""


def send(method: str, url: str, body: Any = None, query: dict[str, Any] | None = None, timeout: float = 30) -> Any:
    """Send one request and return its decoded response.

    Raises:
        ControlError: The response is not a success.

    """
    fields = {name: value for name, value in (query or {}).items() if value is not None}
    if fields:
        url += "?" + urllib.parse.urlencode(fields)
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with _opener.open(request, timeout=timeout) as response:
            return _decode(response.read())
    except urllib.error.HTTPError as response:
        with response:
            raise ControlError(response.code, _decode(response.read())) from None


def _decode(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text.decode(errors="replace")
