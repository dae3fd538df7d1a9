"""Compares the package with the Rust crate on the deliveries of its example `mutated_deliveries`, which standard
input has."""

import json
import sys
from typing import Any

from svc_webhook_verify import SignatureError, verify, verify_or_raise

SECRETS = {"empty": "secret_empty", "no": "secret_missing", "too": "secret_too_many"}


def result(delivery: dict[str, Any]) -> int | str:
    secrets, timestamps, signatures = (
        [bytes.fromhex(item) for item in delivery[name]] for name in ("secrets", "timestamp", "signature")
    )
    headers = [(b"X-Svc-Webhook-Timestamp", line) for line in timestamps]
    headers += [(b"x-svc-webhook-signature", line) for line in signatures]
    arguments: Any = (headers, bytes.fromhex(delivery["body"]), secrets)
    times: Any = {"tolerance": int(delivery["tolerance"]) or None, "now": int(delivery["now"])}
    try:
        index = verify_or_raise(*arguments, **times).secret_index
        assert verify(*arguments, **times) is True
        return index
    except SignatureError as error:
        assert verify(*arguments, **times) is False
        return error.reason
    except ValueError as error:
        return SECRETS[str(error).split()[0]]


def main() -> None:
    count = accepted = 0
    for line in sys.stdin:
        delivery = json.loads(line)
        actual = result(delivery)
        if actual != delivery["expect"]:
            raise SystemExit(f"{actual} instead of {delivery['expect']}: {line}")
        count += 1
        accepted += isinstance(actual, int)
    if not count:
        raise SystemExit("no deliveries")
    print(f"   {count} mutated deliveries, {accepted} of them accepted: no difference")


main()
