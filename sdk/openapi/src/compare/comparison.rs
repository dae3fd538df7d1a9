//! The comparison itself: operations, their parameters and responses, and the schemas of bodies.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ChangeKind::{Changed, Gone, New};
use super::reader::{self, OperationItem};
use super::resolved_schema::ResolvedSchema;
use super::{ChangeKind, Difference, Part};

/// The kind of a body, and so who writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// A request body, which the client writes.
    Request,
    /// A response body, which the service writes.
    Response,
}

/// Whether a difference can break a client, and whether our document only assumes the part.
#[derive(Clone, Copy, Debug)]
struct Effect {
    breaking: bool,
    assumed: bool,
}

const HARMLESS: Effect = Effect { breaking: false, assumed: false };
const BREAKING: Effect = Effect { breaking: true, assumed: false };

fn breaking_unless(assumed: bool) -> Effect {
    Effect { breaking: !assumed, assumed }
}

/// A comparison in progress.
#[derive(Debug)]
pub(super) struct Comparison<'d> {
    ours: &'d Value,
    theirs: &'d Value,
    /// The differences found so far, each once.
    found: BTreeMap<(ChangeKind, Part, String, Option<String>), Difference>,
    /// The name of the current operation.
    operation: String,
    /// The pairs of schemas that were compared for the current operation: the name of our component,
    /// and the schema in the other document.
    visited: BTreeSet<(&'d str, *const Value)>,
}

impl<'d> Comparison<'d> {
    pub(super) fn run(ours: &'d Value, theirs: &'d Value) -> Vec<Difference> {
        let (found, visited) = (BTreeMap::new(), BTreeSet::new());
        let mut comparison = Self { ours, theirs, found, operation: String::new(), visited };
        comparison.compare_section("paths");
        // A document without a section for webhooks does not say that there are none.
        if theirs.get("webhooks").is_some() {
            comparison.compare_section("webhooks");
        }
        comparison.found.into_values().collect()
    }

    /// Reports a difference of the current operation. One that is known already is extended by it.
    fn report(
        &mut self,
        kind: ChangeKind,
        part: Part,
        location: &str,
        detail: Option<&str>,
        effect: Effect,
    ) {
        let (location, detail) = (location.to_owned(), detail.map(str::to_owned));
        let key = (kind, part, location.clone(), detail.clone());
        let Effect { breaking, assumed } = effect;
        let operations = Vec::new();
        let new = Difference { kind, part, location, detail, breaking, assumed, operations };
        let difference = self.found.entry(key).or_insert(new);
        difference.breaking |= breaking;
        if !difference.operations.contains(&self.operation) {
            difference.operations.push(self.operation.clone());
        }
    }

    /// Reports a difference of the current operation as a whole.
    fn report_operation(
        &mut self,
        kind: ChangeKind,
        part: Part,
        detail: Option<&str>,
        effect: Effect,
    ) {
        self.report(kind, part, &self.operation.clone(), detail, effect);
    }

