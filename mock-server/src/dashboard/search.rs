//! The search of the lists: words, which anything of an item contains, and `name:value` for one of
//! its properties.

use serde::Deserialize;

use super::parts::link;

/// What a list shows, in its URL.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ListSelection {
    /// See [`Search`].
    #[serde(default)]
    pub(super) q: String,
    /// The value of one of the buttons beside the search.
    #[serde(default)]
    pub(super) show: String,
    /// The newest items that are shown: newer ones are counted.
    #[serde(default)]
    pub(super) seen: String,
    /// The sequence number that all requests are before.
    pub(super) before: Option<u64>,
}

impl ListSelection {
    /// Returns a URL with the same search and the same button.
    pub(super) fn link(&self, path: &str) -> String {
        self.link_before(path, self.before)
    }

    /// Returns such a URL of the requests before a sequence number.
    pub(super) fn link_before(&self, path: &str, before: Option<u64>) -> String {
        let before = before.map(|seq| seq.to_string()).unwrap_or_default();
        link(path, &[("q", &self.q), ("show", &self.show), ("before", &before)])
    }
}

/// A parsed search. An empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Search {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    /// A text in lower case.
    Word(String),
    /// A property and its value in lower case, in which `*` at the end stands for any rest.
    Property(&'static str, String),
}

impl Search {
    /// Parses a search. Quotes hold words together. `names` are the properties that an item has; a
    /// term with another name is a word.
    pub(super) fn parse(text: &str, names: &[&'static str]) -> Self {
        let quoted = text.split('"').enumerate();
        let terms = quoted.flat_map(|(index, part)| match index % 2 {
            1 => vec![part],
            _ => part.split_whitespace().collect(),
        });
        let terms = terms.filter(|term| !term.trim().is_empty()).map(|term| {
            let term = term.to_lowercase();
            let property = term.split_once(':').filter(|(_, value)| !value.is_empty());
            let known = property.and_then(|(name, value)| {
                names.iter().find(|known| **known == name).map(|known| (*known, value))
            });
            match known {
                Some((name, value)) => Term::Property(name, value.to_owned()),
                None => Term::Word(term),
            }
        });
        Self { terms: terms.collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns whether a JSON text may spell a word in another way, with escapes.
    pub(super) fn needs_decoded_text(&self) -> bool {
        let mut terms = self.terms.iter();
        terms.any(|term| matches!(term, Term::Word(word) if !word.is_ascii()))
    }

    /// Returns whether an item matches, which has these properties and, beside them, these texts.
    pub(super) fn matches(&self, properties: &[(&str, &str)], texts: &[&str]) -> bool {
        self.terms.iter().all(|term| match term {
            Term::Word(word) => {
                let values = properties.iter().map(|(_, value)| *value);
                values.chain(texts.iter().copied()).any(|text| contains(text, word))
            }
            Term::Property(name, expected) => properties
                .iter()
                .filter(|(known, _)| known == name)
                .any(|(_, value)| is_value(value, expected)),
        })
    }
}

fn is_value(value: &str, expected: &str) -> bool {
    let value = value.to_lowercase();
    match expected.strip_suffix('*') {
        Some(beginning) => value.starts_with(beginning),
        None => value == expected,
    }
}

/// Returns whether a text contains a word, in upper or lower case. Bodies are long, so that they are
/// not converted for a word without other letters than those of ASCII.
fn contains(text: &str, word: &str) -> bool {
    if !word.is_ascii() {
        return text.to_lowercase().contains(word);
    }
    let word = word.as_bytes();
    text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_properties_narrow_a_search() {
        let properties = [("status", "409"), ("op", "jobs_status"), ("ws", "ws_bob")];
        for (search, is_match) in [
            ("", true),
            ("status:409 op:jobs_status ws:ws_bob", true),
            ("status:4* OP:jobs_*", true),
            ("status:40", false),
            ("ws:ws_bo", false),
            ("bob red", true),
            ("\"Red Fox\"", true),
            ("\"fox red\"", false),
            ("größe", true),
            ("mock:fail", true),
            ("status:", false),
            ("409 blue", false),
        ] {
            let parsed = Search::parse(search, &["status", "op", "ws"]);
            let texts = ["a red FOX [mock:fail], GRÖSSE GRÖßE"];
            assert_eq!(parsed.matches(&properties, &texts), is_match, "{search}");
        }
    }
}
