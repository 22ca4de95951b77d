"""What `scumble serve` costs beside the same without it, in CPU seconds of the server (user + system, all threads), and how much it answers in a second.

    bench/run server [--requests N]

A plan over HTTP beside the same plan in `scumble plan`; a new question beside `scumble query` without the start of its process; an answer that was paid for, asked for again
by several connections at once; and the peer: the same count through OpenDP behind FastAPI. All of it on the demo's table of 20,000 people, in one run."""

import argparse
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from program import child, scumble

BUDGET = '\n[budget]\nperson = { epsilon = 100000, delta = 1e-9 }\n'
TICKS = os.sysconf("SC_CLK_TCK")


def question(number):
    """A question of its own for each number."""
    return f"SELECT sex, COUNT(*) AS n{number} FROM people WHERE age >= {number % 90} GROUP BY sex"


def project(folder, releases=0):
    """The demo's tables with a budget that does not end, and so many releases."""
    folder.mkdir()
    child([scumble(), "demo", "--quiet"], folder)
    demo = folder / "scumble-demo"
    text = (demo / "scumble.toml").read_text().split("[budget]")[0] + BUDGET
    for number in range(releases):
        text += f'\n[[release]]\nname = "r{number}"\nsql = "{question(number)}"\ncost = {{ epsilon = 0.01 }}\n'
    (demo / "scumble.toml").write_text(text)
    for name in ["scumble.ledger", "scumble.ledger.key"]:
        (demo / name).unlink()
    return demo


