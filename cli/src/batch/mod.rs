//! Batches: the requests of a manifest, submitted within limits and resumed after interruptions.
//!
//! The [`scheduler`] decides what to do and when; it is pure. The [`runner`] does it: it reads the
//! [`manifest`], writes the [`journal`], sends requests and prints what came of them.

mod journal;
mod manifest;
mod options;
mod plan;
mod prices;
mod progress;
mod quote;
mod reasons;
mod report;
mod request_failure;
mod requests;
mod runner;
mod scheduler;
mod status;
mod summary;

pub(crate) use self::manifest::parse_operation;
pub(crate) use self::options::BatchOptions;
pub(crate) use self::runner::run;
pub(crate) use self::status::status;
