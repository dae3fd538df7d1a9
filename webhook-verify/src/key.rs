//! Signing secrets, keyed once and never shown.

use core::fmt;

use hmac::{Hmac, KeyInit};
use sha2::{Digest, Sha256};
use zeroize::ZeroizeOnDrop;

use crate::text::Text;

/// One signing secret, ready for use.
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
/// The secret's own bytes are not kept. What is kept is the state of a MAC keyed
/// with it, so that a delivery does not pay for the keying; that state is wiped on
/// drop. Bytes that the compiler or a move left behind on the stack are out of its
/// reach, and so is the caller's own copy of the secret.
///
/// There is no `Display`, and `Debug` shows the fingerprint only.
#[derive(Clone)]
pub struct Key {
    mac: Hmac<Sha256>,
    fingerprint: Fingerprint,
}

impl Key {
    /// Makes a key of a secret, exactly the bytes given.
    ///
    /// # Errors
    ///
    /// [`KeyError::Empty`] when there is nothing in it but ASCII white space and zero
    /// bytes: then the variable, file or buffer that it came from was not filled, and
    /// anyone could sign. (To HMAC a key of zero bytes is the empty key.)
    pub fn new(secret: impl AsRef<[u8]>) -> Result<Self, KeyError> {
        let secret = secret.as_ref();
        let is_filler = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
        if secret.iter().all(is_filler) {
            return Err(KeyError::Empty);
        }
        // HMAC takes a key of any length: the error arm is there for the type only.
        let mac = Hmac::new_from_slice(secret).map_err(|_| KeyError::Empty)?;
        let fingerprint = Fingerprint::of(secret);
        Ok(Self { mac, fingerprint })
    }

    /// Which secret this is, in a form that is safe to log and to share.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// A MAC that has taken in the key and nothing else yet.
    pub(crate) fn mac(&self) -> Hmac<Sha256> {
        self.mac.clone()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.fingerprint)
    }
}

impl ZeroizeOnDrop for Key {}

// Fails to compile should the hash lose the feature that wipes its state.
const _: fn() = || {
    fn wiped_on_drop<T: ZeroizeOnDrop>() {}
    wiped_on_drop::<Sha256>();
};

/// Which secret signed: the first 16 hex digits of its SHA-256.
///
/// ```
/// use svc_webhook_verify::Key;
///
/// let sent = "7ab95101ed6218b1"; // x-svc-webhook-secret-fingerprint
/// let ours = Key::new("whsec_newest")?.fingerprint();
/// assert_eq!(ours.as_str(), sent);
/// # Ok::<(), svc_webhook_verify::KeyError>(())
/// ```
///
/// It proves nothing: a sender can put any fingerprint in the header. It tells a
/// person which secret a receiver holds when signatures do not match.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(Text<16>);

impl Fingerprint {
    fn of(secret: &[u8]) -> Self {
        let mut text = Text::new();
        for byte in Sha256::digest(secret).iter().take(8) {
            text.push_hex(*byte);
        }
        Self(text)
    }

    /// The 16 lower case hex digits.
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

/// The keys that are good at present, newest first: one, or several in a rotation.
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
/// There is always at least one and never more than [`KeySet::CAPACITY`].
#[derive(Clone, Debug)]
pub struct KeySet {
    newest: Key,
    previous: [Option<Key>; Self::CAPACITY - 1],
}

impl KeySet {
    /// The most keys a set can hold.
    pub const CAPACITY: usize = 8;

    /// Makes a set of secrets, newest first.
    ///
    /// # Errors
    ///
    /// [`KeyError`] when a secret is empty, when there is none, or when there are more
    /// than [`KeySet::CAPACITY`].
    pub fn new<S: AsRef<[u8]>>(secrets: impl IntoIterator<Item = S>) -> Result<Self, KeyError> {
        let mut secrets = secrets.into_iter();
        let newest = secrets.next().ok_or(KeyError::NoKeys)?;
        let mut keys = Self::from(Key::new(newest)?);
        for secret in secrets {
            keys.push(Key::new(secret)?)?;
        }
        Ok(keys)
    }

    /// Adds a key that is older than all the others.
    ///
    /// # Errors
    ///
    /// [`KeyError::TooMany`] when the set is full; the set is unchanged.
    pub fn push(&mut self, key: Key) -> Result<(), KeyError> {
        let mut places = self.previous.iter_mut();
        let free = places.find(|place| place.is_none());
        *free.ok_or(KeyError::TooMany)? = Some(key);
        Ok(())
    }

