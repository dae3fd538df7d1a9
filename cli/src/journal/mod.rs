//! The journal of paid requests.
//!
//! Before a submit is sent, its intent is written to disk: a hash of the request and its
//! idempotency key. The file is locked while its process runs. A process that was killed leaves the
//! file behind, unlocked, and the same command resumes it instead of paying twice. When the outcome
//! has been reported, the file moves to the history.
//!
//! A file has a few lines of JSON, each appended and flushed to the disk: the intent, the receipt,
//! the outcome. An incomplete last line is ignored. The file contains no secret and no text of the
//! request.

mod entry;
mod open_intent;
mod request_hash;
mod store;

pub(crate) use entry::{Entry, Intent};
pub(crate) use open_intent::OpenIntent;
pub(crate) use request_hash::{RequestHash, key_fingerprint};
pub(crate) use store::Journal;
