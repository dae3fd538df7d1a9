//! The surfaces: whether they can be reached, whether they accept the API key, and their clocks.

use std::time::Duration;

use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};

use crate::args::SurfaceChoice;
use crate::config::{ConfiguredKey, KeyOrigin};
#[cfg(feature = "mcp")]
use crate::error::SetupProblem;
use crate::error::message;
use crate::session::Session;
use crate::setup::doctor::{CHECK_TIMEOUT, Check, run_blocking};
use crate::text::sanitize;
use crate::{clock, setup};

const NO_URL: &str = "no URL is configured";
const INVALID: &str = "the configuration is not valid";
/// The difference of the clocks above which there is a warning. Signatures of webhooks are rejected
/// from five minutes on.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(30);

/// The time limit of a request, so that its own error is shown rather than that of the check.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);

pub(super) struct SurfaceChecks {
    pub(super) checks: [Check; 2],
    skew: Option<SignedDuration>,
}

/// The checks of a surface that was not reached.
impl From<[Check; 2]> for SurfaceChecks {
    fn from(checks: [Check; 2]) -> Self {
        Self { checks, skew: None }
    }
}

/// Returns the names of the checks whether a surface can be reached, and accepts the key.
const fn names(surface: SurfaceChoice) -> [&'static str; 2] {
    match surface {
        SurfaceChoice::Open => ["open_surface", "open_key"],
        SurfaceChoice::Developer => ["developer_surface", "developer_key"],
    }
}

pub(super) async fn check(
    session: &Session,
    surface: SurfaceChoice,
    is_configuration_valid: bool,
) -> SurfaceChecks {
    let checks = check_within_limit(session, surface, is_configuration_valid);
    let [reachable, key] = names(surface);
    tokio::time::timeout(CHECK_TIMEOUT, checks).await.unwrap_or_else(|_| {
        let failed = Check::failed(reachable, "no response in time").next(check_url(session));
        [failed, Check::skipped(key, "not checked: no response in time")].into()
    })
}

async fn check_within_limit(
    session: &Session,
    surface: SurfaceChoice,
    is_configuration_valid: bool,
) -> SurfaceChecks {
    let [reachable, key_check] = names(surface);
    if !is_configuration_valid {
        return names(surface).map(|name| Check::skipped(name, INVALID)).into();
    }
    let Ok(url) = session.base_url(surface) else {
        let [url, key] = [reachable, key_check].map(|name| Check::missing(name, NO_URL));
        let names = surface.names();
        let key = match session.environment().get(names.key_variable) {
            Some(_) => {
                Check::warning(key_check, format!("{} is set, but {NO_URL}", names.key_variable))
                    .next(format!(
                        "set {}, or run {}",
                        names.url_variable,
                        session.command(&["init"])
                    ))
            }
            None => key,
        };
        return [url, key].into();
    };
    let key = match find_key(session, surface, &url).await {
        Ok(key) => key,
        Err(check) => {
            let reachable = Check::skipped(reachable, "not checked without a key");
            return [reachable, check].into();
        }
    };
    let sent_at = clock::now();
    let probed = setup::probe(session, surface, &url, &key.key, Some(REQUEST_TIMEOUT)).await;
    let round_trip = clock::elapsed(clock::now(), sent_at);
    let reached = format!("{url} responded in {} ms", round_trip.as_millis());
    let (checks, headers) = match &probed {
        Ok(Ok(headers)) => (
            [
                Check::ok(reachable, reached),
                Check::ok(key_check, format!("accepted: {}", with_origin(&key))),
            ],
            Some(headers),
        ),
        Ok(Err(error)) => (
            failed_request(session, surface, &url, error, reached, &key),
            // A proxy or a login page has a clock of its own.
            error.response().filter(|_| !error.is_web_page()).map(|response| &response.headers),
        ),
        Err(failure) => (
            [
                Check::failed(reachable, failure.headline()).next(check_url(session)),
                Check::skipped(key_check, "not checked: the URL is not that of the service"),
            ],
            None,
        ),
    };
    // The response was made at some time while it was waited for.
    let skew = headers.and_then(|headers| clock_skew(headers, sent_at, clock::now()));
    SurfaceChecks { checks, skew }
}

