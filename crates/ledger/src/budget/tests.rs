use super::*;
use scumble::event::{Moves, Shift, Touch, Word};
use scumble::quantity::Scale;

fn exact(text: &str) -> Exact {
    text.parse().unwrap()
}

fn laplace(scale: f64) -> Event {
    let one = Shift::one_cell(1.0).unwrap();
    let two = Shift::new(2, 1.0).unwrap();
    let state = AttributeSet::new(["state"]).unwrap();
    let moves = Moves::by_scope(vec![one], vec![two], vec![Touch { attributes: state, shifts: vec![two] }]);
    Event::new(Word::DiscreteLaplace { scale: Scale::new(scale).unwrap() }, moves)
}

#[test]
fn an_attribute_without_its_own_limit_falls_under_the_star() {
    let limit = |epsilon: &str| Limit::Approximate { epsilon: exact(epsilon), delta: Exact::zero() };
    let budget = Budget {
        attributes: [("disease".to_string(), limit("0.1"))].into(),
        every_attribute: Some(limit("0.6")),
        ..Budget::default()
    };
    let event = laplace(4.0);
    assert!(budget.first_refusal(&Sums::nothing(), std::slice::from_ref(&event)).unwrap().is_none());
    let charged = [event.clone()];
    let charged = Sums::of([&charged[..]]).unwrap();
    let refusal = budget.first_refusal(&charged, std::slice::from_ref(&event)).unwrap().unwrap();
    assert_eq!(refusal.scope.to_string(), "attributes {state}");
    let sentence = refusal.error("again", "nothing fits").to_string();
    assert!(sentence.contains("asks for epsilon 0.5"), "{sentence}");
    assert!(sentence.contains("epsilon 0.1 is left"), "{sentence}");
}

#[test]
fn printed_numbers_are_rounded_in_the_stated_direction() {
    assert_eq!(rounded_up(0.1), "0.1");
    let exact = |text: &str| text.parse::<Exact>().unwrap();
    for decimal in ["0.1", "0.3", "0.7", "1.1", "1e-9"] {
        assert_eq!(rounded_up(exact(decimal).to_f64_up()), decimal);
        assert_eq!(rounded_down(exact(decimal).to_f64_down()), decimal);
    }
    assert_eq!((rounded_up(0.0), rounded_down(0.0)), ("0".to_string(), "0".to_string()));
    assert_eq!(rounded_up(1.0 / 3.0), "0.333334");
    assert_eq!(rounded_down(1.0 / 3.0), "0.333333");
    assert_eq!(rounded_up(0.5), "0.5");
    assert_eq!(rounded_up(1e-9), "1e-9");
}
