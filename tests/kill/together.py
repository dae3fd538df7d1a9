#!/usr/bin/env python3
"""Starts two processes of an application at once with the same new orders, again and again.

    python3 tests/kill/together.py [--rounds N] [--orders N] [--store file|postgres] [--seed S]

The application is `orders.rs`. Both processes of a round submit the same orders, so that each order is
started twice. In the end each order has one job and one charge, and both processes name that job. Needs
target/debug with `svc-mock-server` and `examples/orders`. The last line of the output is a JSON object;
the exit code is 1 if a check failed.
"""

import sys
import time

from application import charged_jobs, main
from batch import Mock, check
from stopped import outcomes, start


def run(options, folder, store):
    started, jobs_of = time.monotonic(), {}
    with Mock(options, "--plan", "enterprise", "--speed", "1000") as mock:
        for number in range(options.rounds):
            first, last = number * options.orders + 1, (number + 1) * options.orders
            both = [start(options, folder, mock, store, f"{first}-{last}") for _ in range(2)]
            found = [outcomes(process) for process in both]
            check(found[0] == found[1], f"the two processes differ: {found}")
            check(len(found[0]) == options.orders, f"{len(found[0])} outcomes")
            check(all(what == "done" for what, *_ in found[0].values()), f"not done: {found[0]}")
            jobs_of.update({order: job for order, (_, job) in found[0].items()})
        jobs, charged = charged_jobs(mock)
    check(len(set(jobs_of.values())) == options.rounds * options.orders, "two orders share a job")
    check(set(jobs_of.values()) == jobs, f"{len(jobs)} jobs for {len(jobs_of)} orders")
    check(sorted(charged) == sorted(jobs), f"{len(charged)} charges for {len(jobs)} jobs")
    return {"orders": len(jobs_of), "submits": 2 * len(jobs_of), "jobs": len(jobs), "charges": len(charged),
            "seconds": round(time.monotonic() - started, 1)}


if __name__ == "__main__":
    sys.exit(main(__doc__, run, 4, ("--orders", {"type": int, "default": 30, "help": "orders of a round"})))
