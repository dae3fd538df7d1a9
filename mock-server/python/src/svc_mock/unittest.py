"""A class for tests with unittest."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING, ClassVar

from svc_mock.mock import Mock

if TYPE_CHECKING:
    from svc_mock.webhooks import WebhookReceiver
    from svc_mock.workspace import Workspace


class TestCase(unittest.TestCase):
    """A test case whose class has a mock, and each of whose tests has a workspace."""

    mock: ClassVar[Mock]
    workspace: Workspace

    @classmethod
    def setUpClass(cls) -> None:
        """Use the mock that `SVC_CONTROL_URL` names, or start one."""
        super().setUpClass()
        cls.mock = Mock.from_env()
        cls.addClassCleanup(cls.mock.close)

    def setUp(self) -> None:
        """Create the workspace of this test."""
        super().setUp()
        self.workspace = self.mock.workspace()
        self.addCleanup(self.workspace.close)

    def receive_webhooks(self) -> WebhookReceiver:
        """Return a receiver of the webhooks of this test's workspace."""
        return self.workspace.webhooks()
