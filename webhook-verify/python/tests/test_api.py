"""What a sender controls never raises, and the caller's mistakes always do."""

import hashlib
import hmac
import pathlib
import pickle
import tempfile
import threading
import time
import unittest
from email.message import Message
from typing import Any

from svc_webhook_verify import SecretFile, Secrets, SignatureError, verify, verify_or_raise

NOW = 1_700_000_000
BODY = b'{"event":"job.completed","job_id":"job_123"}'


def signed(*secrets: str, body: bytes = BODY, at: int = NOW) -> dict[str, str]:
    tags = (hmac.digest(secret.encode(), f"{at}.".encode() + body, "sha256").hex() for secret in secrets)
    return {
        "x-svc-webhook-timestamp": str(at),
        "x-svc-webhook-signature": ",".join(f"svc-v1={tag}" for tag in tags),
        "x-svc-webhook-secret-fingerprint": hashlib.sha256(secrets[0].encode()).hexdigest()[:16],
    }


class Headers(unittest.TestCase):
    def test_headers_of_any_framework_are_read(self) -> None:
        headers = signed("whsec_newest")
        message = Message()
        for name, value in headers.items():
            message[name.title()] = value
        forms: list[Any] = [
            headers,
            {name.upper(): value for name, value in headers.items()},
            list(headers.items()),
            iter([(name.encode(), value.encode()) for name, value in headers.items()]),
            message,
            {**headers, "Accept": "*/*", "x-number": "1"},
        ]
        for form in forms:
            self.assertTrue(verify(form, BODY, "whsec_newest", now=NOW), form)

    def test_odd_values_are_not_genuine(self) -> None:
        for value in ("", "é", "\udcff", "🦊", "\0", "x" * 100_000, "svc-v1=" + "0" * 64):
            for name in ("x-svc-webhook-timestamp", "x-svc-webhook-signature"):
                headers = {**signed("whsec_newest"), name: value}
                self.assertFalse(verify(headers, BODY, "whsec_newest", now=NOW), (name, value))
        self.assertFalse(verify({}, b"", "whsec_newest"))
        self.assertFalse(verify([], b"\xff", "whsec_newest"))

    def test_the_default_time_is_that_of_the_system(self) -> None:
        self.assertTrue(verify(signed("s", at=int(time.time())), BODY, ["s"]))
        self.assertFalse(verify(signed("s", at=int(time.time()) - 302), BODY, ["s"]))

    def test_the_tolerance_limits_the_age_unless_it_is_none(self) -> None:
        for now, tolerance, accepted in [
            (NOW + 300, 300, True),
            (NOW + 301, 300, False),
            (NOW - 301, 300.5, False),
            (NOW + 300.9, 300, True),
            (NOW + 1, 0, False),
            (NOW, 0, True),
            (0, None, True),
        ]:
            self.assertIs(verify(signed("s"), BODY, ["s"], tolerance, now), accepted, (now, tolerance))


class Mistakes(unittest.TestCase):
    def test_other_types_are_type_errors(self) -> None:
        headers = signed("s")
        mistakes: list[Any] = [
            (None, BODY, "s"),
            (7, BODY, "s"),
            (["x"], BODY, "s"),
            ({"x-svc-webhook-timestamp": 7}, BODY, "s"),
            ({7: "x"}, BODY, "s"),
            (headers, BODY.decode(), "s"),
            (headers, None, "s"),
            (headers, {"event": "x"}, "s"),
            (headers, BODY, None),
            (headers, BODY, 7),
            (headers, BODY, b"s"),
            (headers, BODY, [7]),
            (headers, BODY, "s", "300"),
            (headers, BODY, "s", 300, "now"),
        ]
        for arguments in mistakes:
            with self.assertRaises(TypeError, msg=str(arguments)):
                verify(*arguments)

    def test_invalid_secrets_and_times_are_value_errors(self) -> None:
        headers: Any = signed("s")
        for secrets in ("", " \n", [], [""], ["s", "\0"], ["s"] * 9, "s\n" * 9):
            with self.assertRaises(ValueError, msg=str(secrets)):
                verify(headers, BODY, secrets)
            with self.assertRaises(ValueError, msg=str(secrets)):
                Secrets(secrets)
        for tolerance, now in [(-1, 0), (float("nan"), 0), (-0.5, 0), (300, -1), (300, 2**64), (300, float("inf"))]:
            with self.assertRaises(ValueError, msg=f"{tolerance} {now}"):
                verify(headers, BODY, "s", tolerance, now)

    def test_a_signature_error_says_why(self) -> None:
        with self.assertRaises(SignatureError) as raised:
            verify_or_raise(signed("s"), b"{}", ["s"], now=NOW)
        error = raised.exception
        self.assertEqual((error.reason, error.status), ("signature_mismatch", 401))
        self.assertIn("compare the fingerprints", str(error))
        copied = pickle.loads(pickle.dumps(error))
        self.assertEqual((copied.reason, copied.status, str(copied)), (error.reason, error.status, str(error)))
        with self.assertRaises(SignatureError) as raised:
            verify_or_raise({}, b"{}", ["s"])
        self.assertEqual(raised.exception.status, 400)


