//! Text that the service sent, on its way to a terminal.
//!
//! A name or a message from elsewhere may carry escape sequences that move the cursor, rename the
//! window or hide text. Tables, notes and errors print it cleaned; JSON escapes it on a terminal
//! and leaves it alone in a pipe.

/// The text on one line, without anything that could steer a terminal.
pub(crate) fn sanitize(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
            c if is_unsafe(c) => None,
            c => Some(c),
        })
        .collect()
}

/// JSON text in which everything that could steer a terminal is `\u00xx`. What it says is the same.
pub(crate) fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // Outside of strings JSON has no such character but the line break; inside, the
        // serializer has escaped those below U+0020 already.
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

/// C0, DEL, C1, and the marks that change the direction of text or are not seen.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_left_out_of_text() {
        assert_eq!(
            sanitize("\u{1b}[31mred\u{1b}]0;title\u{7}"),
            "[31mred]0;title"
        );
        assert_eq!(sanitize("a\u{9b}31mb\u{7f}c\u{202e}d\u{200b}"), "a31mbcd");
        assert_eq!(sanitize("two\nlines\tand more"), "two lines and more");
        assert_eq!(sanitize("Größe 漢字 🦊"), "Größe 漢字 🦊");
    }

    #[test]
    fn json_for_a_terminal_says_the_same() {
        let value = serde_json::json!({"m": "a\u{1b}[2J\u{9b}b\u{7f}\u{202e}\u{e0001}é"});
        let text = escape_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.chars().all(|c| c == '\n' || !is_unsafe(c)), "{text}");
        assert!(
            text.contains("\\u001b[2J\\u009bb\\u007f\\u202e\\udb40\\udc01é"),
            "{text}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }
}
