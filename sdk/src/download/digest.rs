//! The SHA-256 digest that a server announces for a file.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_ENCODING, HeaderMap};
use http::{HeaderName, StatusCode};
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

const READ_BUFFER_BYTES: usize = 64 * 1024;

/// The digest of the whole file (RFC 9530).
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");
/// The digest of the content of one response (RFC 9530).
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
/// The digest of the whole file in the obsolete form (RFC 3230).
const DIGEST: HeaderName = HeaderName::from_static("digest");

/// The SHA-256 digest of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileDigest([u8; 32]);

impl FileDigest {
    /// Reads the digest from the headers of a response.
    ///
    /// Other algorithms and values that are not valid are ignored.
    pub(super) fn from_headers(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        // The digest of a part of the file, or of its encoded form, is not that of the file.
        let is_whole = status == StatusCode::OK && !headers.contains_key(CONTENT_ENCODING);
        find_sha_256(headers, &REPR_DIGEST)
            .or_else(|| find_sha_256(headers, &DIGEST))
            .or_else(|| find_sha_256(headers, &CONTENT_DIGEST).filter(|_| is_whole))
    }

    /// Reads a file from its position to its end.
    pub(super) async fn of_file(file: &mut File) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; READ_BUFFER_BYTES];
        loop {
            let length = file.read(&mut buffer).await?;
            match buffer.get(..length) {
                None | Some([]) => return Ok(hasher.into()),
                Some(bytes) => hasher.update(bytes),
            }
        }
    }
}

impl From<Sha256> for FileDigest {
    fn from(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

/// Finds `sha-256=:BASE64:`, or `sha-256=BASE64` as the obsolete header has it.
fn find_sha_256(headers: &HeaderMap, name: &HeaderName) -> Option<FileDigest> {
    let values = headers.get_all(name).into_iter();
    let items = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    items
        .filter_map(|item| item.trim().split_once('='))
        .filter(|(algorithm, _)| algorithm.eq_ignore_ascii_case("sha-256"))
        .find_map(|(_, value)| {
            let value = value.split(';').next()?.trim();
            let bytes = STANDARD.decode(value.trim_matches(':')).ok()?;
            bytes.try_into().ok().map(FileDigest)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of `hello`.
    const HELLO: &str = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=";

    fn digest(status: u16, headers: &[(&'static str, &str)]) -> Option<FileDigest> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        FileDigest::from_headers(StatusCode::from_u16(status).unwrap(), &headers)
    }

    #[test]
    fn digest_of_the_whole_file_is_found() {
        let hello = FileDigest::from(Sha256::new_with_prefix("hello"));
        let sf = format!("sha-256=:{HELLO}:");
        let both = format!("sha-512=:AAAA:, sha-256=:{HELLO}:;a=1");
        let obsolete = format!("MD5=AAAA,SHA-256={HELLO}");
        for (status, name, value, expected) in [
            (200, "repr-digest", &sf, Some(hello)),
            (206, "repr-digest", &sf, Some(hello)),
            (206, "repr-digest", &both, Some(hello)),
            (200, "content-digest", &sf, Some(hello)),
            (206, "content-digest", &sf, None),
            (206, "digest", &obsolete, Some(hello)),
            (200, "repr-digest", &"sha-256=:AAAA:".to_owned(), None),
            (200, "repr-digest", &"sha-256=:?:".to_owned(), None),
            (200, "repr-digest", &"sha-512=:AAAA:".to_owned(), None),
            (200, "etag", &sf, None),
        ] {
            let found = digest(status, &[(name, value)]);
            assert_eq!(found, expected, "{status} {name}: {value}");
        }
        let encoded = [("content-encoding", "gzip"), ("content-digest", &sf)];
        assert_eq!(digest(200, &encoded), None);
    }
}
