//! Many queries at once. Their events say a ρ, from which a curve of δ follows that no noise attains; what is audited with σ·1.2 is the
//! curve of the Gaussian noise that has this ρ.

use super::{Audit, claim_of};
use crate::workloads::{names, rho_of, solved};
use scumble::audit::Claim;
use scumble::event::Event;
use scumble::noise::InsecureSeededSource;
use scumble::quantity::{Rho, Sigma};
use scumble::scope::{AttributeSet, Scope};
use scumble::workload::mwem::{Families, Mwem};
use scumble::workload::projection::Projection;
use scumble::workload::residual::Plan;
use scumble::workload::{Domain, Predicate, Queries, Subset};

/// Gaussian noise whose ρ is that of the events, its σ larger by a factor.
fn gaussian(what: &str, events: &[Event], scope: &Scope, factor: f64) -> Audit {
    let mu = (2.0 * rho_of(events, scope)).sqrt() / factor;
    Audit::claiming(what, claim_of(events, scope), Claim::Gaussian { mu })
}

/// One more in a cell: the estimates of the whole table, each with the weight that tells the two apart best.
pub fn residual() {
    let domain = Domain::new(vec![3, 2]).unwrap();
    let plan = Plan::for_marginals(&domain, 2, Rho::new(0.4).unwrap()).unwrap();
    let (counts, table) = ([50u64, 0, 7, 9, 100, 3], Subset::of(&[0, 1]));
    let events = plan.events(&names()).unwrap();
    let released = |counts: &[u64; 6], bits: &mut InsecureSeededSource| {
        plan.release(counts, bits).unwrap().marginal(table).unwrap()
    };
    let (mut bits, mut covariance) = (InsecureSeededSource::new(1400), [[0.0f64; 6]; 6]);
    for _ in 0..20_000 {
        let off: Vec<f64> =
            released(&counts, &mut bits).iter().zip(&counts).map(|(cell, count)| cell - *count as f64).collect();
        for (row, left) in covariance.iter_mut().zip(&off) {
            row.iter_mut().zip(&off).for_each(|(sum, right)| *sum += left * right);
        }
    }
    let weights = solved(covariance, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    gaussian("residual", &events, &Scope::Presence, 1.2).tells(1401, |moved, bits| {
        let mut counts = counts;
        counts[2] += u64::from(moved);
        released(&counts, bits).iter().zip(weights).map(|(cell, weight)| cell * weight).sum()
    });
}

fn attribute() -> Scope {
    Scope::Attributes(AttributeSet::new(["a"]).unwrap())
}

fn one_query() -> (Domain, Queries) {
    let domain = Domain::new(vec![2]).unwrap();
    let query = Predicate::conjunction(&domain, &[(0, 1)]).unwrap();
    let queries = Queries::new(&domain, vec![query]).unwrap();
    (domain, queries)
}

pub fn projection() {
    let projection = Projection::new(one_query().1, Sigma::new(1.3).unwrap());
    let events = projection.events(&["a".to_string()]).unwrap();
    Audit::of("projection", &events, &attribute()).tells(1410, |moved, bits| {
        let ones = 1600 + u64::from(moved);
        projection.release(&[3000 - ones, ones], 3000, bits).unwrap().answers[0]
    });
}

/// Half of ρ is for picking, and one query leaves nothing to pick: σ looks larger by √2.
pub fn mwem() {
    let mwem = Mwem::new(one_query().1, 1, 1, Rho::new(0.8).unwrap(), Families::Blocks).unwrap();
    let events = mwem.events(&["a".to_string()]).unwrap();
    gaussian("mwem", &events, &attribute(), 1.2 * 2f64.sqrt()).runs(40_000).tells(1420, |moved, bits| {
        let ones = 500 + u64::from(moved);
        mwem.release(&[1000 - ones, ones], 1000, bits).unwrap()[1]
    });
}
