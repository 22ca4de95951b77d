//! `cost_scope` at the top of a project file: whom costs are about that do not say it.

use crate::needs::{large, plan_of};
use crate::support::examples::LargeExample;
use scumble::quantity::Exact;
use scumble::scope::Scope;
use scumble_engine::budget::Odometer;

/// Every kind with a cost has one for presence, so that no kind has to refuse the line: what it says is what a cost
/// with that scope would say, and the release keeps it. A kind that took no notice would charge what nobody asked for.
#[test]
fn every_kind_keeps_the_scope_that_the_project_says() {
    let (cost, line) = ("epsilon = 1, delta = 1e-6", "cost_scope = \"presence\"\n");
    let delta: Exact = "1e-6".parse().unwrap();
    for (kind, LargeExample { fields, .. }) in large() {
        let plan = |top: &str, scope: &str| {
            let planned = plan_of(top, kind, fields, &format!("{cost}{scope}"));
            planned.unwrap_or_else(|error| panic!("{kind} {fields}: {error}")).plan.events
        };
        let (usual, under_line) = (plan("", ""), plan(line, ""));
        assert_eq!(under_line, plan("", ", scope = \"presence\""), "{kind} {fields}");
        assert_eq!(usual, plan(line, ", scope = \"person\""), "{kind} {fields}");
        assert_eq!(usual, plan("cost_scope = \"person\"\n", ""), "{kind} {fields}");
        let pays = Odometer::of(&under_line, &Scope::Presence).unwrap().epsilon(&delta);
        let pays = pays.unwrap_or_else(|| panic!("{kind} {fields}: no epsilon"));
        assert!(pays > Exact::zero() && pays <= "1".parse().unwrap(), "{kind} {fields}");
        // Where nothing moves in a scope, any noise is enough for it: then a person would be without protection.
        let person = Odometer::of(&under_line, &Scope::Person).unwrap().epsilon(&"1e-5".parse().unwrap());
        assert!(person.is_some_and(|person| person <= "10".parse().unwrap()), "{kind} {fields}");
    }
}

/// What needs another scope says so whatever the project says, and a cost per attribute stays one.
#[test]
fn costs_per_attribute_say_so_themselves() {
    let line = "cost_scope = \"presence\"\n";
    let fields = "table = \"people\"\ncolumns = [\"age\", \"score\"]";
    let own = format!("{fields}\nattribute_costs = {{ age = 0.5 }}");
    let refused = plan_of(line, "marginals", &own, "rho = 0.1").err().unwrap();
    assert!(refused.contains("attribute_costs need a cost per attribute"), "{refused}");
    let per_attribute = "rho = 0.1, scope = \"attribute\"";
    let events = |top: &str| plan_of(top, "marginals", &own, per_attribute).unwrap().plan.events;
    assert_eq!(events(line), events(""));
}
