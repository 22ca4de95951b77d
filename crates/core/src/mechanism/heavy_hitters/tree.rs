//! The public tree: which attributes are joined where, and the threshold, clip depth and scale of each node.

use crate::error::{Error, Result};
use crate::event::{Event, Shift, TreePath, Word, charged_by_scope};
use crate::loss::words::heavy_hitters::ln_pass_probability;
use crate::quantity::{Delta, Epsilon, Scale};
use crate::scope::AttributeSet;

/// The shape of a tree: an attribute, or a join of shapes.
///
/// ```
/// use scumble::mechanism::heavy_hitters::JoinShape;
/// assert_eq!(JoinShape::balanced(4)?.to_string(), "((0,1),(2,3))");
/// assert_eq!(JoinShape::caterpillar(4)?.to_string(), "(((0,1),2),3)");
/// assert_eq!(JoinShape::balanced(1)?.to_string(), "(0)");
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinShape {
    /// One attribute, by its position.
    Attribute(usize),
    /// A node over these children. A node over one attribute is a threshold on that attribute's values.
    Join(Vec<JoinShape>),
}

/// Deeper trees are refused: nobody needs them, and a walk down the tree must not exhaust the stack.
const DEEPEST: usize = 4096;

impl JoinShape {
    /// Splits `attributes` attributes in halves, again and again: an attribute has about log₂ d nodes above it.
    pub fn balanced(attributes: usize) -> Result<Self> {
        refuse_if!(attributes == 0, "a tree of heavy hitters needs at least 1 attribute");
        if attributes == 1 {
            return Ok(Self::Join(vec![Self::Attribute(0)]));
        }
        Ok(Self::halves(0, attributes))
    }

    fn halves(from: usize, to: usize) -> Self {
        if to - from == 1 {
            return Self::Attribute(from);
        }
        let middle = from + (to - from).div_ceil(2);
        Self::Join(vec![Self::halves(from, middle), Self::halves(middle, to)])
    }

    /// Adds one attribute at a time: the cheapest tree for a whole person, the dearest for the first attributes.
    pub fn caterpillar(attributes: usize) -> Result<Self> {
        refuse_if!(attributes > DEEPEST, "a caterpillar tree can have at most {DEEPEST} attributes");
        if attributes < 2 {
            return Self::balanced(attributes);
        }
        let first = Self::Join(vec![Self::Attribute(0), Self::Attribute(1)]);
        Ok((2..attributes).fold(first, |below, next| Self::Join(vec![below, Self::Attribute(next)])))
    }

    /// The same shape with a threshold node directly above each of these attributes: for large or unknown domains.
    ///
    /// ```
    /// use scumble::mechanism::heavy_hitters::JoinShape;
    /// assert_eq!(JoinShape::balanced(2)?.with_thresholds_above(&[1]).to_string(), "(0,(1))");
    /// # Ok::<(), scumble::Error>(())
    /// ```
    pub fn with_thresholds_above(&self, attributes: &[usize]) -> Self {
        match self {
            Self::Attribute(j) if attributes.contains(j) => Self::Join(vec![self.clone()]),
            Self::Attribute(_) => self.clone(),
            Self::Join(children) if matches!(children[..], [Self::Attribute(_)]) => self.clone(),
            Self::Join(children) => {
                Self::Join(children.iter().map(|child| child.with_thresholds_above(attributes)).collect())
            }
        }
    }

    fn depth_within(&self, limit: usize) -> Result<usize> {
        match self {
            Self::Attribute(_) => Ok(0),
            Self::Join(_) if limit == 0 => {
                Err(Error::refused(format!("a tree of heavy hitters can be at most {DEEPEST} nodes deep")))
            }
            Self::Join(children) => {
                let mut deepest = 0;
                for child in children {
                    deepest = deepest.max(child.depth_within(limit - 1)?);
                }
                Ok(deepest + 1)
            }
        }
    }

    /// The children of every node, children before their parents; the root is last.
    pub(super) fn flattened(&self) -> Result<Vec<Vec<Child>>> {
        self.depth_within(DEEPEST)?;
        let mut nodes = Vec::new();
        match self.flatten_into(&mut nodes) {
            Child::Node(_) => Ok(nodes),
            Child::Attribute(_) => Err(Error::refused("the root of a tree of heavy hitters must be a node")),
        }
    }

