"""Two hundred tests that share nothing, to be run with `pytest -n 8`.

Each has faults, webhooks and money of its own, and would see those of its neighbours if they were shared.
"""

from __future__ import annotations

import urllib.error
from decimal import Decimal

import pytest
from client import call, submit

from svc_mock import Mock, WebhookReceiver, Workspace

PRICE = Decimal("0.005")
FAULTS = ["drop_before", "drop_after", "truncate", "garbage", "status_503"]


@pytest.mark.parametrize("number", range(100))
def test_a_lost_response_is_paid_for_once(
    number: int, svc_workspace: Workspace, svc_webhooks: WebhookReceiver
) -> None:
    before = svc_workspace.balance_usd
    times = number % 3 + 1
    svc_workspace.fault(FAULTS[number % 5], operation="image_generate", times=times)
    svc_webhooks.answer(*[503] * (number % 2))
    job = submit(svc_workspace.env, f"fox {number}", mode="webhook", webhook_url=svc_webhooks.url)
    [event] = svc_webhooks.wait("job.completed")
    assert event.body["job_id"] == job
    assert len(svc_webhooks.refused) == number % 2
    assert [charge["job_id"] for charge in svc_workspace.ledger("capture")] == [job]
    assert svc_workspace.balance_usd == before - PRICE
    svc_workspace.verify(operation="image_generate", count=times + 1, body={"prompt": f"fox {number}"})


@pytest.mark.parametrize("number", range(50))
def test_a_failed_job_costs_nothing(number: int, svc_workspace: Workspace, svc_webhooks: WebhookReceiver) -> None:
    before = svc_workspace.balance_usd
    prompt = f"fox {number} [mock:fail]"
    job = submit(svc_workspace.env, prompt, mode="webhook", webhook_url=svc_webhooks.url)
    assert svc_webhooks.wait("job.failed")[0].body["job_id"] == job
    [failed] = svc_workspace.jobs(status="failed", count=1)
    assert failed["id"] == job
    assert svc_workspace.balance_usd == before


@pytest.mark.parametrize("number", range(50))
def test_no_money_no_job(number: int, svc_mock: Mock) -> None:
    workspace = svc_mock.workspace(balance_usd=str(PRICE * (number % 3)))
    for _ in range(number % 3):
        submit(workspace.env, "fox")
    with pytest.raises(urllib.error.HTTPError) as refused:
        submit(workspace.env, "fox")
    assert refused.value.code == 402
    assert len(call(workspace.env, "GET", "/v1/jobs")) == number % 3
    assert workspace.balance_usd == 0
