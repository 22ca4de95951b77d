#!/usr/bin/env python3
"""Makes a ledger of given events, for tests: make_ledger.py EVENTS LEDGER.

EVENTS is a JSON list of {"release", "kind", "events"}; LEDGER is written as docs/engineers/ledger-format.md says, without running sums, as a
program from before them wrote it.
"""
import hashlib
import json
import sqlite3
import sys


def chained(bodies):
    """(number, text, hash) of each body."""
    link, rows = bytes(32), []
    for number, body in enumerate(bodies, 1):
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        link = hashlib.sha256(link + number.to_bytes(8, "big") + text.encode()).digest()
        rows.append((number, text, link))
    return rows


def bodies(charges):
    found = []
    for charge in charges:
        found.append({"entry": "reserve", "time": "2026-11-15T20:00:00Z", "project": None, "engine": "scumble 0.1.0", "rule": {},
                      "nonce": f"{len(found):016x}", **charge})
        found.append({"entry": "commit", "time": "2026-11-15T20:00:01Z", "of": len(found), "output": "00" * 32})
    return found


def main(events, ledger):
    with open(events, encoding="utf-8") as file:
        rows = chained(bodies(json.load(file)))
    base = sqlite3.connect(ledger)
    base.executescript(f"""
        PRAGMA application_id = {0x53434D42};
        PRAGMA user_version = 2;
        CREATE TABLE entry (sequence INTEGER PRIMARY KEY, body TEXT NOT NULL, hash BLOB NOT NULL) STRICT;
        CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), entries INTEGER NOT NULL, hash BLOB NOT NULL) STRICT;
    """)
    base.executemany("INSERT INTO entry VALUES (?, ?, ?)", rows)
    base.execute("INSERT INTO head VALUES (1, ?, ?)", (len(rows), rows[-1][2]))
    base.commit()


if __name__ == "__main__":
    main(*sys.argv[1:])
