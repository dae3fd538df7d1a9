//! Batches: the requests of a manifest, submitted within limits and resumed after interruptions.
//!
//! The SDK's batch decides what is submitted and when, and its journal what is sent again. This is
//! what a person sees of it: the [`manifest`], the [`quote`], and the [`runner`], which prints and notes
//! how the items end.

mod item_ends;
mod journal;
mod manifest;
mod options;
mod plan;
mod quote;
mod report;
mod requests;
mod runner;
mod setup;
mod status;
mod summary;

pub(crate) use self::manifest::operations;
pub(crate) use self::options::BatchOptions;
pub(crate) use self::runner::run;
pub(crate) use self::status::{known_items, status};
