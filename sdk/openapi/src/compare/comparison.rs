//! The state of a comparison.

use std::collections::BTreeSet;

use serde_json::Value;

use super::report::{Finding, Report};

/// A comparison in progress.
#[derive(Debug)]
pub(super) struct Comparison<'d> {
    pub(super) ours: &'d Value,
    pub(super) theirs: &'d Value,
    pub(super) report: Report,
    /// The name of the current operation.
    pub(super) operation: String,
    /// The pairs of schemas that were compared for the current operation: the name of our component,
    /// and the schema in the other document.
    pub(super) visited: BTreeSet<(&'d str, *const Value)>,
}

impl Comparison<'_> {
    /// Reports a finding for the current operation.
    pub(super) fn report(&mut self, finding: Finding) {
        self.report.add(finding, &self.operation);
    }
}

/// The kind of a body, and so who writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// A request body, which the client writes.
    Request,
    /// A response body, which the service writes.
    Response,
}
