"""Verification of svc-v1 webhook signatures, on the Rust crate of the same name.

>>> from svc_webhook_verify import verify
>>> headers = {
...     "x-svc-webhook-timestamp": "1700000000",
...     "x-svc-webhook-signature": "svc-v1=8498d1923149870b5d2d2b7b2f9e95ec"
...                                "0c126ae2be06c4a9bb745a34c4d8b142",
... }
>>> body = b'{"event":"job.completed","job_id":"job_123"}'
>>> verify(headers, body, "whsec_newest", now=1_700_000_007)
True
>>> verify(headers, b"{}", "whsec_newest", now=1_700_000_007)
False
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from svc_webhook_verify._core import SecretFile, Secrets, check, verify

__all__ = [
    "HeaderItems",
    "Reason",
    "SecretFile",
    "Secrets",
    "SecretsInput",
    "SignatureError",
    "Verified",
    "verify",
    "verify_or_raise",
]

_Lines: TypeAlias = "str | bytes | Sequence[str] | Sequence[bytes]"


class HeaderItems(Protocol):
    """Headers of a web framework, whose items are pairs of a name and a value."""

    def items(self) -> Iterable[tuple[Any, Any]]: ...


Headers: TypeAlias = "Mapping[str, _Lines] | HeaderItems | Iterable[tuple[str, str]] | Iterable[tuple[bytes, bytes]]"
SecretsInput: TypeAlias = "str | Iterable[str] | Iterable[bytes] | Secrets | SecretFile"

Reason = Literal[
    "timestamp_missing",
    "timestamp_malformed",
    "timestamp_too_old",
    "timestamp_in_future",
    "signature_missing",
    "signature_too_long",
    "signature_too_many",
    "signature_malformed",
    "signature_unsupported",
    "signature_mismatch",
]


class SignatureError(Exception):
    """Why a delivery was rejected. The message is meant for the receiver's log, not for the sender."""

    reason: Reason
    """A stable identifier, such as ``signature_mismatch``."""

    status: int
    """The HTTP status to answer with: 400 for missing or malformed headers, else 401."""

    def __init__(self, reason: Reason, message: str = "", status: int = 401) -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.status = status

    def __reduce__(self) -> tuple[type[SignatureError], tuple[Reason, str, int]]:
        return type(self), (self.reason, str(self), self.status)


class Verified(NamedTuple):
    """The signature of a genuine delivery."""

    timestamp: int
    """When the delivery was signed, in Unix seconds."""

    secret_index: int
    """Which of the secrets matched: 0 for the newest."""


def verify_or_raise(
    headers: Headers,
    body: bytes | bytearray | memoryview,
    secrets: SecretsInput,
    tolerance: float | None = 300,
    now: float | None = None,
) -> Verified:
    """Verifies a delivery as :func:`verify` does, and raises :class:`SignatureError` if it is not genuine."""
    verified, rejection = check(headers, body, secrets, tolerance, now)
    if verified is None:
        assert rejection is not None
        raise SignatureError(*rejection)
    return Verified(*verified)
