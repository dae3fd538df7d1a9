//! The credential of a request, before it is checked.

use http::HeaderMap;

/// The credential of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credential<'h> {
    /// No credential.
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
        let bearer = headers
            .get_all(http::header::AUTHORIZATION)
            .into_iter()
            .map(|value| {
                let text = value.to_str().ok()?.trim();
                let (scheme, key) = text.split_once(' ')?;
                scheme.eq_ignore_ascii_case("bearer").then_some(key)
            });
        let plain = headers
            .get_all("x-api-key")
            .into_iter()
            .map(|value| value.to_str().ok());
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

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn assert_credential(rows: &[(&str, &[u8])], expected: Credential<'_>) {
        let mut headers = HeaderMap::new();
        for (name, value) in rows {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        assert_eq!(Credential::from_headers(&headers), expected, "{rows:?}");
    }

    #[test]
    fn reads_either_header_but_rejects_several() {
        assert_credential(&[], Credential::None);
        assert_credential(
            &[("authorization", b"Bearer svc_a")],
            Credential::Key("svc_a"),
        );
        assert_credential(
            &[("authorization", b"bearer  svc_a ")],
            Credential::Key("svc_a"),
        );
        assert_credential(&[("x-api-key", b"svc_a")], Credential::Key("svc_a"));
        assert_credential(
            &[("authorization", b"Bearer svc_a"), ("x-api-key", b"svc_a")],
            Credential::Several,
        );
        assert_credential(
            &[("authorization", b"Basic x"), ("x-api-key", b"svc_a")],
            Credential::Several,
        );
        assert_credential(
            &[("authorization", b"Bearer svc_a"), ("x-api-key", b"")],
            Credential::Several,
        );
        assert_credential(
            &[("x-api-key", b"svc_a"), ("x-api-key", b"svc_b")],
            Credential::Several,
        );
    }

    #[test]
    fn invalid_keys_are_malformed() {
        let values: [&[u8]; 8] = [
            b"",
            b"Bearer",
            b"Bearer ",
            b"Basic svc_a",
            b"svc_a",
            b"Bearer a b",
            b"Bearer\tsvc_a",
            b"Bearer \xff",
        ];
        for value in values {
            assert_credential(&[("authorization", value)], Credential::Malformed);
        }
        assert_credential(&[("x-api-key", b"")], Credential::Malformed);
        assert_credential(&[("x-api-key", b"a b")], Credential::Malformed);
    }
}
