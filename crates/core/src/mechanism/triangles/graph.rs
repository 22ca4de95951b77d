//! An undirected graph on public vertices, and what neighbours one edge apart can do to its triangles.

use super::dense::DenseGraph;
use crate::error::{Error, Result};

/// An undirected graph without loops and repeated edges on the vertices 0, …, n − 1.
///
/// ```
/// use scumble::mechanism::triangles::Graph;
/// let graph = Graph::new(5, &[(0, 1), (1, 2), (0, 2), (3, 4)])?;
/// assert_eq!((graph.vertices(), graph.edges(), graph.triangles()), (5, 4, 1));
/// assert_eq!(Graph::new(5, &[(0, 1), (1, 0)]).unwrap_err().to_string(), "edge 2 of the list, 1–0, is listed twice: give each edge one row");
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Graph {
    /// Where a vertex's neighbours begin; vertices are numbered anew by falling degree.
    begin: Vec<usize>,
    /// Each vertex's neighbours, rising.
    neighbours: Vec<u32>,
}

/// More edges than this are refused: the counts of triangles and of pairs then stay below 2^63.
const MOST_EDGES: usize = 1 << 31;

/// A row of bits for a vertex of fewer neighbours is hardly ever cheaper than their list.
const LEAST_DEGREE: u64 = 64;

impl Graph {
    /// Refuses loops, repeated edges (in either order) and vertices that are not there, by the place of the edge in the
    /// list, counted from 1.
    pub fn new(vertices: u32, edges: &[(u32, u32)]) -> Result<Self> {
        refuse_if!(edges.len() > MOST_EDGES, "a graph has at most {MOST_EDGES} edges, not {}", edges.len());
        let mut degrees = vec![0u32; vertices as usize];
        for (place, &(a, b)) in edges.iter().enumerate() {
            let wrong = match (a, b) {
                _ if a >= vertices || b >= vertices => format!("the vertices are 0 to {}", i64::from(vertices) - 1),
                _ if a == b => "an edge joins two vertices".to_string(),
                _ => {
                    degrees[a as usize] += 1;
                    degrees[b as usize] += 1;
                    continue;
                }
            };
            refuse!("edge {} of the list is {a}–{b}: {wrong}", place + 1);
        }
        let names = by_falling_degree(&degrees);
        let graph = Self::sorted(vertices, edges, &names);
        match graph.repeated() {
            None => Ok(graph),
            Some((a, b)) => Err(twice(edges, &names, a, b)),
        }
    }

    /// The neighbours of all vertices under their new names. Written vertex by vertex, so that each list rises.
    fn sorted(vertices: u32, edges: &[(u32, u32)], names: &[u32]) -> Self {
        let named = |&(a, b): &(u32, u32)| (names[a as usize], names[b as usize]);
        let mut begin = vec![0usize; vertices as usize + 1];
        for (a, b) in edges.iter().map(named) {
            begin[a as usize + 1] += 1;
            begin[b as usize + 1] += 1;
        }
        for vertex in 0..vertices as usize {
            begin[vertex + 1] += begin[vertex];
        }
        let (mut next, mut unsorted) = (begin.clone(), vec![0u32; 2 * edges.len()]);
        let put = |list: &mut [u32], next: &mut [usize], at: u32, what: u32| {
            list[next[at as usize]] = what;
            next[at as usize] += 1;
        };
        for (a, b) in edges.iter().map(named) {
            put(&mut unsorted, &mut next, a, b);
            put(&mut unsorted, &mut next, b, a);
        }
        let (mut next, mut neighbours) = (begin.clone(), vec![0u32; 2 * edges.len()]);
        for vertex in 0..vertices {
            for &other in &unsorted[begin[vertex as usize]..begin[vertex as usize + 1]] {
                put(&mut neighbours, &mut next, other, vertex);
            }
        }
        Self { begin, neighbours }
    }

    /// An edge that is there twice, by its new names.
    fn repeated(&self) -> Option<(u32, u32)> {
        let all = 0..self.vertices();
        all.into_iter()
            .find_map(|vertex| self.of(vertex).windows(2).find(|pair| pair[0] == pair[1]).map(|pair| (vertex, pair[0])))
    }

    /// How many vertices there are.
    pub fn vertices(&self) -> u32 {
        (self.begin.len() - 1) as u32
    }

    /// How many edges there are.
    pub fn edges(&self) -> usize {
        self.neighbours.len() / 2
    }

    fn of(&self, vertex: u32) -> &[u32] {
        &self.neighbours[self.begin[vertex as usize]..self.begin[vertex as usize + 1]]
    }

    /// The neighbours with a lesser name, which have at least the same degree.
    fn before(&self, vertex: u32) -> &[u32] {
        let all = self.of(vertex);
        &all[..all.partition_point(|other| *other < vertex)]
    }

    fn degree(&self, vertex: u32) -> u64 {
        self.of(vertex).len() as u64
    }

