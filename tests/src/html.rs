//! A minimal HTML form parser, sufficient for checkout pages.

/// A form of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// The `action` URL.
    pub action: String,
    /// The method in lower case.
    pub method: String,
    /// The names and values of the inputs, without buttons.
    pub fields: Vec<(String, String)>,
    /// The submit buttons.
    pub buttons: Vec<Button>,
}

/// A submit button of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// The name, which may be empty.
    pub name: String,
    /// The value.
    pub value: String,
    /// The visible text.
    pub label: String,
}

impl Form {
    /// Returns the button with `word` in its name, value or label, ignoring case.
    #[must_use]
    pub fn button(&self, word: &str) -> Option<&Button> {
        let has_word = |text: &String| text.to_ascii_lowercase().contains(word);
        self.buttons
            .iter()
            .find(|button| [&button.name, &button.value, &button.label].into_iter().any(has_word))
    }

    /// Returns the URL-url_encode body that a browser sends when the button is pressed.
    #[must_use]
    pub fn body(&self, button: &Button) -> String {
        let pressed = (button.name.clone(), button.value.clone());
        let pressed = (!button.name.is_empty()).then_some(pressed);
        let pairs: Vec<String> = (self.fields.iter().cloned().chain(pressed))
            .map(|(name, value)| format!("{}={}", url_encode(&name), url_encode(&value)))
            .collect();
        pairs.join("&")
    }
}

/// Returns the forms of a page in document order.
#[must_use]
pub fn forms(html: &str) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    for piece in html.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
        let name = tag.split_ascii_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let value = |attribute: &str| attribute_of(tag, attribute).unwrap_or_default();
        match (name.as_str(), forms.last_mut()) {
            ("form", _) => forms.push(Form {
                action: value("action"),
                method: value("method").to_ascii_lowercase(),
                ..Form::default()
            }),
            ("button", Some(form)) => form.buttons.push(Button {
                name: value("name"),
                value: value("value"),
                label: unescape(text.trim()),
            }),
            ("input", Some(form)) if value("type").eq_ignore_ascii_case("submit") => {
                form.buttons.push(Button {
                    name: value("name"),
                    value: value("value"),
                    label: value("value"),
                });
            }
            ("input", Some(form)) => form.fields.push((value("name"), value("value"))),
            _ => {}
        }
    }
    forms
}

fn attribute_of(tag: &str, attribute: &str) -> Option<String> {
    let start = tag.find(&format!(" {attribute}="))? + attribute.len() + 2;
    let rest = tag.get(start..)?;
    let quote = rest.chars().next()?;
    let value = match quote {
        '"' | '\'' => rest.get(1..)?.split(quote).next()?,
        _ => rest.split_ascii_whitespace().next()?.trim_end_matches('/'),
    };
    Some(unescape(value))
}

fn unescape(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

fn url_encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_fields_and_buttons_of_a_form() {
        let html = r#"<!doctype html><p>Pay</p><form method="POST" action="/pay?a=1&amp;b=2">
            <input type=hidden name="token" value="t &quot;x"> <button name=status value=paid>Pay now</button>
            <button name="status" value="failed">Fail</button></form>"#;
        let found = forms(html);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].action, "/pay?a=1&b=2");
        assert_eq!(found[0].method, "post");
        let paid = found[0].button("paid").unwrap();
        assert_eq!(paid.label, "Pay now");
        assert_eq!(found[0].body(paid), "token=t%20%22x&status=paid");
        assert_eq!(found[0].button("expired"), None);
    }
}
