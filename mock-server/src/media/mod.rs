//! Media files that the mock's jobs generate: PNG, MP4, WAV and WebVTT.
//!
//! Each file is a pure function of a small [`Spec`], so that the mock stores only the specification
//! and renders the bytes when they are requested. The files of the most recent requests are kept. The
//! module uses no I/O, clock or global randomness, and does not depend on jobs or accounts.

mod aac;
mod animation;
mod captions;
mod card;
mod h264;
mod image;
mod mp4;
mod music;
mod padded;
mod palette;
mod range;
mod rendered;
mod serve;
mod size;
mod spec;
mod video;

pub(crate) use padded::PaddedType;
pub(crate) use rendered::{is_rendered, rendered};
#[cfg(any(test, feature = "dashboard"))]
pub(crate) use serve::serve;
pub(crate) use serve::serve_with_etag;
pub(crate) use size::dimensions;
pub(crate) use spec::{Spec, render};
