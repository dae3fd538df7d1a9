//! Text for terminals and shells.

use std::borrow::Cow;
use std::sync::LazyLock;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the text on one line, without control characters.
pub(crate) fn sanitize(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
            c if is_unsafe(c) => None,
            c => Some(c),
        })
        .collect()
}

/// Checks that the integers of a JSON text fit into 64 bits. Larger ones would be sent rounded.
pub(crate) fn check_integers(json: &str) -> Result<(), String> {
    let (mut in_string, mut is_escaped, mut begin) = (false, false, None);
    for (at, c) in json.char_indices().chain([(json.len(), ' ')]) {
        if !in_string && matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E') {
            begin.get_or_insert(at);
        } else if let Some(begin) = begin.take() {
            let number = json.get(begin..at).unwrap_or_default();
            let is_integer = number.trim_start_matches('-').bytes().all(|it| it.is_ascii_digit());
            if is_integer && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                return Err(format!("the number {number} is too large: integers have 64 bits"));
            }
        }
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = in_string,
            '"' => in_string = !in_string,
            _ => {}
        }
    }
    Ok(())
}

/// Not if the locale is `C`, or has another encoding than UTF-8.
pub(crate) fn is_unicode() -> bool {
    static IS_UNICODE: LazyLock<bool> = LazyLock::new(|| {
        let variables = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
        let mut values = variables.filter_map(|name| std::env::var(name).ok());
        values.find(|value| !value.is_empty()).is_none_or(|locale| has_unicode(&locale))
    });
    *IS_UNICODE
}

fn has_unicode(locale: &str) -> bool {
    match locale.split_once('.') {
        Some((_, encoding)) => encoding.to_lowercase().replace('-', "").starts_with("utf8"),
        None => !matches!(locale, "C" | "POSIX"),
    }
}

/// Returns the text as the locale can show it.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_unicode() { Cow::Borrowed(text) } else { Cow::Owned(to_ascii(text)) }
}

/// Replaces the characters that this program writes by similar ones, and others by question marks.
fn to_ascii(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut ascii, c| {
        match c {
            c if c.is_ascii() => ascii.push(c),
            '…' => ascii.push_str("..."),
            '✓' => ascii.push('+'),
            '✗' | '×' => ascii.push('x'),
            '↑' => ascii.push('^'),
            '↓' => ascii.push('v'),
            '⏎' => ascii.push_str("enter"),
            '─' => ascii.push('-'),
            '│' => ascii.push('|'),
            '█' | '▏' | '▎' | '▍' | '▌' | '▋' | '▊' | '▉' => ascii.push('#'),
            _ => ascii.push('?'),
        }
        ascii
    })
}

/// Returns the name that differs from a word in the fewest letters: in at most two, and in less than half
/// of its own. Of equals, one of the same length is nearest: its letters have changed places.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let distances = names.into_iter().map(|name| (strsim::damerau_levenshtein(name, &word), name));
    let is_near = |(distance, name): &(usize, &str)| *distance <= 2 && distance * 2 < name.len();
    let near = distances.filter(is_near);
    near.min_by_key(|(distance, name)| (*distance, name.len().abs_diff(word.len())))
        .map(|(_, name)| name)
}

/// Breaks text into lines between words. A word that is longer than the width, such as a URL, stays whole.
pub(crate) fn wrap_words(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Breaks text into lines between words, and words that are longer than the width.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        match line.width() + 1 + word.width() <= width {
            _ if line.is_empty() => {}
            true => line.push(' '),
            false => lines.push(std::mem::take(&mut line)),
        }
        for character in word.chars() {
            if !line.is_empty() && line.width() + character.width().unwrap_or(0) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(character);
        }
    }
    lines.push(line);
    lines
}

/// Escapes the control characters in JSON text as `\u00xx`. The value stays the same.
pub(crate) fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // Outside of strings, the only such character in JSON is the line break. Within strings,
        // the serializer has already escaped the characters below U+0020.
        if is_unsafe(c) && c != '\n' {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Control characters (C0, DEL, C1), those that change the direction of text, and invisible ones.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Quotes a word for a POSIX shell, if necessary.
pub(crate) fn shell_quote(word: &str) -> Cow<'_, str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// Describes why a text is not valid JSON, and where.
pub(crate) fn json_error(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match error.is_eof() {
        true => format!("the text ends too early, at line {line} column {column}"),
        false => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed_from_text() {
        assert_eq!(sanitize("\u{1b}[31mred\u{1b}]0;title\u{7}"), "[31mred]0;title");
        assert_eq!(sanitize("a\u{9b}31mb\u{7f}c\u{202e}d\u{200b}"), "a31mbcd");
        assert_eq!(sanitize("two\nlines\tand more"), "two lines and more");
        assert_eq!(sanitize("Größe 漢字 🦊"), "Größe 漢字 🦊");
    }

    #[test]
    fn escaped_json_has_the_same_value() {
        let value = serde_json::json!({"m": "a\u{1b}[2J\u{9b}b\u{7f}\u{202e}\u{e0001}é"});
        let text = escape_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.chars().all(|c| c == '\n' || !is_unsafe(c)), "{text}");
        assert!(text.contains("\\u001b[2J\\u009bb\\u007f\\u202e\\udb40\\udc01é"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn words_with_special_characters_are_quoted() {
        assert_eq!(shell_quote("job_1"), "job_1");
        assert_eq!(shell_quote("https://a/b"), "https://a/b");
        assert_eq!(shell_quote("a b"), "'a b'");
        assert_eq!(shell_quote("it's"), r"'it'\''s'");
        assert_eq!(shell_quote(""), "''");
        assert_eq!(shell_quote("$(x)"), "'$(x)'");
    }

    #[test]
    fn a_locale_without_unicode_gets_ascii() {
        for (locale, expected) in [
            ("C", false),
            ("POSIX", false),
            ("de_DE.ISO-8859-1", false),
            ("C.UTF-8", true),
            ("en_US.utf8", true),
            ("en_US", true),
        ] {
            assert_eq!(has_unicode(locale), expected, "{locale}");
        }
        assert_eq!(to_ascii("✓ 5 × 3… é"), "+ 5 x 3... ?");
    }

    #[test]
    fn an_incomplete_text_is_named() {
        let reason =
            |text| json_error(&serde_json::from_str::<serde_json::Value>(text).unwrap_err());
        assert_eq!(reason("{"), "the text ends too early, at line 1 column 1");
        assert_eq!(reason("fox"), "expected ident at line 1 column 2");
    }
}
