//! Directives in request texts that control the mock, like the test card numbers of payment
//! services.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::ErrorCode;
use svc_sdk::types::Usd;

use super::State;
use super::idempotency::BodyDigest;

/// The maximum of `[mock:seconds=N]`. Larger values are clamped.
const MAX_SECONDS: f64 = 1e9;
/// The maximum number of characters of a directive that a message shows.
const MAX_SHOWN_CHARS: usize = 60;
/// What an error code begins with that the mock does not know, but a service might have.
const FUTURE_CODE: &str = "x_";

const NAMES: [&str; 10] = [
    "fail",
    "refuse",
    "seconds",
    "stuck",
    "skip",
    "degraded",
    "cost",
    "usage-unreadable",
    "harvest-unavailable",
    "outage",
];

/// The directives of a request. If a directive is repeated, the first one counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    /// `[mock:fail]`, `[mock:fail=CODE]`: the job or run fails with the code.
    pub(crate) fail: Option<ErrorCode>,
    /// `[mock:refuse=CODE]`: the request is rejected with the code.
    pub(crate) refuse: Option<Refusal>,
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
    /// The directives with `times`, which apply to the first requests with their text only.
    limited: Vec<LimitedDirectives>,
}

/// The rejection that `[mock:refuse=CODE]` and `[mock:refuse=CODE,status=N]` ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    /// The status; `None` for that of the code.
    pub(crate) status: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LimitedDirectives {
    directives: Directives,
    times: u64,
    /// The digest of the text that the directive is in, and of the directive.
    text: String,
}

/// How often directives with `times` were applied, by workspace, operation and text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct DirectiveCounts(BTreeMap<String, u64>);

impl DirectiveCounts {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Directives {
    /// Reads the directives in texts. Returns what is wrong with the first invalid one.
    pub(crate) fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, String> {
        let mut directives = Self::default();
        for text in texts {
            for (words, _) in text.split("[mock:").skip(1).filter_map(|rest| rest.split_once(']')) {
                let (parsed, times) = parse_directive(words)?;
                match times {
                    None => directives.add(&parsed),
                    Some(times) => directives.limited.push(LimitedDirectives {
                        directives: parsed,
                        times,
                        text: BodyDigest::of(format!("{words}\n{text}")).to_string(),
                    }),
                }
            }
        }
        Ok(directives)
    }

    /// Returns the name of a directive that only runs have.
    pub(crate) fn for_runs(&self) -> Option<&'static str> {
        let mut all = self.clone();
        self.limited.iter().for_each(|limited| all.add(&limited.directives));
        [
            (all.skip, "skip"),
            (all.degraded, "degraded"),
            (all.cost.is_some(), "cost"),
            (all.usage_unreadable, "usage-unreadable"),
            (all.harvest_unavailable, "harvest-unavailable"),
            (all.outages.is_some(), "outage"),
        ]
        .into_iter()
        .find_map(|(is_present, name)| is_present.then_some(name))
    }

    /// Adds directives that come later, or only sometimes.
    fn add(&mut self, other: &Self) {
        fn first<T: Clone>(own: &mut Option<T>, other: &Option<T>) {
            *own = own.take().or_else(|| other.clone());
        }
        first(&mut self.fail, &other.fail);
        first(&mut self.refuse, &other.refuse);
        first(&mut self.duration, &other.duration);
        first(&mut self.cost, &other.cost);
        first(&mut self.outages, &other.outages);
        self.stuck |= other.stuck;
        self.skip |= other.skip;
        self.degraded |= other.degraded;
        self.usage_unreadable |= other.usage_unreadable;
        self.harvest_unavailable |= other.harvest_unavailable;
    }
}

impl State {
    /// Returns the directives that apply to a request: of those with `times`, the ones that were not
    /// applied so often yet.
    pub(crate) fn applicable(
        &self,
        workspace: &str,
        operation: &str,
        directives: &Directives,
    ) -> Directives {
        let mut applicable = directives.clone();
        for limited in std::mem::take(&mut applicable.limited) {
            let counts = &self.directive_counts.0;
            let applied = counts.get(&count_key(workspace, operation, &limited)).copied();
            if applied.unwrap_or_default() < limited.times {
                applicable.add(&limited.directives);
            }
        }
        applicable
    }

    pub(crate) fn count_directives(
        &mut self,
        workspace: &str,
        operation: &str,
        directives: &Directives,
    ) {
        for limited in &directives.limited {
            let count = self.directive_counts.0.entry(count_key(workspace, operation, limited));
            let count = count.or_default();
            *count = count.saturating_add(1);
        }
    }
}

fn count_key(workspace: &str, operation: &str, limited: &LimitedDirectives) -> String {
    format!("{workspace} {operation} {}", limited.text)
}

