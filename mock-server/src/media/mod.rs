//! Real media files for what the mock's jobs "generate": PNG, MP4, WAV and WebVTT.
//!
//! Everything here is a pure function of a small [`Spec`], so the mock stores the
//! specification in its state and renders the bytes each time they are fetched.
//! No I/O, no clock, no global randomness; nothing about jobs or accounts.

mod aac;
mod animation;
mod captions;
mod card;
mod h264;
mod image;
mod mp4;
mod music;
mod palette;
mod range;
mod rng;
mod serve;
mod size;
mod spec;
mod video;

pub use serve::serve;
pub use size::dimensions;
pub use spec::{Spec, render};

/// A finished file and how to announce it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The usual file name extension, without the dot.
    pub extension: &'static str,
    /// The file itself.
    pub bytes: Vec<u8>,
}
