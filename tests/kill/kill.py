#!/usr/bin/env python3
"""Kills `svc` with SIGKILL at random moments and checks that no request is lost or paid for twice.

    python3 tests/kill/kill.py [--rounds N] [--seed S] [--svc PATH] [--mock PATH] [--workers N]

Each round starts a command with a new prompt, kills it one to three times after random delays, and
then runs it to completion. The mock's control API tells what was created, charged and served. Each
worker has a mock and a state directory of its own, so that every new job belongs to its round. The
last line of the output is a JSON object; the exit code is 1 if a check failed.
"""

import argparse
import collections
import concurrent.futures
import decimal
import json
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))
TIMEOUT = 60
FORMAT = ["format", "run", "demo/product-shot", "--cap", "1"]
BULK = ["format", "bulk", "demo/product-shot", "--cap", "1", "--concurrency", "2"]
BULK_ITEMS = 3
# The submits: the command, and the operation that the mock delays.
SUBMITS = {
    "open image": (["image", "generate", "--surface", "open", "--model", "image-i"], "image_generate"),
    "open video": (["video", "generate", "--surface", "open", "--model", "video-f", "--duration", "5",
                    "--max-price", "2"], "video_generate"),
    "developer image": (["image", "generate", "--surface", "developer"], "image_1_generate"),
    "developer video": (["video", "generate", "--surface", "developer", "--duration", "5"],
                        "video_1_generate"),
    "format run": (FORMAT, "formats_by_slug_runs_create"),
    "bulk queue": (BULK, "formats_by_slug_bulk_create"),
}
# Operations without documented idempotency: an interrupted submit is refused with exit code 11.
NOT_IDEMPOTENT = {"developer image", "developer video"}
KINDS = [*SUBMITS, "wait", "download", "top-up"]
AMBIGUOUS = 11


class Violation(Exception):
    """A check that failed."""


def check(condition, message):
    if not condition:
        raise Violation(message)


def fetch(url, body=None, method=None, headers=()):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, dict(headers), method=method)
    with HTTP.open(request, timeout=TIMEOUT) as response:
        return response.read()


def total(entries, kind):
    return sum(decimal.Decimal(it["amount_usd"]) for it in entries if it["kind"] == kind)


class Worker:
    """A mock, a state directory and the results of earlier rounds."""

    def __init__(self, options, folder):
        self.options, self.folder, self.state = options, folder, folder / "state"
        folder.mkdir()
        self.mock = subprocess.Popen(
            [options.mock, "--port-base", "0", "--speed", "20", "--plan", "enterprise",
             "--balance-usd", "100000", "--json"], stdout=subprocess.PIPE)
        self.urls = json.loads(self.mock.stdout.readline())
        self.control_url = self.urls["SVC_CONTROL_URL"]
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **self.urls,
                            "SVC_STATE_DIR": str(self.state), "SVC_CONFIG": str(folder / "config.toml")}
        self.kills, self.seconds, self.charges = collections.Counter(), {}, {}
        self.counts = collections.Counter()
        self.earlier, self.seen_ids, self.known_intents = [], set(), set()
        self.seq = self.ledger_length = self.charged = self.top_ups = 0

    def control(self, path, body=None, method=None):
        return json.loads(fetch(self.control_url + path, body, method))

    def commanded(self, entries):
        """Returns the ledger entries without those of runs that the schedule of an Action started."""
        if not any("run_id" in it for it in entries):
            return entries
        runs = self.control("/state")["state"]["runs"]
        scheduled = {it["id"] for it in runs if it["order"].get("scheduled")}
        return [it for it in entries if it.get("run_id") not in scheduled]

    def measure(self):
        """Runs each kind of command once without killing it."""
        for kind in KINDS:
            measured = Round(self, f"measure {kind}", kind, random.Random(kind), kills=0)
            measured.run()
            self.seconds[kind] = measured.seconds

    def journal(self):
        """Returns the entries of the history that are not known from earlier rounds, by their ids."""
        listed = subprocess.run([self.options.svc, "history", "--all", "-o", "json"], env=self.environment,
                                capture_output=True, timeout=TIMEOUT)
        check(listed.returncode == 0, f"svc history ended with {listed.returncode}: {listed.stderr}")
        entries = {it["entry"]: it for it in json.loads(listed.stdout)}
        return {name: it for name, it in entries.items() if name not in self.known_intents}

    def final_checks(self):
        ledger = self.control("/ledger")
        entries, account = ledger["data"], ledger["workspaces"]["ws_demo"]
        captured = total(entries, "capture")
        opening, available = (decimal.Decimal(account[it]) for it in ("opening_usd", "available_usd"))
        check(opening - available == captured, f"the ledger does not add up: {account}, {captured} captured")
        captures = [it for it in self.commanded(entries) if it["kind"] == "capture"]
        charged = {it.get("job_id") or it.get("run_id") for it in captures}
        check(len(charged) == self.charged, f"{len(charged)} charges for {self.charged} intents")
        check(len(self.control("/jobs")["data"]) == len({it for it in charged if it.startswith("job_")}),
              "a job was not charged")


