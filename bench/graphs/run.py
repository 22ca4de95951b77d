"""Triangles of a graph and how many one edge can change, beside networkx, igraph and a sparse matrix product. One run, CPU seconds
(user + system, all threads) of one child process each.

Ours is the whole program: project file, private plan, ledger, the count, the sensitivity near the graph at every distance, noise, outputs and
report. "reading" is the same program that only counts the rows of the file. The peers' clock starts after their imports and covers reading the
file, the number of triangles, and the most neighbours that two vertices have in common (where the library has it); they have no privacy.

    bench/run graphs            three shapes of 10^6 edges; networkx on the first 10^5 edges of each
    bench/run graphs --small    the same with a tenth of the edges
"""

import argparse
import json
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


def even(vertices, edges, rng):
    """Every pair as likely as any other."""
    return {tuple(sorted(rng.sample(range(vertices), 2))) for _ in range(edges)}


def ring(vertices, edges, _):
    """Each vertex joined to the next few."""
    return {tuple(sorted((v, (v + step) % vertices))) for step in range(1, edges // vertices + 1) for v in range(vertices)}


def preferring(vertices, edges, rng):
    """Whoever has many neighbours gets more: a few vertices of very many edges."""
    ends, found = [0, 1], {(0, 1)}
    each = max(edges // vertices, 1)
    for vertex in range(2, vertices):
        for _ in range(each):
            other = ends[rng.randrange(len(ends))]
            if other != vertex:
                found.add(tuple(sorted((vertex, other))))
                ends += [vertex, other]
    return found


SHAPES = {"even": even, "ring": ring, "preferring": preferring}


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
    """A peer's CPU seconds by its own clock, its triangles and, where it has them, its common neighbours."""
    runs = [json.loads(child([sys.executable, str(HERE / "peers.py"), name, str(source)])[2]) for _ in range(1 if name == "networkx" else 3)]
    return min(runs, key=lambda run: run["seconds"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    edges = 100_000 if parser.parse_args().small else 1_000_000
    print(f"{'shape':12} {'edges':>8} {'who':14} {'CPU s':>8} {'ratio':>7} {'triangles':>12} {'common':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, shape in SHAPES.items():
            vertices = edges // 5
            made = sorted(shape(vertices, edges, random.Random(1)))
            random.Random(2).shuffle(made)
            sources = {}
            for share in (len(made), len(made) // 10):
                sources[share] = pathlib.Path(folder, f"{name}-{share}.csv")
                sources[share].write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in made[:share]))
            for share, peers in ((len(made), ("igraph", "scipy")), (len(made) // 10, ("networkx",))):
                source = sources[share]
                seconds, answer = ours(source, vertices, TRIANGLES)
                reading, _ = ours(source, vertices, READING)
                print(f"{name:12} {share:8} {'ours':14} {seconds:8.3f} {'':7} {answer['triangles']:12}")
                print(f"{'':12} {'':8} {'  reading':14} {reading:8.3f}")
                for one in peers:
                    told = peer(one, source)
                    common = told["common"] if told["common"] is not None else ""
                    print(f"{'':12} {'':8} {one:14} {told['seconds']:8.3f} {seconds / told['seconds']:7.2f} {told['triangles']:12} {common:>7}")


if __name__ == "__main__":
    main()
