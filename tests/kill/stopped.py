#!/usr/bin/env python3
"""Stops an application in the middle of a submit, and starts a second one.

    python3 tests/kill/stopped.py [--rounds N] [--store file|postgres] [--seed S]

The application is `orders.rs`. In each round one process is stopped with SIGSTOP when it has recorded the
submit of a new order and not sent it, or in the pause after a first attempt of which nothing ran; another
process is started with the same order. Then the first one goes on or is killed, before or after the second
one has ended. At the end each order has one job and one charge, in both
processes; one of an operation without documented idempotency may be undecided in place of it. If the first
goes on last, the second one may settle that as not executed and submit it again: the first must not send
it then. Needs
target/debug with `svc-mock-server` and `examples/orders`. The last line of the output is a JSON object;
the exit code is 1 if a check failed.
"""

import collections
import pathlib
import random
import signal
import subprocess
import sys
import time

from application import OPERATIONS, charged_jobs, main
from batch import Mock, check, environment

# A stopped process is only replaced where its ownership expires, as in PostgreSQL. A lock on a file does not.
GOES_ON_LAST = {"file": [False], "postgres": [False, True]}


def start(options, folder, mock, store, orders, **variables):
    """Starts the application with the orders 1 to `orders`, or of a range such as `5-9`."""
    return subprocess.Popen([options.program, store, str(orders)], cwd=folder,
                            env={**environment(folder, mock), **variables},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until_stopped(process):
    for _ in range(3000):
        state = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        if state == "T":
            return
        check(state != "Z", "it ended before it sent anything")
        time.sleep(0.01)
    check(False, "it did not send anything")


def stop_in_pause(options, folder, mock, store, count):
    """Starts the application, and stops it after the first attempt of the last order."""
    operation = OPERATIONS[count % 3 == 0]
    mock.control("/faults", {"operation": operation, "kind": "status_503", "times": 1, "retry_after_seconds": 2})
    before = len(mock.requests())
    process = start(options, folder, mock, store, count)
    for _ in range(3000):
        if any(it["status"] == 503 for it in mock.requests()[before:]):
            break
        check(process.poll() is None, "it ended before it sent anything")
        time.sleep(0.01)
    time.sleep(0.1)  # for the record that nothing ran
    process.send_signal(signal.SIGSTOP)
    return process


def outcomes(process):
    """Waits for the application, and returns what it says of each order."""
    output, errors = process.communicate(timeout=120)
    check(process.returncode == 0, f"it ended with {process.returncode}: {errors}")
    return {order: (what, *job) for what, order, *job in map(str.split, output.splitlines())}


def run(options, folder, store):
    rng, started = random.Random(options.seed), time.monotonic()
    counts, jobs_of, undecided = collections.Counter(), {}, set()
    with Mock(options, "--plan", "enterprise", "--speed", "50") as mock:
        for count in range(1, options.rounds + 1):
            is_in_pause = rng.random() < 0.5
            if is_in_pause:
                first = stop_in_pause(options, folder, mock, store, count)
            else:
                first = start(options, folder, mock, store, count, STOP_BEFORE_SEND="1")
            wait_until_stopped(first)
            is_killed, is_last = rng.random() < 0.5, rng.choice(GOES_ON_LAST[options.store])
            # After a pause it may have been sent: only who looks for its job can settle that.
            settles = is_last and not is_in_pause and count % 3 == 0 and rng.random() < 0.7
            second = start(options, folder, mock, store, count,
                           **{"SETTLE_UNDECIDED": f"order-{count}"} if settles else {})
            found = outcomes(second) if is_last else None
            time.sleep(rng.uniform(0, 0.3))
            first.send_signal(signal.SIGKILL if is_killed else signal.SIGCONT)
            found = found or outcomes(second)
            counts["in a pause"] += is_in_pause
            counts["settled and submitted again"] += settles
            counts[f"{'killed' if is_killed else 'continued'} {'last' if is_last else 'first'}"] += 1
            if is_killed:
                first.communicate()
            for found in [found] if is_killed else [found, outcomes(first)]:
                for order, (what, *job) in found.items():
                    if what == "done":
                        check(jobs_of.setdefault(order, job[0]) == job[0],
                              f"{order} had job {jobs_of[order]} and now has {job[0]}")
                    else:
                        undecided.add(order)
        jobs, charged = charged_jobs(mock)
    known = set(jobs_of.values())
    check(all(int(it.split("-")[1]) % 3 == 0 for it in undecided), f"undecided: {sorted(undecided)}")
    check(len(jobs_of.keys() | undecided) == options.rounds, "an order has no outcome")
    check(len(known) == len(jobs_of), "two orders share a job")
    check(known <= jobs, f"{len(known - jobs)} jobs do not exist")
    without_job = undecided - jobs_of.keys()
    check(len(jobs - known) <= len(without_job),
          f"{len(jobs)} jobs, {len(known)} known, {len(without_job)} undecided")
    check(sorted(charged) == sorted(jobs), f"{len(charged)} charges for {len(jobs)} jobs")
    return {"orders": options.rounds, "jobs": len(jobs), "charges": len(charged),
            "undecided": len(undecided), **counts, "seconds": round(time.monotonic() - started, 1)}


if __name__ == "__main__":
    sys.exit(main(__doc__, run, 12))
