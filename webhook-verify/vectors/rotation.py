#!/usr/bin/env python3
"""Starts a receiver in any language, lets the mock server deliver to it, and rotates the signing secret.

    python3 webhook-verify/vectors/rotation.py COMMAND...

The receiver listens on port PORT of this machine, and reads the secrets, one a line, from the file
SVC_WEBHOOK_SECRET_FILE, again when a delivery names a newer one. The mock server is the program
SVC_MOCK_SERVER, target/debug/svc-mock-server by default.
"""

import hashlib
import hmac
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOCK = os.environ.get("SVC_MOCK_SERVER", ROOT / "target/debug/svc-mock-server")
HOOKS = "https://hooks.example.com"
BODY = b'{"event":"job.completed","job_id":"job_forged"}'


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def wait_for(what, condition, seconds=60):
    until = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > until:
            raise SystemExit(f"{what}: not within {seconds} s")
        time.sleep(0.1)
    return result


def call(method, url, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **(headers or {})}, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read() or b"null")


def is_listening(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def environment_of(output):
    lines = (line.removeprefix("export ").split("=", 1) for line in output.read_text().splitlines() if "=" in line)
    environment = {name: value.strip("'\"") for name, value in lines}
    return environment if "SVC_WEBHOOK_SECRET" in environment else None


class Session:
    """The mock server and a receiver."""

    def __init__(self, environment, port, secret_file):
        self.environment, self.port, self.secret_file = environment, port, secret_file
        self.delivered = 0

    def developer(self, method, path):
        key = {"authorization": "Bearer " + self.environment["SVC_DEVELOPER_API_KEY"]}
        return call(method, self.environment["SVC_DEVELOPER_BASE_URL"] + path, headers=key)["data"]

    def control(self, method, path, body=None):
        return call(method, self.environment["SVC_CONTROL_URL"] + path, body)

    def advance(self, seconds):
        self.control("POST", "/clock/advance", {"seconds": seconds})

    def deliver(self, when):
        """Lets the mock deliver the event of a new job, which the receiver has to accept."""
        body = {"model": "image-i", "prompt": "a fox", "mode": "webhook", "webhook_url": f"{HOOKS}/webhooks"}
        key = {"authorization": "Bearer " + self.environment["SVC_OPEN_API_KEY"]}
        call("POST", self.environment["SVC_BASE_URL"] + "/v1/image-router/generate", body, key)
        self.advance(2)
        self.delivered += 1

        def outcome():
            attempts = self.control("GET", "/deliveries")["data"]
            ended = [it for it in attempts if it["status"] is not None or it["error"] is not None]
            return len(ended) >= self.delivered and attempts

        statuses = sorted({str(it["status"] or it["error"]) for it in wait_for("a delivery", outcome)})
        if len(statuses) != 1 or not statuses[0].startswith("2"):
            raise SystemExit(f"{when}: deliveries were answered with {statuses}")
        print(f"   {when}: accepted")

    def forge(self, what, headers):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/webhooks", BODY, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                status = response.status
        except urllib.error.HTTPError as error:
            status = error.code
        if status not in (400, 401):
            raise SystemExit(f"{what}: answered with {status}")
        print(f"   {what}: {status}")

    def signed(self, secret):
        timestamp = str(int(time.time()))
        tag = hmac.digest(secret.encode(), f"{timestamp}.".encode() + BODY, hashlib.sha256).hex()
        return {"x-svc-webhook-timestamp": timestamp, "x-svc-webhook-signature": f"svc-v1={tag}",
                "content-type": "application/json"}

    def run(self):
        first = self.secret_file.read_text().strip()
        self.deliver("with the first secret")
        self.forge("without headers", {})
        self.forge("signed with another secret", self.signed("whsec_other"))
        newest = self.developer("POST", "/v1/webhooks/signing-secret/rotate")["secret"]
        self.deliver("after a rotation, with the first secret")
        self.secret_file.write_text(f"{newest}\n{first}\n")
        self.deliver("with both secrets")
        self.secret_file.write_text(f"{newest}\n")
        third = self.developer("POST", "/v1/webhooks/signing-secret/rotate")["secret"]
        self.secret_file.write_text(f"{third}\n")
        self.deliver("after another rotation, with the third secret")
        self.forge("signed with the revoked secret", self.signed(first))


def main(command):
    if not pathlib.Path(MOCK).exists():
        print(f"NOT CHECKED: {' '.join(command)} against the mock, as {MOCK} is not built")
        return
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        folder, port = pathlib.Path(folder), free_port()
        try:
            route = f"{HOOKS}=http://127.0.0.1:{port}"
            with open(folder / "mock", "w") as output:
                # The manual clock starts at the time of the system, which the receivers use, and stays near it.
                arguments = ["--port-base", "0", "--clock", "manual", "--env", "--webhook-route", route]
                processes.append(subprocess.Popen([MOCK, *arguments], stdout=output))
            environment = wait_for("the mock", lambda: environment_of(folder / "mock"))
            secret_file = folder / "secrets"
            secret_file.write_text(environment["SVC_WEBHOOK_SECRET"] + "\n")
            own = {"PORT": str(port), "SVC_WEBHOOK_SECRET_FILE": str(secret_file)}
            processes.append(subprocess.Popen(command, env={**os.environ, **own}))
            wait_for("the receiver", lambda: is_listening(port))
            Session(environment, port, secret_file).run()
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
