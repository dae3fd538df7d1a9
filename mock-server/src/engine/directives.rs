//! Magic words: what a text may ask the mock to do, as test card numbers do at a payment service.

use std::time::Duration;

use svc_sdk::contract::ErrorCode;
use svc_sdk::types::Usd;

/// Longer than this is no time that a test waits for.
const MAX_SECONDS: f64 = 1e9;

/// What the magic words of a request ask for. Of each word the first counts; what is no magic word
/// is text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    /// `[mock:fail]`, `[mock:fail=CODE]`: the job ends so.
    pub(crate) fail: Option<ErrorCode>,
    /// `[mock:refuse=CODE]`: the create is refused with that code.
    pub(crate) refuse: Option<ErrorCode>,
    /// `[mock:seconds=N]`: the time from submit to the end.
    pub(crate) duration: Option<Duration>,
    /// `[mock:stuck]`: no end.
    pub(crate) stuck: bool,
    /// `[mock:skip]`: a run is skipped.
    pub(crate) skip: bool,
    /// `[mock:degraded]`: a run completes with media and without output.
    pub(crate) degraded: bool,
    /// `[mock:cost=USD]`: what a run spends.
    pub(crate) cost: Option<Usd>,
    /// `[mock:usage-unreadable]`: what a run spends cannot be read.
    pub(crate) usage_unreadable: bool,
    /// `[mock:harvest-unavailable]`: a run's output is there at the second reading only.
    pub(crate) harvest_unavailable: bool,
    /// `[mock:outage]`, `[mock:outage=N]`: so many reads of a run meet an outage.
    pub(crate) outages: Option<u32>,
}

impl Directives {
    /// The magic words in these texts.
    pub(crate) fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut directives = Self::default();
        for text in texts {
            for directive in text
                .split("[mock:")
                .skip(1)
                .filter_map(|rest| rest.split_once(']'))
            {
                directives.apply(directive.0);
            }
        }
        directives
    }

    fn apply(&mut self, directive: &str) {
        match directive
            .split_once('=')
            .map_or((directive, None), |(name, value)| (name, Some(value)))
        {
            ("stuck", None) => self.stuck = true,
            ("skip", None) => self.skip = true,
            ("degraded", None) => self.degraded = true,
            ("usage-unreadable", None) => self.usage_unreadable = true,
            ("harvest-unavailable", None) => self.harvest_unavailable = true,
            ("outage", None) => {
                self.outages.get_or_insert(1);
            }
            ("outage", Some(value)) => self.outages = self.outages.or_else(|| value.parse().ok()),
            ("cost", Some(value)) => self.cost = self.cost.or_else(|| amount(value)),
            ("fail", None) => {
                self.fail.get_or_insert(ErrorCode::GenerationFailed);
            }
            ("fail", Some(value)) if is_code(value) => {
                self.fail.get_or_insert(ErrorCode::from(value));
            }
            ("refuse", Some(value)) if is_code(value) => {
                self.refuse.get_or_insert(ErrorCode::from(value));
            }
            ("seconds", Some(value)) => self.duration = self.duration.or_else(|| seconds(value)),
            _ => {}
        }
    }
}

fn is_code(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !text.is_empty() && text.bytes().all(is_token)
}

/// Dollars that somebody can be charged.
fn amount(text: &str) -> Option<Usd> {
    text.parse().ok().filter(|amount| *amount >= Usd::ZERO)
}

/// Digits with at most one point, to the microsecond.
fn seconds(text: &str) -> Option<Duration> {
    let starts_and_ends = |text: &str, is: fn(&u8) -> bool| {
        text.as_bytes().first().is_some_and(is) && text.as_bytes().last().is_some_and(is)
    };
    let decimal = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && starts_and_ends(text, u8::is_ascii_digit);
    let number: f64 = decimal.then(|| text.parse().ok()).flatten()?;
    let span = Duration::try_from_secs_f64(number.min(MAX_SECONDS)).ok()?;
    Some(Duration::from_micros(
        u64::try_from(span.as_micros()).unwrap_or(u64::MAX),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_anywhere_in_a_text() {
        let directives = Directives::parse([
            "a [fox] [mock:fail=provider_unavailable] at [mock:seconds=2.5]",
            "[mock:stuck]",
        ]);
        assert_eq!(directives.fail, Some(ErrorCode::ProviderUnavailable));
        assert_eq!(directives.duration, Some(Duration::from_millis(2500)));
        assert!(directives.stuck);
        assert_eq!(directives.refuse, None);
    }

    #[test]
    fn a_bare_fail_is_a_failed_generation() {
        assert_eq!(
            Directives::parse(["[mock:fail]"]).fail,
            Some(ErrorCode::GenerationFailed)
        );
        assert_eq!(
            Directives::parse(["[mock:fail=x_1]"]).fail,
            Some(ErrorCode::Other("x_1".into()))
        );
        assert_eq!(
            Directives::parse(["[mock:refuse=stripe_error]"]).refuse,
            Some(ErrorCode::StripeError)
        );
    }

    #[test]
    fn a_run_has_words_of_its_own() {
        let directives =
            Directives::parse(["[mock:skip][mock:degraded] [mock:cost=1.25] [mock:outage]"]);
        assert!(directives.skip && directives.degraded && !directives.usage_unreadable);
        assert_eq!(directives.cost, Some(Usd::from_micros(1_250_000)));
        assert_eq!(directives.outages, Some(1));
        let directives =
            Directives::parse(["[mock:usage-unreadable][mock:harvest-unavailable][mock:outage=3]"]);
        assert!(directives.usage_unreadable && directives.harvest_unavailable);
        assert_eq!(directives.outages, Some(3));
    }

    #[test]
    fn of_two_the_first_counts() {
        let directives =
            Directives::parse(["[mock:seconds=0][mock:seconds=9][mock:fail=a][mock:fail=b]"]);
        assert_eq!(directives.duration, Some(Duration::ZERO));
        assert_eq!(directives.fail, Some(ErrorCode::Other("a".into())));
    }

    #[test]
    fn what_is_no_magic_word_is_text() {
        for text in [
            "",
            "mock:fail",
            "[mock:fail",
            "[mock:",
            "[mock:]",
            "[mock:refuse]",
            "[mock:refuse=A B]",
            "[mock:seconds]",
            "[mock:seconds=]",
            "[mock:seconds=-1]",
            "[mock:seconds=1e3]",
            "[mock:seconds=.5]",
            "[mock:seconds=1.2.3]",
            "[mock:seconds=inf]",
            "[mock:stuck=1]",
            "[mock:skip=1]",
            "[mock:cost]",
            "[mock:cost=-1]",
            "[mock:cost=much]",
            "[mock:cost=0.0000001]",
            "[mock:outage=some]",
            "[mock:outage=-1]",
            "[Mock:fail]",
        ] {
            assert_eq!(Directives::parse([text]), Directives::default(), "{text}");
        }
        let long = format!("[mock:seconds={}]", "9".repeat(400));
        assert_eq!(
            Directives::parse([long.as_str()]).duration,
            Some(Duration::from_secs(1_000_000_000))
        );
    }
}
