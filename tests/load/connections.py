#!/usr/bin/env python3
"""Load on a mock server: idle connections, heads that never end, then how soon a new client is answered.

    tests/load/connections.py PROGRAM [--idle 20000] [--slow 1000] [--requests 1000000]

PROGRAM is a built svc-mock-server. With --requests, a client on a few connections sends that many, and the latency
and the memory of the mock are printed for each tenth.
"""

import argparse
import asyncio
import json
import multiprocessing
import resource
import subprocess
import time
from urllib.parse import urlsplit

HEAD = "GET /v1/jobs HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: svc_open_demo\r\n"
# Below the hard limit of open files, and the ports of a source address.
PER_PROCESS = 5000
CLIENTS = 4
# After this, the mock does not answer new clients.
NEW_CLIENT_SECONDS = 5


async def connect(port: int, address: int = 1):
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(f"127.0.0.{address}", 0))


async def request(reader, writer) -> None:
    writer.write((HEAD + "\r\n").encode())
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.split(b":")[1]))


async def new_client(port: int, what: str) -> None:
    start = time.monotonic()
    _, writer = connection = await connect(port)
    await asyncio.wait_for(request(*connection), NEW_CLIENT_SECONDS)
    writer.close()
    print(f"{what}: a new client is answered in {(time.monotonic() - start) * 1000:.1f} ms", flush=True)


def hold(port: int, address: int, count: int, first_bytes: bytes, ready, stop) -> None:
    """Opens connections from an address of its own, and holds them."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def open_all() -> list:
        connections = []
        for start in range(0, count, 200):
            numbers = range(start, min(start + 200, count))
            connections += await asyncio.gather(*(connect(port, address) for _ in numbers))
            for _, writer in connections[start:]:
                writer.write(first_bytes)
        ready.release()
        await asyncio.to_thread(stop.wait)
        return connections

    asyncio.run(open_all())


class Held:
    """Connections of other processes, each with few enough for its limit of open files."""

    def __init__(self, port: int, first_address: int, count: int, first_bytes: bytes) -> None:
        self.stop, ready = multiprocessing.Event(), multiprocessing.Semaphore(0)
        shares = [min(PER_PROCESS, count - start) for start in range(0, count, PER_PROCESS)]
        self.processes = [
            multiprocessing.Process(
                target=hold, args=(port, first_address + number, share, first_bytes, ready, self.stop), daemon=True)
            for number, share in enumerate(shares)
        ]
        for process in self.processes:
            process.start()
        for _ in self.processes:
            assert ready.acquire(timeout=300), "the connections cannot be opened"

    def close(self) -> None:
        self.stop.set()
        for process in self.processes:
            process.join()


def memory(process: subprocess.Popen) -> str:
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return f"{int(line.split()[1]) / 1024:.0f} MiB"


async def send(port: int, count: int, latencies: list) -> None:
    connection = await connect(port)
    for _ in range(count):
        start = time.monotonic()
        await request(*connection)
        latencies.append(time.monotonic() - start)


async def run(options: argparse.Namespace, process: subprocess.Popen, port: int) -> None:
    await new_client(port, "before")
    idle = Held(port, 2, options.idle, b"")
    await new_client(port, f"{options.idle} idle connections, of which the mock keeps 512, {memory(process)}")
    slow = Held(port, 100, options.slow, HEAD.encode())
    await new_client(port, f"and {options.slow} slow heads, {memory(process)}")
    idle.close()
    slow.close()
    step = options.requests // (10 * CLIENTS)
    for part in range(1, 11) if step else []:
        latencies: list = []
        start = time.monotonic()
        await asyncio.gather(*(send(port, step, latencies) for _ in range(CLIENTS)))
        latencies.sort()
        at = [latencies[len(latencies) * percent // 100] * 1000 for percent in (50, 99)]
        rate = len(latencies) / (time.monotonic() - start)
        print(f"{part * step * CLIENTS} requests: {at[0]:.2f} ms at 50 %, {at[1]:.2f} ms at 99 %, {rate:.0f}/s, "
              f"{memory(process)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--idle", type=int, default=20_000)
    parser.add_argument("--slow", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=0)
    options = parser.parse_args()
    arguments = [options.program, "--port-base", "0", "--read-multiple", "1000000", "--writes-per-minute", "free=4000"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
    try:
        port = urlsplit(json.loads(process.stdout.readline())["SVC_BASE_URL"]).port
        asyncio.run(run(options, process, port))
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
