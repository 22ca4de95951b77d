"""The peers of run.py, one in each process: python peers.py NAME FILE prints seconds, triangles and common neighbours as JSON."""

import json
import sys
import time


def networkx(path):
    import networkx

    def work():
        with open(path) as lines:
            next(lines)
            graph = networkx.parse_edgelist((line.strip() for line in lines), delimiter=",", nodetype=int)
        triangles = sum(networkx.triangles(graph).values()) // 3
        common = 0
        for vertex in graph:
            counts = {}
            for middle in graph[vertex]:
                for other in graph[middle]:
                    if other > vertex:
                        counts[other] = counts.get(other, 0) + 1
            common = max(common, max(counts.values(), default=0))
        return triangles, common

    return work


def igraph(path):
    import igraph

    def work():
        with open(path) as lines:
            next(lines)
            edges = [tuple(map(int, line.split(","))) for line in lines]
        graph = igraph.Graph(edges=edges)
        # Without a call for common neighbours of all pairs: the count alone.
        return len(graph.list_triangles()), None

    return work


def scipy(path):
    import numpy
    import scipy.sparse

    def work():
        edges = numpy.loadtxt(path, delimiter=",", skiprows=1, dtype=numpy.int64)
        n = int(edges.max()) + 1
        ones = numpy.ones(len(edges), dtype=numpy.int32)
        half = scipy.sparse.coo_matrix((ones, (edges[:, 0], edges[:, 1])), shape=(n, n))
        matrix = (half + half.T).tocsr()
        paths = matrix @ matrix
        triangles = int(paths.multiply(matrix).sum()) // 6
        paths.setdiag(0)
        return triangles, int(paths.max())

    return work


def main():
    name, path = sys.argv[1:]
    work = {"networkx": networkx, "igraph": igraph, "scipy": scipy}[name](path)
    start = time.process_time()
    triangles, common = work()
    print(json.dumps({"seconds": time.process_time() - start, "triangles": triangles, "common": common}))


if __name__ == "__main__":
    main()
