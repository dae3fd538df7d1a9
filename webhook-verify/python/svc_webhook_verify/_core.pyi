import os
from collections.abc import Iterable
from typing import final

from svc_webhook_verify import Headers, Reason, SecretsInput

def verify(
    headers: Headers,
    body: bytes | bytearray | memoryview,
    secrets: SecretsInput,
    tolerance: float | None = 300,
    now: float | None = None,
) -> bool:
    """Returns whether a delivery is genuine.

    Nothing that a sender controls raises an exception: other headers, other bodies and other signatures
    are not genuine.

    :param headers: The headers of the request: a mapping, an object with ``items()``, or pairs. Names are
        compared without regard to case.
    :param body: The raw body, exactly as it was received.
    :param secrets: A str with one secret per line, newest first; an iterable of secrets; ``Secrets``; or a
        ``SecretFile``.
    :param tolerance: How many seconds the timestamp may differ from ``now``; ``None`` for any number, which
        allows replays.
    :param now: The time in Unix seconds; that of the system by default.
    :raises TypeError: If an argument has another type.
    :raises ValueError: If there are no secrets, an empty one, or more than eight, or if a number of seconds is
        negative.
    """

def check(
    headers: Headers,
    body: bytes | bytearray | memoryview,
    secrets: SecretsInput,
    tolerance: float | None = 300,
    now: float | None = None,
) -> tuple[tuple[int, int] | None, tuple[Reason, str, int] | None]: ...
@final
class Secrets:
    """Signing secrets, prepared once for many deliveries.

    A str is a text with one secret per line, newest first. An iterable has one secret per item, of which each
    byte counts.
    """

    def __new__(cls, secrets: str | Iterable[str] | Iterable[bytes]) -> Secrets: ...
    @property
    def fingerprints(self) -> list[str]:
        """The fingerprints of the secrets, newest first. They are safe to log."""

@final
class SecretFile:
    """Signing secrets in a file with one secret per line, newest first.

    The file is read again when a recent delivery names a secret that is not in it, as the first deliveries
    after a rotation do. While it cannot be read, the secrets stay as they are.
    """

    def __new__(cls, path: str | os.PathLike[str]) -> SecretFile: ...
    def reload(self) -> bool:
        """Reads the file now, and returns whether its secrets have changed.

        :raises OSError: If it cannot be read.
        :raises ValueError: If its content is not a valid set of secrets.
        """

    @property
    def fingerprints(self) -> list[str]:
        """The fingerprints of the secrets, newest first. They are safe to log."""
