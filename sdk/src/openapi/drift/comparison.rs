//! The walk through both documents.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::node::{Node, target};
use super::{Difference, Drift, Part};

/// Whether the client or the service writes a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Sent,
    Received,
}

type Key = (Drift, Part, String, Option<String>);

/// What was found so far.
#[derive(Debug)]
pub(super) struct Comparison<'d> {
    ours: &'d Value,
    theirs: &'d Value,
    found: BTreeMap<Key, Difference>,
    /// The operation that is being looked at.
    operation: String,
    /// What was compared for this operation: our component, and what stands for it there.
    seen: BTreeSet<(&'d str, *const Value)>,
}

/// An operation of a document.
#[derive(Clone, Copy, Debug)]
struct Described<'d> {
    path: &'d str,
    item: &'d Value,
    operation: &'d Value,
}

impl<'d> Comparison<'d> {
    pub(super) fn of(ours: &'d Value, theirs: &'d Value) -> Self {
        let mut comparison = Self {
            ours,
            theirs,
            found: BTreeMap::new(),
            operation: String::new(),
            seen: BTreeSet::new(),
        };
        comparison.operations("paths");
        // A document that names no events says nothing of them.
        if theirs.get("webhooks").is_some() {
            comparison.operations("webhooks");
        }
        comparison
    }

    pub(super) fn into_differences(self) -> Vec<Difference> {
        self.found.into_values().collect()
    }

    fn operations(&mut self, section: &str) {
        let ours = described(self.ours, section);
        let theirs = described(self.theirs, section);
        for (key, known) in &ours {
            self.operation = name_of(key, known);
            match theirs.get(key) {
                Some(live) => self.operation(known, live),
                // The document of a surface need not have what has a URL of its own.
                None if is_mcp(known.operation) => {}
                None => {
                    let address = format!("{} {}", key.0, known.path);
                    self.note(
                        Drift::Gone,
                        Part::Operation,
                        None,
                        Some(address),
                        true,
                        false,
                    );
                }
            }
        }
        for (key, live) in theirs.iter().filter(|(key, _)| !ours.contains_key(*key)) {
            self.operation = format!("{} {}", key.0, live.path);
            self.note(Drift::New, Part::Operation, None, None, false, false);
        }
    }