    /// The newest key.
    #[must_use]
    pub fn newest(&self) -> &Key {
        &self.newest
    }

    /// The keys, newest first.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        core::iter::once(&self.newest).chain(self.previous.iter().flatten())
    }
}

impl From<Key> for KeySet {
    fn from(key: Key) -> Self {
        Self {
            newest: key,
            previous: [const { None }; Self::CAPACITY - 1],
        }
    }
}

/// Why a secret, or a set of them, cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// A secret is empty, or nothing but white space and zero bytes.
    Empty,
    /// There is no secret at all.
    NoKeys,
    /// There are more than [`KeySet::CAPACITY`] secrets.
    TooMany,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => {
                "the signing secret is empty: check the variable or file it is read from"
            }
            Self::NoKeys => "there is no signing secret: give at least one",
            Self::TooMany => "there are more than 8 signing secrets: drop the oldest",
        })
    }
}

impl core::error::Error for KeyError {}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::{String, ToString};

    use hmac::Mac;

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_mac_is_that_of_rfc_4231() {
        // Section 4, cases 1 to 4, 6 and 7. Case 5 is about truncation, which is refused.
        let counting: [u8; 25] = core::array::from_fn(|i| i as u8 + 1);
        let rows: [(&[u8], &[u8], &str); 6] = [
            (
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 20],
                &[0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                &counting,
                &[0xcd; 50],
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                &[0xaa; 131],
                b"This is a test using a larger than block-size key and a larger than \
                  block-size data. The key needs to be hashed before being used by the \
                  HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (secret, message, expected) in rows {
            let mac = Key::new(secret).unwrap().mac().chain_update(message);
            assert_eq!(hex(&mac.finalize().into_bytes()), expected);
        }
    }

    #[test]
    fn the_fingerprint_is_the_start_of_sha_256_of_the_secret() {
        // python3 -c 'import hashlib; print(hashlib.sha256(b"whsec_previous").hexdigest()[:16])'
        let fingerprint = Key::new("whsec_previous").unwrap().fingerprint();
        assert_eq!(fingerprint.to_string(), "8784f2a6edcde04d");
        assert_eq!(format!("{fingerprint:>18}"), "  8784f2a6edcde04d");
    }

    #[test]
    fn a_secret_of_nothing_but_blanks_and_zeros_is_refused() {
        for secret in ["", " ", "\n", " \t\r\n", "\0", "\0\0 \n"] {
            assert_eq!(Key::new(secret).unwrap_err(), KeyError::Empty);
        }
        let half_set = KeySet::new(["whsec_newest", ""]);
        assert_eq!(half_set.unwrap_err(), KeyError::Empty);
    }

    #[test]
    fn a_secret_is_taken_byte_for_byte() {
        let plain = Key::new("whsec_newest").unwrap();
        let with_newline = Key::new("whsec_newest\n").unwrap();
        assert_ne!(plain.fingerprint(), with_newline.fingerprint());
    }

    #[test]
    fn a_set_holds_one_to_eight_keys() {
        let none: [&str; 0] = [];
        assert_eq!(KeySet::new(none).unwrap_err(), KeyError::NoKeys);
        assert_eq!(KeySet::new(["s"; 8]).unwrap().iter().count(), 8);
        assert_eq!(KeySet::new(["s"; 9]).unwrap_err(), KeyError::TooMany);
    }

    #[test]
    fn a_set_keeps_the_order_newest_first() {
        let keys = KeySet::new(["a", "b", "c"]).unwrap();
        let order = ["a", "b", "c"].map(|secret| Key::new(secret).unwrap().fingerprint());
        assert!(keys.iter().map(Key::fingerprint).eq(order));
        assert_eq!(keys.newest().fingerprint(), order[0]);
    }

    #[test]
    fn debug_shows_the_fingerprint_and_not_the_secret() {
        let shown = format!("{:?}", KeySet::new(["whsec_newest"]).unwrap());
        assert!(shown.contains("7ab95101ed6218b1"), "{shown}");
        assert!(!shown.contains("whsec"), "{shown}");
    }

    #[test]
    fn dropping_a_key_runs_code() {
        assert!(core::mem::needs_drop::<Hmac<Sha256>>());
    }
}