    fn flatten_into(&self, nodes: &mut Vec<Vec<Child>>) -> Child {
        match self {
            Self::Attribute(j) => Child::Attribute(*j),
            Self::Join(children) => {
                let children = children.iter().map(|child| child.flatten_into(nodes)).collect();
                nodes.push(children);
                Child::Node(nodes.len() - 1)
            }
        }
    }
}

impl std::fmt::Display for JoinShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Attribute(j) => write!(f, "{j}"),
            Self::Join(children) => {
                let children: Vec<String> = children.iter().map(Self::to_string).collect();
                write!(f, "({})", children.join(","))
            }
        }
    }
}

/// What a node joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// The whole domain of an attribute.
    Attribute(usize),
    /// The list of another node.
    Node(usize),
}

/// A node: what it joins, and its test `max(f, threshold − clip) + Z > threshold`, Z ~ discrete Laplace(scale).
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What is joined.
    pub children: Vec<Child>,
    /// τ: what a noisy count must exceed.
    pub threshold: i64,
    /// κ ≥ 1: counts more than this below the threshold are treated as if they were exactly this far below.
    pub clip: i64,
    /// λ: the scale of the noise.
    pub scale: Scale,
}

impl Node {
    /// The floor τ − κ: no count is looked at below it.
    pub fn floor(&self) -> i64 {
        self.threshold - self.clip
    }

    pub(super) fn node_children(&self) -> impl Iterator<Item = usize> + '_ {
        self.children.iter().filter_map(|child| match child {
            Child::Node(index) => Some(*index),
            Child::Attribute(_) => None,
        })
    }

    pub(super) fn attribute_children(&self) -> impl Iterator<Item = usize> + '_ {
        self.children.iter().filter_map(|child| match child {
            Child::Attribute(attribute) => Some(*attribute),
            Child::Node(_) => None,
        })
    }
}

/// A checked tree; all of it is public and must not be computed from the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    nodes: Vec<Node>,
    unknown: Vec<bool>,
}

/// Thresholds beyond this are refused, so that no sum of them overflows.
const LARGEST_THRESHOLD: i64 = 1 << 60;

impl Tree {
    /// Checks the nodes (children before parents, the root last) over the attributes 0, 1, …; `unknown` lists the
    /// attributes whose domain is not public, so that only values that occur can be found.
    ///
    /// # Guarantee
    /// A tree that is accepted fulfils what the proof of its cost needs: every attribute is read by exactly one node,
    /// clip depths are at least 1, floors do not fall upwards, and above each unknown attribute stands a threshold
    /// whose floor is at least 1.
    pub fn new(attributes: usize, nodes: Vec<Node>, unknown: &[usize]) -> Result<Self> {
        check_joins(attributes, &nodes)?;
        for (index, node) in nodes.iter().enumerate() {
            check_node(index, node, &nodes)?;
        }
        let mut tree = Self { nodes, unknown: vec![false; attributes] };
        for &attribute in unknown {
            tree.check_unknown(attribute)?;
            tree.unknown[attribute] = true;
        }
        Ok(tree)
    }

    /// The nodes, children before parents, the root last.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many attributes there are.
    pub fn attributes(&self) -> usize {
        self.unknown.len()
    }

    /// Whether the attribute's domain is not public.
    pub fn is_unknown(&self, attribute: usize) -> bool {
        self.unknown.get(attribute).copied().unwrap_or(false)
    }

    /// The last node.
    pub fn root(&self) -> &Node {
        &self.nodes[self.nodes.len() - 1]
    }

