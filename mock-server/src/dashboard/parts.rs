//! Parts that several views have.

use maud::{Markup, html};
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::values::text;
use crate::engine::Time;

/// Returns a time of day with milliseconds, in an element with the complete time.
pub(super) fn time(iso: &str) -> Markup {
    html! {
        @if iso.is_empty() { "–" } @else {
            time datetime=(iso) title=(iso) { (short_time(iso)) }
        }
    }
}

/// Shortens `2026-01-02T03:04:05.678901Z` to `03:04:05.678`.
fn short_time(iso: &str) -> String {
    let time = iso.split_once('T').map_or(iso, |(_, time)| time);
    let time = time.trim_end_matches('Z');
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
    format!("{seconds}.{millis}")
}

/// Parses a time that the control API shows.
pub(super) fn parse_time(iso: &str) -> Option<Time> {
    let time: jiff::Timestamp = iso.parse().ok()?;
    let micros = u64::try_from(time.as_microsecond()).ok()?;
    Some(Time::from_micros(micros))
}

pub(super) fn date_time(iso: &str) -> Markup {
    let date = iso.split_once('T').map_or("", |(date, _)| date);
    html! {
        @if iso.is_empty() { "–" } @else {
            time datetime=(iso) title=(iso) { (date) " " (short_time(iso)) }
        }
    }
}

/// Returns an amount of dollars without superfluous zeros: `0.7035`, `100.00`.
pub(super) fn usd(value: &Value, path: &[&str]) -> String {
    let amount = text(value, path);
    let Some((whole, fraction)) = amount.split_once('.') else { return amount.to_owned() };
    let fraction = fraction.trim_end_matches('0');
    format!("{whole}.{fraction:0<2}")
}

/// Returns a duration in milliseconds, in a unit that suits it.
pub(super) fn duration(millis: Option<f64>) -> String {
    match millis {
        None => "–".to_owned(),
        Some(millis) if millis < 1_000.0 => format!("{millis:.1} ms"),
        Some(millis) => format!("{:.2} s", millis / 1_000.0),
    }
}

/// Returns an error code, which may be broken into lines at its underscores.
pub(super) fn code(code: &str) -> Markup {
    html! {
        div.muted.code {
            @for (index, word) in code.split('_').enumerate() {
                @if index > 0 { "_" wbr; }
                (word)
            }
        }
    }
}

/// The colour of a badge. The text of the badge says the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tone {
    Good,
    Bad,
    Warning,
    Active,
    Neutral,
}

pub(super) fn badge(tone: Tone, text: &str) -> Markup {
    let class = match tone {
        Tone::Good => "badge good",
        Tone::Bad => "badge bad",
        Tone::Warning => "badge warning",
        Tone::Active => "badge active",
        Tone::Neutral => "badge neutral",
    };
    html! { span class=(class) { (text) } }
}

/// Returns a badge for the status of a job, run, delivery or top-up.
pub(super) fn status(status: &str) -> Markup {
    let tone = match status {
        "completed" | "delivered" | "paid" => Tone::Good,
        "failed" | "exhausted" | "expired" => Tone::Bad,
        "retrying" | "pending" | "skipped" => Tone::Warning,
        "queued" | "processing" | "running" => Tone::Active,
        _ => Tone::Neutral,
    };
    badge(tone, status)
}

/// Returns a badge for an HTTP status, or for a missing response.
pub(super) fn http_status(status: Option<u64>) -> Markup {
    match status {
        None => badge(Tone::Bad, "closed"),
        Some(status) => {
            let tone = match status {
                200..300 => Tone::Good,
                300..400 => Tone::Neutral,
                429 | 503 => Tone::Warning,
                _ => Tone::Bad,
            };
            badge(tone, &status.to_string())
        }
    }
}

/// Returns a link to the job or run with an id.
pub(super) fn subject_link(id: &str) -> Markup {
    html! { a.mono href={ "/dashboard/jobs/" (id) } { (id) } }
}

/// Returns a path with query parameters; those without a value are left out.
pub(super) fn link(path: &str, parameters: &[(&str, &str)]) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in parameters.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// Returns the form that searches a list, and chooses which of its rows are shown: pairs of the value
/// in the URL and the label.
pub(super) fn search_form(
    path: &str,
    label: &str,
    placeholder: &str,
    query: &str,
    choices: &[(&str, &str)],
    chosen: &str,
) -> Markup {
    html! {
        form.filters method="get" action=(path) role="search" {
            label.hidden for="q" { (label) }
            input #q type="search" name="q" value=(query) placeholder=(placeholder) autocomplete="off";
            fieldset.choice {
                legend.hidden { "Show" }
                @for (value, label) in choices {
                    label {
                        input type="radio" name="show" value=(value) checked[chosen == *value];
                        span { (label) }
                    }
                }
            }
            button.hidden type="submit" { "Search" }
        }
    }
}

/// Returns a list of names and values.
pub(super) fn facts(rows: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in rows {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// Returns a block of text with a button that copies it.
pub(super) fn copyable(label: &str, text: &str) -> Markup {
    html! {
        div.copyable {
            pre tabindex="0" aria-label=(label) { code { (text) } }
            button.copy type="button" data-copy=(text) aria-label={ "Copy " (label) } { "Copy" }
        }
    }
}

/// Returns a button that sends a request without fields to the control API.
pub(super) fn action(request: &str, label: &str, done: &str) -> Markup {
    html! {
        form.inline data-send=(request) data-done=(done) {
            button type="submit" { (label) }
            span.problem role="alert" {}
        }
    }
}

/// Returns a message of the service, in which backticks mark names.
pub(super) fn message(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

pub(super) fn headers(caption: &str, fields: &[(String, String)]) -> Markup {
    html! {
        details.headers {
            summary { (caption) " " span.muted { "(" (fields.len()) ")" } }
            table.headers-table {
                caption.hidden { (caption) }
                tbody {
                    @for (name, value) in fields {
                        tr { th.mono scope="row" { (name) } td.mono { (value) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_have_milliseconds() {
        assert_eq!(short_time("2026-01-01T00:00:01.5Z"), "00:00:01.500");
        assert_eq!(short_time("2026-01-01T00:00:01Z"), "00:00:01.000");
        assert_eq!(short_time("2026-01-01T00:00:01.123456Z"), "00:00:01.123");
    }

    #[test]
    fn amounts_have_at_least_cents() {
        let amount = |text: &str| usd(&json!({"a": text}), &["a"]);
        assert_eq!(amount("100.0000"), "100.00");
        assert_eq!(amount("0.7035"), "0.7035");
        assert_eq!(amount("0.7"), "0.70");
    }

    #[test]
    fn links_are_escaped() {
        assert_eq!(link("/a", &[("q", ""), ("b", "")]), "/a");
        assert_eq!(link("/a", &[("q", "x&y=z"), ("b", "1")]), "/a?q=x%26y%3Dz&b=1");
    }
}