class Round:
    """One command with a new intent."""

    def __init__(self, worker, name, kind, rng, kills=None):
        self.worker, self.name, self.kind, self.rng = worker, name, kind, rng
        self.kill_count = rng.randint(1, 3) if kills is None else kills
        self.folder = worker.folder / name.replace(" ", "-")
        self.delays, self.phases, self.output, self.errors, self.exit = [], [], b"", b"", None
        self.expected_ids, self.operation, text = None, None, f"intent {name}, seed {worker.options.seed}"
        if kind in SUBMITS:
            arguments, self.operation = SUBMITS[kind]
            if kind == "bulk queue":
                items = worker.folder / f"{self.folder.name}.jsonl"
                items.write_text("".join(
                    json.dumps({"instruction": f"{text}, item {it}"}) + "\n" for it in range(BULK_ITEMS)))
                text = ["--input", str(items)]
            else:
                text = ["--instruction" if kind == "format run" else "--prompt", text]
            arguments = [*arguments, *text, "--yes", "--download", str(self.folder)]
        elif kind == "top-up":
            arguments = ["top-up", "create", "--amount-usd-cents", "500",
                         "--idempotency-key", f"top-up-{self.folder.name}"]
        else:
            jobs = [it for it in worker.earlier if kind == "wait" or it[0][0] == "job"]
            (noun, *rest), self.expected_ids = rng.choice(jobs)
            folder = ["--download" if kind == "wait" else "--dir", str(self.folder)]
            arguments = [noun, kind, *rest, *folder]
        self.command = [worker.options.svc, "-o", "json", *arguments]

    def run(self):
        try:
            self.set_faults()
            killed = any([self.start(delay) for delay in self.next_delays()])
            if self.phases[-1:] != ["finished"] and self.exit != 0:
                self.start(None)
            self.worker.counts["resumed"] += killed and self.phases[-1] != "finished"
            self.check()
        except Exception as error:
            raise Violation(self.evidence(error)) from error

    def next_delays(self):
        """Yields the delays before the kills, until the command has finished."""
        for _ in range(self.kill_count):
            if self.exit == 0 or self.phases[-1:] == ["finished"]:
                return
            # Most of the time is spent waiting, so half of the kills favor the start.
            fraction = self.rng.random() ** self.rng.choice((1, 3))
            self.delays.append(round(fraction * self.worker.seconds[self.kind], 4))
            yield self.delays[-1]

    def set_faults(self):
        """Has the mock respond late, so that more kills hit an open request or a partial download."""
        self.worker.control("/faults", method="DELETE")
        faults = [{"surface": "media", "kind": "stall"}]
        if self.operation:
            faults.append({"operation": self.operation, "kind": "delay"})
        for fault in faults:
            delay = {"times": 1, "delay_ms": self.rng.randint(1, 150)}
            self.worker.control("/faults", {**fault, **delay})

    def start(self, delay):
        """Starts the command and returns whether it was killed."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            started = time.monotonic()
            process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                       env=self.worker.environment, cwd=self.worker.folder)
            try:
                if delay is not None:
                    time.sleep(delay)
                    process.kill()
                self.exit = process.wait(TIMEOUT)
                self.seconds = time.monotonic() - started
            finally:
                process.kill()
            output.seek(0), errors.seek(0)
            self.output, self.errors = output.read(), errors.read()
        killed = self.exit == -signal.SIGKILL
        if killed:
            self.phases.append(self.phase())
            self.worker.kills[self.phases[-1]] += 1
        return killed

    def phase(self):
        """Returns what the command that was killed had done."""
        files = self.folder.exists() and any(it.is_file() for it in self.folder.rglob("*"))
        if self.kind not in SUBMITS:
            return "downloading" if files else "requesting"
        entries = list(self.worker.journal().values())
        check(len(entries) <= 1, f"two journal entries for one intent: {entries}")
        if not entries:
            return "starting"
        entry, names = entries[0], ("job_id", "run_id", "queue_id")
        if entry["outcome"] != "unknown":
            # It is complete: starting the command again would be a new request.
            check(self.is_complete(), "the outcome was recorded before the result was printed")
            return "finished"
        if not any(entry.get(it) for it in names):
            return "submitting"
        return "downloading" if files else "waiting"

    def is_complete(self):
        try:
            return bool(json.loads(self.output))
        except ValueError:
            return False

    def check(self):
        worker = self.worker
        finished = self.phases[-1:] == ["finished"] and self.exit == -signal.SIGKILL
        refused = self.exit == AMBIGUOUS and self.kind in NOT_IDEMPOTENT and "submitting" in self.phases
        check(finished or refused or self.exit == 0, f"exit code {self.exit}")
        check(refused or self.is_complete(), "the output is not complete")
        entries = self.ledger_entries()
        ids = {it.get("job_id") or it.get("run_id") for it in entries}
        expected = {"bulk queue": BULK_ITEMS}.get(self.kind, 1) if self.kind in SUBMITS else 0
        check(len(ids) == expected or (refused and not ids), f"{len(ids)} jobs or runs instead of {expected}")
        created = ids - worker.seen_ids
        check(created == ids, f"an earlier job was charged again: {ids}")
        for name in ids:
            own = [it for it in entries if name in it.values()]
            settled = total(own, "capture") + total(own, "refund")
            check(total(own, "reservation") == settled, f"reserved and not settled: {own}")
        price = total(entries, "capture")
        if ids:
            usual = worker.charges.setdefault(self.kind, price)
            check(price == usual, f"charged {price} instead of {usual}")
        worker.charged += len(ids)
        worker.seen_ids |= ids
        self.check_requests()
        if refused:
            self.check_refusal(ids)
        else:
            self.check_files(ids if self.expected_ids is None else self.expected_ids)
        self.check_history(refused, ids)
        if self.kind == "top-up":
            worker.top_ups += 1
            count = len(json.loads(fetch(worker.control_url + "/state"))["state"]["top_ups"])
            check(count == worker.top_ups, f"{count} top-ups instead of {worker.top_ups}")

    def ledger_entries(self):
        """Returns the ledger entries of this round, when no funds are reserved."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            ledger = self.worker.control("/ledger")
            jobs = self.worker.control("/jobs")["data"]
            running = [it for it in jobs if it["status"] in ("queued", "processing")]
            reserved = decimal.Decimal(ledger["workspaces"]["ws_demo"]["reserved_usd"])
            if reserved == 0 and not running:
                earlier, self.worker.ledger_length = self.worker.ledger_length, len(ledger["data"])
                return self.worker.commanded(ledger["data"][earlier:])
            check(time.monotonic() < deadline, "a job does not end")
            time.sleep(0.05)

    def check_requests(self):
        requests = self.worker.control(f"/requests?since={self.worker.seq}")["data"]
        self.worker.seq = max([self.worker.seq, *(it["seq"] for it in requests)])
        submits = [it for it in requests if it["idempotency_key"]]
        keys = {it["idempotency_key"] for it in submits}
        check(len(keys) <= 1, f"several idempotency keys for one intent: {keys}")
        check(self.kind not in NOT_IDEMPOTENT or len(submits) <= 1,
              "sent again although its idempotency is not documented")
        check(self.kind not in ("wait", "download") or not submits, "a read command submitted")

    def check_refusal(self, ids):
        """Checks that the error names a command that finds the job."""
        self.worker.counts["refused"] += 1
        error = json.loads(self.errors.splitlines()[-1])["error"]
        hints = [it.split(": ", 1)[1] for it in error["next"] if ": svc " in it]
        check(error["exit_code"] == AMBIGUOUS and hints, f"the error does not say how to check: {error}")
        listed = self.query(shlex.split(hints[0])[1:])
        check(all(name in listed for name in ids), f"`{hints[0]}` does not list {ids}")
        check(not self.folder.exists(), "a refused command created its folder")

    def check_files(self, ids):
        """Compares the files with what the service serves."""
        jobs = {it["id"]: it for it in self.worker.control("/jobs")["data"]}
        served, stored = {}, {}
        for name in ids:
            if name in jobs:
                item, artifacts = None, jobs[name]["result"]["artifacts"]
            else:
                url = f"{self.worker.urls['SVC_DEVELOPER_BASE_URL']}/v1/format-runs/{name}/result"
                key = {"authorization": f"Bearer {self.worker.urls['SVC_DEVELOPER_API_KEY']}"}
                run = json.loads(fetch(url, headers=key))["data"]
                in_queue = run.get("queue_id") and "run" != self.command[3]
                # Its files are named after the item, which people count from 1.
                item, artifacts = run["item_index"] + 1 if in_queue else None, run["artifacts"]
            check(artifacts, f"{name} has no artifacts")
            names = [str(item or it["id"]) for it in artifacts]
            check(len(set(names)) == len(names), f"{name} has several artifacts")
            served |= {file: fetch(it["url"]) for file, it in zip(names, artifacts)}
        for path in self.folder.rglob("*"):
            if path.is_file():
                name = path.relative_to(self.folder)
                is_hidden = name.name.startswith(".")
                stored[str(name if is_hidden else name.with_suffix(""))] = path.read_bytes()
        check(stored.keys() == served.keys(), f"files {sorted(stored)} instead of {sorted(served)}")
        check(stored == served, "a file differs from what the service serves")

    def check_history(self, refused, ids):
        journal = self.worker.journal()
        self.worker.known_intents.update(journal)
        if self.kind == "top-up":
            # Killed after its outcome was recorded, the next one is a new entry with the same key.
            check(journal and all(it.get("top_up_id") for it in journal.values()), f"no top-up: {journal}")
        if self.kind not in SUBMITS:
            return
        check(len(journal) == 1, f"{len(journal)} journal entries for one intent")
        entry = json.loads(self.query(["history", "-o", "json", "--limit", "1"]))[0]
        resource = next((entry[it] for it in ("job_id", "run_id", "queue_id") if entry.get(it)), None)
        if refused:
            check(entry["outcome"] == "unknown" and resource is None, f"not an open entry: {entry}")
            return
        check(entry["outcome"] == "completed", f"not completed in the history: {entry}")
        check(entry.get("queue_id") or {resource} == ids, f"the history has {resource} instead of {ids}")
        noun = {"job_id": "job", "run_id": "run", "queue_id": "queue"}
        noun = next(noun[it] for it in noun if entry.get(it))
        flags = ["--surface", entry["surface"]] if noun == "job" else []
        self.worker.earlier.append(((noun, resource, *flags), ids))

    def query(self, arguments):
        done = subprocess.run([self.worker.options.svc, *arguments], env=self.worker.environment,
                              capture_output=True, timeout=TIMEOUT)
        check(done.returncode == 0, f"{arguments} ended with {done.returncode}: {done.stderr}")
        return done.stdout.decode()

    def evidence(self, error):
        requests = [f"{it['method']} {it['path']} {it['status']} {it['idempotency_key'] or ''}" for it in
                    self.worker.control(f"/requests?since={max(0, self.worker.seq - 20)}")["data"]]
        return "\n".join([
            f"VIOLATION: {error!r}",
            f"seed {self.worker.options.seed}, round {self.name}, {self.kind}: {shlex.join(self.command)}",
            f"kills after {self.delays} s, during {self.phases}; last exit code {self.exit}",
            f"output: {self.output[-2000:].decode(errors='replace')}",
            f"errors: {self.errors[-2000:].decode(errors='replace')}",
            f"journal: {self.worker.journal()}", f"files: {[str(it) for it in self.folder.rglob('*')]}",
            "latest requests:", *requests,
            f"latest ledger entries: {self.worker.control('/ledger')['data'][-12:]}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--svc", default=str(ROOT / "target/debug/svc"))
    parser.add_argument("--mock", default=str(ROOT / "target/debug/svc-mock-server"))
    parser.add_argument("--workers", type=int, default=4)
    options = parser.parse_args()
    started, stop, workers = time.monotonic(), threading.Event(), []
    print(f"seed {options.seed}", flush=True)

    def work(worker, number):
        try:
            worker.measure()
            for index in range(number, options.rounds, options.workers):
                if stop.is_set():
                    return None
                rng = random.Random(f"{options.seed} {index}")
                Round(worker, str(index), rng.choice(KINDS), rng).run()
            worker.final_checks()
            return None
        except Exception as error:
            stop.set()
            return str(error) if isinstance(error, Violation) else repr(error)

    with tempfile.TemporaryDirectory() as folder:
        try:
            for number in range(options.workers):
                workers.append(Worker(options, pathlib.Path(folder) / f"worker-{number}"))
            with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
                violations = [it for it in pool.map(work, workers, range(options.workers)) if it]
        finally:
            for worker in workers:
                worker.mock.terminate()
                worker.mock.wait()
    for violation in violations:
        print(violation, file=sys.stderr)
    kills = sum((it.kills for it in workers), collections.Counter())
    counts = sum((it.counts for it in workers), collections.Counter())
    print(json.dumps({
        "rounds": options.rounds, "kills": kills.total(), "kills_during": dict(sorted(kills.items())),
        "resumed": counts["resumed"], "refused": counts["refused"], "violations": len(violations),
        "seconds": round(time.monotonic() - started, 1), "seed": options.seed}))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
