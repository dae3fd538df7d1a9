//! The comparison of operations, their parameters and their responses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::comparison::{Comparison, Direction};
use super::reader::{self, OperationItem};
use super::report::{Finding, Report};
use super::resolved_schema::ResolvedSchema;
use super::{ChangeKind, Difference, Part};

impl<'d> Comparison<'d> {
    /// Compares two documents.
    pub(super) fn run(ours: &'d Value, theirs: &'d Value) -> Vec<Difference> {
        let mut comparison = Self {
            ours,
            theirs,
            report: Report::default(),
            operation: String::new(),
            visited: BTreeSet::new(),
        };
        comparison.compare_section("paths");
        // A document without a section for webhooks does not say that there are none.
        if theirs.get("webhooks").is_some() {
            comparison.compare_section("webhooks");
        }
        comparison.report.into_differences()
    }

    fn compare_section(&mut self, section: &str) {
        let ours = reader::operations(self.ours, section);
        let theirs = reader::operations(self.theirs, section);
        for (key, our_item) in &ours {
            self.operation = our_item.name(key);
            match theirs.get(key) {
                Some(their_item) => self.compare_operations(our_item, their_item),
                // The MCP endpoint has a URL of its own, so the document of a surface need not list
                // it.
                None if our_item.is_mcp() => {}
                None => {
                    let address = format!("{} {}", key.0, our_item.path);
                    self.report(
                        Finding::new(ChangeKind::Gone, Part::Operation)
                            .detail(address)
                            .breaking(true),
                    );
                }
            }
        }
        for (key, item) in theirs.iter().filter(|(key, _)| !ours.contains_key(*key)) {
            self.operation = format!("{} {}", key.0, item.path);
            self.report(Finding::new(ChangeKind::New, Part::Operation));
        }
    }

    fn compare_operations(&mut self, ours: &OperationItem<'d>, theirs: &OperationItem<'d>) {
        self.visited.clear();
        let changed = || Finding::new(ChangeKind::Changed, Part::Operation);
        match (ours.is_deprecated(), theirs.is_deprecated()) {
            (false, true) => self.report(changed().detail("now deprecated")),
            (true, false) => self.report(changed().detail("no longer deprecated")),
            _ => {}
        }
        let scope = |item: &OperationItem<'d>| item.operation["x-scope"].as_str();
        if let Some(required) = scope(theirs).filter(|it| scope(ours) != Some(it)) {
            let detail = format!("now requires the scope {required}");
            self.report(changed().detail(detail).breaking(true));
        }
        self.compare_parameters(ours, theirs);
        let our_body = reader::request_schema(self.ours, ours);
        let their_body = reader::request_schema(self.theirs, theirs);
        if let (Some(ours), Some(theirs)) = (our_body, their_body) {
            self.compare_schemas(&[ours], &[theirs], "request", Direction::Request);
        }
        self.compare_responses(ours, theirs);
    }

    fn compare_parameters(&mut self, ours: &OperationItem<'d>, theirs: &OperationItem<'d>) {
        let ours = reader::parameters(self.ours, ours);
        let theirs = reader::parameters(self.theirs, theirs);
        let is_required = |parameter: &Value| parameter["required"] == Value::Bool(true);
        for (name, parameter) in &ours {
            let location = format!("{} {name}", self.operation);
            let assumed = parameter["x-assumed"] == Value::Bool(true);
            let Some(other) = theirs.get(name) else {
                self.report(
                    Finding::new(ChangeKind::Gone, Part::Parameter)
                        .at(location)
                        .breaking_unless_assumed(assumed),
                );
                continue;
            };
            if is_required(other) && !is_required(parameter) {
                self.report(
                    Finding::new(ChangeKind::Changed, Part::Parameter)
                        .at(location.clone())
                        .detail("now required")
                        .breaking(true),
                );
            }
            if let (Some(ours), Some(theirs)) = (parameter.get("schema"), other.get("schema")) {
                self.compare_schemas(&[ours], &[theirs], &location, Direction::Request);
            }
        }
        for (name, parameter) in theirs.iter().filter(|(name, _)| !ours.contains_key(*name)) {
            let location = format!("{} {name}", self.operation);
            self.report_new_input(Part::Parameter, location, is_required(parameter));
        }
    }

    /// Reports a parameter or field that the service accepts now, or requires.
    pub(super) fn report_new_input(&mut self, part: Part, location: String, required: bool) {
        let mut finding = Finding::new(ChangeKind::New, part).at(location);
        if required {
            finding = finding.detail("required").breaking(true);
        }
        self.report(finding);
    }

    fn compare_responses(&mut self, ours: &OperationItem<'d>, theirs: &OperationItem<'d>) {
        let ours = reader::responses(self.ours, ours);
        let theirs = reader::responses(self.theirs, theirs);
        if theirs.is_empty() {
            return;
        }
        for (status, response) in &ours {
            let is_success = status.starts_with('2');
            let range = format!("{}XX", status.get(..1).unwrap_or_default());
            let other = theirs.get(status).or_else(|| theirs.get(range.as_str()));
            let other = other.or_else(|| theirs.get("default").filter(|_| !is_success));
            let Some(other) = other else {
                self.report(
                    Finding::new(ChangeKind::Gone, Part::Status)
                        .detail(*status)
                        .breaking(is_success),
                );
                continue;
            };
            let schemas = (reader::json_schema(response), reader::json_schema(other));
            if let (Some(ours), Some(theirs)) = schemas {
                match is_success {
                    true => self.compare_successes(ours, theirs),
                    false => self.compare_error_codes(status, ours, theirs),
                }
            }
        }
        let is_range = |status: &str| status == "default" || status.ends_with("XX");
        for status in theirs.keys().filter(|status| !ours.contains_key(*status)) {
            if !is_range(status) {
                self.report(Finding::new(ChangeKind::New, Part::Status).detail(*status));
            }
        }
    }

    /// Compares the bodies of successful responses. Either may lack the `data` envelope.
    fn compare_successes(&mut self, ours: &'d Value, theirs: &'d Value) {
        let our_envelope = ResolvedSchema::new(self.ours, &[ours]);
        let their_envelope = ResolvedSchema::new(self.theirs, &[theirs]);
        let our_data = our_envelope.properties.get("data");
        let their_data = their_envelope.properties.get("data");
        let (whole_ours, whole_theirs) = (vec![ours], vec![theirs]);
        self.compare_schemas(
            our_data.unwrap_or(&whole_ours),
            their_data.unwrap_or(&whole_theirs),
            "response",
            Direction::Response,
        );
    }

    fn compare_error_codes(&mut self, status: &str, ours: &'d Value, theirs: &'d Value) {
        let codes = |document: &'d Value, schema: &'d Value| {
            let envelope = ResolvedSchema::new(document, &[schema]);
            let error = match envelope.properties.get("error") {
                Some(error) => ResolvedSchema::new(document, error),
                None => envelope,
            };
            let code = error.properties.get("code")?;
            ResolvedSchema::new(document, code).values
        };
        let (Some(ours), Some(theirs)) = (codes(self.ours, ours), codes(self.theirs, theirs))
        else {
            return;
        };
        let assumed: BTreeSet<_> = reader::assumed_codes(self.ours).collect();
        for code in &ours - &theirs {
            self.report(
                Finding::new(ChangeKind::Gone, Part::Code)
                    .at(status)
                    .detail(code)
                    .breaking_unless_assumed(assumed.contains(code)),
            );
        }
        for code in &theirs - &ours {
            self.report(Finding::new(ChangeKind::New, Part::Code).at(status).detail(code));
        }
    }
}