    /// The degrees of all vertices, falling.
    pub fn degrees(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.vertices()).map(|vertex| self.degree(vertex))
    }

    /// The number of triangles: each is found at its vertex of least degree. O(m^{3/2}); dense parts take a 64th of
    /// that.
    pub fn triangles(&self) -> u64 {
        self.count_triangles(&self.dense(LEAST_DEGREE))
    }

    /// The vertices of at least this many neighbours, which are the first ones, as rows of bits.
    pub(super) fn dense(&self, least: u64) -> DenseGraph {
        let size = self.degrees().take_while(|degree| *degree >= least).count() as u32;
        DenseGraph::new(size, |vertex| self.of(vertex))
    }

    pub(super) fn count_triangles(&self, dense: &DenseGraph) -> u64 {
        let before: Vec<&[u32]> = (0..self.vertices()).map(|vertex| self.before(vertex)).collect();
        let mut seen = vec![u32::MAX; self.vertices() as usize];
        let mut count = 0;
        for (vertex, own) in (0u32..).zip(&before) {
            own.iter().for_each(|other| seen[*other as usize] = vertex);
            for other in *own {
                let thirds = before[*other as usize];
                count += if vertex < dense.size() && *other as usize / 64 < thirds.len() {
                    u64::from(dense.common_before(vertex, *other))
                } else {
                    thirds.iter().filter(|third| seen[**third as usize] == vertex).count() as u64
                };
            }
        }
        count
    }

    /// What bounds how far one more edge changes the triangles, now and near this graph.
    pub fn sensitivity(&self) -> EdgeSensitivity {
        let common = self.most_common(&self.dense(LEAST_DEGREE));
        EdgeSensitivity { common, degrees: self.most_degrees(), vertices: self.vertices() }
    }

    /// a: the most common neighbours of any pair, joined or not. A pair has at most as many as its lesser degree, so
    /// that vertices of no more than the best degree so far need no look.
    pub(super) fn most_common(&self, dense: &DenseGraph) -> u64 {
        let mut count = vec![0u32; self.vertices() as usize];
        let mut best = 0u32;
        for vertex in 0..self.vertices() {
            if self.degree(vertex) <= u64::from(best) {
                break;
            }
            let (in_rows, one_by_one) = self.middles(vertex, dense);
            let pairs =
                || one_by_one.iter().flat_map(|between| self.of(*between).iter().take_while(|other| **other < vertex));
            for other in pairs() {
                count[*other as usize] += 1;
                best = best.max(count[*other as usize]);
            }
            if in_rows > 0 {
                let of = |(other, far): (u32, &u32)| far + dense.common(vertex, other);
                best = (0..vertex).zip(&count).map(of).fold(best, u32::max);
                count[..vertex as usize].fill(0);
            } else {
                pairs().for_each(|other| count[*other as usize] = 0);
            }
        }
        u64::from(best)
    }

    /// How many of a vertex's neighbours are looked at as bits, all at once, to find the vertices before it that they
    /// lead to; and those whose lists are walked. Bits are taken where they are fewer words than the lists have
    /// entries.
    fn middles(&self, vertex: u32, dense: &DenseGraph) -> (usize, &[u32]) {
        let all = self.of(vertex);
        if vertex >= dense.size() {
            return (0, all);
        }
        let (in_rows, rest) = all.split_at(all.partition_point(|between| *between < dense.size()));
        let entries: u64 = in_rows.iter().map(|between| self.degree(*between).min(vertex.into())).sum();
        if u64::from(vertex) * dense.words() < entries { (in_rows.len(), rest) } else { (0, all) }
    }

    /// c: the largest deg i + deg j − 2·\[ij is an edge\] of any pair. Pairs that do not lift the best are edges, or
    /// end the row.
    fn most_degrees(&self) -> u64 {
        let (n, mut best) = (self.vertices(), 0);
        for one in 0..n {
            for other in one + 1..n {
                let sum = self.degree(one) + self.degree(other);
                if sum <= best {
                    break;
                }
                let joined = self.of(one).binary_search(&other).is_ok();
                best = best.max(sum - 2 * u64::from(joined));
            }
            if one + 1 >= n || 2 * self.degree(one + 1) <= best {
                break;
            }
        }
        best
    }
}

/// For each vertex its name by falling degree, ties by the old one.
fn by_falling_degree(degrees: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..degrees.len() as u32).collect();
    order.sort_by_key(|vertex| std::cmp::Reverse(degrees[*vertex as usize]));
    let mut names = vec![0; degrees.len()];
    order.iter().enumerate().for_each(|(name, vertex)| names[*vertex as usize] = name as u32);
    names
}

fn twice(edges: &[(u32, u32)], names: &[u32], a: u32, b: u32) -> Error {
    let is_it = |&(x, y): &(u32, u32)| {
        let named = (names[x as usize], names[y as usize]);
        named == (a, b) || named == (b, a)
    };
    let place = edges.iter().enumerate().filter(|(_, edge)| is_it(edge)).nth(1).map_or(0, |(place, _)| place);
    let (x, y) = edges[place];
    Error::refused(format!("edge {} of the list, {x}–{y}, is listed twice: give each edge one row", place + 1))
}

/// How far an edge can change the number of triangles of a graph and of those near it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeSensitivity {
    common: u64,
    degrees: u64,
    vertices: u32,
}

impl EdgeSensitivity {
    /// The local sensitivity: the most triangles that one edge more or less makes.
    pub fn local(&self) -> u64 {
        self.common
    }

    /// c: the largest deg i + deg j − 2·\[ij is an edge\].
    pub fn degrees(&self) -> u64 {
        self.degrees
    }

    /// A_k = min(a + k, ⌊(c + k)/2⌋, n − 2).
    ///
    /// # Guarantee
    /// At least the local sensitivity of every graph that is at most k edges away, because that is the largest
    /// min(a_ij + k, ⌊(c_ij + k)/2⌋, n − 2) of a pair \[NRS07\], and one edge moves a and c by at most 1 each:
    /// A_k(G) ≤ A_{k+1}(G′) for neighbours.
    pub fn at(&self, k: u64) -> u64 {
        let most = Self::most(self.vertices);
        self.common.saturating_add(k).min(self.degrees.saturating_add(k) / 2).min(most)
    }

    /// What no graph on this many vertices exceeds: n − 2.
    pub fn most(vertices: u32) -> u64 {
        u64::from(vertices.saturating_sub(2))
    }
}
