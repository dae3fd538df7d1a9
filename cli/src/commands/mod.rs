//! The commands, one module for each noun or group of related nouns.

pub(crate) mod account;
pub(crate) mod agent;
pub(crate) mod api;
pub(crate) mod avatar;
pub(crate) mod batch;
pub(crate) mod catalog;
pub(crate) mod format;
pub(crate) mod history;
pub(crate) mod job;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod media;
pub(crate) mod mock;
pub(crate) mod model;
pub(crate) mod operations;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod usage;
pub(crate) mod webhook;
