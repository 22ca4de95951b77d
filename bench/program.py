"""The program that a topic runs: the one that SCUMBLE names, or else built in release; and children with their CPU seconds."""

import functools
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


@functools.cache
def scumble():
    """The path of the program, built at most once."""
    given = os.environ.get("SCUMBLE")
    if given:
        print("with the program that SCUMBLE names; if it was not built in release, its times mean nothing", file=sys.stderr, flush=True)
        return pathlib.Path(given)
    print("building the program in release (a quarter of an hour the first time)", file=sys.stderr, flush=True)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    return TARGET / "release" / "scumble"


def child(command, folder=None):
    """Runs a command; its CPU seconds, peak memory in bytes and standard output."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{command[0]} {command[1]} failed with status {process.returncode}")
        output.seek(0)
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output.read().decode()
