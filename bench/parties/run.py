"""The sum of 1000 parties' numbers in 10^5 cells through 3 servers, as real processes on loopback, beside plain addition of the same vectors.

    bench/run parties
    bench/run parties --parties 20 --cells 1000          a small one, to see that it runs

Ours is `scumble parties serve` (three times) and `scumble parties send` (once for each party, two at a time, as soon as there is room): noise in shares, additive secret sharing,
TLS 1.3 with keys on both sides, agreement, charges, opening. Seconds are CPU seconds of all these processes; bytes are what went over the loopback device meanwhile. Beside it
stand a collector that is trusted with everything (each vector sent once over TCP, in the clear, and added with numpy) and the addition alone.
"""

import argparse
import os
import pathlib
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from program import scumble  # noqa: E402

SERVERS = 3


def vector(party, cells):
    return np.random.default_rng(party).integers(0, 1000, size=cells)


def loopback():
    """Bytes that the loopback device has received."""
    for line in open("/proc/net/dev"):
        if line.strip().startswith("lo:"):
            return int(line.split(":")[1].split()[0])
    return 0


def ports(number):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    found = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return found


def keyed(folder, name):
    made = subprocess.run([scumble(), "parties", "key", f"{name}.key"], cwd=folder, check=True, capture_output=True, text=True)
    return made.stdout.strip()


def plan(folder, parties, cells):
    lines = [f'name = "sum"\nepsilon = 1\nscope = "person"\ncolluding = {parties // 10}\nsilent = {parties // 10}\ncells = {cells}\nattributes = ["number"]\n[owner]\ncells = 1\nby = 1']
    for place, port in enumerate(ports(SERVERS)):
        lines.append(f'[[server]]\nname = "s{place}"\naddress = "127.0.0.1:{port}"\nkey = "{keyed(folder, f"s{place}")}"')
    for place in range(parties):
        lines.append(f'[[party]]\nname = "p{place}"\nkey = "{keyed(folder, f"p{place}")}"')
    (folder / "sum.toml").write_text("\n".join(lines) + "\n")


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def served(folder, place):
    command = [scumble(), "--quiet", "parties", "serve", "sum.toml", "--key", f"s{place}.key", "--ledger", f"s{place}.ledger", "--out", f"s{place}", "--wait", "7200"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)


def sent(folder, place, cells, wait):
    file = folder / f"p{place}.csv"
    file.write_text("\n".join(map(str, vector(place, cells).tolist())) + "\n")
    command = [scumble(), "--quiet", "parties", "send", "sum.toml", "--key", f"p{place}.key", "--counts", file.name, "--wait", str(wait)]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    file.unlink()


def ended(process):
    """A server's CPU seconds and peak memory."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"a server failed with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def ours(folder, parties, cells):
    plan(folder, parties, cells)
    start, bytes_before, used = time.monotonic(), loopback(), children()
    servers = [served(folder, place) for place in range(SERVERS)]
    queue, lock, failed = list(range(parties)), threading.Lock(), []

    def work():
        while not failed:
            with lock:
                if not queue:
                    return
                place = queue.pop()
            try:
                sent(folder, place, cells, 600)
            except Exception as error:  # The main thread says it.
                failed.append(error)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    if failed:
        for one in servers:
            one.kill()
        raise SystemExit(str(failed[0]))
    by_parties = children() - used
    ends = [ended(server) for server in servers]
    wall, moved = time.monotonic() - start, loopback() - bytes_before
    totals = [int(line.rsplit(",", 1)[1]) for line in (folder / "s0" / "sum.csv").read_text().splitlines()[1:]]
    return dict(parties=by_parties, servers=sum(seconds for seconds, _ in ends), memory=max(memory for _, memory in ends), wall=wall, bytes=moved, totals=np.array(totals))


def collected(parties, cells):
    """Everything in the clear to one who is trusted: CPU seconds of both ends, bytes."""
    total = np.zeros(cells, dtype=np.int64)
    door = socket.create_server(("127.0.0.1", 0))
    before, seconds = loopback(), 0.0
    for party in range(parties):
        sending = vector(party, cells).astype("<i8")
        start = time.process_time()

        def send():
            with socket.create_connection(door.getsockname()) as out:
                out.sendall(sending.tobytes())

        sender = threading.Thread(target=send)
        sender.start()
        incoming, _ = door.accept()
        held = bytearray(8 * cells)
        view = memoryview(held)
        while view:
            view = view[incoming.recv_into(view) :]
        incoming.close()
        sender.join()
        total += np.frombuffer(held, dtype="<i8")
        seconds += time.process_time() - start
    return seconds, loopback() - before, total


def added(parties, cells):
    vectors = [vector(party, cells) for party in range(parties)]
    start = time.process_time()
    total = np.zeros(cells, dtype=np.int64)
    for one in vectors:
        total += one
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parties", type=int, default=1000)
    parser.add_argument("--cells", type=int, default=100_000)
    arguments = parser.parse_args()
    parties, cells = arguments.parties, arguments.cells
    with tempfile.TemporaryDirectory() as name:
        found = ours(pathlib.Path(name), parties, cells)
    seconds, moved, truth = collected(parties, cells)
    alone = added(parties, cells)
    off = np.abs(found["totals"] - truth)
    print(f"{parties} parties, {cells} cells, {SERVERS} servers; of the opened totals the mean error is {off.mean():.2f}, the largest {off.max()}; {found['wall']:.1f} s on the clock, {found['memory'] / 2**20:.0f} MiB for a server")
    print("| | CPU seconds | bytes | bytes × plain |")
    print("|---|---|---|---|")
    whole = found["parties"] + found["servers"]
    print(f"| scumble parties: all | {whole:.2f} | {found['bytes']:.3g} | {found['bytes'] / moved:.2f} |")
    print(f"| of it a party | {found['parties'] / parties:.4f} | {found['bytes'] / parties:.3g} | |")
    print(f"| of it a server | {found['servers'] / SERVERS:.2f} | | |")
    print(f"| a trusted collector, in the clear | {seconds:.2f} | {moved:.3g} | 1 |")
    print(f"| the addition alone | {alone:.3f} | 0 | |")


if __name__ == "__main__":
    main()