    fn operation(&mut self, ours: &Described<'d>, theirs: &Described<'d>) {
        self.seen.clear();
        let deprecated = |it: &Described<'_>| it.operation["deprecated"] == Value::Bool(true);
        match (deprecated(ours), deprecated(theirs)) {
            (false, true) => self.changed_operation("deprecated now", false),
            (true, false) => self.changed_operation("no longer deprecated", false),
            _ => {}
        }
        let scope = |it: &Described<'d>| it.operation["x-scope"].as_str();
        if let Some(theirs) = scope(theirs).filter(|theirs| scope(ours) != Some(theirs)) {
            self.changed_operation(&format!("needs the scope {theirs} now"), true);
        }
        self.parameters(ours, theirs);
        let body = |document, it: &Described<'d>| {
            schema_of(resolved(document, it.operation.get("requestBody")?))
        };
        if let (Some(known), Some(live)) = (body(self.ours, ours), body(self.theirs, theirs)) {
            self.schemas(&[known], &[live], "request", Way::Sent);
        }
        self.responses(ours, theirs);
    }

    fn changed_operation(&mut self, how: &str, breaks: bool) {
        self.note(
            Drift::Changed,
            Part::Operation,
            None,
            Some(how.to_owned()),
            breaks,
            false,
        );
    }

    /// Those of the query and the headers; those of the path are in the path.
    fn parameters(&mut self, ours: &Described<'d>, theirs: &Described<'d>) {
        let known = parameters(self.ours, ours);
        let live = parameters(self.theirs, theirs);
        for (name, parameter) in &known {
            let place = format!("{} {name}", self.operation);
            let assumed = parameter["x-assumed"] == Value::Bool(true);
            match live.get(name) {
                None => self.note(
                    Drift::Gone,
                    Part::Parameter,
                    Some(place),
                    None,
                    !assumed,
                    assumed,
                ),
                Some(other) => {
                    let is_required = |it: &Value| it["required"] == Value::Bool(true);
                    if is_required(other) && !is_required(parameter) {
                        let how = Some("required now".to_owned());
                        self.note(
                            Drift::Changed,
                            Part::Parameter,
                            Some(place.clone()),
                            how,
                            true,
                            false,
                        );
                    }
                    if let (Some(known), Some(live)) =
                        (parameter.get("schema"), other.get("schema"))
                    {
                        self.schemas(&[known], &[live], &place, Way::Sent);
                    }
                }
            }
        }
        for (name, parameter) in live.iter().filter(|(name, _)| !known.contains_key(*name)) {
            let place = format!("{} {name}", self.operation);
            let required = parameter["required"] == Value::Bool(true);
            let how = required.then(|| "required".to_owned());
            self.note(
                Drift::New,
                Part::Parameter,
                Some(place),
                how,
                required,
                false,
            );
        }
    }

    fn responses(&mut self, ours: &Described<'d>, theirs: &Described<'d>) {
        let known = responses(self.ours, ours);
        let live = responses(self.theirs, theirs);
        if live.is_empty() {
            return;
        }
        for (status, response) in &known {
            let is_success = status.starts_with('2');
            let any = format!("{}XX", status.get(..1).unwrap_or_default());
            let other = live.get(status).or_else(|| live.get(any.as_str()));
            match other.or_else(|| live.get("default").filter(|_| !is_success)) {
                None => {
                    let status = Some((*status).to_owned());
                    self.note(Drift::Gone, Part::Status, None, status, is_success, false);
                }
                Some(other) => {
                    if let (Some(known), Some(live)) = (schema_of(response), schema_of(other)) {
                        match is_success {
                            true => self.success(known, live),
                            false => self.refusal(status, known, live),
                        }
                    }
                }
            }
        }
        let patterns = |status: &str| status == "default" || status.ends_with("XX");
        for status in live.keys().filter(|status| !known.contains_key(*status)) {
            if !patterns(status) {
                let status = Some((*status).to_owned());
                self.note(Drift::New, Part::Status, None, status, false, false);
            }
        }
    }

    /// A body with or without `data` around it.
    fn success(&mut self, known: &'d Value, live: &'d Value) {
        let (ours, theirs) = (
            Node::of(self.ours, &[known]),
            Node::of(self.theirs, &[live]),
        );
        match (ours.properties.get("data"), theirs.properties.get("data")) {
            (Some(known), Some(live)) => self.schemas(known, live, "answer", Way::Received),
            (Some(known), None) => self.schemas(known, &[live], "answer", Way::Received),
            (None, Some(live)) => self.schemas(&[known], live, "answer", Way::Received),
            _ => self.schemas(&[known], &[live], "answer", Way::Received),
        }
    }

    /// The codes, and what else an error has.
    fn refusal(&mut self, status: &str, known: &'d Value, live: &'d Value) {
        let error = |document, schema| {
            let envelope = Node::of(document, &[schema]);
            envelope
                .properties
                .get("error")
                .cloned()
                .unwrap_or_else(|| vec![schema])
        };
        let (known, live) = (error(self.ours, known), error(self.theirs, live));
        let code = |document: &'d Value, error: &[&'d Value]| {
            let error = Node::of(document, error);
            error
                .properties
                .get("code")
                .and_then(|code| Node::of(document, code).values)
        };
        if let (Some(ours), Some(theirs)) = (code(self.ours, &known), code(self.theirs, &live)) {
            let is_assumed: BTreeSet<_> = assumed_codes(self.ours).collect();
            for code in &ours - &theirs {
                let assumed = is_assumed.contains(code);
                let (place, code) = (Some(status.to_owned()), Some(code.to_owned()));
                self.note(Drift::Gone, Part::Code, place, code, !assumed, assumed);
            }
            for code in &theirs - &ours {
                let (place, code) = (Some(status.to_owned()), Some(code.to_owned()));
                self.note(Drift::New, Part::Code, place, code, false, false);
            }
        }
    }

    fn schemas(&mut self, ours: &[&'d Value], theirs: &[&'d Value], place: &str, way: Way) {
        let (known, live) = (Node::of(self.ours, ours), Node::of(self.theirs, theirs));
        let place = known.component.unwrap_or(place).to_owned();
        if let (Some(component), Some(first)) = (known.component, theirs.first())
            && !self.seen.insert((component, std::ptr::from_ref(*first)))
        {
            return;
        }
        self.types(&known, &live, &place);
        self.values(&known, &live, &place);
        self.fields(&known, &live, &place, way);
        if let (Some(ours), Some(theirs)) = (known.items, live.items) {
            self.schemas(&[ours], &[theirs], &format!("{place}[]"), way);
        }
    }

    fn types(&mut self, known: &Node<'d>, live: &Node<'d>, place: &str) {
        let fits = |one: &str, two: &str| one == two || (one == "number" && two == "integer");
        let fit = known
            .types
            .iter()
            .any(|one| live.types.iter().any(|two| fits(one, two)));
        if !fit && !known.types.is_empty() && !live.types.is_empty() {
            let names =
                |types: &BTreeSet<&str>| types.iter().copied().collect::<Vec<_>>().join(" or ");
            let how = format!("{} is {} now", names(&known.types), names(&live.types));
            let assumed = known.assumed;
            let place = Some(place.to_owned());
            self.note(
                Drift::Changed,
                Part::Field,
                place,
                Some(how),
                !assumed,
                assumed,
            );
        }
    }

    fn values(&mut self, known: &Node<'d>, live: &Node<'d>, place: &str) {
        let (Some(ours), Some(theirs)) = (&known.values, &live.values) else {
            return;
        };
        for value in ours - theirs {
            let assumed = known.assumed || known.assumed_values.contains(value);
            let (place, value) = (Some(place.to_owned()), Some(value.to_owned()));
            self.note(
                Drift::Gone,
                Part::EnumValue,
                place,
                value,
                !assumed,
                assumed,
            );
        }
        for value in theirs - ours {
            let (place, value) = (Some(place.to_owned()), Some(value.to_owned()));
            self.note(Drift::New, Part::EnumValue, place, value, false, false);
        }
    }

    fn fields(&mut self, known: &Node<'d>, live: &Node<'d>, place: &str, way: Way) {
        // An object of which one side names no field may have any.
        if known.properties.is_empty() || live.properties.is_empty() {
            return;
        }
        for (name, ours) in &known.properties {
            let place = format!("{place}.{name}");
            let assumed = known.assumed || Node::of(self.ours, ours).assumed;
            let Some(theirs) = live.properties.get(name) else {
                self.note(
                    Drift::Gone,
                    Part::Field,
                    Some(place),
                    None,
                    !assumed,
                    assumed,
                );
                continue;
            };
            let (we_need, they_need) =
                (known.required.contains(name), live.required.contains(name));
            let how = match way {
                Way::Sent if they_need && !we_need => Some("required now"),
                Way::Received if we_need && !they_need => Some("may be missing now"),
                _ => None,
            };
            if let Some(how) = how {
                let breaks = way == Way::Sent || !assumed;
                let how = Some(how.to_owned());
                self.note(
                    Drift::Changed,
                    Part::Field,
                    Some(place.clone()),
                    how,
                    breaks,
                    assumed,
                );
            }
            self.schemas(ours, theirs, &place, way);
        }
        for name in live
            .properties
            .keys()
            .filter(|name| !known.properties.contains_key(*name))
        {
            let required = way == Way::Sent && live.required.contains(name);
            let how = required.then(|| "required".to_owned());
            let place = Some(format!("{place}.{name}"));
            self.note(Drift::New, Part::Field, place, how, required, false);
        }
    }

    /// Takes a difference down; one that is there already shows at one more operation.
    fn note(
        &mut self,
        drift: Drift,
        part: Part,
        place: Option<String>,
        detail: Option<String>,
        breaks: bool,
        assumed: bool,
    ) {
        let place = place.unwrap_or_else(|| self.operation.clone());
        let key = (drift, part, place.clone(), detail.clone());
        let difference = self.found.entry(key).or_insert_with(|| Difference {
            drift,
            part,
            place,
            detail,
            breaks,
            assumed,
            operations: Vec::new(),
        });
        difference.breaks |= breaks;
        if !difference.operations.contains(&self.operation) {
            difference.operations.push(self.operation.clone());
        }
    }
}

