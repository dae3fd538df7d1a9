//! The journal of paid requests.
//!
//! Every paid request is in the SDK's journal in the state folder, under a hash of the request: the same
//! command, and the same call of a tool of `svc mcp`, resumes what a process that was killed has left
//! behind, instead of paying twice. It contains no secret, and of the texts of a request only its label.

mod earlier;
mod entry;
mod request_hash;
mod statuses;
mod submissions;

pub(crate) use entry::{Entry, LABEL, SOURCE, label, notes, prompt_of};
pub(crate) use request_hash::{RequestHash, canonical, key_fingerprint};
pub(crate) use statuses::{remember_statuses, seen_statuses};
pub(crate) use submissions::{Orphan, Submissions, close_matching, entries, settle};
