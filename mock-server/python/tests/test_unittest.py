"""The same from unittest: `python -m unittest`."""

from client import submit

import svc_mock.unittest


class GenerateTest(svc_mock.unittest.TestCase):
    def test_a_job_is_paid_for(self) -> None:
        job = submit(self.workspace.env, "fox")
        self.assertEqual([found["id"] for found in self.workspace.jobs(status="completed", count=1)], [job])
        self.assertEqual(len(self.workspace.ledger("capture")), 1)

    def test_a_webhook_is_received(self) -> None:
        webhooks = self.receive_webhooks()
        job = submit(self.workspace.env, "fox", mode="webhook", webhook_url=webhooks.url)
        self.assertEqual(webhooks.wait("job.completed")[0].body["job_id"], job)

    def test_tests_do_not_see_each_other(self) -> None:
        self.assertEqual(self.workspace.jobs(), [])
