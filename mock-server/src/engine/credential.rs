//! The credential of a request, before it is checked.

use http::{HeaderMap, HeaderName};

/// The header with the key, if it is not in `Authorization`.
pub(super) const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credential<'h> {
    None,
    /// A well-formed key.
    Key(&'h str),
    /// A value that is not a well-formed key.
    Malformed,
    /// Several credentials, in any form.
    Several,
}

impl<'h> Credential<'h> {
    /// Reads the credential from `Authorization: Bearer KEY` or `x-api-key: KEY`.
    pub(crate) fn from_headers(headers: &'h HeaderMap) -> Self {
        let bearer = headers.get_all(http::header::AUTHORIZATION).into_iter().map(|value| {
            let text = value.to_str().ok()?.trim();
            let (scheme, key) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(key)
        });
        let plain = headers.get_all(X_API_KEY).into_iter().map(|value| value.to_str().ok());
        let mut presented = bearer.chain(plain);
        match (presented.next(), presented.next()) {
            (None, _) => Self::None,
            (Some(_), Some(_)) => Self::Several,
            (Some(key), None) => match key.map(str::trim) {
                Some(key) if is_token(key) => Self::Key(key),
                _ => Self::Malformed,
            },
        }
    }
}

fn is_token(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic())
}
