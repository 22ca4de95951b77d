//! UNION ALL: several queries in one answer. Each has its own noise, and its share of the cost.

#[cfg(any(test, feature = "generator"))]
use super::answer::Chance;
use super::answer::{DrawnNoise, NoisyGrouping, answers_of_union, noised};
use super::expected::{expected, made_up_key};
use super::noisy::{NoisyCell, NoisyIntegers};
use super::sets::{self, drawn, expected_of_set};
use super::{AnalysedQuery, Estimates, Plan, PricedQuery, QueryMechanism, selection};
use crate::attackers::ReleasedStatistic;
use crate::error::Result;
use crate::project::{Cost, Project};
use crate::release::output::Answers;
use crate::release::plan::{ChargedAccess, ExpectedError};
use crate::release::price::needs;
#[cfg(any(test, feature = "generator"))]
use crate::sql::execute::integers::Integers;
use crate::sql::{PrivateQuery, UnionOfQueries};
use crate::tables::Backend;
use crate::tables::bounding::Bounds;
use datafusion::logical_expr::LogicalPlan;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::rc::Rc;

/// An analysed UNION ALL: everything about it that does not depend on its cost.
pub(crate) struct UnionQuery {
    sql: String,
    plan: Rc<LogicalPlan>,
    branches: Vec<NoisedBranch>,
}

/// One of its queries.
struct NoisedBranch {
    query: AnalysedQuery,
    /// What it gives to the union.
    part: Rc<LogicalPlan>,
}

impl UnionQuery {
    pub fn new(sql: &str, united: UnionOfQueries, rows: u64, project: &Project) -> Result<Self> {
        let branch = |(cut, part)| {
            Ok(NoisedBranch { query: AnalysedQuery::of_cut(sql, cut, rows, project)?, part: Rc::new(part) })
        };
        let branches = united.branches.into_iter().map(branch).collect::<Result<Vec<_>>>()?;
        Ok(Self { sql: sql.to_string(), plan: Rc::new(united.plan), branches })
    }

    /// The queries that are noised: of a branch with several groupings each of these.
    pub fn noised(&self) -> impl Iterator<Item = &AnalysedQuery> + Clone {
        self.branches.iter().flat_map(NoisedBranch::noised)
    }

    /// The noise that a cost pays for: each measure of each branch has an equal share, as those of several groupings
    /// have.
    ///
    /// # Guarantee
    /// As for [`sets::at`], over the measures of all branches: what one owner moves is the sum of what they move in
    /// each.
    pub fn at(&self, cost: &Cost) -> Result<PricedQuery> {
        sets::at(self.noised(), cost)
    }

    pub fn plan(&self, priced: PricedQuery) -> Result<Plan> {
        let rule = self.rule(&priced);
        let (mut notes, mut all, mut parts) = (vec![self.shared()], Vec::new(), priced.parts.iter());
        for (index, branch) in self.branches.iter().enumerate() {
            let named = format!("part {}", index + 1);
            let own: Vec<&PricedQuery> = parts.by_ref().take(branch.noised().count()).collect();
            for (query, priced) in branch.noised().zip(&own) {
                let of_part = selection::notes(query, priced)?;
                notes.extend(of_part.into_iter().map(|note| format!("In {named}: {note}")));
            }
            all.extend(branch.expected(&own, &named)?);
        }
        let tables: BTreeSet<&String> = self.branches.iter().flat_map(|one| &one.query.cut.below.tables).collect();
        let mut privates = priced.parts.into_iter().map(|part| part.private);
        let branches: Vec<PricedBranch> = self.branches.iter().map(|branch| branch.ready(&mut privates)).collect();
        // What fails on every number fails here and not after the charge.
        let made_up = branches.iter().map(PricedBranch::made_up).collect::<Result<Vec<_>>>()?;
        answers(&self.plan, &branches, &made_up)?;
        let plan = Rc::clone(&self.plan);
        Ok(Plan {
            rule,
            notes,
            expected: all,
            limits: Vec::new(),
            counted: ReleasedStatistic::Other("several queries are published in one answer".into()),
            estimates: Estimates::of_several(&self.bounded()),
            memory: self.branches.iter().map(|branch| needs::of_query(&branch.query.cut)).fold(0, u64::saturating_add),
            tables: tables.into_iter().cloned().collect(),
            query: Some(self.read()),
            events: priced.events,
            compute: Box::new(move |charged| {
                let found = branches.iter().map(|branch| branch.drawn(charged)).collect::<Result<Vec<_>>>()?;
                answers(&plan, &branches, &found)
            }),
        })
    }

    /// Noise on the integers of each grouping of each branch, and what stands above the union.
    #[cfg(any(test, feature = "generator"))]
    pub fn noised_and_answered(
        &self,
        integers: &[Integers],
        priced: &PricedQuery,
        chance: &mut dyn Chance,
    ) -> Result<Answers> {
        let mut privates = priced.parts.iter().map(|part| part.private.clone());
        let branches: Vec<PricedBranch> = self.branches.iter().map(|branch| branch.ready(&mut privates)).collect();
        let mut integers = integers.iter();
        let mut found = Vec::new();
        for branch in &branches {
            let own = integers.by_ref().take(branch.privates.len()).cloned();
            let own = own.zip(&branch.privates).enumerate().map(|(index, (integers, private))| {
                match branch.cut.sets.get(index) {
                    Some(set) => sets::in_whole(set, noised(&set.cut, integers, private, chance), &branch.cut),
                    None => Ok(noised(&branch.cut, integers, private, chance)),
                }
            });
            found.push(own.collect::<Result<Vec<_>>>()?);
        }
        answers(&self.plan, &branches, &found)
    }

