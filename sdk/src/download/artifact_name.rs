//! The parts of the file name of an artifact.

use super::file_name::{extension, file_name, safe_stem};
use crate::types::Artifact;

/// An artifact whose file is named.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ArtifactName<'a> {
    /// The artifact, as the service describes it.
    pub artifact: &'a Artifact,
    /// The artifact's number in the result, counted from 1 (`{index}` in a template).
    pub number: usize,
    /// The id of the job or run.
    pub resource_id: &'a str,
    /// The extension for the artifact's media type, such as `png`.
    pub extension: &'static str,
}

impl<'a> ArtifactName<'a> {
    /// `position` starts at 0.
    pub(super) fn new(artifact: &'a Artifact, position: usize, resource_id: &'a str) -> Self {
        Self { artifact, number: position + 1, resource_id, extension: extension(artifact) }
    }

    fn id(&self) -> String {
        match &self.artifact.id {
            Some(id) => id.to_string(),
            None => format!("{}-{}", self.resource_id, self.number),
        }
    }

    /// Returns the artifact's id, in a form that is a valid file name.
    pub(super) fn stem(&self) -> String {
        safe_stem(&self.id())
    }

    pub(super) fn safe_resource_id(&self) -> String {
        safe_stem(self.resource_id)
    }

    pub(super) fn default_name(&self) -> String {
        file_name(&self.id(), self.artifact)
    }
}
