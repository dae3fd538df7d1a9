#!/usr/bin/env python3
"""Delivers webhooks to a receiver and checks what it answers.

    SVC_WEBHOOK_SECRET=… python3 webhook-verify/vectors/deliver.py http://127.0.0.1:3000/webhooks

It signs with the standard library's hmac, at the system's time. The events are about job ids
that no run before had, so that a receiver with a memory can be asked again.
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
    secret = os.environ["SVC_WEBHOOK_SECRET"]
    job = f'{{"event":"job.completed","job_id":"job_{uuid.uuid4()}"}}'
    rows = [
        ("a new event", deliver(url, secret, job), 200),
        ("the same again", deliver(url, secret, job), 200),
        ("an unknown event", deliver(url, secret, '{"event":"job.paused"}'), 204),
        ("no event", deliver(url, secret, "[]"), 400),
        ("another secret", deliver(url, "another", job), 401),
        ("a stale one", deliver(url, secret, job, age=400), 401),
        ("a large one", deliver(url, secret, " " * (2 * 1024 * 1024 + 1)), 413),
    ]
    for name, status, expected in rows:
        print(f"{name}: {status}")
        if status != expected:
            return f"{name}: expected {expected}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
