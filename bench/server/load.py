"""The load of the server's promise, with the program that SCUMBLE names: what the tests do with few, with many.

    SCUMBLE=path/to/scumble python3 bench/server/load.py clients [--clients 1000] [--answers 500]
    SCUMBLE=path/to/scumble python3 bench/server/load.py kills [--kills 200]
    SCUMBLE=path/to/scumble python3 bench/server/load.py idle [--idle 100000]

`clients`: so many ask at once on a budget for exactly so many answers. `kills`: SIGKILL at random moments while eight ask; every answer that was heard has its charge, no budget is
passed, and each start serves what was stored. `idle`: connections that say nothing, beyond the places, are refused in words, and the server's memory stays small."""

import argparse
import json
import pathlib
import random
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from program import child, scumble

PROJECT = """
[dataset.people]
source = "people.csv"
[dataset.people.columns]
sex = {{ type = "category", values = ["f", "m"] }}
age = {{ type = "int", lower = 0, upper = 100 }}
[budget]
person = {{ epsilon = "{epsilon}" }}
"""


def project(folder, epsilon):
    folder = pathlib.Path(folder)
    (folder / "people.csv").write_text("sex,age\n" + "".join(f"{'fmm'[n % 3]},{n % 90}\n" for n in range(300)))
    (folder / "scumble.toml").write_text(PROJECT.format(epsilon=epsilon))
    return json.loads(child([scumble(), "setup", "access", "add", "ada", "--json"], folder)[2])["token"]


def start(folder, *more):
    process = subprocess.Popen([scumble(), "serve", "--quiet", "--json", "--listen", "127.0.0.1:0", *more], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    host, port = json.loads(process.stdout.readline())["address"].rsplit(":", 1)
    return process, (host, int(port))


def ask(address, token, number, key=None):
    """The status and the answer of a question of its own for each number; nothing where the connection breaks off."""
    body = json.dumps({"sql": f"SELECT COUNT(*) AS n{number} FROM people WHERE age >= {number % 80}", "cost": {"epsilon": "0.1"}})
    key = f"Idempotency-Key: {key}\r\n" if key else ""
    text = (f"POST /v1/query HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n{key}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}")
    try:
        with socket.create_connection(address, timeout=600) as line:
            line.sendall(text.encode())
            got = b""
            while part := line.recv(1 << 16):
                got += part
        head, body = got.split(b"\r\n\r\n", 1)
        return int(head.split()[1]), json.loads(body)
    except (OSError, ValueError):
        return None


def charges(folder):
    return json.loads(child([scumble(), "ledger", "show", "--json"], folder)[2])["releases"]


def memory(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def check(is_so, what):
    if not is_so:
        raise SystemExit(f"NOT SO: {what}")


def clients(options):
    with tempfile.TemporaryDirectory() as folder:
        token = project(folder, f"{options.answers // 10}.{options.answers % 10}")
        process, address = start(folder)
        replies, gate = [None] * options.clients, threading.Barrier(options.clients + 1)

        def one(number):
            gate.wait()
            replies[number] = ask(address, token, number)

        threading.stack_size(256 << 10)
        threads = [threading.Thread(target=one, args=(number,)) for number in range(options.clients)]
        [thread.start() for thread in threads]
        gate.wait()
        begun = time.monotonic()
        [thread.join() for thread in threads]
        took, most = time.monotonic() - begun, memory(process)
        process.kill()
        process.wait()
        answered = [reply for reply in replies if reply and reply[0] == 200]
        refused = [reply for reply in replies if reply and reply[0] == 402 and "epsilon 0 is left" in reply[1]["detail"]]
        listed = charges(folder)
        check(len(answered) + len(refused) == options.clients, f"{len(answered)} answers and {len(refused)} refusals for {options.clients}")
        check(len(answered) == len(listed) == options.answers, f"{len(answered)} answers, {len(listed)} charges, and not {options.answers}")
        check({reply[1]["sequence"] for reply in answered} == {one["sequence"] for one in listed}, "an answer without its charge")
        child([scumble(), "ledger", "verify"], folder)
        print(f"{options.clients} clients at once: {len(answered)} answers, {len(listed)} charges, {len(refused)} refusals with what is left; {took:.1f} s, {most} MiB at most")


def kills(options):
    with tempfile.TemporaryDirectory() as folder:
        budget = options.kills * 3
        token = project(folder, f"{budget // 10}.{budget % 10}")
        heard, lock, next_number = {}, threading.Lock(), iter(range(1, 10**9))
        for _ in range(options.kills):
            process, address = start(folder)
            dead = threading.Event()

            def one():
                while not dead.is_set():
                    with lock:
                        number = next(next_number)
                    reply = ask(address, token, number, f"key-{number}")
                    if reply is None:
                        return
                    if reply[0] == 200:
                        with lock:
                            heard[number] = reply[1]

            threads = [threading.Thread(target=one) for _ in range(8)]
            [thread.start() for thread in threads]
            time.sleep(random.uniform(0.02, 0.6))
            process.kill()
            dead.set()
            process.wait()
            [thread.join() for thread in threads]
        listed = {one["sequence"]: one["state"] for one in charges(folder)}
        check(len(listed) <= budget, f"{len(listed)} charges on a budget for {budget}")
        for number, answer in heard.items():
            check(listed.get(answer["sequence"]) == "committed", f"answer {number} has no charge that is complete")
        child([scumble(), "ledger", "verify"], folder)
        process, address = start(folder)
        for number, answer in heard.items():
            again = ask(address, token, number, f"key-{number}")
            check(again[0] == 200 and again[1]["rows"] == answer["rows"], f"answer {number} is another now")
        process.kill()
        process.wait()
        check(len(charges(folder)) == len(listed), "what was asked again with its key was charged again")
        lost = sum(state != "committed" for state in listed.values())
        print(f"{options.kills} kills: {len(heard)} answers heard, {len(listed)} charges of at most {budget}, {lost} of them interrupted; every answer charged, and the same again after the last start")


def idle(options):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        token = project(folder, "10")
        process, address = start(folder, "--connections", "1000")
        ask(address, token, 1)
        before, held, told, silent = memory(process), [], 0, 0
        begun = time.monotonic()
        # As many as one process may hold at once; what was refused makes place for others.
        for index in range(options.idle):
            line = socket.socket()
            line.bind((f"127.0.{index // 20000 + 1}.1", 0))
            line.settimeout(60)
            line.connect(address)
            held.append(line)
            if len(held) >= most - 500:
                for one in held[1000:]:
                    said = one.recv(4096)
                    told, silent = told + said.startswith(b"HTTP/1.1 503"), silent + (not said)
                    one.close()
                held = held[:1000]
        for one in held[1000:]:
            said = one.recv(4096)
            told, silent = told + said.startswith(b"HTTP/1.1 503"), silent + (not said)
        took, after = time.monotonic() - begun, memory(process)
        [one.close() for one in held]
        time.sleep(1)
        check(ask(address, token, 2)[0] == 200, "the server does not answer after the flood")
        process.kill()
        process.wait()
        print(f"{options.idle} idle connections in {took:.0f} s: {told} told that they are too many, {silent} closed without a word; memory {before} MiB before, {after} MiB at most")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["clients", "kills", "idle"])
    for name, number in [("clients", 1000), ("answers", 500), ("kills", 200), ("idle", 100_000)]:
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    {"clients": clients, "kills": kills, "idle": idle}[options.what](options)


if __name__ == "__main__":
    main()
