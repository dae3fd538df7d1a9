//! What a doc comment becomes in the document: a description, and the word on what is assumed.
//!
//! The types say "Assumed", or name what the specification does not show, where a reader of their
//! documentation needs it. That is the one source of `x-assumed`.

/// The comment's first paragraph as a description, without links into the crate. What follows is
/// for those who use the crate.
pub(super) fn description(doc: &str) -> String {
    let first = doc.trim().split("\n\n").next().unwrap_or_default();
    without_links(&first.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Turns ``[`Mode`](super::Mode)`` into `` `Mode` ``.
fn without_links(text: &str) -> String {
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

/// Whether the comment says that the thing itself is assumed.
pub(super) fn is_assumed(doc: &str) -> bool {
    sentences(doc).any(|sentence| {
        let assumes = sentence.contains("assumed") || sentence.contains("not shown");
        assumes && !sentence.contains("others are assumed")
    })
}

/// What the comment of a type says of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parts {
    /// Nothing.
    Unmentioned,
    /// All but these are assumed.
    AssumedBut(Vec<String>),
}

/// What the comment of a type says of its fields or values.
pub(super) fn parts(doc: &str) -> Parts {
    let of_parts = sentences(doc).find(|sentence| {
        let of_all = ["fields", "shapes", "all are", "others are", "these are"];
        sentence == "assumed"
            || sentence.contains("assumed") && of_all.iter().any(|words| sentence.contains(words))
    });
    match of_parts {
        None => Parts::Unmentioned,
        Some(sentence) => {
            let names = sentence.split('`').skip(1).step_by(2).map(str::to_owned);
            Parts::AssumedBut(names.collect())
        }
    }
}

/// The sentences of a comment, on one line each, in lower case.
fn sentences(doc: &str) -> impl Iterator<Item = String> {
    let text = doc.split("```").next().unwrap_or_default();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentences: Vec<String> = line
        .split_inclusive(". ")
        .map(|sentence| sentence.trim_end_matches(['.', ' ']).to_lowercase())
        .collect();
    sentences.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_and_links_stay_in_the_crate() {
        let doc =
            "Goes with [`Mode::Webhook`](super::Mode::Webhook), or [`Mode`].\n\n```\nlet x;\n```";
        assert_eq!(description(doc), "Goes with `Mode::Webhook`, or `Mode`.");
    }

    #[test]
    fn the_comment_says_what_is_assumed() {
        let rows = [
            ("Identifies it. Assumed.", true),
            ("Attempts so far. Assumed name.", true),
            ("Whose key it is. The shape is not shown.", true),
            ("Where to poll.", false),
            ("`a` is named; the others are assumed.", false),
        ];
        for (doc, expected) in rows {
            assert_eq!(is_assumed(doc), expected, "{doc}");
        }
    }

    #[test]
    fn the_comment_of_a_type_says_which_of_its_parts_are_assumed() {
        let but = |names: &[&str]| {
            Parts::AssumedBut(names.iter().map(|name| (*name).to_owned()).collect())
        };
        let rows = [
            ("A price. Its fields are assumed.", but(&[])),
            (
                "An avatar. Its fields but `avatar_handle` are assumed.",
                but(&["avatar_handle"]),
            ),
            ("It shows no field: all\nare assumed.", but(&[])),
            ("The body of `POST /v1/x`. Assumed.", but(&[])),
            (
                "`a` and `b` are named; the others are assumed.",
                but(&["a", "b"]),
            ),
            ("What is assumed is kept in `extra`.", Parts::Unmentioned),
        ];
        for (doc, expected) in rows {
            assert_eq!(parts(doc), expected, "{doc}");
        }
    }
}
