#!/usr/bin/env python3
"""Sends webhooks to a receiver and checks its responses.

    SVC_WEBHOOK_SECRET=… python3 webhook-verify/vectors/deliver.py http://127.0.0.1:3000/webhooks

Deliveries are signed with the standard library's hmac and the system time. Each run uses new job
IDs, so that it can be repeated with a receiver that deduplicates events.
"""

import hmac
import os
import sys
import time
import urllib.error
import urllib.request
import uuid


def deliver(url, secret, body, age=0):
    timestamp = str(int(time.time()) - age)
    tag = hmac.new(secret.encode(), f"{timestamp}.{body}".encode(), "sha256").hexdigest()
    request = urllib.request.Request(url, body.encode(), {
        "content-type": "application/json",
        "x-svc-webhook-timestamp": timestamp,
        "x-svc-webhook-signature": f"svc-v1={tag}",
    })
    try:
        return urllib.request.urlopen(request, timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code


def main(url):
    # One secret per line, newest first.
    secrets = map(str.strip, os.environ["SVC_WEBHOOK_SECRET"].splitlines())
    secret = next(filter(None, secrets))
    job = f'{{"event":"job.completed","job_id":"job_{uuid.uuid4()}"}}'
    rows = [
        ("a new event", deliver(url, secret, job), 200),
        ("the same event again", deliver(url, secret, job), 200),
        ("an unknown event", deliver(url, secret, '{"event":"job.paused"}'), 204),
        ("not an event", deliver(url, secret, "[]"), 400),
        ("another secret", deliver(url, "another", job), 401),
        ("a stale timestamp", deliver(url, secret, job, age=400), 401),
        ("a body over 2 MiB", deliver(url, secret, " " * (2 * 1024 * 1024 + 1)), 413),
    ]
    for name, status, expected in rows:
        print(f"{name}: {status}")
        if status != expected:
            return f"{name}: got {status}, expected {expected}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
