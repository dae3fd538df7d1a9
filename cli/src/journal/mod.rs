//! The journal of what this machine means to pay for.
//!
//! Before a submit is sent its intent is on disk: what it is (as a hash), and with which key. While
//! its process lives the file is locked. A process that was killed leaves it behind, unlocked; the
//! same command, run again, takes it up instead of paying twice. Once a person knows the outcome
//! the file moves to the history.
//!
//! A file is a few lines of JSON, each appended and flushed to the disk: the intent, the receipt,
//! the outcome. A last line that is cut off counts as not written. No secret and no text of the
//! request is in it.

mod entry;
mod request_hash;
mod store;

pub(crate) use entry::Intent;
pub(crate) use request_hash::{RequestHash, key_fingerprint};
pub(crate) use store::{Journal, OpenIntent};
