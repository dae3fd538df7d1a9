#!/usr/bin/env python3
"""Kills `svc batch run` with SIGKILL at random moments and checks what the mock says of the batch.

    python3 tests/kill/batch.py [--items N] [--kills N] [--lines N] [--seed S] [--svc PATH] [--mock PATH]

A batch of N images runs against a mock of the plan Free in which 10 % of the submits fail, or lose
their answer. It is killed again and again, and run once more. Then there must be one job and one charge
for each item, all files, and no 429. With `--lines`, a manifest of that many lines is read with
`--dry-run` and run against a fast mock for a while, and the memory of `svc` is measured. The last line
of the output is a JSON object; the exit code is 1 if a check failed.
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
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
HTTP = urllib.request.build_opener(urllib.request.ProxyHandler({}))
# Of allocated memory. The pages of the program are not counted: in a debug build they take three times as much.
MAX_MEMORY_KIB = 32 * 1024
FAULTS = ["status_503", "drop_before", "drop_after", "status_502_html"]


def check(condition, message):
    if not condition:
        raise SystemExit(f"VIOLATION: {message}")


class Mock:
    """A mock server with a control port."""

    def __init__(self, options, *flags):
        command = [options.mock, "--port-base", "0", "--balance-usd", "100000", "--json", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.urls = json.loads(self.process.stdout.readline())

    def control(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.urls["SVC_CONTROL_URL"] + path, data, method=method)
        with HTTP.open(request, timeout=120) as response:
            return json.loads(response.read() or "null")

    def requests(self):
        """Returns all requests so far. The answers are pages."""
        seq, found = 0, []
        while page := self.control(f"/requests?since={seq}")["data"]:
            found += page
            last = max(it["seq"] for it in page)
            if last <= seq:
                break
            seq = last
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def environment(folder, mock):
    return {"PATH": os.environ["PATH"], "HOME": str(folder), **mock.urls,
            "SVC_STATE_DIR": str(folder / "state"), "SVC_CONFIG": str(folder / "config.toml")}


def write_manifest(path, count):
    with path.open("w") as file:
        for number in range(count):
            body = {"model": "image-i", "prompt": f"item {number}: a red fox in snow"}
            file.write(json.dumps({"operation": "image_generate", "body": body}) + "\n")


def memory(pid):
    """Returns the memory in KiB that a process has allocated now, or 0 if it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0])
    except (OSError, IndexError):
        return 0


