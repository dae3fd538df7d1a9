"""Fixtures for pytest.

They are parallel-safe: each worker of pytest-xdist has a mock of its own, or all use the mock that `SVC_CONTROL_URL`
names (`svc mock exec -- pytest -n 8`), and each test has a workspace of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from svc_mock.mock import Mock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc_mock.webhooks import WebhookReceiver
    from svc_mock.workspace import Workspace


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the settings of the mock to the configuration file."""
    parser.addini("svc_mock_options", "options of svc-mock-server, such as --plan pro", type="args", default=[])
    parser.addini("svc_mock_speed", "how many times as fast as the wall clock the mock runs", default="50")


@pytest.fixture(scope="session")
def svc_mock(pytestconfig: pytest.Config) -> Iterator[Mock]:
    """Return the mock of the session: that of `SVC_CONTROL_URL`, or one that is started."""
    options = pytestconfig.getini("svc_mock_options")
    with Mock.from_env(*options, speed=float(pytestconfig.getini("svc_mock_speed"))) as mock:
        yield mock


@pytest.fixture
def svc_workspace(svc_mock: Mock) -> Iterator[Workspace]:
    """Return a workspace for this test alone, with its keys, money, faults and requests."""
    with svc_mock.workspace() as workspace:
        yield workspace


@pytest.fixture
def svc_webhooks(svc_workspace: Workspace) -> WebhookReceiver:
    """Return a receiver of the webhooks of `svc_workspace`, which verifies them."""
    return svc_workspace.webhooks()


@pytest.fixture
def svc_env(svc_workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Put the URLs and keys of `svc_workspace` into the environment during this test."""
    for name, value in svc_workspace.env.items():
        monkeypatch.setenv(name, value)
    return svc_workspace.env


@pytest.fixture
def svc_clock(pytestconfig: pytest.Config) -> Iterator[Mock]:
    """Return a mock for this test alone, whose clock stands still until `advance(seconds)` moves it."""
    with Mock.start(*pytestconfig.getini("svc_mock_options"), clock="manual") as mock:
        yield mock
