//! Parts that several views have.

use maud::{Markup, Render, html};
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::page::View;
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

pub(super) fn date_time(iso: &str) -> Markup {
    let date = iso.split_once('T').map_or("", |(date, _)| date);
    html! {
        @if iso.is_empty() { "–" } @else {
            time datetime=(iso) title=(iso) { (date) " " (short_time(iso)) }
        }
    }
}

/// Shortens `2026-01-02T03:04:05.678901Z` to `03:04:05.678`.
fn short_time(iso: &str) -> String {
    let time = iso.split_once('T').map_or(iso, |(_, time)| time);
    let time = time.trim_end_matches('Z');
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    format!("{seconds}.{:0<3.3}", fraction)
}

/// Parses a time that the control API shows.
pub(super) fn parse_time(iso: &str) -> Option<Time> {
    let time: jiff::Timestamp = iso.parse().ok()?;
    let micros = u64::try_from(time.as_microsecond()).ok()?;
    Some(Time::from_micros(micros))
}

/// Returns an amount of dollars without superfluous zeros: `0.7035`, `100.00`.
pub(super) fn usd(value: &Value, path: &str) -> String {
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
        @if !code.is_empty() {
            div.muted.code {
                @for (index, word) in code.split('_').enumerate() {
                    @if index > 0 { "_" wbr; }
                    (word)
                }
            }
        }
    }
}

/// Returns a badge, whose colour says the same as its text.
pub(super) fn badge(tone: &str, text: impl Render) -> Markup {
    html! { span.badge.(tone) { (text) } }
}

/// Returns a badge for the status of a job, run, delivery or top-up.
pub(super) fn status(status: &str) -> Markup {
    let tone = match status {
        "completed" | "delivered" | "paid" => "good",
        "failed" | "exhausted" | "expired" => "bad",
        "retrying" | "pending" | "skipped" => "warning",
        "queued" | "processing" | "running" => "active",
        _ => "neutral",
    };
    badge(tone, status)
}

/// Returns a badge for the HTTP status at a path, or for a missing response.
pub(super) fn http_status(value: &Value, path: &str, missing: &str) -> Markup {
    match value.pointer(path).and_then(Value::as_u64) {
        None => badge("bad", missing),
        Some(status) => {
            let tone = match status {
                200..300 => "good",
                300..400 => "neutral",
                429 | 503 => "warning",
                _ => "bad",
            };
            badge(tone, status)
        }
    }
}

/// Returns a link to the job or run with an id.
pub(super) fn subject_link(id: &str) -> Markup {
    html! { a.mono href={ (View::Jobs.path()) "/" (id) } { (id) } }
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

/// Returns a text in which backticks mark code, and brackets the name of a view to link to.
pub(super) fn prose(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } }
            @else {
                @for part in part.split_inclusive(']') {
                    @match part.strip_suffix(']').and_then(|part| part.rsplit_once('[')) {
                        Some((before, name)) => { (before) (View::link(name)) },
                        None => (part),
                    }
                }
            }
        }
    }
}

/// Returns a table. Its columns have a name and, unless it is empty, a class.
pub(super) fn table(caption: &str, columns: &[(&str, &str)], rows: &Markup) -> Markup {
    html! {
        table.rows {
            caption.hidden { (caption) }
            thead {
                tr {
                    @for (name, class) in columns {
                        th scope="col" class=[(!class.is_empty()).then_some(class)] { (name) }
                    }
                }
            }
            tbody { (rows) }
        }
    }
}

/// Returns the cell of a row that links to its details.
pub(super) fn row_link(href: &str, is_selected: bool, content: &Markup) -> Markup {
    html! { a.row href=(href) aria-current=[is_selected.then_some("true")] { (content) } }
}

/// Returns the form that searches a list, and chooses which of its rows are shown: pairs of the value
/// in the URL and the label.
pub(super) fn search_form(
    view: View,
    placeholder: &str,
    query: &str,
    choices: &[(&str, &str)],
    chosen: &str,
) -> Markup {
    html! {
        form.filters method="get" action=(view.path()) role="search" {
            label.hidden for="q" { "Search" }
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

/// Returns a body, indented if it is JSON.
pub(super) fn body(label: &str, text: &str) -> Markup {
    html! { pre.body tabindex="0" aria-label=(label) { code { (super::json_text::body(text)) } } }
}

/// Returns a form that sends its fields to the control API. `done` is the message for success.
pub(super) fn form(request: &str, done: &str, fields: &Markup) -> Markup {
    html! { form.inline data-send=(request) data-done=(done) { (fields) (problem()) } }
}

/// Returns the place for what is wrong with the fields of a form.
pub(super) fn problem() -> Markup {
    html! { span.problem role="alert" data-keep {} }
}

/// Returns a button that sends a request without fields to the control API.
pub(super) fn action(request: &str, label: &str, done: &str) -> Markup {
    form(request, done, &html! { button type="submit" { (label) } })
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
    fn times_have_milliseconds_and_amounts_cents() {
        assert_eq!(short_time("2026-01-01T00:00:01.5Z"), "00:00:01.500");
        assert_eq!(short_time("2026-01-01T00:00:01Z"), "00:00:01.000");
        assert_eq!(short_time("2026-01-01T00:00:01.123456Z"), "00:00:01.123");
        let amount = |text: &str| usd(&json!({"a": text}), "/a");
        assert_eq!(["100.0000", "0.7035", "0.7"].map(amount), ["100.00", "0.7035", "0.70"]);
    }

    #[test]
    fn links_and_prose_are_escaped() {
        assert_eq!(link("/a", &[("q", ""), ("b", "")]), "/a");
        assert_eq!(link("/a", &[("q", "x&y=z"), ("b", "1")]), "/a?q=x%26y%3Dz&b=1");
        let text = prose("`a[1]` of [Clock], [other] <b>").into_string();
        let link = "<a href=\"/dashboard/clock\">Clock</a>";
        assert_eq!(text, format!("<code>a[1]</code> of {link}, [other] &lt;b&gt;"));
    }
}
