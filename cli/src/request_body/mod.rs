//! Request bodies, built from flags and validated before they are sent.

mod builder;
pub(crate) mod run;
mod search;
mod validation;

pub(crate) use builder::RequestBody;
pub(crate) use search::search_query;
