//! Properties of amounts that hold for all of them.

use proptest::prelude::*;

use super::Usd;

/// Generates all amounts, and more often small ones and those at the limits.
fn micros() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), -2_000_000_000..2_000_000_000_i64, Just(i64::MIN), Just(i64::MAX),]
}

fn usd() -> impl Strategy<Value = Usd> {
    micros().prop_map(Usd::from_micros)
}

/// Returns the exact result if an amount can have it.
fn exact(micros: i128) -> Option<Usd> {
    i64::try_from(micros).ok().map(Usd::from_micros)
}

fn wide(amount: Usd) -> i128 {
    i128::from(amount.as_micros())
}

proptest! {
    #[test]
    fn text_is_read_back_and_has_four_to_six_decimal_places_and_no_needless_zeros(amount in usd()) {
        let text = amount.to_string();
        prop_assert_eq!(text.parse(), Ok(amount));
        let json = serde_json::to_string(&amount)?;
        prop_assert_eq!(&json, &format!("\"{text}\""));
        prop_assert_eq!(serde_json::from_str::<Usd>(&json)?, amount);
        let (whole, fraction) = text.split_once('.').unwrap_or_default();
        let digits = whole.strip_prefix('-').unwrap_or(whole);
        prop_assert_eq!(whole.starts_with('-'), amount < Usd::ZERO);
        prop_assert!(digits == "0" || !digits.starts_with('0'), "{}", text);
        prop_assert!((4..=6).contains(&fraction.len()), "{}", text);
        prop_assert!(fraction.len() == 4 || !fraction.ends_with('0'), "{}", text);
    }

    #[test]
    fn all_spellings_of_an_amount_are_equal(
        negative: bool,
        dollars in 0..=9_223_372_036_853_u64,
        micros in 0..1_000_000_u32,
        leading in 0..4_usize,
        trailing in 0..30_usize,
    ) {
        let sign = if negative { "-" } else { "" };
        let text = format!("{sign}{}{dollars}.{micros:06}{}", "0".repeat(leading), "0".repeat(trailing));
        let magnitude = i128::from(dollars) * 1_000_000 + i128::from(micros);
        let expected = exact(if negative { -magnitude } else { magnitude });
        prop_assert_eq!(text.parse().ok(), expected);
    }

    #[test]
    fn numbers_of_dollars_are_exact(micros in -1_000_000_000_000..=1_000_000_000_000_i64) {
        let amount = Usd::from_micros(micros);
        let number: serde_json::Number = serde_json::from_str(amount.to_string().trim_end_matches('0').trim_end_matches('.'))?;
        prop_assert_eq!(serde_json::from_value::<Usd>(number.into())?, amount);
    }

    #[test]
    fn any_json_number_is_an_amount_or_an_error(number: f64, dollars: i64, unsigned: u64) {
        if let Some(number) = serde_json::Number::from_f64(number) {
            let _ = serde_json::from_value::<Usd>(number.into());
        }
        let whole = |dollars: i128| exact(dollars * 1_000_000);
        prop_assert_eq!(serde_json::from_value::<Usd>(dollars.into()).ok(), whole(dollars.into()));
        prop_assert_eq!(serde_json::from_value::<Usd>(unsigned.into()).ok(), whole(unsigned.into()));
    }

    #[test]
    fn only_decimals_are_amounts(text in "[-+0-9.eE_, $\u{660}-\u{669}]{0,24}") {
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let is_number = |part: &str| !part.is_empty() && part.chars().all(|it| it.is_ascii_digit());
        let is_decimal = is_number(whole)
            && is_number(fraction)
            && fraction.trim_end_matches('0').len() <= 6;
        let parsed = text.parse::<Usd>();
        prop_assert!(is_decimal || parsed.is_err(), "{:?}", text);
        if is_decimal && whole.trim_start_matches('0').len() <= 12 {
            prop_assert!(parsed.is_ok(), "{:?}", text);
        }
    }

    #[test]
    fn any_text_is_an_amount_or_a_short_error(text in any::<String>()) {
        match text.parse::<Usd>() {
            Ok(amount) => prop_assert_eq!(amount.to_string().parse(), Ok(amount)),
            Err(error) => prop_assert!(error.to_string().chars().count() < 100),
        }
    }

    #[test]
    fn arithmetic_is_exact_or_none(a in usd(), b in usd(), factor in micros()) {
        prop_assert_eq!(a.checked_add(b), exact(wide(a) + wide(b)));
        prop_assert_eq!(a.checked_sub(b), exact(wide(a) - wide(b)));
        prop_assert_eq!(a.checked_mul(factor), exact(wide(a) * i128::from(factor)));
        prop_assert_eq!(Usd::from_cents(factor), exact(i128::from(factor) * 10_000));
        prop_assert_eq!(a.checked_add(b), b.checked_add(a));
        prop_assert_eq!(a.cmp(&b), a.as_micros().cmp(&b.as_micros()));
    }

    #[test]
    fn sums_are_bounded_by_the_largest_amount(amounts in proptest::collection::vec(0..=i64::MAX, 0..8)) {
        let exact: i128 = amounts.iter().copied().map(i128::from).sum();
        let sum: Usd = amounts.into_iter().map(Usd::from_micros).sum();
        prop_assert_eq!(wide(sum), exact.min(i128::from(i64::MAX)));
    }

    #[test]
    fn rounding_gives_the_next_price_unit(amount in usd()) {
        let rounded = amount.round_up_to_price_unit();
        let next = wide(amount).div_euclid(100) * 100;
        let next = if next == wide(amount) { next } else { next + 100 };
        prop_assert_eq!(wide(rounded), next.min(i128::from(i64::MAX)));
        prop_assert!(rounded >= amount);
    }
}
