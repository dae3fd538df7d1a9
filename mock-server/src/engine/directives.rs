//! Directives in request texts that control the mock, like the test card numbers of payment
//! services.

use std::time::Duration;

use svc_sdk::contract::ErrorCode;
use svc_sdk::types::Usd;

/// The maximum of `[mock:seconds=N]`. Larger values are clamped.
const MAX_SECONDS: f64 = 1e9;

/// The directives of a request. If a directive is repeated, the first one counts; anything that is
/// not a valid directive is ordinary text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    /// `[mock:fail]`, `[mock:fail=CODE]`: the job or run fails with the code.
    pub(crate) fail: Option<ErrorCode>,
    /// `[mock:refuse=CODE]`: the request is rejected with the code.
    pub(crate) refuse: Option<ErrorCode>,
    /// `[mock:seconds=N]`: the time from the submit to the end.
    pub(crate) duration: Option<Duration>,
    /// `[mock:stuck]`: the job or run never ends.
    pub(crate) stuck: bool,
    /// `[mock:skip]`: a run is skipped.
    pub(crate) skip: bool,
    /// `[mock:degraded]`: a run completes with media but without output.
    pub(crate) degraded: bool,
    /// `[mock:cost=USD]`: the amount that a run tries to spend.
    pub(crate) cost: Option<Usd>,
    /// `[mock:usage-unreadable]`: the usage of a run cannot be read.
    pub(crate) usage_unreadable: bool,
    /// `[mock:harvest-unavailable]`: the output of a run is available from the second read on.
    pub(crate) harvest_unavailable: bool,
    /// `[mock:outage]`, `[mock:outage=N]`: the number of reads of a run that fail with an outage.
    pub(crate) outages: Option<u32>,
}

impl Directives {
    pub(crate) fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut directives = Self::default();
        for text in texts {
            for directive in text.split("[mock:").skip(1).filter_map(|rest| rest.split_once(']')) {
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

/// Parses a non-negative amount in dollars.
fn amount(text: &str) -> Option<Usd> {
    text.parse().ok().filter(|amount| *amount >= Usd::ZERO)
}

/// Parses decimal seconds without sign or exponent, to the microsecond.
fn seconds(text: &str) -> Option<Duration> {
    let starts_and_ends = |text: &str, is: fn(&u8) -> bool| {
        text.as_bytes().first().is_some_and(is) && text.as_bytes().last().is_some_and(is)
    };
    let decimal = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && starts_and_ends(text, u8::is_ascii_digit);
    let number: f64 = decimal.then(|| text.parse().ok()).flatten()?;
    let span = Duration::try_from_secs_f64(number.min(MAX_SECONDS)).ok()?;
    Some(Duration::from_micros(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every directive, with a value if it takes one.
    const ALL: [&str; 12] = [
        "fail",
        "fail=CODE",
        "refuse=CODE",
        "seconds=N",
        "stuck",
        "skip",
        "degraded",
        "cost=USD",
        "usage-unreadable",
        "harvest-unavailable",
        "outage",
        "outage=N",
    ];

    #[test]
    fn every_directive_is_documented() {
        let page = include_str!("../../CONTROL.md");
        for directive in ALL {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            let example = match value {
                "" => format!("[mock:{name}]"),
                "CODE" => format!("[mock:{name}=stripe_error]"),
                _ => format!("[mock:{name}=2]"),
            };
            assert_ne!(Directives::parse([example.as_str()]), Directives::default(), "{example}");
            let heading = page.lines().any(|line| {
                line.starts_with("### ") && line.contains(&format!("`[mock:{directive}]`"))
            });
            assert!(heading, "no section about {directive}");
        }
    }

    #[test]
    fn the_first_of_repeated_directives_counts() {
        let directives =
            Directives::parse(["[mock:seconds=0][mock:seconds=9][mock:fail=a][mock:fail=b]"]);
        assert_eq!(directives.duration, Some(Duration::ZERO));
        assert_eq!(directives.fail, Some(ErrorCode::Other("a".into())));
    }

    #[test]
    fn invalid_directives_are_ignored() {
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
