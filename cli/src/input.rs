//! Flag values that are given as text, a file or standard input.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use crate::error::Failure;
use crate::text::json_error;

/// Reads `TEXT`, `@FILE`, or `-` for standard input. `@@TEXT` is text that starts with `@`.
pub(crate) fn read_text(flag: &str, given: &str) -> Result<String, Failure> {
    let bytes = match given.strip_prefix('@') {
        Some(rest) if rest.starts_with('@') => return Ok(rest.to_owned()),
        Some(path) => read_file(flag, Path::new(path))?,
        None if given == "-" => read_file(flag, Path::new("-"))?,
        None => return Ok(given.to_owned()),
    };
    let mut text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{flag}: {given} is not valid UTF-8 text")))?;
    // The line break that an editor adds at the end of a file is not part of a prompt.
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    Ok(text)
}

/// Reads a JSON value: inline, `@FILE`, or `-` for standard input.
pub(crate) fn read_json(flag: &str, given: &str) -> Result<Value, Failure> {
    let text = read_text(flag, given)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{flag} is not valid JSON: {}", json_error(&error)))
    })
}

/// Reads a JSON value: inline if it starts with `{`, `@FILE`, `FILE`, or `-` for standard input.
pub(crate) fn read_json_or_file(flag: &str, given: &str) -> Result<Value, Failure> {
    let is_file = !given.trim_start().starts_with(['{', '@']) && given != "-";
    match is_file {
        true => read_json(flag, &format!("@{given}")),
        false => read_json(flag, given),
    }
}

/// Reads the bytes of a file, or of standard input for `-`.
pub(crate) fn read_file(flag: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    read.map_err(|error| Failure::usage(format!("{flag}: cannot read {}: {error}", path.display())))
}

/// Checks that at most one of the flags reads standard input with `-`.
pub(crate) fn check_single_stdin_reader(given: &[(&str, Option<&str>)]) -> Result<(), Failure> {
    let mut readers = given.iter().filter(|(_, value)| *value == Some("-"));
    match (readers.next(), readers.next()) {
        (Some((one, _)), Some((other, _))) => Err(Failure::usage(format!(
            "{one} - and {other} - cannot both read standard input"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Exit;

    #[test]
    fn a_prompt_is_given_as_text_or_as_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prompt.txt");
        fs::write(&path, "two\nlines\r\n").unwrap();
        assert_eq!(
            read_text("--prompt", &format!("@{}", path.display())).unwrap(),
            "two\nlines"
        );
        assert_eq!(read_text("--prompt", "@@home").unwrap(), "@home");
        assert_eq!(read_text("--prompt", "plain").unwrap(), "plain");
        let missing = read_text("--prompt", "@/no/such/file").unwrap_err();
        assert_eq!(missing.exit(), Exit::Usage);
        assert!(missing.headline().contains("/no/such/file"));
    }
}