    /// What a release did, in the vocabulary of the ledger; `names` are the attributes' names.
    ///
    /// A change of several attributes is charged the sum of theirs (Proposition 8 of \[GKMS\]); a single attribute, a
    /// person and presence are charged exactly.
    ///
    /// # Guarantee
    /// In every scope the events cost at least what [`Tree::epsilon`], [`Tree::delta`], [`Tree::rho`] and their
    /// companions state.
    pub fn events(&self, names: &[String]) -> Result<Vec<Event>> {
        if names.len() != self.attributes() {
            refuse!("the tree has {} attributes, but {} names", self.attributes(), names.len());
        }
        let one = vec![Shift::one_cell(1.0)?];
        let all: Vec<usize> = (0..self.attributes()).collect();
        let delta = self.delta(&all).get();
        // The replacement of a person may have no rows here.
        let presence = self.epsilon_presence();
        let person = self.epsilon_person().max(presence).get();
        let changes = names.iter().enumerate().map(|(attribute, name)| {
            Ok((AttributeSet::new([name.clone()])?, (self.change_of(attribute)?, one.clone())))
        });
        let (presence, person) = (pure_or_approximate(presence.get(), delta)?, pure_or_approximate(person, delta)?);
        charged_by_scope((presence, one.clone()), (person, one.clone()), changes.collect::<Result<_>>()?)
    }

    /// What a change of one attribute is charged, such that charges may be added up over attributes, composed as pairs
    /// and curves, and chained over owners.
    ///
    /// Why: let the attributes a₁, …, a_k of one person change, and let Nᵢ be the nodes above aᵢ that are above none of
    /// a₁, …, aᵢ₋₁. A node of N_k joins the list of another node of N_k (or a_k itself) with lists of nodes that read
    /// none of the others, so N_k can be run first, then N_{k−1} given its lists, and so on to N₁: the tree is an
    /// adaptive composition of k steps, and what it does at nodes that read none of them is the same. Given *any* lists
    /// of the steps before, in Nᵢ one string of each node loses a person at most and one gains a person at most, along
    /// one path, where a string is listed only if it is in the lists below, and counts do not grow upwards. That is
    /// what Theorem A needs ([`super::cost`]); leaving out nodes of the path only lowers B and W. So each step is
    /// εᵢ-private given what came before, with the εᵢ of aᵢ alone; its ρ by composition over the path's nodes likewise.
    /// If the domain of aᵢ is unknown, the lowest node of Nᵢ reads aᵢ alone: a value that only this person has is
    /// listed with probability p = P\[Z > κ\] at most, before and after the change. So both laws are (1 − p)·(a law
    /// without it) + p·(something), and the laws without it are εᵢ-close: the step is (εᵢ, δᵢ)-private given what came
    /// before, by a coin of its own. Hence the pairs of (εᵢ, δᵢ) may be convolved
    /// \[Kairouz–Oh–Viswanath 2015, adaptive\], Rényi curves added. (Of mechanisms that are only known to be private
    /// for each attribute this is false: two such changes are a chain, and two owners of something 1-private lose more
    /// than two answers of randomized response tell.) A group of m owners: given what came before, a step is one
    /// mechanism of the table, (εᵢ, δᵢ)-private for each owner. So a chain of m owners makes it (mεᵢ,
    /// δᵢ(e^{mεᵢ} − 1)/(e^{εᵢ} − 1))-private, or m²ρᵢ, still given what came before; then the steps are composed as
    /// before.
    fn change_of(&self, attribute: usize) -> Result<Word> {
        let touched = self.touched(&[attribute]);
        let path: Vec<&Node> =
            self.nodes.iter().zip(&touched).filter(|(_, touched)| **touched).map(|(node, _)| node).collect();
        let rises = path.windows(2).map(|pair| pair[1].threshold - pair[0].threshold);
        let least_rise = rises.min().unwrap_or(1);
        let is_uniform = path.iter().all(|node| node.scale == path[0].scale && node.clip == path[0].clip);
        if is_uniform && least_rise >= 1 && !self.is_unknown(attribute) {
            return path_kind(&path, least_rise);
        }
        let delta = self.delta(&[attribute]).get();
        let mut epsilon = self.epsilon(&[attribute]).get();
        // The ledger takes ε·tanh(ε/2) for ρ and adds that up as well: it must not be below what composition says. (A
        // value that one person alone has is missing with probability 1 − δ instead of 1, which is the δ that is added
        // here.)
        let composed = self.composed_rho(&touched) + delta;
        while epsilon * (epsilon / 2.0).tanh() < composed {
            epsilon *= 1.01;
        }
        pure_or_approximate(epsilon, delta)
    }