/// Reads the key on another thread, because a keyring may wait for its user.
async fn find_key(
    session: &Session,
    surface: SurfaceChoice,
    url: &str,
) -> Result<ConfiguredKey, Check> {
    let [_, name] = names(surface);
    let (global, base_url) = (session.global.clone(), url.to_owned());
    let found =
        run_blocking(move || Session::without_logging(global)?.find_key(surface, &base_url)).await;
    let login = session.resume_command_on(surface, &["auth", "login"]);
    match found {
        Some(Ok(Some(key))) => Ok(key),
        Some(Ok(None)) => {
            let variable = surface.names().key_variable;
            Err(Check::failed(name, "no API key is configured")
                .next(format!("{login}, or set {variable}")))
        }
        Some(Err(failure)) => Err(Check::failed(name, failure.headline()).next(login)),
        None => {
            let why = "the key could not be read in time: the keyring did not respond";
            Err(Check::failed(name, why).next("unlock the keyring"))
        }
    }
}

fn failed_request(
    session: &Session,
    surface: SurfaceChoice,
    url: &str,
    error: &svc_sdk::Error,
    reached: String,
    used: &ConfiguredKey,
) -> [Check; 2] {
    let [reachable, key_check] = names(surface);
    let key = with_origin(used);
    let why = sanitize(&message(error));
    if error.is_unauthorized() {
        return [
            Check::ok(reachable, reached),
            Check::failed(key_check, format!("rejected: {key}: {why}"))
                .next(replace_key(session, surface, used)),
        ];
    }
    if error.status() == Some(403) {
        let message = format!("without permission for this request: {key}: {why}");
        return [
            Check::ok(reachable, reached),
            Check::warning(key_check, message).next("use a key with the scopes that you need"),
        ];
    }
    let unchecked = Check::skipped(key_check, format!("not checked: {key}"));
    // A web page, such as that of a proxy, does not come from the service.
    let is_busy = matches!(error.status(), Some(502..=504)) && !error.is_web_page();
    if error.is_rate_limited() || is_busy {
        let check = Check::warning(reachable, format!("{url} is busy: {why}"));
        let next = format!("{}, a little later", session.command(&["doctor"]));
        return [check.next(next), unchecked];
    }
    let message = match why.contains(url.trim_end_matches('/')) {
        true => why,
        false => format!("{url}: {why}"),
    };
    let check = Check::failed(reachable, message);
    [check.next(check_url(session)), unchecked]
}

fn replace_key(session: &Session, surface: SurfaceChoice, key: &ConfiguredKey) -> String {
    match key.origin {
        KeyOrigin::Variable(name) => format!("correct or unset {name}"),
        _ => session.resume_command_on(surface, &["auth", "login"]).to_string(),
    }
}

fn with_origin(key: &ConfiguredKey) -> String {
    format!("{} from {}", key.redacted(), key.origin)
}

fn check_url(session: &Session) -> String {
    let command = session.command(&["config", "show", "--origin"]);
    let check = format!("check the network, and where the URL comes from: {command}");
    match session.configured_mock() {
        Some(serve) => format!("start the mock if it should be running: {serve}; or {check}"),
        None => check,
    }
}

/// Returns the difference to the header `Date`, which has whole seconds.
fn clock_skew(
    headers: &HeaderMap,
    sent_at: Timestamp,
    received_at: Timestamp,
) -> Option<SignedDuration> {
    let date = headers.get(http::header::DATE)?.to_str().ok()?;
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    let end = date.checked_add(SignedDuration::from_secs(1)).ok()?;
    Some(if end < sent_at {
        end.duration_since(sent_at)
    } else if date > received_at {
        date.duration_since(received_at)
    } else {
        SignedDuration::ZERO
    })
}

