//! Who is protected: the pairs of datasets that an attacker must not be able to tell apart.

use crate::error::Result;
use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;

/// Who a guarantee is about.
///
/// ```
/// use scumble::scope::{AttributeSet, Scope};
/// let disease = Scope::Attributes(AttributeSet::new(["disease"])?);
/// assert_eq!(disease.to_string(), "attributes {disease}");
/// assert_eq!(Scope::Presence.to_string(), "presence");
/// # Ok::<(), scumble::Error>(())
/// ```
// Exhaustive on purpose: a match in another crate must decide about every variant, so a new one may not pass unseen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// One owner is added or removed; the number of owners is private.
    Presence,
    /// One owner's rows are replaced by any other rows that one owner may have, in this table perhaps none; the number
    /// of owners in the whole project is public.
    Person,
    /// One owner's values of these attributes change, all else stays; the number of owners is public.
    Attributes(AttributeSet),
    /// This many owners at once, each in the given way.
    Group(Box<Scope>, NonZeroU32),
}

impl Scope {
    /// A group of `size` owners in this scope; a group of one is the scope itself.
    ///
    /// ```
    /// use scumble::scope::Scope;
    /// let family = Scope::Person.group(4.try_into().unwrap());
    /// assert_eq!(family.to_string(), "person, groups of 4");
    /// ```
    pub fn group(self, size: NonZeroU32) -> Self {
        match self {
            scope if size.get() == 1 => scope,
            Self::Group(inner, old) => Self::Group(inner, old.saturating_mul(size)),
            scope => Self::Group(Box::new(scope), size),
        }
    }

    /// The scope of one owner, and how many owners change.
    ///
    /// ```
    /// use scumble::scope::Scope;
    /// assert_eq!(Scope::Presence.members(), (&Scope::Presence, 1));
    /// ```
    pub fn members(&self) -> (&Self, u32) {
        match self {
            Self::Group(inner, size) => (inner, size.get()),
            scope => (scope, 1),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Presence => f.write_str("presence"),
            Self::Person => f.write_str("person"),
            Self::Attributes(set) => write!(f, "attributes {set}"),
            Self::Group(inner, size) => write!(f, "{inner}, groups of {size}"),
        }
    }
}

/// A set of attribute names, sorted.
///
/// ```
/// use scumble::scope::AttributeSet;
/// let set = AttributeSet::new(["sex", "age"])?;
/// assert_eq!(set.to_string(), "{age, sex}");
/// assert!(set.touches(&AttributeSet::new(["age", "state"])?));
/// assert!(!AttributeSet::empty().touches(&set));
/// # Ok::<(), scumble::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeSet(BTreeSet<String>);

impl AttributeSet {
    /// The set of the given names; an empty name is refused.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Result<Self> {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        refuse_if!(names.contains(""), "an attribute's name must not be empty");
        Ok(Self(names))
    }

    /// No attribute at all.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Whether the two sets share an attribute.
    pub fn touches(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// Whether every attribute of this set is in `other`.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Both sets together.
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    /// Whether there is no attribute.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many attributes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether `name` is one of them.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The names, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for AttributeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().collect();
        write!(f, "{{{}}}", names.join(", "))
    }
}
