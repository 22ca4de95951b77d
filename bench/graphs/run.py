"""Triangles of a graph and how many one edge can change, beside networkx, igraph and a sparse matrix product. One run, CPU seconds
(user + system, all threads) of one child process each.

Ours is the whole program: project file, private plan, ledger, the count, the sensitivity near the graph at every distance, noise, outputs and
report. "reading" is the same program that only counts the rows of the file. The peers' clock starts after their imports and covers reading the
file and the number of triangles alone; they have no privacy, and no sensitivity.

    bench/run graphs            six shapes of 10^6 edges
    bench/run graphs --small    the same with a tenth of the edges
    bench/run graphs --only clique star
"""

import argparse
import json
import math
import pathlib
import random
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from program import child, scumble

PROJECT = """
[dataset.friends]
source = "{source}"
graph = {{ from = "a", to = "b", vertices = {vertices} }}
[dataset.friends.columns]
a = {{ type = "int" }}
b = {{ type = "int" }}
[[release]]
name = "r"
{release}
cost = {{ epsilon = 1.0 }}
"""
TRIANGLES = 'kind = "triangles"\ntable = "friends"\nmethod = "smooth"'
READING = 'sql = "SELECT COUNT(*) AS n FROM friends"'


def even(edges, rng):
    """Every pair as likely as any other."""
    vertices = edges // 5
    return vertices, {tuple(sorted(rng.sample(range(vertices), 2))) for _ in range(edges)}


def preferring(edges, rng):
    """Whoever has many neighbours gets more: a few vertices of very many edges."""
    vertices = edges // 5
    ends, found = [0, 1], {(0, 1)}
    for vertex in range(2, vertices):
        for _ in range(edges // vertices):
            other = ends[rng.randrange(len(ends))]
            if other != vertex:
                found.add(tuple(sorted((vertex, other))))
                ends += [vertex, other]
    return vertices, found


def two_sides(edges, _):
    """Everybody of one half joined to everybody of the other: no triangle, and nobody has more neighbours in common."""
    half = math.isqrt(edges)
    return 2 * half, {(one, half + other) for one in range(half) for other in range(half)}


def star(edges, _):
    return edges + 1, {(0, other) for other in range(1, edges + 1)}


def hubs(edges, rng):
    """A thousand vertices that all the others are joined to some of."""
    middle, others = 1000, edges // 10
    return middle + others, {(rng.randrange(middle), middle + place % others) for place in range(edges)}


def clique(edges, _):
    vertices = math.isqrt(2 * edges)
    return vertices, {(one, other) for other in range(vertices) for one in range(other)}


SHAPES = {"even": even, "preferring": preferring, "two sides": two_sides, "star": star, "hubs": hubs, "clique": clique}


def ours(source, vertices, release):
    """The best of three runs of the program: CPU seconds and the answer."""
    runs = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "scumble.toml").write_text(PROJECT.format(source=source, vertices=vertices, release=release))
            seconds, _, _ = child([scumble(), "release", "--quiet"], folder)
            runs.append((seconds, json.loads(pathlib.Path(folder, "out/r.json").read_text())["answers"]["rows"][0]))
    return min(runs, key=lambda run: run[0])


def peer(name, source):
    """A peer's CPU seconds by its own clock, and its triangles."""
    runs = [json.loads(child([sys.executable, str(HERE / "peers.py"), name, str(source)])[2]) for _ in range(1 if name == "networkx" else 3)]
    return min(runs, key=lambda run: run["seconds"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", nargs="+", choices=SHAPES, default=list(SHAPES))
    given = parser.parse_args()
    edges = 100_000 if given.small else 1_000_000
    print("| shape | edges | who | CPU s | × ours | triangles |")
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in given.only:
            vertices, made = SHAPES[name](edges, random.Random(1))
            made = sorted(made)
            random.Random(2).shuffle(made)
            source = pathlib.Path(folder, "edges.csv")
            source.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in made))
            seconds, answer = ours(source, vertices, TRIANGLES)
            reading, _ = ours(source, vertices, READING)
            print(f"| {name} | {len(made)} | ours | {seconds:.3f} | 1 | {answer['triangles']} |")
            print(f"| | | ours, reading alone | {reading:.3f} | {reading / seconds:.2f} | |", flush=True)
            for one in ("igraph", "scipy", "networkx"):
                told = peer(one, source)
                print(f"| | | {one} | {told['seconds']:.3f} | {told['seconds'] / seconds:.2f} | {told['triangles']} |", flush=True)


if __name__ == "__main__":
    main()
