//! `approximate`: anything (ε, δ)-private; its worst pair is that of \[KOV15\].

use super::{Accounting, owners};
use crate::error::Result;
use crate::event::Shift;
use crate::loss::filter::price::{GroupShift, Price, exact, pure_to_rho, rational_to_f64, rounded_up, rounded_up_f64};
use crate::loss::law::{Law, group_of_approximate};
use crate::quantity::{Delta, Epsilon};
use num_rational::BigRational;

/// ε and δ.
pub(super) struct ApproximateLoss(pub(super) Epsilon, pub(super) Delta);

impl Accounting for ApproximateLoss {
    fn law(&self, by: f64) -> Result<Law> {
        Ok(group_of_approximate(self.0.get(), self.1.get(), owners("approximate", by)?))
    }

    fn covers(&self, by: f64) -> bool {
        by > 1.0
    }

    fn price(&self, shift: &Shift, members: u32) -> Result<Price> {
        cost_of_owners(self.0.get(), self.1.get(), &GroupShift::owners(shift, members)?.in_all())
    }
}

/// (ε, δ) for k owners: kε and δ·(e^{kε} − 1)/(e^ε − 1), which is kδ at ε = 0.
fn cost_of_owners(epsilon: f64, delta: f64, owners: &BigRational) -> Result<Price> {
    let total = exact(epsilon)? * owners;
    let number = rational_to_f64(owners);
    let growth = if epsilon == 0.0 { number } else { (number * epsilon).exp_m1() / epsilon.exp_m1() * (1.0 + 1e-12) };
    // A δ of 1 says nothing more, however many owners there are (nor if both growths are beyond f64: the lesser of NaN
    // and 1 is 1).
    let grown = if delta == 0.0 { 0.0 } else { (delta * growth).min(1.0) };
    let delta = if number == 1.0 { exact(delta)? } else { exact(grown)? };
    let rho = pure_to_rho(rational_to_f64(&total));
    let rho = rounded_up_f64(rho);
    Ok(Price { pure: Some(rounded_up(&total)), rho, truncated: None, delta: rounded_up(&delta) })
}
