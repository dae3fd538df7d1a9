//! Doc comments as a source of the document.
//!
//! A comment's first paragraph becomes a description. A comment that says "Assumed", or that the
//! specification does not show something, is the only source of `x-assumed`.

use serde_json::Value;

/// Returns the comment's first paragraph on one line, without links into the crate.
pub(crate) fn description(comment: &str) -> String {
    let first = comment.trim().split("\n\n").next().unwrap_or_default();
    strip_links(&on_one_line(first))
}

/// Returns whether the comment says that the item itself is assumed.
pub(crate) fn is_assumed(comment: &str) -> bool {
    sentences(comment).any(|sentence| {
        let assumes = sentence.contains("assumed") || sentence.contains("not shown");
        assumes && !sentence.contains("others are assumed")
    })
}

/// Returns the names of the fields or values that are not assumed, if the comment of their type says that
/// all others are. The comments of the parts say so as well.
pub(crate) fn assumed_except(comment: &str) -> Option<Vec<String>> {
    let plurals = ["fields", "shapes", "all are", "others are", "these are"];
    let about_parts = sentences(comment).find(|sentence| {
        sentence == "assumed"
            || sentence.contains("assumed") && plurals.iter().any(|words| sentence.contains(words))
    })?;
    Some(about_parts.split('`').skip(1).step_by(2).map(str::to_owned).collect())
}

/// Returns whether a field or value is assumed, which is not among `exceptions` or has a comment that says so.
pub(crate) fn is_part_assumed(exceptions: Option<&[String]>, name: &str, comment: &str) -> bool {
    exceptions.is_some_and(|names| names.iter().all(|it| it != name)) || is_assumed(comment)
}

/// Marks a part of the document that the specification does not show.
pub(crate) fn mark_assumed(part: &mut Value) {
    if let Some(fields) = part.as_object_mut() {
        fields.insert("x-assumed".to_owned(), true.into());
    }
}

/// Replaces ``[`Mode`](super::Mode)`` with `` `Mode` ``.
fn strip_links(text: &str) -> String {
    let mut links = text.split("[`");
    let mut plain = links.next().unwrap_or_default().to_owned();
    for link in links {
        let (name, after) = link.split_once("`]").unwrap_or((link, ""));
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        plain += &format!("`{name}`{}", target.map_or(after, |(_, after)| after));
    }
    plain
}

/// Returns the comment's sentences up to its first example, in lower case.
fn sentences(comment: &str) -> impl Iterator<Item = String> {
    let text = comment.split("```").next().unwrap_or_default();
    let sentences: Vec<String> = on_one_line(text)
        .split_inclusive(". ")
        .map(|sentence| sentence.trim_end_matches(['.', ' ']).to_lowercase())
        .collect();
    sentences.into_iter()
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_drops_examples_and_links() {
        let comment =
            "Goes with [`Mode::Webhook`](super::Mode::Webhook), or [`Mode`].\n\n```\nlet x;\n```";
        assert_eq!(description(comment), "Goes with `Mode::Webhook`, or `Mode`.");
    }

    #[test]
    fn is_assumed_reads_the_comment_of_an_item() {
        let rows = [
            ("Identifies it. Assumed.", true),
            ("Attempts so far. Assumed name.", true),
            ("Whose key it is. The shape is not shown.", true),
            ("Where to poll.", false),
            ("`a` is named; the others are assumed.", false),
        ];
        for (comment, expected) in rows {
            assert_eq!(is_assumed(comment), expected, "{comment}");
        }
    }

    #[test]
    fn assumed_except_reads_the_comment_of_a_type() {
        let rows: [(_, Option<&[&str]>); 6] = [
            ("A price. Its fields are assumed.", Some(&[])),
            ("An avatar. Its fields but `avatar_handle` are assumed.", Some(&["avatar_handle"])),
            ("It shows no field: all\nare assumed.", Some(&[])),
            ("The body of `POST /v1/x`. Assumed.", Some(&[])),
            ("`a` and `b` are named; the others are assumed.", Some(&["a", "b"])),
            ("What is assumed is kept in `extra`.", None),
        ];
        for (comment, expected) in rows {
            let names = assumed_except(comment);
            assert_eq!(
                names,
                expected.map(|it| it.iter().map(ToString::to_string).collect()),
                "{comment}"
            );
        }
    }
}
