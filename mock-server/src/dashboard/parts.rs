//! Parts that several views have.

use maud::{Markup, Render, html};
use url::form_urlencoded::Serializer;

use super::view::View;
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
            time datetime=(iso) title=(iso) { span.day { (date) " " } (short_time(iso)) }
        }
    }
}

/// Shortens `2026-01-02T03:04:05.678901Z` to `03:04:05.678`.
fn short_time(iso: &str) -> String {
    let time = iso.split_once('T').map_or(iso, |(_, time)| time);
    let time = time.trim_end_matches('Z');
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    format!("{seconds}.{fraction:0<3.3}")
}

/// Parses a time that the control API shows.
pub(super) fn parse_time(iso: &str) -> Option<Time> {
    let time: jiff::Timestamp = iso.parse().ok()?;
    let micros = u64::try_from(time.as_microsecond()).ok()?;
    Some(Time::from_micros(micros))
}

/// Returns an amount with four places. Amounts of runs have two more, which are less visible.
pub(super) fn amount(amount: &str) -> Markup {
    let places = amount.find('.').map_or(0, |point| amount.len() - point - 1);
    let (visible, rest) = amount.split_at(amount.len() - places.saturating_sub(4));
    html! { (visible) @if places > 0 { span.muted { (format!("{rest:\u{a0}<2}")) } } }
}

/// Returns a duration in milliseconds, in a unit that suits it.
pub(super) fn duration(millis: Option<f64>) -> String {
    match millis {
        None => "–".to_owned(),
        Some(millis) if millis < 1.0 => format!("{:.0} µs", millis * 1e3),
        Some(millis) if millis < 1e3 => format!("{millis:.1} ms"),
        Some(millis) if millis < 6e4 => format!("{:.1} s", millis / 1e3),
        Some(millis) => {
            let seconds = (millis / 1e3).round();
            format!("{:.0} min {:.0} s", (seconds / 60.0).floor(), seconds % 60.0)
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

/// Returns a badge for an HTTP status, or for a missing response.
pub(super) fn http_status(status: Option<impl Into<u64>>, missing: &str) -> Markup {
    let Some(status) = status.map(Into::into) else { return badge("bad", missing) };
    let tone = match status {
        200..300 => "good",
        300..400 => "neutral",
        429 | 503 => "warning",
        _ => "bad",
    };
    badge(tone, status)
}

/// Returns a cell of one line, whose complete text is in its title.
pub(super) fn cell(class: &str, text: &str) -> Markup {
    html! { td class=[(!class.is_empty()).then_some(class)] title=[(!text.is_empty()).then_some(text)] { (text) } }
}

/// Returns a cell with a status, the error code and whether a fault has caused it.
pub(super) fn status_cell(class: &str, status: &Markup, code: &str, is_fault: bool) -> Markup {
    html! {
        td class=(class) title=[(!code.is_empty()).then_some(code)] {
            (status)
            @if is_fault { " " (badge("warning", "fault")) }
            @if !code.is_empty() { " " span.muted.code { (code) } }
        }
    }
}

/// Returns the text that says what to make.
pub(super) fn prompt(text: &str) -> Markup {
    html! { @if !text.is_empty() { blockquote.prompt { (text) } } }
}

/// How many items a list has: those found of all, and those that came after it was shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListCount {
    pub(super) found: usize,
    pub(super) total: usize,
    pub(super) fresh: usize,
    /// The words for one item and for several.
    pub(super) nouns: [&'static str; 2],
}

impl Render for ListCount {
    fn render(&self) -> Markup {
        let Self { found, total, fresh, nouns: [one, several] } = *self;
        html! {
            div.count-line {
                span role="status" {
                    @if found == total { (total) } @else { (found) " of " (total) }
                    " " (if total == 1 { one } else { several })
                }
                @if fresh > 0 {
                    button.fresh type="button" data-show-new { (fresh) " new " kbd aria-hidden="true" { "n" } }
                }
            }
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
                        th scope="col" class=[(!class.is_empty()).then_some(class)] {
                            @if name.is_empty() { span.hidden { "Action" } } @else { (name) }
                        }
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
pub(super) fn copyable(id: &str, label: &str, text: &str) -> Markup {
    html! {
        div.copyable {
            pre tabindex="0" aria-label=(label) { code #(id) { (text) } }
            button.copy type="button" data-copy-from=(id) aria-label={ "Copy " (label) } { "Copy" }
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
    use super::*;

    #[test]
    fn times_amounts_and_durations_have_their_places() {
        assert_eq!(short_time("2026-01-01T00:00:01.5Z"), "00:00:01.500");
        assert_eq!(short_time("2026-01-01T00:00:01Z"), "00:00:01.000");
        assert_eq!(short_time("2026-01-01T00:00:01.123456Z"), "00:00:01.123");
        for (text, shown) in [
            ("0.7035", "0.7035<span class=\"muted\">\u{a0}\u{a0}"),
            ("1.016668", "1.0166<span class=\"muted\">68"),
        ] {
            assert!(amount(text).into_string().starts_with(shown), "{text}");
        }
        let durations = [0.0384, 3.24, 1_500.0, 80_400.0].map(|millis| duration(Some(millis)));
        assert_eq!(durations, ["38 µs", "3.2 ms", "1.5 s", "1 min 20 s"]);
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
