"""How long it takes to verify a delivery, beside hmac.digest: processor time, in turns."""

import hmac
import statistics
import time
from collections.abc import Callable

from svc_webhook_verify import Secrets, verify

SECRET = b"whsec_newest"
TIMESTAMP = "1700000000"
COUNT = 5_000


def nanoseconds(work: Callable[[], object]) -> float:
    began = time.process_time_ns()
    for _ in range(COUNT):
        work()
    return (time.process_time_ns() - began) / COUNT


def measure(size: int, rounds: int) -> None:
    body = b"x" * size
    message = TIMESTAMP.encode() + b"." + body
    headers = {
        "host": "receiver.example",
        "content-type": "application/json",
        "x-svc-webhook-timestamp": TIMESTAMP,
        "x-svc-webhook-signature": "svc-v1=" + hmac.digest(SECRET, message, "sha256").hex(),
    }
    now, text, prepared = int(TIMESTAMP), SECRET.decode(), Secrets(SECRET.decode())
    contenders: list[Callable[[], object]] = [
        lambda: hmac.digest(SECRET, TIMESTAMP.encode() + b"." + body, "sha256"),
        lambda: verify(headers, body, prepared, now=now),
        lambda: verify(headers, body, text, now=now),
    ]
    rows = [[nanoseconds(work) for work in contenders] for _ in range(rounds)]
    digest = statistics.median(row[0] for row in rows)
    print(f"   {size} B: hmac.digest {digest:.0f} ns", end="")
    for index, name in ((1, "verify with Secrets"), (2, "verify with a str")):
        own = statistics.median(row[index] for row in rows)
        ratio = statistics.median(row[index] / row[0] for row in rows)
        print(f", {name} {own:.0f} ns ({ratio:.2f}x)", end="")
    print()


measure(512, 31)
measure(64 * 1024, 5)
