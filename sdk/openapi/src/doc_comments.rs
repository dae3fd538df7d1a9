//! Doc comments as a source of the document.
//!
//! A comment's first paragraph becomes a description. A comment that says "Assumed", or that the
//! specification does not show something, is the only source of `x-assumed`.

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

/// Which fields or values of a type are assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AssumedParts {
    /// The type's comment does not say; the comments of its parts may.
    Unspecified,
    /// All parts except these.
    AllExcept(Vec<String>),
}

impl AssumedParts {
    /// Returns whether the type's comment says that this part is assumed.
    pub(crate) fn includes(&self, name: &str) -> bool {
        match self {
            Self::Unspecified => false,
            Self::AllExcept(names) => !names.iter().any(|it| it == name),
        }
    }
}

/// Returns which fields or values are assumed, according to the comment of their type.
pub(crate) fn assumed_parts(comment: &str) -> AssumedParts {
    let about_parts = sentences(comment).find(|sentence| {
        let plurals = ["fields", "shapes", "all are", "others are", "these are"];
        sentence == "assumed"
            || sentence.contains("assumed") && plurals.iter().any(|words| sentence.contains(words))
    });
    match about_parts {
        None => AssumedParts::Unspecified,
        Some(sentence) => {
            let names = sentence.split('`').skip(1).step_by(2).map(str::to_owned);
            AssumedParts::AllExcept(names.collect())
        }
    }
}

/// Replaces ``[`Mode`](super::Mode)`` with `` `Mode` ``.
fn strip_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        plain.push_str(before);
        let Some((name, after)) = after.split_once("`]") else {
            plain.push_str("[`");
            rest = after;
            continue;
        };
        plain.push('`');
        plain.push_str(name);
        plain.push('`');
        rest = match after.strip_prefix('(').and_then(|it| it.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    plain.push_str(rest);
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
    fn assumed_parts_reads_the_comment_of_a_type() {
        let except = |names: &[&str]| {
            AssumedParts::AllExcept(names.iter().map(|name| (*name).to_owned()).collect())
        };
        let rows = [
            ("A price. Its fields are assumed.", except(&[])),
            ("An avatar. Its fields but `avatar_handle` are assumed.", except(&["avatar_handle"])),
            ("It shows no field: all\nare assumed.", except(&[])),
            ("The body of `POST /v1/x`. Assumed.", except(&[])),
            ("`a` and `b` are named; the others are assumed.", except(&["a", "b"])),
            ("What is assumed is kept in `extra`.", AssumedParts::Unspecified),
        ];
        for (comment, expected) in rows {
            assert_eq!(assumed_parts(comment), expected, "{comment}");
        }
    }
}