def cpu(process):
    """The CPU seconds that a running process has taken."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Server:
    """`scumble serve` on a project, with somebody who may ask."""

    def __init__(self, folder):
        token = child([scumble(), "setup", "access", "add", "ada", "--json"], folder)[2]
        self.token = json.loads(token)["token"]
        self.log = open(folder / "serve.log", "w")
        self.process = subprocess.Popen(
            [scumble(), "serve", "--json", "--listen", "127.0.0.1:0"], cwd=folder, stdout=subprocess.PIPE, stderr=self.log)
        host, port = json.loads(self.process.stdout.readline())["address"].rsplit(":", 1)
        self.address = (host, int(port))

    def bytes(self, path, sql):
        """A request as it goes over the wire."""
        body = json.dumps({"sql": sql, "cost": {"epsilon": "0.01"}})
        return (f"POST {path} HTTP/1.1\r\nHost: {self.address[0]}:{self.address[1]}\r\nAuthorization: Bearer {self.token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Line:
    """A connection that is kept, and reads whole answers."""

    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def answer(self):
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, rest = self.rest.split(b"\r\n\r\n", 1)
        length = int(re.search(rb"content-length: (\d+)", head, re.I)[1])
        while len(rest) < length:
            self.rest = head + b"\r\n\r\n" + rest
            self.more()
            rest = self.rest.split(b"\r\n\r\n", 1)[1]
        self.rest = rest[length:]
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"refused: {head.decode()} {rest[:length].decode()}")
        return rest[:length]

    def more(self):
        got = self.socket.recv(1 << 20)
        if not got:
            raise SystemExit("the server hung up")
        self.rest += got

    def ask(self, request):
        self.socket.sendall(request)
        return self.answer()


def measured(server, requests):
    """CPU seconds of the server and wall seconds for each of these requests, one after the other."""
    line = Line(server.address)
    before, begun = cpu(server.process), time.monotonic()
    for request in requests:
        line.ask(request)
    number = len(requests)
    return (cpu(server.process) - before) / number, (time.monotonic() - begun) / number


def flood(server, request, seconds, connections, at_once):
    """How many answers come in a second through so many connections that ask for so many at once; and the server's CPU seconds for each."""
    counts, until = [0] * connections, time.monotonic() + seconds
    before, begun = cpu(server.process), time.monotonic()

    def one(index):
        line = Line(server.address)
        size = len(line.ask(request))
        while time.monotonic() < until:
            line.socket.sendall(request * at_once)
            for _ in range(at_once):
                if len(line.answer()) != size:
                    raise SystemExit("another answer")
            counts[index] += at_once

    threads = [threading.Thread(target=one, args=(index,)) for index in range(connections)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    number = sum(counts)
    return number / (time.monotonic() - begun), (cpu(server.process) - before) / number


def started():
    """The CPU seconds of a process that does nothing."""
    return min(child([scumble(), "--version"])[0] for _ in range(5))


def plans(folder, number):
    """A plan in `scumble plan` (the difference between many and one), and over HTTP."""
    [many, one] = [project(folder / f"plan-{count}", count) for count in (number + 1, 1)]
    took = lambda place: min(child([scumble(), "plan", "--json"], place)[0] for _ in range(3))
    inside = (took(many) - took(one)) / number
    server = Server(one)
    requests = [server.bytes("/v1/plan", question(index)) for index in range(number)]
    measured(server, requests[:5])
    over = min(measured(server, requests)[0] for _ in range(3))
    server.stop()
    return inside, over


def questions(folder, number):
    """A question by `scumble query` without the start of its process, and over HTTP: CPU and wall seconds."""
    alone, served = project(folder / "query"), project(folder / "served")
    start, inside, walls = started(), [], []
    for index in range(number):
        begun = time.monotonic()
        inside.append(child([scumble(), "query", question(index), "--cost", "epsilon=0.01", "--json"], alone)[0] - start)
        walls.append(time.monotonic() - begun)
    server = Server(served)
    measured(server, [server.bytes("/v1/query", question(1000 + index)) for index in range(3)])
    over, wall = measured(server, [server.bytes("/v1/query", question(index)) for index in range(number)])
    stored = server.bytes("/v1/query", question(0))
    Line(server.address).ask(stored)
    rate, each = max(flood(server, stored, 5, connections, 32) for connections in (2, 4, 8))
    server.stop()
    return sum(inside) / number, over, sum(walls) / number, wall, rate, each


def peer(folder, number):
    """OpenDP behind FastAPI: CPU and wall seconds for each count; nothing where it is not installed."""
    try:
        import fastapi, opendp, polars, uvicorn  # noqa: F401
    except ImportError as error:
        print(f"NOT MEASURED: the peer ({error})", file=sys.stderr)
        return None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = dict(os.environ, PEOPLE=str(folder / "served" / "scumble-demo" / "people.csv"))
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "--app-dir", str(HERE), "--port", str(port), "--log-level", "warning", "peer:app"], env=environment)
    address = f"http://127.0.0.1:{port}/count?age="
    ask = lambda age: urllib.request.urlopen(urllib.request.Request(f"{address}{age}", headers={"Authorization": "Bearer token"}), timeout=60).read()
    until = time.monotonic() + 60
    while True:
        try:
            ask(0)
            break
        except OSError:
            if time.monotonic() > until:
                raise SystemExit("the peer did not start")
            time.sleep(0.2)
    line = Line(("127.0.0.1", port))
    request = lambda age: f"GET /count?age={age} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token\r\n\r\n".encode()
    [line.ask(request(age)) for age in range(3)]
    before, begun = cpu(process), time.monotonic()
    [line.ask(request(index % 90)) for index in range(number)]
    took = (cpu(process) - before) / number, (time.monotonic() - begun) / number
    process.terminate()
    process.wait()
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--requests", type=int, default=200)
    number = parser.parse_args().requests
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        inside, over = plans(folder, number)
        query, asked, query_wall, asked_wall, rate, each = questions(folder, max(number // 4, 5))
        other = peer(folder, max(number // 4, 5))
    ms = lambda seconds: f"{seconds * 1000:.2f} ms"
    print("| | CPU | beside | ratio | goal |\n|---|---|---|---|---|")
    print(f"| a plan over HTTP | {ms(over)} | {ms(inside)} in `scumble plan` | {over / inside:.2f} | 1.5 |")
    print(f"| a new question over HTTP | {ms(asked)} | {ms(query)} in `scumble query` | {asked / query:.2f} | 1.2 |")
    print(f"| a stored answer | {ms(each)} | {rate:.0f} in a second | | 5,000 in a second |")
    if other:
        print(f"| OpenDP behind FastAPI | {ms(other[0])} | {ms(asked)} ours | {other[0] / asked:.2f} | |")
    print(f"\nWall time of a new question: {ms(asked_wall)} over HTTP, {ms(query_wall)} with `scumble query` (its process too)"
          + (f", {ms(other[1])} with OpenDP behind FastAPI" if other else ""))


if __name__ == "__main__":
    main()
