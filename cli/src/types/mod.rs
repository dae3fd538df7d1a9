//! Types that several modules share.

mod model_alias;
mod outcome;
mod resource_id;
mod submit_request;

pub(crate) use model_alias::Alias;
pub(crate) use outcome::Outcome;
pub(crate) use resource_id::ResourceId;
pub(crate) use submit_request::SubmitRequest;
