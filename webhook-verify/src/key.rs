//! Signing secrets as prepared HMAC keys, and their fingerprints.

use core::fmt;

use arrayvec::ArrayString;
use hmac::block_api::HmacCore;
use hmac::digest::block_api::{Buffer, CoreProxy};
use hmac::{Hmac, KeyInit};
use sha2::{Digest, Sha256};
use zeroize::ZeroizeOnDrop;

/// The maximum length of a fingerprint header. Fingerprints have 16 digits today.
const MAX_FINGERPRINT_BYTES: usize = 64;

/// A signing secret, prepared for verifying and signing.
///
/// ```
/// use svc_webhook_verify::Key;
///
/// let key = Key::new("whsec_newest")?;
/// assert_eq!(key.fingerprint().as_str(), "7ab95101ed6218b1");
/// assert_eq!(format!("{key:?}"), "Key(7ab95101ed6218b1)");
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
///
/// A `Key` does not store the secret itself but the state of an HMAC initialized with
/// it, so that this step is not repeated for each delivery. The state is zeroized on
/// drop. Copies that the compiler or a move left on the stack are not, and neither is
/// the caller's copy of the secret.
///
/// `Debug` shows the fingerprint only, and `Display` is not implemented.
#[derive(Clone)]
pub struct Key {
    /// Without the buffer for input, which would double the size of a key.
    mac: HmacCore<Sha256>,
    /// The first bytes of the hash of the secret. Their digits are made when they are asked for.
    hash: [u8; 8],
}

impl Key {
    /// Creates a key from the exact bytes of a secret.
    ///
    /// # Errors
    ///
    /// Returns [`KeyError::EmptySecret`] if the secret is empty or consists only of ASCII
    /// white space and zero bytes. Such a value usually comes from an unset variable, an
    /// empty file or an unfilled buffer. (HMAC treats a key of zero bytes like the empty
    /// key.)
    pub fn new(secret: impl AsRef<[u8]>) -> Result<Self, KeyError> {
        let secret = secret.as_ref();
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
        if secret.iter().all(is_blank) {
            return Err(KeyError::EmptySecret);
        }
        // HMAC accepts keys of any length, so this never fails.
        let mac = HmacCore::new_from_slice(secret).map_err(|_| KeyError::EmptySecret)?;
        let hash = Sha256::digest(secret).first_chunk().copied().unwrap_or_default();
        Ok(Self { mac, hash })
    }

    /// Returns the fingerprint of the secret, which is safe to log and to share.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(hex(&self.hash))
    }

    /// Returns an HMAC that is initialized with the key and has no input yet.
    pub(crate) fn mac(&self) -> Hmac<Sha256> {
        Hmac::compose(self.mac.clone(), Buffer::<HmacCore<Sha256>>::default())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.fingerprint())
    }
}

impl ZeroizeOnDrop for Key {}

// Fails to compile if the `zeroize` feature of the hash is not enabled.
const _: fn() = || {
    fn assert_zeroize_on_drop<T: ZeroizeOnDrop>() {}
    assert_zeroize_on_drop::<Sha256>();
};

/// The fingerprint of a secret: the first 16 hex digits of its SHA-256 hash.
///
/// The fingerprint header is not authenticated: a sender can put any value in it. It is
/// meant for debugging, to see which secret a receiver uses when signatures do not match.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(ArrayString<16>);

impl Fingerprint {
    /// Returns the 16 lower case hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Returns the first `N` lower case hex digits of bytes.
pub(crate) fn hex<const N: usize>(bytes: &[u8]) -> ArrayString<N> {
    let mut digits = [b'0'; N];
    for (pair, byte) in digits.as_chunks_mut().0.iter_mut().zip(bytes) {
        *pair = [byte >> 4, byte & 0x0f].map(|nibble| match nibble {
            0..=9 => b'0' | nibble,
            _ => b'a' - 10 + nibble,
        });
    }
    ArrayString::from_byte_string(&digits).unwrap_or_default()
}

/// The keys that are currently valid, newest first: one, or several during a rotation.
///
/// ```
/// use svc_webhook_verify::KeySet;
///
/// let keys = KeySet::new(["whsec_newest", "whsec_previous"])?;
/// assert_eq!(keys.newest().fingerprint().as_str(), "7ab95101ed6218b1");
/// assert_eq!(keys.iter().count(), 2);
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
///
/// A set contains at least one key and at most [`KeySet::MAX_KEYS`].
#[derive(Clone, Debug)]
pub struct KeySet {
    newest: Key,
    previous: [Option<Key>; Self::MAX_KEYS - 1],
}

impl KeySet {
    /// The maximum number of keys in a set.
    pub const MAX_KEYS: usize = 8;

    /// Creates a set from secrets, newest first.
    ///
    /// # Errors
    ///
    /// Returns an error if a secret is empty, if there are no secrets, or if there are
    /// more than [`KeySet::MAX_KEYS`].
    pub fn new<S: AsRef<[u8]>>(secrets: impl IntoIterator<Item = S>) -> Result<Self, KeyError> {
        let mut secrets = secrets.into_iter();
        let newest = secrets.next().ok_or(KeyError::NoSecrets)?;
        let mut keys = Self::from(Key::new(newest)?);
        for secret in secrets {
            keys.push(Key::new(secret)?)?;
        }
        Ok(keys)
    }

