"""The vectors that every verifier passes."""

import json
import pathlib
import unittest
from typing import Any

from svc_webhook_verify import Secrets, SignatureError, verify, verify_or_raise

VECTORS = pathlib.Path(__file__).resolve().parents[2] / "vectors" / "vectors.json"
SECRET_ERRORS = {
    "secret_empty": "empty signing secret",
    "secret_missing": "no signing secret",
    "secret_too_many": "too many signing secrets",
}
NAMES = ("X-Svc-Webhook-Timestamp", "X-Svc-Webhook-Signature")


def as_bytes(value: Any) -> bytes:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value.encode()


class Vectors(unittest.TestCase):
    def test_every_vector_has_the_expected_result(self) -> None:
        cases = json.loads(VECTORS.read_text(encoding="ascii"))["cases"]
        self.assertGreaterEqual(len(cases), 200)
        for case in cases:
            with self.subTest(case["name"]):
                self.check(case)

    def check(self, case: dict[str, Any]) -> None:
        secrets = [as_bytes(secret) for secret in case["secrets"]]
        lines = [[as_bytes(line) for line in case[name]] for name in ("timestamp", "signature")]
        body, now = as_bytes(case["body"]), int(case["now"])
        tolerance = int(case["tolerance"]) or None
        expect = case["expect"]
        pairs = [(name.encode(), line) for name, of_name in zip(NAMES, lines, strict=True) for line in of_name]
        texts = [(name.decode(), line.decode("latin-1")) for name, line in pairs]
        forms: list[Any] = [pairs, texts, dict(zip(NAMES, lines, strict=True))]
        if expect.get("reason") in SECRET_ERRORS:
            with self.assertRaisesRegex(ValueError, SECRET_ERRORS[expect["reason"]]):
                verify(pairs, body, secrets, tolerance, now)
            return
        for headers in forms:
            for given in (secrets, Secrets(secrets)):
                self.assertIs(verify(headers, body, given, tolerance, now), expect["accept"])
                if expect["accept"]:
                    verified = verify_or_raise(headers, body, given, tolerance, now)
                    self.assertEqual(verified.secret_index, expect["secret"])
                else:
                    with self.assertRaises(SignatureError) as raised:
                        verify_or_raise(headers, body, given, tolerance, now)
                    self.assertEqual(raised.exception.reason, expect["reason"])


if __name__ == "__main__":
    unittest.main()
