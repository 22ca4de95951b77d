"""The peers of run.py, one in each process: python peers.py NAME FILE prints seconds and triangles as JSON."""

import json
import sys
import time


def networkx(path):
    import networkx

    def work():
        with open(path) as lines:
            next(lines)
            graph = networkx.parse_edgelist((line.strip() for line in lines), delimiter=",", nodetype=int)
        return sum(networkx.triangles(graph).values()) // 3

    return work


def igraph(path):
    import igraph
    import numpy

    def work():
        edges = numpy.loadtxt(path, delimiter=",", skiprows=1, dtype=numpy.int64)
        graph = igraph.Graph(edges=edges)
        # What a vertex's neighbours have of all pairs of them: its triangles, without a list of them (of a clique of 10^6 edges there are 4.7·10^8).
        degrees = numpy.array(graph.degree(), dtype=float)
        shares = numpy.array(graph.transitivity_local_undirected(mode="zero"))
        return round(float((shares * degrees * (degrees - 1) / 2).sum()) / 3)

    return work


def scipy(path):
    import numpy
    import scipy.sparse

    def work():
        edges = numpy.loadtxt(path, delimiter=",", skiprows=1, dtype=numpy.int64)
        n = int(edges.max()) + 1
        # Each edge from the end of less degree to the other, so that no row is long: the plain square of a star's matrix has 10^12 entries.
        degrees = numpy.bincount(edges.ravel(), minlength=n)
        place = numpy.empty(n, dtype=numpy.int64)
        place[numpy.argsort(degrees, kind="stable")] = numpy.arange(n)
        ends = numpy.sort(place[edges], axis=1)
        ones = numpy.ones(len(edges), dtype=numpy.int32)
        up = scipy.sparse.csr_matrix((ones, (ends[:, 0], ends[:, 1])), shape=(n, n))
        return int((up @ up).multiply(up).sum())

    return work


def main():
    name, path = sys.argv[1:]
    work = {"networkx": networkx, "igraph": igraph, "scipy": scipy}[name](path)
    start = time.process_time()
    triangles = work()
    print(json.dumps({"seconds": time.process_time() - start, "triangles": triangles}))


if __name__ == "__main__":
    main()
