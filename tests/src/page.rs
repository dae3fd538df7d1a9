//! Just enough HTML to press the buttons of a checkout page.

/// A form of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Where it is sent.
    pub action: String,
    /// How it is sent, in lower case.
    pub method: String,
    /// Its inputs that have a name and a value, buttons left out.
    pub fields: Vec<(String, String)>,
    /// Its buttons: name, value and label.
    pub buttons: Vec<(String, String, String)>,
}

impl Form {
    /// The button that has `word` in its value, name or label, whatever its case.
    #[must_use]
    pub fn button(&self, word: &str) -> Option<&(String, String, String)> {
        self.buttons.iter().find(|(name, value, label)| {
            [name, value, label]
                .iter()
                .any(|text| text.to_ascii_lowercase().contains(word))
        })
    }

    /// The body that pressing that button sends.
    #[must_use]
    pub fn pressed(&self, button: &(String, String, String)) -> String {
        let (name, value, _) = button;
        let fields = self.fields.iter().cloned();
        let pressed = (!name.is_empty()).then(|| (name.clone(), value.clone()));
        let pairs: Vec<String> = fields
            .chain(pressed)
            .map(|(name, value)| format!("{}={}", encoded(&name), encoded(&value)))
            .collect();
        pairs.join("&")
    }
}

/// The forms of a page, in their order.
#[must_use]
pub fn forms(html: &str) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    for piece in html.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
        let name = tag
            .split_ascii_whitespace()
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let value = |attribute: &str| attribute_of(tag, attribute).unwrap_or_default();
        match (name.as_str(), forms.last_mut()) {
            ("form", _) => forms.push(Form {
                action: value("action"),
                method: value("method").to_ascii_lowercase(),
                ..Form::default()
            }),
            ("button", Some(form)) => {
                form.buttons
                    .push((value("name"), value("value"), unescaped(text.trim())));
            }
            ("input", Some(form)) if value("type").eq_ignore_ascii_case("submit") => {
                form.buttons
                    .push((value("name"), value("value"), value("value")));
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
    Some(unescaped(value))
}

fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

fn encoded(text: &str) -> String {
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
    fn a_forms_fields_and_buttons_are_found() {
        let html = r#"<!doctype html><p>Pay</p><form method="POST" action="/pay?a=1&amp;b=2">
            <input type=hidden name="token" value="t &quot;x"> <button name=status value=paid>Pay now</button>
            <button name="status" value="failed">Fail</button></form>"#;
        let found = forms(html);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].action, "/pay?a=1&b=2");
        assert_eq!(found[0].method, "post");
        let paid = found[0].button("paid").unwrap();
        assert_eq!(paid.2, "Pay now");
        assert_eq!(found[0].pressed(paid), "token=t%20%22x&status=paid");
        assert_eq!(found[0].button("expired"), None);
    }
}