class SecretsOfAllKinds(unittest.TestCase):
    def test_lines_are_trimmed_and_items_are_not(self) -> None:
        self.assertTrue(verify(signed("old"), BODY, "new \r\n\n old\n", now=NOW))
        self.assertFalse(verify(signed("old"), BODY, ["new ", " old"], now=NOW))
        verified = verify_or_raise(signed("old"), BODY, (it for it in [b"new", b"old"]), now=NOW)
        self.assertEqual(verified, (NOW, 1))

    def test_bodies_are_bytes_of_any_kind(self) -> None:
        for body in (BODY, bytearray(BODY), memoryview(BODY), memoryview(b"x" + BODY)[1:]):
            self.assertTrue(verify(signed("s"), body, ["s"], now=NOW))
        large = bytes(3_000_000)
        self.assertTrue(verify(signed("s", body=large), large, ["s"], now=NOW))

    def test_no_secret_is_shown(self) -> None:
        secrets = Secrets("whsec_newest")
        self.assertEqual(secrets.fingerprints, ["7ab95101ed6218b1"])
        self.assertEqual(repr(secrets), "Secrets(7ab95101ed6218b1)")
        for name in dir(secrets):
            self.assertNotIn("whsec", repr(getattr(secrets, name)))

    def test_threads_share_secrets(self) -> None:
        secrets = Secrets(["s"])
        results: list[bool] = []
        headers = signed("s")

        def work() -> None:
            results.extend(verify(headers, BODY, secrets, now=NOW) for _ in range(500))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 4_000)


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "secrets"
        self.path.write_text("first\n")
        self.secrets = SecretFile(self.path)

    def accepts(self, *secrets: str, at: int = NOW) -> bool:
        return verify(signed(*secrets, at=at), BODY, self.secrets, now=NOW)

    def test_a_file_is_read_again_when_a_delivery_names_a_newer_secret(self) -> None:
        self.assertTrue(self.accepts("first"))
        self.assertTrue(self.accepts("second", "first"))
        self.assertFalse(self.accepts("second"))
        self.path.write_text("second\nfirst\n")
        self.assertTrue(self.accepts("second"))
        self.assertTrue(self.accepts("first"))
        self.path.write_text("third\n")
        self.assertTrue(self.accepts("third"))
        self.assertFalse(self.accepts("first"))

    def test_secrets_stay_while_the_file_cannot_be_read(self) -> None:
        for content in (None, b"", b"\n", b"\xff"):
            if content is None:
                self.path.unlink()
            else:
                self.path.write_bytes(content)
            self.assertTrue(self.accepts("second", "first"))
            with self.assertRaises((OSError, ValueError)):
                self.secrets.reload()
        self.path.write_text("second")
        self.assertTrue(self.secrets.reload())
        self.assertFalse(self.secrets.reload())
        self.assertTrue(self.accepts("second"))

    def test_a_stale_or_forged_header_does_not_cause_a_reload(self) -> None:
        self.path.write_text("second\nfirst\n")
        self.assertFalse(self.accepts("second", at=NOW - 301))
        headers = {**signed("second"), "x-svc-webhook-signature": "svc-v1=zz"}
        self.assertFalse(verify(headers, BODY, self.secrets, now=NOW))
        self.assertEqual(len(self.secrets.fingerprints), 1)

    def test_errors_of_a_file_name_it_and_hide_its_content(self) -> None:
        with self.assertRaises(FileNotFoundError):
            SecretFile(self.path.with_name("none"))
        for content in (b"canary\xff", b"canary\n" * 9):
            self.path.write_bytes(content)
            with self.assertRaises(ValueError) as raised:
                SecretFile(self.path)
            self.assertIn(str(self.path), str(raised.exception))
            self.assertNotIn("canary", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
