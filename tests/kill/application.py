#!/usr/bin/env python3
"""Kills an application with a journal with SIGKILL at random moments and checks what the mock says.

    python3 tests/kill/application.py [--rounds N] [--store file|postgres] [--seed S]

The application is `orders.rs`: its orders grow in number from round to round, and each is submitted anew
in each round. The mock fails some of the submits, or loses their answers. At the end each order has one
job and one charge; one of an operation without documented idempotency may be undecided in place of it.
Needs target/debug with `svc-mock-server` and `examples/orders`. The last line of the output is a JSON
object; the exit code is 1 if a check failed.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from batch import FAULTS, ROOT, Mock, check, environment

sys.path.insert(0, str(ROOT / ".ci"))

OPERATIONS = ["video_generate", "music_1_generate"]
ORDERS_PER_ROUND = 3


def start(options, folder, mock, store, orders, lifetime):
    """Runs the application, kills it after that time, and returns its lines and exit code."""
    with (folder / "stdout").open("wb") as output, (folder / "stderr").open("ab") as errors:
        process = subprocess.Popen([options.program, store, str(orders)], cwd=folder,
                                   env=environment(folder, mock), stdout=output, stderr=errors)
        try:
            process.wait(lifetime)
        except subprocess.TimeoutExpired:
            process.kill()
    code = process.wait()
    complete = (folder / "stdout").read_text().split("\n")[:-1]
    return [line.split() for line in complete], code


def charged_jobs(mock):
    """Returns the jobs of the mock, and the job of each charge."""
    jobs = {it["id"] for it in mock.control("/jobs")["data"]}
    # The schedule of an Action starts runs as well.
    charges = [it["job_id"] for it in mock.control("/ledger")["data"]
               if it["kind"] == "capture" and "job_id" in it]
    return jobs, charges


def run(options, folder, store):
    rng, started, codes = random.Random(options.seed), time.monotonic(), collections.Counter()
    jobs_of = {}
    with Mock(options, "--plan", "enterprise", "--speed", "50") as mock:
        for operation in OPERATIONS:
            for kind in FAULTS:
                fault = {"operation": operation, "kind": kind, "probability": 0.2 / len(FAULTS)}
                mock.control("/faults", {**fault, "retry_after_seconds": 0}
                             if kind == "status_503" else fault)
        last = None
        for number in range(1, options.rounds + 2):
            is_last = number > options.rounds
            if is_last:  # Else each of its attempts of an order may fail.
                mock.control("/faults", method="DELETE")
            orders = ORDERS_PER_ROUND * min(number, options.rounds)
            lifetime = 900 if is_last else rng.uniform(0.02, options.interval)
            lines, code = start(options, folder, mock, store, orders, lifetime)
            codes[code] += 1
            for what, order, *job in lines:
                if what == "done":
                    check(jobs_of.setdefault(order, job[0]) == job[0],
                          f"{order} had job {jobs_of[order]} and now has {job[0]}")
            last = lines
        errors = (folder / "stderr").read_text()
        check(code == 0, f"the last run ended with {code}: {errors}")
        jobs, charged = charged_jobs(mock)
    done = [job for what, _, *job in last if what == "done"]
    undecided = {order for what, order, *_ in last if what == "undecided"}
    known = set(jobs_of.values())
    check(len(last) == orders and len({order for _, order, *_ in last}) == orders,
          f"{len(last)} lines of {orders} orders")
    check(all(int(it.split("-")[1]) % 3 == 0 for it in undecided), f"undecided: {sorted(undecided)}")
    check(not undecided & jobs_of.keys(), "an order with a job became undecided")
    check(len(done) == len(known) == len(jobs_of), "two orders share a job")
    check(known <= jobs, f"{len(known - jobs)} jobs do not exist")
    check(len(jobs - known) <= len(undecided),
          f"{len(jobs)} jobs, {len(known)} known, {len(undecided)} undecided")
    check(sorted(charged) == sorted(jobs), f"{len(charged)} charges for {len(jobs)} jobs")
    return {"orders": orders, "jobs": len(jobs), "charges": len(charged), "done": len(done),
            "undecided": len(undecided), "kills": codes[-9],
            "exits": {str(code): count for code, count in sorted(codes.items())},
            "seconds": round(time.monotonic() - started, 1)}


def main(description, run, rounds, *arguments):
    """Runs a check on a journal in the store that the command line names."""
    parser = argparse.ArgumentParser(description=description.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--store", choices=["file", "postgres"], default="file")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--program", default=str(ROOT / "target/debug/examples/orders"))
    parser.add_argument("--mock", default=str(ROOT / "target/debug/svc-mock-server"))
    for name, settings in arguments:
        parser.add_argument(name, **settings)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.store == "file":
            found = run(options, folder, str(folder / "journal"))
        else:
            from webhook_service import Postgres
            os.chmod(folder, 0o755)  # for the user of the database
            programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
            postgres = Postgres(programs, folder / "postgres")
            try:
                found = run(options, folder, postgres.url())
            finally:
                postgres.kill()
    print(json.dumps({"seed": options.seed, "store": options.store, "rounds": options.rounds, **found}))


if __name__ == "__main__":
    interval = {"type": float, "default": 0.8, "help": "longest time before a kill"}
    sys.exit(main(__doc__, run, 30, ("--interval", interval)))