    /// Creates a set from a text with one secret per line, newest first.
    ///
    /// This is the format of the variable `SVC_WEBHOOK_SECRET` and of secret files. Blank
    /// lines and white space around a secret are ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if there are no secrets, if there are more than
    /// [`KeySet::MAX_KEYS`], or if a line consists of zero bytes.
    pub fn from_lines(text: &str) -> Result<Self, KeyError> {
        Self::new(secret_lines(text))
    }

    /// Appends a key that is older than all others in the set.
    ///
    /// # Errors
    ///
    /// Returns [`KeyError::TooManySecrets`] if the set is full. The set is unchanged then.
    pub fn push(&mut self, key: Key) -> Result<(), KeyError> {
        let mut slots = self.previous.iter_mut();
        let free = slots.find(|slot| slot.is_none());
        *free.ok_or(KeyError::TooManySecrets)? = Some(key);
        Ok(())
    }

    /// Returns the newest key.
    #[must_use]
    pub fn newest(&self) -> &Key {
        &self.newest
    }

    /// Returns the value of the [fingerprint header](crate::header::FINGERPRINT) if none of the keys
    /// has that fingerprint.
    ///
    /// The service names the newest secret, so a genuine delivery with an unknown fingerprint
    /// means that the secret was rotated. The header is not authenticated: of a delivery that
    /// has not been verified, it means nothing. A value that cannot be a fingerprint is
    /// ignored.
    ///
    /// ```
    /// use svc_webhook_verify::KeySet;
    ///
    /// let keys = KeySet::new(["whsec_newest"])?;
    /// assert_eq!(keys.unknown_fingerprint(b"8784f2a6edcde04d"), Some("8784f2a6edcde04d"));
    /// assert_eq!(keys.unknown_fingerprint(b"7ab95101ed6218b1"), None);
    /// # Ok::<(), svc_webhook_verify::KeyError>(())
    /// ```
    #[must_use]
    pub fn unknown_fingerprint<'a>(&self, header: &'a [u8]) -> Option<&'a str> {
        let is_fingerprint = (1..=MAX_FINGERPRINT_BYTES).contains(&header.len())
            && header.iter().all(u8::is_ascii_alphanumeric);
        let header = core::str::from_utf8(header).ok().filter(|_| is_fingerprint)?;
        let is_known = |key: &Key| key.fingerprint().as_str().eq_ignore_ascii_case(header);
        (!self.iter().any(is_known)).then_some(header)
    }

    /// Returns an iterator over the keys, newest first.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        core::iter::once(&self.newest).chain(self.previous.iter().flatten())
    }
}

impl From<Key> for KeySet {
    #[inline]
    fn from(key: Key) -> Self {
        Self { newest: key, previous: [const { None }; Self::MAX_KEYS - 1] }
    }
}

/// Returns the secrets in a text with one secret per line, without white space around them and
/// without blank lines.
///
/// ```
/// use svc_webhook_verify::secret_lines;
///
/// assert!(secret_lines("whsec_newest\r\n\n whsec_previous\n").eq(["whsec_newest", "whsec_previous"]));
/// ```
///
/// [`KeySet::from_lines`] creates keys from them. This function is for programs that also need
/// the secrets themselves, such as to redact them in logs.
pub fn secret_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// An error in the configuration of signing secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// A secret is empty or consists only of white space and zero bytes.
    EmptySecret,
    /// No secret was given.
    NoSecrets,
    /// More than [`KeySet::MAX_KEYS`] secrets were given.
    TooManySecrets,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptySecret => {
                "empty signing secret: check the variable or file that it is read from"
            }
            Self::NoSecrets => "no signing secret given: expected at least one",
            Self::TooManySecrets => "too many signing secrets: expected at most 8",
        })
    }
}

impl core::error::Error for KeyError {}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::ToString;

    use super::*;

    #[test]
    fn the_fingerprint_is_a_prefix_of_the_sha_256_hash() {
        // python3 -c 'import hashlib; print(hashlib.sha256(b"whsec_previous").hexdigest()[:16])'
        let fingerprint = Key::new("whsec_previous").unwrap().fingerprint();
        assert_eq!(fingerprint.to_string(), "8784f2a6edcde04d");
        assert_eq!(format!("{fingerprint:>18}"), "  8784f2a6edcde04d");
    }

    #[test]
    fn lines_are_trimmed_and_blank_lines_ignored() {
        let keys = KeySet::from_lines("\r\n  whsec_newest\t\r\n\n \nwhsec_previous").unwrap();
        let expected = ["whsec_newest", "whsec_previous"];
        let expected = expected.map(|secret| Key::new(secret).unwrap().fingerprint());
        assert!(keys.iter().map(Key::fingerprint).eq(expected));

        let error = |text: &str| KeySet::from_lines(text).unwrap_err();
        assert_eq!(error(""), KeyError::NoSecrets);
        assert_eq!(error(" \n\t\r\n"), KeyError::NoSecrets);
        assert_eq!(error("whsec_newest\n\0"), KeyError::EmptySecret);
        assert_eq!(error(&"s\n".repeat(9)), KeyError::TooManySecrets);
    }

    #[test]
    fn debug_shows_the_fingerprint_but_not_the_secret() {
        let shown = format!("{:?}", KeySet::new(["whsec_newest"]).unwrap());
        assert!(shown.contains("7ab95101ed6218b1"), "{shown}");
        assert!(!shown.contains("whsec"), "{shown}");
    }

    #[test]
    fn dropping_the_mac_state_runs_code() {
        assert!(core::mem::needs_drop::<HmacCore<Sha256>>());
    }
}
