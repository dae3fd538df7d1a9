#!/usr/bin/env python3
"""Runs the example webhook_service as webhook-verify/inbox/OPERATING.md says: on PostgreSQL, with the
mock as the service. Service and database are killed, the secret is rotated, and events are replayed.

Needs target/debug with `svc-mock-server`, `examples/webhook_service`, and `svc` with the feature
`postgres`.
"""

import json
import os
import pathlib
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEBUG = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
HOOKS = "https://hooks.example.com"
JOBS = 30


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def wait_for(what, condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise SystemExit(f"{what}: not within {seconds} s")
        time.sleep(0.1)


def call(method, url, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read() or b"null")


class Postgres:
    """A PostgreSQL server with its data in a folder, started as another user if this one is root."""

    def __init__(self, programs, folder):
        self.programs, self.data, self.port = programs, folder / "data", free_port()
        self.user = {}
        folder.mkdir()
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(folder, account.pw_uid, account.pw_gid)
            self.user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        self.log = open(folder / "log", "w")
        subprocess.run([programs / "initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "--no-sync"],
                       check=True, stdout=subprocess.DEVNULL, cwd=folder, **self.user)
        self.start()

    def start(self):
        arguments = ["-D", self.data, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
                     "-c", "unix_socket_directories="]
        self.process = subprocess.Popen([self.programs / "postgres", *arguments],
                                        stdout=self.log, stderr=self.log, cwd=self.data, **self.user)
        ready = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        wait_for("PostgreSQL", lambda: subprocess.run(ready).returncode == 0)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def url(self):
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def query(self, sql):
        command = [self.programs / "psql", self.url(), "-qAtc", sql]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Mock:
    """The mock of the service, whose clock stands still unless it is advanced."""

    def __init__(self, work, receiver_port):
        self.environment = {}
        output = open(work / "mock.env", "w+")
        route = f"{HOOKS}=http://127.0.0.1:{receiver_port}"
        self.process = subprocess.Popen([DEBUG / "svc-mock-server", "--port-base", "0", "--clock", "manual",
                                         "--env", "--webhook-route", route], stdout=output)

        def ready():
            output.seek(0)
            lines = [line.removeprefix("export ").split("=", 1) for line in output.read().splitlines() if "=" in line]
            self.environment = {name: value.strip("'\"") for name, value in lines}
            return "SVC_WEBHOOK_SECRET" in self.environment

        wait_for("the mock", ready)

    def advance(self, seconds):
        call("POST", self.environment["SVC_CONTROL_URL"] + "/clock/advance", {"seconds": seconds})

    def submit(self, count):
        url = self.environment["SVC_BASE_URL"] + "/v1/image-router/generate"
        body = {"model": "image-i", "mode": "webhook", "webhook_url": f"{HOOKS}/webhooks"}
        key = {"x-api-key": self.environment["SVC_OPEN_API_KEY"]}
        for number in range(count):
            # They end one after the other.
            call("POST", url, {**body, "prompt": f"a fox [mock:seconds={number % 10 + 1}]"}, key)

    def svc(self, *arguments):
        # The secret comes from the service, not from the environment.
        own = {name: value for name, value in self.environment.items() if name != "SVC_WEBHOOK_SECRET"}
        command = subprocess.run([DEBUG / "svc", *arguments], env={**os.environ, **own},
                                 check=True, capture_output=True, text=True)
        return command.stdout


class Service:
    """The example."""

    def __init__(self, work, port, database, secret_file):
        self.port, self.log_path = port, work / "service.log"
        self.environment = {**os.environ, "DATABASE_URL": database, "SVC_WEBHOOK_SECRET_FILE": str(secret_file),
                            "RECEIVER_ADDRESS": f"127.0.0.1:{port}"}
        self.start()

    def start(self):
        log = open(self.log_path, "a")
        program = DEBUG / "examples/webhook_service"
        self.process = subprocess.Popen([program], env=self.environment, stdout=log, stderr=log)
        wait_for("the service", lambda: self.health() is not None)

    def health(self):
        try:
            return call("GET", f"http://127.0.0.1:{self.port}/health")
        except OSError:
            return None

    def log(self):
        return self.log_path.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait()


def main(work):
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        print("NOT CHECKED: the example webhook_service, as PostgreSQL is not installed")
        return
    postgres = Postgres(folders[-1], work / "postgres")
    port = free_port()
    mock = Mock(work, port)
    processes = [postgres, mock]
    try:
        secret_file = work / "secrets"
        secret_file.write_text(mock.environment["SVC_WEBHOOK_SECRET"] + "\n")
        service = Service(work, port, postgres.url(), secret_file)
        processes.append(service)
        run(postgres, mock, service, secret_file)
    except BaseException:
        print((work / "service.log").read_text()[-3000:], file=sys.stderr)
        raise
    finally:
        for process in processes:
            process.process.kill()
            process.process.wait()


def run(postgres, mock, service, secret_file):
    def effects():
        return int(postgres.query("SELECT count(*) FROM finished_jobs"))

    def all_handled(count):
        health = service.health()
        return effects() == count and health is not None and health["handled"] == count

    # The service is killed while deliveries arrive. What it did not answer is delivered again.
    mock.submit(JOBS)
    deliveries = threading.Thread(target=mock.advance, args=[11])
    deliveries.start()
    wait_for("an event is handled", lambda: effects() > 0)
    service.kill()
    before = effects()
    deliveries.join()
    assert 0 < before < JOBS, before
    service.start()
    mock.advance(31)
    wait_for("all events are handled", lambda: all_handled(JOBS))
    print(f"killed the service: {before} of {JOBS} events were handled before, all of them after")

    # The database is killed. Deliveries are answered 503 and come again.
    postgres.kill()
    mock.submit(5)
    mock.advance(6)
    assert service.health() is None, "the store is down"
    postgres.start()
    mock.advance(61)
    wait_for("all events are handled", lambda: all_handled(JOBS + 5))
    print("killed the database: nothing is lost, and the service connected again")

    # The secret is rotated. Until the file has the new one, the previous one is accepted, with a warning.
    previous = secret_file.read_text()
    mock.svc("webhook", "secret", "rotate", "--yes")
    mock.submit(1)
    mock.advance(2)
    wait_for("an event in the rotation", lambda: all_handled(JOBS + 6))
    assert "signed with a newer secret" in service.log()
    newest = mock.svc("webhook", "secret", "show", "--jq", ".secret")
    secret_file.write_text(newest + previous)
    warnings = service.log().count("signed with a newer secret")
    mock.submit(1)
    mock.advance(2)
    wait_for("an event after the rotation", lambda: all_handled(JOBS + 7))
    assert service.log().count("signed with a newer secret") == warnings
    # A day later, the previous secret is removed.
    secret_file.write_text(newest)
    service.process.send_signal(signal.SIGHUP)
    wait_for("the reload", lambda: "signing secrets: " in service.log())
    reloaded = service.log().rsplit("signing secrets: ", 1)[1].splitlines()[0]
    assert reloaded == json.loads(mock.svc("webhook", "secret", "show", "-o", "json"))["fingerprint"], reloaded
    print("rotated the secret: nothing was rejected")

    # A bug removed the effects of all events. They are handled again.
    postgres.query("TRUNCATE finished_jobs")
    store = ("--store", postgres.url())
    mock.svc("webhook", "inbox", "replay", "--since", "2000-01-01T00:00:00Z", *store)
    wait_for("the replay", lambda: all_handled(JOBS + 7))
    assert "delivery rejected" not in service.log()
    events = mock.svc("webhook", "inbox", "list", "--all", "-o", "jsonl", *store).splitlines()
    assert len(events) == JOBS + 7, len(events)
    # One event alone, by its id. It is not a dead one, and none is old enough to be purged.
    newest = json.loads(events[0])["id"]
    body = json.loads(mock.svc("webhook", "inbox", "show", newest, "--body", *store))
    postgres.query(f"DELETE FROM finished_jobs WHERE job_id = '{body['job_id']}'")
    mock.svc("webhook", "inbox", "replay", newest, *store)
    wait_for("the replay of one event", lambda: all_handled(JOBS + 7))
    assert not mock.svc("webhook", "inbox", "list", "--state", "dead", "-o", "jsonl", *store)
    mock.svc("webhook", "inbox", "replay", "--dead", *store)
    mock.svc("webhook", "inbox", "purge", "--older-than", "30d", *store)
    assert all_handled(JOBS + 7), service.health()
    print(f"replayed {len(events)} events, and one of them again")

    service.process.terminate()
    assert service.process.wait(timeout=60) == 0, "the exit code"
    print("stopped")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # for the user of the database
        main(pathlib.Path(folder))