pub(super) fn clock(surfaces: &[&SurfaceChecks]) -> Check {
    const NAME: &str = "clock";
    let skews = surfaces.iter().filter_map(|surface| surface.skew);
    let Some(skew) = skews.max_by_key(|skew| skew.abs()) else {
        return Check::skipped(NAME, "no response with a Date header");
    };
    let shown = clock::format_duration(skew.unsigned_abs());
    let message = match skew.is_negative() {
        _ if skew.is_zero() => "in step with the service".to_owned(),
        true => format!("{shown} ahead of the service"),
        false => format!("{shown} behind the service"),
    };
    if skew.abs() > MAX_CLOCK_SKEW {
        let next =
            "set the clock of this machine: signatures of webhooks are rejected from 5 min on";
        return Check::warning(NAME, message).next(next);
    }
    Check::ok(NAME, message)
}

const MCP: &str = "mcp";

pub(super) async fn check_mcp(session: &Session, is_configuration_valid: bool) -> Check {
    if !is_configuration_valid {
        return Check::skipped(MCP, INVALID);
    }
    let Some(url) = mcp_url(session) else { return Check::missing(MCP, NO_URL) };
    let limited = tokio::time::timeout(CHECK_TIMEOUT, try_mcp(session, &url));
    match limited.await {
        Ok(Ok(Some(count))) => Check::ok(MCP, format!("{url} has {count} tools")),
        Ok(Ok(None)) => Check::skipped(MCP, "not checked without a key of the developer surface"),
        Ok(Err(check)) => check,
        Err(_) => {
            Check::failed(MCP, format!("{url}: no response in time")).next(check_url(session))
        }
    }
}

fn mcp_url(session: &Session) -> Option<String> {
    #[cfg(feature = "mcp")]
    if session.is_sandbox() {
        return Some(session.sandbox().mcp_url());
    }
    let settings = session.settings().ok()?;
    settings.get("mcp_url").map(|url| url.value.clone())
}

#[cfg(feature = "mcp")]
async fn try_mcp(session: &Session, url: &str) -> Result<Option<usize>, Check> {
    const SURFACE: SurfaceChoice = SurfaceChoice::Developer;
    let Ok(key) = find_key(session, SURFACE, url).await else { return Ok(None) };
    let counted = setup::count_tools(session, url, &key).await;
    counted.map(Some).map_err(|failure| {
        let why = failure.headline();
        if failure.setup_problem() == Some(SetupProblem::KeyRejected) {
            let message = format!("{url}: rejected: {}: {why}", with_origin(&key));
            return Check::failed(MCP, message).next(replace_key(session, SURFACE, &key));
        }
        Check::failed(MCP, format!("{url}: {why}")).next(check_url(session))
    })
}

#[cfg(not(feature = "mcp"))]
async fn try_mcp(_: &Session, url: &str) -> Result<Option<usize>, Check> {
    let why = "this build does not support MCP";
    Err(Check::failed(MCP, format!("{url}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skew_of(date: &str, sent: i64, received: i64) -> Option<i64> {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::DATE, date.parse().unwrap());
        let at = |second| Timestamp::from_second(second).unwrap();
        clock_skew(&headers, at(sent), at(received)).map(|skew| skew.as_secs())
    }

    #[test]
    fn the_skew_excludes_the_time_of_the_request_and_the_rounding_of_the_header() {
        let date = "Thu, 01 Jan 1970 00:01:40 GMT";
        assert_eq!(skew_of(date, 99, 100), Some(0));
        assert_eq!(skew_of(date, 101, 103), Some(0), "rounded down");
        assert_eq!(skew_of(date, 90, 110), Some(0));
        assert_eq!(skew_of(date, 161, 162), Some(-60), "the local clock is ahead");
        assert_eq!(skew_of(date, 38, 40), Some(60), "the local clock is behind");
        assert_eq!(skew_of("yesterday", 0, 1), None);
    }
}