fn name_of(key: &(String, String), described: &Described<'_>) -> String {
    let name = described.operation["operationId"].as_str();
    name.map_or_else(|| format!("{} {}", key.0, described.path), str::to_owned)
}

/// The operations of a document, by method and path; placeholders have no names there.
fn described<'d>(document: &'d Value, section: &str) -> BTreeMap<(String, String), Described<'d>> {
    const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];
    let mut found = BTreeMap::new();
    let items = document.get(section).and_then(Value::as_object);
    for (path, item) in items.into_iter().flatten() {
        let item = resolved(document, item);
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                // The URL of MCP is configured by itself.
                let path_key = match is_mcp(operation) {
                    true => "{mcp_url}".to_owned(),
                    false => nameless(path),
                };
                let key = (method.to_ascii_uppercase(), path_key);
                let described = Described {
                    path,
                    item,
                    operation,
                };
                found.insert(key, described);
            }
        }
    }
    found
}

fn is_mcp(operation: &Value) -> bool {
    let tags = operation["tags"].as_array();
    tags.is_some_and(|tags| tags.iter().any(|tag| tag == "mcp"))
}

fn nameless(path: &str) -> String {
    let segments = path
        .split('/')
        .map(|segment| match segment.starts_with('{') {
            true => "{}",
            false => segment,
        });
    segments.collect::<Vec<_>>().join("/")
}

fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(reference) => target(document, reference),
        None => value,
    }
}

fn parameters<'d>(document: &'d Value, described: &Described<'d>) -> BTreeMap<String, &'d Value> {
    let lists = [
        described.item.get("parameters"),
        described.operation.get("parameters"),
    ];
    let all = lists
        .into_iter()
        .flatten()
        .filter_map(Value::as_array)
        .flatten();
    all.map(|parameter| resolved(document, parameter))
        .filter(|parameter| matches!(parameter["in"].as_str(), Some("query" | "header")))
        .filter_map(|parameter| {
            let name = parameter["name"].as_str()?;
            let name = match parameter["in"] == "header" {
                true => name.to_ascii_lowercase(),
                false => name.to_owned(),
            };
            Some((name, parameter))
        })
        // The credential is no parameter, whoever describes it so; nor is the type of the body.
        .filter(|(name, _)| {
            !matches!(
                name.as_str(),
                "authorization" | "x-api-key" | "content-type"
            )
        })
        .collect()
}

fn responses<'d>(document: &'d Value, described: &Described<'d>) -> BTreeMap<&'d str, &'d Value> {
    let responses = described
        .operation
        .get("responses")
        .and_then(Value::as_object);
    responses
        .into_iter()
        .flatten()
        .map(|(status, response)| (status.as_str(), resolved(document, response)))
        .collect()
}

/// The schema of a JSON body.
fn schema_of(body: &Value) -> Option<&Value> {
    let content = body.get("content")?.as_object()?;
    let json = content
        .iter()
        .find(|(name, _)| name.split(';').next() == Some("application/json"));
    json?.1.get("schema")
}

fn assumed_codes(document: &Value) -> impl Iterator<Item = &str> {
    let codes = document.pointer("/components/schemas/ErrorCode/x-assumed-values");
    let codes = codes.and_then(Value::as_array).into_iter().flatten();
    codes.filter_map(Value::as_str)
}