    /// Reports a parameter or field that the service accepts now, or requires.
    fn report_new_input(&mut self, part: Part, location: &str, required: bool) {
        let (detail, effect) =
            if required { (Some("required"), BREAKING) } else { (None, HARMLESS) };
        self.report(New, part, location, detail, effect);
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
                    self.report_operation(Gone, Part::Operation, Some(&address), BREAKING);
                }
            }
        }
        for (key, item) in theirs.iter().filter(|(key, _)| !ours.contains_key(*key)) {
            self.operation = format!("{} {}", key.0, item.path);
            self.report_operation(New, Part::Operation, None, HARMLESS);
        }
    }

    fn compare_operations(&mut self, ours: &OperationItem<'d>, theirs: &OperationItem<'d>) {
        self.visited.clear();
        let deprecation = match (ours.is_deprecated(), theirs.is_deprecated()) {
            (false, true) => Some("now deprecated"),
            (true, false) => Some("no longer deprecated"),
            _ => None,
        };
        if deprecation.is_some() {
            self.report_operation(Changed, Part::Operation, deprecation, HARMLESS);
        }
        let scope = |item: &OperationItem<'d>| item.operation["x-scope"].as_str();
        if let Some(required) = scope(theirs).filter(|it| scope(ours) != Some(it)) {
            let detail = format!("now requires the scope {required}");
            self.report_operation(Changed, Part::Operation, Some(&detail), BREAKING);
        }
        self.compare_parameters(ours, theirs);
        if let (Some(ours), Some(theirs)) = (ours.request_schema(), theirs.request_schema()) {
            self.compare_schemas(&[ours], &[theirs], "request", Direction::Request);
        }
        self.compare_responses(ours, theirs);
    }

    fn compare_parameters(&mut self, ours: &OperationItem<'d>, theirs: &OperationItem<'d>) {
        let (ours, theirs) = (ours.parameters(), theirs.parameters());
        let is_required = |parameter: &Value| parameter["required"] == Value::Bool(true);
        for (name, parameter) in &ours {
            let location = format!("{} {name}", self.operation);
            let Some(other) = theirs.get(name) else {
                let effect = breaking_unless(parameter["x-assumed"] == Value::Bool(true));
                self.report(Gone, Part::Parameter, &location, None, effect);
                continue;
            };
            if is_required(other) && !is_required(parameter) {
                let detail = Some("now required");
                self.report(Changed, Part::Parameter, &location, detail, BREAKING);
            }
            if let (Some(ours), Some(theirs)) = (parameter.get("schema"), other.get("schema")) {
                self.compare_schemas(&[ours], &[theirs], &location, Direction::Request);
            }
        }
        for (name, parameter) in theirs.iter().filter(|(name, _)| !ours.contains_key(*name)) {
            let location = format!("{} {name}", self.operation);
            self.report_new_input(Part::Parameter, &location, is_required(parameter));
        }
    }

    fn compare_responses(&mut self, ours: &OperationItem<'d>, theirs: &OperationItem<'d>) {
        let (ours, theirs) = (ours.responses(), theirs.responses());
        if theirs.is_empty() {
            return;
        }
        for (status, response) in &ours {
            let is_success = status.starts_with('2');
            let range = format!("{}XX", status.get(..1).unwrap_or_default());
            let other = theirs.get(status).or_else(|| theirs.get(range.as_str()));
            let other = other.or_else(|| theirs.get("default").filter(|_| !is_success));
            let Some(other) = other else {
                let effect = if is_success { BREAKING } else { HARMLESS };
                self.report_operation(Gone, Part::Status, Some(status), effect);
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
                self.report_operation(New, Part::Status, Some(status), HARMLESS);
            }
        }
    }

    /// Compares the bodies of successful responses. Either may lack the `data` envelope.
    fn compare_successes(&mut self, ours: &'d Value, theirs: &'d Value) {
        let data = |document: &'d Value, schema: &'d Value| {
            let mut envelope = ResolvedSchema::new(document, &[schema]);
            envelope.properties.remove("data").unwrap_or_else(|| vec![schema])
        };
        let (ours, theirs) = (data(self.ours, ours), data(self.theirs, theirs));
        self.compare_schemas(&ours, &theirs, "response", Direction::Response);
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
            let effect = breaking_unless(assumed.contains(code));
            self.report(Gone, Part::Code, status, Some(code), effect);
        }
        for code in &theirs - &ours {
            self.report(New, Part::Code, status, Some(code), HARMLESS);
        }
    }

    /// Compares two schemas, each given as a list of schemas that all apply.
    ///
    /// Differences are located by the name of our component, or by `location` if it has none.
    fn compare_schemas(
        &mut self,
        ours: &[&'d Value],
        theirs: &[&'d Value],
        location: &str,
        direction: Direction,
    ) {
        let our_schema = ResolvedSchema::new(self.ours, ours);
        let their_schema = ResolvedSchema::new(self.theirs, theirs);
        let location = our_schema.component.unwrap_or(location);
        if let (Some(component), Some(first)) = (our_schema.component, theirs.first())
            && !self.visited.insert((component, std::ptr::from_ref(*first)))
        {
            return;
        }
        self.compare_types(&our_schema, &their_schema, location);
        self.compare_values(&our_schema, &their_schema, location);
        self.compare_fields(&our_schema, &their_schema, location, direction);
        if let (Some(ours), Some(theirs)) = (our_schema.items, their_schema.items) {
            self.compare_schemas(&[ours], &[theirs], &format!("{location}[]"), direction);
        }
    }

    fn compare_types(&mut self, ours: &ResolvedSchema, theirs: &ResolvedSchema, location: &str) {
        let fits = |ours: &&str| {
            theirs.types.contains(ours) || *ours == "number" && theirs.types.contains("integer")
        };
        if ours.types.is_empty() || theirs.types.is_empty() || ours.types.iter().any(fits) {
            return;
        }
        let names = |types: &BTreeSet<&str>| types.iter().copied().collect::<Vec<_>>().join(" or ");
        let detail =
            format!("type changed from {} to {}", names(&ours.types), names(&theirs.types));
        let effect = breaking_unless(ours.assumed);
        self.report(Changed, Part::Field, location, Some(&detail), effect);
    }

    fn compare_values(&mut self, ours: &ResolvedSchema, theirs: &ResolvedSchema, location: &str) {
        let (Some(our_values), Some(their_values)) = (&ours.values, &theirs.values) else { return };
        for value in our_values - their_values {
            let effect = breaking_unless(ours.assumed || ours.assumed_values.contains(value));
            self.report(Gone, Part::EnumValue, location, Some(value), effect);
        }
        for value in their_values - our_values {
            self.report(New, Part::EnumValue, location, Some(value), HARMLESS);
        }
    }

    fn compare_fields(
        &mut self,
        ours: &ResolvedSchema<'d>,
        theirs: &ResolvedSchema<'d>,
        location: &str,
        direction: Direction,
    ) {
        // An object without declared fields may have any.
        if ours.properties.is_empty() || theirs.properties.is_empty() {
            return;
        }
        for (name, our_field) in &ours.properties {
            let location = format!("{location}.{name}");
            let assumed = ours.assumed || ResolvedSchema::new(self.ours, our_field).assumed;
            let Some(their_field) = theirs.properties.get(name) else {
                self.report(Gone, Part::Field, &location, None, breaking_unless(assumed));
                continue;
            };
            let required = (ours.required.contains(name), theirs.required.contains(name));
            let change = match (direction, required) {
                (Direction::Request, (false, true)) => Some(("now required", true)),
                (Direction::Response, (true, false)) => Some(("now optional", !assumed)),
                _ => None,
            };
            if let Some((detail, breaking)) = change {
                let effect = Effect { breaking, assumed };
                self.report(Changed, Part::Field, &location, Some(detail), effect);
            }
            self.compare_schemas(our_field, their_field, &location, direction);
        }
        for name in theirs.properties.keys().filter(|name| !ours.properties.contains_key(*name)) {
            let required = direction == Direction::Request && theirs.required.contains(name);
            self.report_new_input(Part::Field, &format!("{location}.{name}"), required);
        }
    }
}
