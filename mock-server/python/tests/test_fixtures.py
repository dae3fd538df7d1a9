"""What each fixture promises."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from client import submit

from svc_mock import Mock, WebhookReceiver, Workspace


def test_svc_env_is_the_environment_of_the_workspace(svc_workspace: Workspace, svc_env: dict[str, str]) -> None:
    assert os.environ["SVC_OPEN_API_KEY"] == svc_workspace.open_api_key == svc_env["SVC_OPEN_API_KEY"]
    submit(os.environ, "fox")
    assert len(svc_workspace.jobs()) == 1


def test_the_clock_moves_only_when_it_is_advanced(svc_clock: Mock) -> None:
    workspace = svc_clock.workspace()
    with workspace.webhooks() as webhooks:
        submit(workspace.env, "fox [mock:seconds=3600]", mode="webhook", webhook_url=webhooks.url)
        svc_clock.advance(3599)
        assert webhooks.events == []
        svc_clock.advance(1)
        webhooks.wait("job.completed")


def test_a_wait_that_fails_says_what_was_there(svc_workspace: Workspace, svc_webhooks: WebhookReceiver) -> None:
    with pytest.raises(TimeoutError, match=r"0 of 1 webhooks job.completed after 0.1 s"):
        svc_webhooks.wait("job.completed", timeout=0.1)
    with pytest.raises(TimeoutError, match=r"0 of 2 in /requests after 0.1 s"):
        svc_workspace.requests(count=2, timeout=0.1)


def test_verify_names_the_nearest_request(svc_workspace: Workspace) -> None:
    submit(svc_workspace.env, "a blue fox")
    svc_workspace.verify(operation="image_generate", body={"prompt": "a blue fox"})
    with pytest.raises(AssertionError, match="a blue fox"):
        svc_workspace.verify(operation="image_generate", body={"prompt": "a red fox"})


def test_another_secret_is_refused(svc_workspace: Workspace, svc_webhooks: WebhookReceiver) -> None:
    secrets = svc_webhooks.secrets[:]
    svc_webhooks.secrets[:] = ["whsec_of_somebody_else"]
    submit(svc_workspace.env, "fox", mode="webhook", webhook_url=svc_webhooks.url)
    svc_workspace.deliveries(count=1)
    assert [refused.answered for refused in svc_webhooks.refused] == [401]
    svc_webhooks.secrets[:] = ["whsec_new", *secrets]
    svc_webhooks.wait("job.completed")


def test_webhooks_reach_the_host_of_the_environment(
    svc_mock: Mock, svc_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVC_WEBHOOK_HOST", "localhost")
    webhooks = svc_workspace.webhooks()
    routes = svc_mock.control("GET", "/webhook-routes")["data"]
    [to] = [route["to"] for route in routes if route["workspace"] == svc_workspace.id]
    assert to.startswith("http://localhost:")
    submit(svc_workspace.env, "fox", mode="webhook", webhook_url=webhooks.url)
    webhooks.wait("job.completed")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
def test_a_mock_does_not_outlive_a_process_that_is_killed() -> None:
    code = "import svc_mock, time; m = svc_mock.Mock.start(); print(m._process.pid, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout
        pid = runner.stdout.readline().strip()
        runner.kill()
    deadline = time.monotonic() + 10
    while _is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _is_running(pid)


def _is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False
