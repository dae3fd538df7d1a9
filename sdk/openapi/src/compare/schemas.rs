//! The comparison of schemas.

use std::collections::BTreeSet;

use serde_json::Value;

use super::comparison::{Comparison, Direction};
use super::report::Finding;
use super::resolved_schema::ResolvedSchema;
use super::{ChangeKind, Part};

impl<'d> Comparison<'d> {
    /// Compares two schemas, each given as a list of schemas that all apply.
    ///
    /// Differences are located by the name of our component, or by `location` if it has none.
    pub(super) fn compare_schemas(
        &mut self,
        ours: &[&'d Value],
        theirs: &[&'d Value],
        location: &str,
        direction: Direction,
    ) {
        let our_schema = ResolvedSchema::new(self.ours, ours);
        let their_schema = ResolvedSchema::new(self.theirs, theirs);
        let location = our_schema.component.unwrap_or(location).to_owned();
        if let (Some(component), Some(first)) = (our_schema.component, theirs.first())
            && !self.visited.insert((component, std::ptr::from_ref(*first)))
        {
            return;
        }
        self.compare_types(&our_schema, &their_schema, &location);
        self.compare_values(&our_schema, &their_schema, &location);
        self.compare_fields(&our_schema, &their_schema, &location, direction);
        if let (Some(ours), Some(theirs)) = (our_schema.items, their_schema.items) {
            self.compare_schemas(&[ours], &[theirs], &format!("{location}[]"), direction);
        }
    }

    fn compare_types(
        &mut self,
        ours: &ResolvedSchema<'d>,
        theirs: &ResolvedSchema<'d>,
        location: &str,
    ) {
        let fits =
            |ours: &str, theirs: &str| ours == theirs || (ours == "number" && theirs == "integer");
        let any_fits =
            ours.types.iter().any(|our_type| theirs.types.iter().any(|it| fits(our_type, it)));
        if any_fits || ours.types.is_empty() || theirs.types.is_empty() {
            return;
        }
        let names = |types: &BTreeSet<&str>| types.iter().copied().collect::<Vec<_>>().join(" or ");
        let detail =
            format!("type changed from {} to {}", names(&ours.types), names(&theirs.types));
        self.report(
            Finding::new(ChangeKind::Changed, Part::Field)
                .at(location)
                .detail(detail)
                .breaking_unless_assumed(ours.assumed),
        );
    }

    fn compare_values(
        &mut self,
        ours: &ResolvedSchema<'d>,
        theirs: &ResolvedSchema<'d>,
        location: &str,
    ) {
        let (Some(our_values), Some(their_values)) = (&ours.values, &theirs.values) else { return };
        for value in our_values - their_values {
            self.report(
                Finding::new(ChangeKind::Gone, Part::EnumValue)
                    .at(location)
                    .detail(value)
                    .breaking_unless_assumed(ours.assumed || ours.assumed_values.contains(value)),
            );
        }
        for value in their_values - our_values {
            self.report(Finding::new(ChangeKind::New, Part::EnumValue).at(location).detail(value));
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
                self.report(
                    Finding::new(ChangeKind::Gone, Part::Field)
                        .at(location)
                        .breaking_unless_assumed(assumed),
                );
                continue;
            };
            let required = (ours.required.contains(name), theirs.required.contains(name));
            let detail = match (direction, required) {
                (Direction::Request, (false, true)) => Some("now required"),
                (Direction::Response, (true, false)) => Some("now optional"),
                _ => None,
            };
            if let Some(detail) = detail {
                self.report(
                    Finding::new(ChangeKind::Changed, Part::Field)
                        .at(location.clone())
                        .detail(detail)
                        .breaking(direction == Direction::Request || !assumed)
                        .assumed(assumed),
                );
            }
            self.compare_schemas(our_field, their_field, &location, direction);
        }
        let new_fields = theirs.properties.keys();
        for name in new_fields.filter(|name| !ours.properties.contains_key(*name)) {
            let required = direction == Direction::Request && theirs.required.contains(name);
            self.report_new_input(Part::Field, format!("{location}.{name}"), required);
        }
    }
}
