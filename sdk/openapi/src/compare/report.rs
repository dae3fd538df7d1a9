//! The differences found so far, each once.

use std::collections::BTreeMap;

use super::{ChangeKind, Difference, Part};

type Key = (ChangeKind, Part, String, Option<String>);

/// The differences found so far.
#[derive(Debug, Default)]
pub(super) struct Report(BTreeMap<Key, Difference>);

/// A difference in one operation.
#[derive(Debug)]
pub(super) struct Finding {
    kind: ChangeKind,
    part: Part,
    location: Option<String>,
    detail: Option<String>,
    breaking: bool,
    assumed: bool,
}

impl Finding {
    pub(super) fn new(kind: ChangeKind, part: Part) -> Self {
        Self { kind, part, location: None, detail: None, breaking: false, assumed: false }
    }

    /// Sets the location. The default is the operation.
    pub(super) fn at(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    pub(super) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    pub(super) fn breaking(mut self, breaking: bool) -> Self {
        self.breaking = breaking;
        self
    }

    pub(super) fn assumed(mut self, assumed: bool) -> Self {
        self.assumed = assumed;
        self
    }

    /// Marks the finding as breaking unless our document only assumes the part.
    pub(super) fn breaking_unless_assumed(self, assumed: bool) -> Self {
        self.breaking(!assumed).assumed(assumed)
    }
}

impl Report {
    /// Adds a finding. One that is known already is extended by the operation.
    pub(super) fn add(&mut self, finding: Finding, operation: &str) {
        let Finding { kind, part, location, detail, breaking, assumed } = finding;
        let location = location.unwrap_or_else(|| operation.to_owned());
        let key = (kind, part, location.clone(), detail.clone());
        let difference = self.0.entry(key).or_insert_with(|| Difference {
            kind,
            part,
            location,
            detail,
            breaking,
            assumed,
            operations: Vec::new(),
        });
        difference.breaking |= breaking;
        if !difference.operations.iter().any(|it| it == operation) {
            difference.operations.push(operation.to_owned());
        }
    }

    pub(super) fn into_differences(self) -> Vec<Difference> {
        self.0.into_values().collect()
    }
}
