//! Errors of JSON texts in plain words.

/// Describes why a text is not valid JSON, and where.
pub(crate) fn json_error(error: &serde_json::Error) -> String {
    match error.is_eof() {
        true => format!(
            "the text ends too early, at line {} column {}",
            error.line(),
            error.column()
        ),
        false => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_text_is_named() {
        let reason =
            |text| json_error(&serde_json::from_str::<serde_json::Value>(text).unwrap_err());
        assert_eq!(reason("{"), "the text ends too early, at line 1 column 1");
        assert_eq!(reason("fox"), "expected ident at line 1 column 2");
    }
}