    /// What is read: the first branch, and the others beside it.
    fn read(&self) -> Rc<PrivateQuery> {
        let mut cuts: Vec<PrivateQuery> =
            self.branches.iter().map(|branch| branch.query.cut.as_ref().clone()).collect();
        let beside = cuts.split_off(1);
        Rc::new(cuts.remove(0).with_beside(beside))
    }

    fn shared(&self) -> String {
        let number = self.noised().count();
        format!("The {number} queries of the UNION ALL share the cost equally, each with noise of its own.")
    }

    /// The name, the bounds and whether there are groups, of each query in which not all rows of an owner may count.
    fn bounded(&self) -> Vec<(String, Option<Bounds>, bool)> {
        let of = |(index, branch): (usize, &NoisedBranch)| {
            let noised = branch.noised().map(move |query| {
                (format!("in part {}", index + 1), query.cut.row_bounds(), !query.cut.row_keys().is_empty())
            });
            noised.collect::<Vec<_>>()
        };
        let all = self.branches.iter().enumerate().flat_map(of);
        all.filter(|(_, bounds, _)| bounds.is_some()).collect()
    }

    fn rule(&self, priced: &PricedQuery) -> Value {
        let branches = self.noised().zip(&priced.parts).map(|(query, priced)| {
            let mut rule = query.rule(priced);
            rule.as_object_mut().map(|rule| rule.remove("sql"));
            rule
        });
        json!({ "sql": self.sql, "union": branches.collect::<Vec<_>>() })
    }
}

impl NoisedBranch {
    fn noised(&self) -> impl Iterator<Item = &AnalysedQuery> + Clone {
        let whole = self.query.parts.is_empty().then_some(&self.query);
        whole.into_iter().chain(&self.query.parts)
    }

    /// The errors to expect of its columns.
    fn expected(&self, priced: &[&PricedQuery], named: &str) -> Result<Vec<ExpectedError>> {
        let cut = &self.query.cut;
        if cut.sets.is_empty() {
            let mut all = expected(cut, &priced[0].private, self.query.rows, Backend::empty()?)?;
            all.iter_mut().for_each(|one| one.column = format!("{} ({named})", one.column));
            return Ok(all);
        }
        let mut all = Vec::new();
        for (set, priced) in cut.sets.iter().zip(priced) {
            all.extend(expected_of_set(&self.query, set, priced, &format!("{named}, {}", set.named()))?);
        }
        Ok(all)
    }

    fn ready(&self, privates: &mut impl Iterator<Item = QueryMechanism>) -> PricedBranch {
        let privates = privates.take(self.noised().count()).collect();
        PricedBranch { cut: Rc::clone(&self.query.cut), part: Rc::clone(&self.part), privates }
    }
}

/// A branch with its noise.
struct PricedBranch {
    cut: Rc<PrivateQuery>,
    part: Rc<LogicalPlan>,
    /// Of each grouping.
    privates: Vec<QueryMechanism>,
}

impl PricedBranch {
    /// The released cells of each grouping.
    fn drawn(&self, charged: &mut ChargedAccess<'_>) -> Result<Vec<NoisyIntegers>> {
        if !self.cut.sets.is_empty() {
            return drawn(&self.cut, &self.privates, charged);
        }
        let integers = charged.read(&self.cut)?;
        Ok(vec![noised(&self.cut, integers, &self.privates[0], &mut DrawnNoise(charged.bits()))])
    }

    /// One cell of each grouping, with all numbers 0.
    fn made_up(&self) -> Result<Vec<NoisyIntegers>> {
        let one = |cut: &PrivateQuery, private: &QueryMechanism| -> Result<NoisyIntegers> {
            let sums = vec![0; private.noises.len()];
            let cell = NoisyCell { sums, quantiles: vec![0.0; private.quantiles.len()] };
            Ok(NoisyIntegers { keys: vec![made_up_key(cut)?], cells: vec![cell] })
        };
        if self.cut.sets.is_empty() {
            return Ok(vec![one(&self.cut, &self.privates[0])?]);
        }
        let sets = self.cut.sets.iter().zip(&self.privates);
        sets.map(|(set, private)| sets::in_whole(set, one(&set.cut, private)?, &self.cut)).collect()
    }
}

/// The answer, from the released cells of the groupings of each branch.
fn answers(plan: &LogicalPlan, branches: &[PricedBranch], found: &[Vec<NoisyIntegers>]) -> Result<Answers> {
    let parts = branches.iter().zip(found).enumerate().map(|(index, (branch, found))| {
        let part = |(place, (noisy, private)): (usize, (_, _))| {
            let grouping = branch.cut.sets.get(place).map_or(String::new(), |set| format!(", {}", set.named()));
            NoisyGrouping { noisy, private, named: Some(format!("in part {}{grouping}", index + 1)) }
        };
        let parts = found.iter().zip(&branch.privates).enumerate().map(part).collect();
        (&*branch.cut, &*branch.part, parts)
    });
    answers_of_union(plan, &parts.collect::<Vec<_>>())
}
