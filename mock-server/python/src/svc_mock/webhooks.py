"""A receiver of webhooks that verifies them."""

from __future__ import annotations

import hmac
import json
import os
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

    from svc_mock.control import Control

_TOLERANCE = 300


@dataclass(frozen=True)
class Event:
    """A delivery that was received."""

    event: str
    """What happened, such as `job.completed`."""
    body: dict[str, Any]
    path: str
    headers: dict[str, str]
    """The headers, with names in lower case."""
    answered: int
    """The status that the receiver answered with."""


class WebhookReceiver:
    """A server on this machine that receives, verifies and keeps the webhooks of one workspace."""

    def __init__(self, control: Control, workspace_id: str, secret: str, origin: str) -> None:
        """Start the server, and route the origin to it. Call `Workspace.webhooks` instead.

        `SVC_WEBHOOK_HOST` is the name by which a mock on another machine or in a container reaches this one.
        """
        self.url = f"{origin}/webhooks"
        """The `webhook_url` to submit with. Any other path of the same origin is received as well."""
        self.secrets = [secret]
        """The secrets that are accepted. After a rotation, put the new one first."""
        self.events: list[Event] = []
        """The deliveries that were answered with 204, oldest first."""
        self.refused: list[Event] = []
        """Those that were not: their signature is wrong, or `answer` said so."""
        self._answers: list[int] = []
        self._changed = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send_response(receiver._receive(self.path, headers, body))
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        host = os.environ.get("SVC_WEBHOOK_HOST")
        self._server = ThreadingHTTPServer(("" if host else "127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self._control = control
        to = f"http://{host or '127.0.0.1'}:{self._server.server_port}"
        route = {"origin": origin, "to": to, "workspace": workspace_id}
        self._route: str | None = self._control("POST", "/webhook-routes", route)["id"]

    def answer(self, *statuses: int) -> None:
        """Answer the next deliveries with these statuses, such as `answer(500, 503)`, to see the retries."""
        with self._changed:
            self._answers.extend(statuses)

    def wait(self, event: str | None = None, *, count: int = 1, timeout: float = 30) -> list[Event]:
        """Return the first `count` events, or the first ones of a kind, as soon as they are there.

        Raises:
            TimeoutError: There were fewer after `timeout` seconds.

        """
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                found = [received for received in self.events if event in (None, received.event)]
                if len(found) >= count:
                    return found[:count]
                left = deadline - time.monotonic()
                if left <= 0:
                    message = (
                        f"{len(found)} of {count} webhooks {event or ''} after {timeout} s; others: "
                        f"{[received.event for received in self.events]}, refused: "
                        f"{[(received.event, received.answered) for received in self.refused]}"
                    )
                    raise TimeoutError(message)
                self._changed.wait(left)

    def close(self) -> None:
        """Remove the route and stop the server."""
        route, self._route = self._route, None
        if route is not None:
            self._control("DELETE", f"/webhook-routes/{route}")
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def __enter__(self) -> Self:
        """Return the receiver."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the route and stop the server."""
        self.close()

    def _receive(self, path: str, headers: dict[str, str], body: bytes) -> int:
        genuine = verify(self.secrets, headers, body)
        fields = json.loads(body) if genuine else {}
        with self._changed:
            status = (self._answers.pop(0) if self._answers else 204) if genuine else 401
            received = Event(fields.get("event", ""), fields, path, headers, status)
            (self.events if status < 300 else self.refused).append(received)
            self._changed.notify_all()
        return status


def verify(secrets: list[str], headers: dict[str, str], body: bytes) -> bool:
    """Return whether one of the secrets signed the delivery within the last five minutes.

    It is for deliveries of the mock. A receiver that strangers can reach uses `svc-webhook-verify`.
    """
    timestamp = headers.get("x-svc-webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(time.time() - int(timestamp)) > _TOLERANCE:
        return False
    signatures = [entry.strip() for entry in headers.get("x-svc-webhook-signature", "").split(",")]
    signed = timestamp.encode() + b"." + body
    expected = [f"svc-v1={hmac.new(secret.encode(), signed, 'sha256').hexdigest()}" for secret in secrets]
    return any(hmac.compare_digest(one.encode(), other.encode()) for one in expected for other in signatures)
