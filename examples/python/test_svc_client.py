"""Tests of the client against the mock: `svc mock exec --speed 50 -- python3 -m unittest`."""

import json
import os
import unittest
import urllib.request
import uuid

from svc_client import Client, ServiceError

CONTROL_URL = os.environ["SVC_CONTROL_URL"]


def control(method, path, body=None):
    """Sends a request to the control API of the mock."""
    data = json.dumps(body).encode() if body is not None else None
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(CONTROL_URL + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.loads(response.read() or "null")


class ClientTest(unittest.TestCase):
    def setUp(self):
        # A workspace of its own: other tests do not see its jobs, and do not spend its money.
        self.workspace = f"ws_{uuid.uuid4().hex}"
        key = control("POST", "/keys", {"kind": "open", "workspace": self.workspace})
        self.client = Client(api_key=key["key"])

    def charges(self):
        entries = control("GET", "/ledger")["data"]
        return [e for e in entries if e["workspace"] == self.workspace and e["kind"] == "capture"]

    def test_an_image_is_generated_and_can_be_downloaded(self):
        job = self.client.generate_image("a red fox in snow")
        artifact = self.client.wait(job["id"])["artifacts"][0]
        with urllib.request.urlopen(artifact["url"], timeout=30) as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_a_lost_response_is_paid_for_once(self):
        jobs = []
        for kind in ("drop_after", "truncate"):
            fault = {"surface": "open", "operation": "image_generate", "kind": kind, "times": 1}
            control("POST", "/faults", fault)
            job = self.client.generate_image("a red fox in snow")
            self.client.wait(job["id"])
            jobs.append(job["id"])
        self.assertCountEqual([charge["job_id"] for charge in self.charges()], jobs)

    def test_a_failed_job_is_an_error_with_its_code_and_costs_nothing(self):
        job = self.client.generate_image("a red fox in snow [mock:fail=provider_unavailable]")
        with self.assertRaises(ServiceError) as failure:
            self.client.wait(job["id"])
        self.assertEqual(failure.exception.code, "provider_unavailable")
        self.assertEqual(self.charges(), [])

    def test_a_refused_submit_is_not_repeated(self):
        with self.assertRaises(ServiceError) as failure:
            self.client.generate_image("a red fox in snow [mock:refuse=insufficient_funds]")
        self.assertEqual((failure.exception.status, self.charges()), (402, []))


if __name__ == "__main__":
    unittest.main()
