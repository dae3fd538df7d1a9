//! Values that several parts of the program share.

mod outcome;
mod resource_id;
mod submit_request;

pub(crate) use outcome::Outcome;
pub(crate) use resource_id::ResourceId;
pub(crate) use submit_request::SubmitRequest;