/// Parses what is between `[mock:` and `]`, such as `refuse=rate_limited,times=2`.
fn parse_directive(words: &str) -> Result<(Directives, Option<u64>), String> {
    let shown: String = words.chars().take(MAX_SHOWN_CHARS).collect();
    let invalid = |problem: &str| format!("invalid directive `[mock:{shown}]`: {problem}");
    let mut parts = words.split(',');
    let first = parts.next().unwrap_or_default();
    let (name, value) = match first.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (first, None),
    };
    let (mut times, mut status) = (None, None);
    for part in parts {
        match part.split_once('=') {
            Some(("times", text)) => {
                let number = text.parse().ok().filter(|times| *times > 0);
                times = Some(number.ok_or_else(|| invalid("`times` must be a number from 1"))?);
            }
            Some(("status", text)) if name == "refuse" => {
                let number = text.parse().ok().filter(|status| (400..600).contains(status));
                status = Some(number.ok_or_else(|| invalid("`status` must be from 400 to 599"))?);
            }
            _ if name == "refuse" => return Err(invalid("expected `times=N` or `status=N`")),
            _ => return Err(invalid("expected `times=N`")),
        }
    }
    let expected = |what: &str| invalid(&format!("expected {what}"));
    let mut parsed = Directives::default();
    match (name, value) {
        ("stuck", None) => parsed.stuck = true,
        ("skip", None) => parsed.skip = true,
        ("degraded", None) => parsed.degraded = true,
        ("usage-unreadable", None) => parsed.usage_unreadable = true,
        ("harvest-unavailable", None) => parsed.harvest_unavailable = true,
        ("outage", value) => {
            let reads = value.unwrap_or("1").parse();
            parsed.outages = Some(reads.map_err(|_| expected("a number of reads"))?);
        }
        ("cost", Some(value)) => {
            let cost = amount(value).ok_or_else(|| expected("dollars, such as cost=0.50"));
            parsed.cost = Some(cost?);
        }
        ("seconds", Some(value)) => {
            let duration = seconds(value).ok_or_else(|| expected("decimal seconds"));
            parsed.duration = Some(duration?);
        }
        ("fail", None) => parsed.fail = Some(ErrorCode::GenerationFailed),
        ("fail", Some(value)) => parsed.fail = Some(code(value).map_err(|it| invalid(&it))?),
        ("refuse", Some(value)) => {
            let code = code(value).map_err(|it| invalid(&it))?;
            parsed.refuse = Some(Refusal { code, status });
        }
        ("refuse" | "cost" | "seconds", None) => return Err(expected(&format!("`{name}=VALUE`"))),
        (name, Some(_)) if NAMES.contains(&name) => return Err(expected("no value")),
        (name, _) => {
            let nearest = nearest(name, NAMES);
            return Err(invalid(&format!("did you mean `[mock:{nearest}]`?")));
        }
    }
    Ok((parsed, times))
}

/// Returns the candidate with the smallest distance to a name.
pub(crate) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> &'c str {
    let name: String = name.chars().take(MAX_SHOWN_CHARS).collect();
    let candidates = candidates.into_iter();
    candidates.min_by_key(|known| strsim::levenshtein(&name, known)).unwrap_or_default()
}

/// Parses an error code that the mock knows, or one that a later service might have.
fn code(text: &str) -> Result<ErrorCode, String> {
    let is_token = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    match ErrorCode::from(text) {
        ErrorCode::Other(code) if code.starts_with(FUTURE_CODE) && code.bytes().all(is_token) => {
            Ok(ErrorCode::Other(code))
        }
        ErrorCode::Other(_) => {
            let nearest = nearest(text, ErrorCode::KNOWN.iter().map(ErrorCode::as_str));
            Err(format!(
                "unknown code: did you mean `{nearest}`? (codes that begin with `{FUTURE_CODE}` are accepted)"
            ))
        }
        known => Ok(known),
    }
}

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

    fn parse(text: &str) -> Directives {
        Directives::parse([text]).unwrap()
    }

    #[test]
    fn every_directive_is_documented() {
        let page = include_str!("../../CONTROL.md");
        for directive in [
            "fail",
            "fail=CODE",
            "refuse=CODE",
            "refuse=CODE,status=N",
            "seconds=N",
            "stuck",
            "skip",
            "degraded",
            "cost=USD",
            "usage-unreadable",
            "harvest-unavailable",
            "outage",
            "outage=N",
        ] {
            let example =
                directive.replace("CODE", "stripe_error").replace("status=N", "status=409");
            let example = example.replace("=N", "=2").replace("=USD", "=2");
            assert_ne!(parse(&format!("[mock:{example}]")), Directives::default(), "{example}");
            let heading = page.lines().any(|line| {
                line.starts_with("### ") && line.contains(&format!("`[mock:{directive}]`"))
            });
            assert!(heading, "no section about {directive}");
            assert!(NAMES.contains(&directive.split('=').next().unwrap()), "{directive}");
        }
        assert!(page.contains(",times=2]"));
    }
}
