#!/usr/bin/env python3
"""Checks vectors.json with an independent verifier, based on the service's specification only.

    python3 webhook-verify/vectors/check.py

The verifier below implements the specification and the limits in README.md with the standard
library's hmac. It returns the secret that matches, but no reason for rejection.
"""

import hmac
import json
import pathlib
import re
import sys

REASONS = {
    "timestamp_missing", "timestamp_malformed", "timestamp_too_old", "timestamp_in_future",
    "signature_missing", "signature_too_long", "signature_too_many", "signature_malformed",
    "signature_unsupported", "signature_mismatch",
    "secret_empty", "secret_missing", "secret_too_many",
}


def verify(secrets, timestamps, signatures, body, now, tolerance):
    """Returns the index of the secret that signed the delivery, or None."""
    if not 1 <= len(secrets) <= 8 or any(not secret.strip(b" \t\n\x0c\r\0") for secret in secrets):
        return None
    if len(timestamps) != 1 or not re.fullmatch(rb"[0-9]{1,20}", timestamps[0]):
        return None
    signed_at = int(timestamps[0])
    if signed_at >= 2**64 or tolerance != 0 and abs(now - signed_at) > tolerance:
        return None
    header = b",".join(signatures)
    entries = header.split(b",")
    if len(header) > 4096 or len(entries) > 32:
        return None
    received = []
    for entry in entries:
        match = re.fullmatch(rb"svc-v1=([0-9A-Fa-f]{64})", entry.strip(b" \t"))
        if match:
            received.append(bytes.fromhex(match[1].decode("ascii")))
    for index, secret in enumerate(secrets):
        expected = hmac.digest(secret, timestamps[0] + b"." + body, "sha256")
        if any([hmac.compare_digest(expected, tag) for tag in received]):
            return index
    return None


def as_bytes(value):
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value.encode()


def main():
    path = pathlib.Path(__file__).with_name("vectors.json")
    cases = json.loads(path.read_text(encoding="ascii"))["cases"]
    failures = []
    for case in cases:
        inputs = {name: [as_bytes(item) for item in case[name]]
                  for name in ("secrets", "timestamp", "signature")}
        actual = verify(inputs["secrets"], inputs["timestamp"], inputs["signature"],
                        as_bytes(case["body"]), int(case["now"]), int(case["tolerance"]))
        expect = case["expect"]
        if actual != expect.get("secret") or expect["accept"] != (actual is not None):
            failures.append(f"{case['name']}: got {actual}, expected {expect}")
        if not expect["accept"] and expect["reason"] not in REASONS:
            failures.append(f"{case['name']}: unknown reason {expect['reason']}")
    accepted = sum(case["expect"]["accept"] for case in cases)
    if len(cases) < 120 or not 40 <= accepted <= len(cases) - 80:
        failures.append(f"too few cases: {len(cases)}, {accepted} of them accepted")
    print("\n".join(failures) or f"{len(cases)} cases passed, {accepted} of them accepted deliveries")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