def kill_batch(options, folder, report):
    """Runs a batch, kills it several times, and checks what it has done."""
    rng = random.Random(options.seed)
    write_manifest(folder / "m.jsonl", options.items)
    with Mock(options, "--plan", "free", "--speed", "50") as mock:
        for kind in FAULTS:
            fault = {"operation": "image_generate", "kind": kind, "probability": 0.1 / len(FAULTS)}
            mock.control("/faults", {**fault, "retry_after_seconds": 0}
                         if kind == "status_503" else fault)
        command = [options.svc, "batch", "run", "m.jsonl", "--download", "out", "-o", "jsonl"]
        kills, started, peak, ended = 0, time.monotonic(), 0, []
        while True:
            with (folder / "stdout").open("wb") as output, (folder / "stderr").open("wb") as errors:
                process = subprocess.Popen(command, cwd=folder, env=environment(folder, mock),
                                           stdout=output, stderr=errors)
                delay = rng.uniform(0.05, options.interval) if kills < options.kills else None
                try:
                    until = None if delay is None else time.monotonic() + delay
                    while process.poll() is None and (until is None or time.monotonic() < until):
                        peak = max(peak, memory(process.pid))
                        time.sleep(0.02)
                finally:
                    process.kill()
                code = process.wait()
            ended += (folder / "stdout").read_bytes().splitlines()
            if code != -9:
                break
            kills += 1
        errors = (folder / "stderr").read_text()
        check(code == 0, f"exit code {code}: {errors}")
        check(kills == options.kills or options.items < 1000, f"only {kills} kills")
        jobs = mock.control("/jobs")["data"]
        ledger = mock.control("/ledger")["data"]
        requests = mock.requests()
        # The schedule of an Action starts runs as well.
        charges = [it for it in ledger if it["kind"] == "capture" and "job_id" in it]
        statuses = collections.Counter(it["status"] for it in requests)
        files = [it for it in (folder / "out").iterdir() if it.suffix == ".png"]
        artifacts = [it["id"] for job in jobs for it in job["result"]["artifacts"]]
        check(len(jobs) == options.items, f"{len(jobs)} jobs")
        check(len(charges) == options.items, f"{len(charges)} charges")
        check(len(files) == len(artifacts), f"{len(files)} files, {len(artifacts)} artifacts")
        check(statuses[429] == 0, f"{statuses[429]} requests above the rate limit: {statuses}")
        printed = {json.loads(it)["item"] for it in ended if it.endswith(b"}")}
        check(len(printed) == options.items, f"{len(printed)} of the items were printed")
        check({it.stem for it in files} == {str(it) for it in printed}, "files that are not named after items")
        status = subprocess.run([options.svc, "batch", "status", "m.jsonl", "-o", "json"], cwd=folder,
                                capture_output=True, check=True, env=environment(folder, mock))
        by_status = json.loads(status.stdout)["by_status"]
        check(by_status == {"completed": options.items}, f"status {by_status}")
        report["killed"] = {
            "items": options.items, "kills": kills, "jobs": len(jobs), "charges": len(charges),
            "files": len(files), "requests": len(requests), "lines": len(ended),
            "statuses": {str(key): count for key, count in sorted(statuses.items(), key=str)},
            "peak_kib": peak, "seconds": round(time.monotonic() - started, 1)}


def measure_lines(options, folder, report):
    """Measures the memory for a manifest of many lines."""
    write_manifest(folder / "m.jsonl", options.lines)
    found = {}
    with Mock(options, "--plan", "scale", "--speed", "1000") as mock:
        for name, flags, limit in (("dry_run", ["--dry-run"], None), ("run", [], options.seconds),
                                   ("resumed", [], options.seconds)):
            command = [options.svc, "batch", "run", "m.jsonl", "-o", "jsonl", *flags]
            started, peak = time.monotonic(), 0
            with (folder / "stdout").open("wb") as output:
                process = subprocess.Popen(command, cwd=folder, env=environment(folder, mock),
                                           stdout=output)
                while process.poll() is None and (limit is None or time.monotonic() - started < limit):
                    peak = max(peak, memory(process.pid))
                    time.sleep(0.01)
                process.kill()
                code = process.wait()
            lines = len((folder / "stdout").read_bytes().splitlines())
            check(code in ((0,) if name == "dry_run" else (0, -9)), f"{name}: exit code {code}")
            check(0 < peak < MAX_MEMORY_KIB, f"{name}: {peak} KiB")
            found[name] = {"peak_kib": peak, "lines": lines,
                           "seconds": round(time.monotonic() - started, 1)}
            if code == 0 and name == "run":
                break
        found["jobs"] = len(mock.control("/jobs")["data"])
    report["large"] = {"lines": options.lines, **found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--interval", type=float, default=1.0, help="longest time before a kill")
    parser.add_argument("--lines", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60, help="time of a run of many lines")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--svc", default=str(ROOT / "target/debug/svc"))
    parser.add_argument("--mock", default=str(ROOT / "target/debug/svc-mock-server"))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    report = {"seed": options.seed}
    with tempfile.TemporaryDirectory() as folder:
        kill_batch(options, pathlib.Path(folder), report)
    if options.lines:
        with tempfile.TemporaryDirectory() as folder:
            measure_lines(options, pathlib.Path(folder), report)
    print(json.dumps(report))


if __name__ == "__main__":
    sys.exit(main())