    /// Which nodes read one of these attributes, directly or through a list.
    pub(super) fn touched(&self, attributes: &[usize]) -> Vec<bool> {
        let mut touched = vec![false; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            touched[index] = node.attribute_children().any(|attribute| attributes.contains(&attribute))
                || node.node_children().any(|child| touched[child]);
        }
        touched
    }

    fn check_unknown(&self, attribute: usize) -> Result<()> {
        let above = self.nodes.iter().find(|node| node.attribute_children().any(|child| child == attribute));
        let above = above.ok_or_else(|| {
            Error::refused(format!("attribute {attribute} has an unknown domain but is not in the tree"))
        })?;
        if above.children.len() != 1 {
            refuse!(
                "attribute {attribute} has an unknown domain, so it needs a threshold node of its own directly above it"
            );
        }
        if above.floor() < 1 {
            refuse!(
                "attribute {attribute} has an unknown domain, so the node above it needs a clip depth of at most its threshold − 1"
            );
        }
        // A value that only the changed person has appears with probability p: where it does not, the loss is −ln(1−p),
        // which must not exceed the 1/λ that the cost counts for one exclusion.
        let appears = ln_pass_probability(above.scale.get(), -above.clip).exp();
        if -f64::ln_1p(-appears) > 1.0 / above.scale.get() {
            refuse!(
                "attribute {attribute} has an unknown domain, and the clip depth above it is too small for its scale: raise it"
            );
        }
        Ok(())
    }
}

/// The event of a path of equal nodes. Thresholds that rise by more than the least rise only lower the cost.
fn path_kind(path: &[&Node], least_rise: i64) -> Result<Word> {
    let small =
        |value: i64| u32::try_from(value).map_err(|_| Error::refused("a threshold of the tree is out of range"));
    let (rise, clip) = (small(least_rise)?, small(path[0].clip)?);
    let levels = u32::try_from(path.len()).unwrap_or(u32::MAX);
    Ok(Word::HeavyHitters { scale: path[0].scale, path: TreePath::new(clip, rise, levels)? })
}

fn pure_or_approximate(epsilon: f64, delta: f64) -> Result<Word> {
    let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(delta)?);
    Ok(if delta.get() > 0.0 { Word::Approximate { epsilon, delta } } else { Word::Pure { epsilon } })
}

fn check_joins(attributes: usize, nodes: &[Node]) -> Result<()> {
    refuse_if!(nodes.is_empty() || attributes == 0, "a tree of heavy hitters needs at least 1 attribute and 1 node");
    let mut attribute_seen = vec![false; attributes];
    let mut node_seen = vec![false; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        refuse_if!(node.children.is_empty(), "node {index} of the tree joins nothing");
        for child in &node.children {
            let seen = match *child {
                Child::Attribute(attribute) => attribute_seen.get_mut(attribute).ok_or_else(|| {
                    Error::refused(format!("node {index} of the tree names attribute {attribute} of only {attributes}"))
                })?,
                Child::Node(below) if below < index => &mut node_seen[below],
                Child::Node(below) => {
                    refuse!("node {index} of the tree joins node {below}, which comes later");
                }
            };
            refuse_if!(std::mem::replace(seen, true), "node {index} of the tree joins what another node joins already");
        }
    }
    node_seen.pop();
    if let Some(missing) = attribute_seen.iter().position(|seen| !seen) {
        refuse!("attribute {missing} is not in the tree");
    }
    if let Some(missing) = node_seen.iter().position(|seen| !seen) {
        refuse!("node {missing} of the tree is not joined by any other, but it is not the last");
    }
    Ok(())
}

fn check_node(index: usize, node: &Node, nodes: &[Node]) -> Result<()> {
    if node.clip < 1 || node.clip > LARGEST_THRESHOLD {
        refuse!("the clip depth of node {index} must be at least 1, not {}", node.clip);
    }
    if node.threshold.abs() > LARGEST_THRESHOLD {
        refuse!("the threshold of node {index} is out of range: {}", node.threshold);
    }
    for below in node.node_children() {
        let (floor, floor_below) = (node.floor(), nodes[below].floor());
        if floor < floor_below {
            refuse!(
                "the floor of node {index} is {floor}, below the floor {floor_below} of its child {below}: raise its threshold"
            );
        }
    }
    Ok(())
}
