"""The mock of the svc service, for tests in Python.

With pytest, the fixtures `svc_workspace`, `svc_webhooks`, `svc_env`, `svc_mock` and `svc_clock` are there once the
package is installed. With unittest, derive from `svc_mock.unittest.TestCase`. Anywhere else::

    with svc_mock.Mock.start() as mock:
        workspace = mock.workspace()
"""

from svc_mock.control import ControlError
from svc_mock.mock import Mock
from svc_mock.program import find_program
from svc_mock.webhooks import Event, WebhookReceiver
from svc_mock.workspace import Workspace

__all__ = ["ControlError", "Event", "Mock", "WebhookReceiver", "Workspace", "find_program"]
