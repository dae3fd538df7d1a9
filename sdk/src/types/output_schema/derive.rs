//! Output schemas derived from Rust types.

use schemars::generate::SchemaSettings;
use schemars::transform::{ReplaceBoolSchemas, Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::{OutputSchema, OutputSchemaError};

impl OutputSchema {
    /// Creates the schema of the Rust type of the output.
    ///
    /// An `Option` field is not required; doc comments become descriptions. An enum with data and a map
    /// are outside the supported subset, of which [`validate`](Self::validate) tells.
    ///
    /// ```
    /// use svc_sdk::types::OutputSchema;
    ///
    /// #[derive(schemars::JsonSchema, serde::Deserialize)]
    /// struct Teaser {
    ///     /// At most ten words.
    ///     title: String,
    ///     tags: Option<Vec<String>>,
    /// }
    ///
    /// let schema = OutputSchema::for_type::<Teaser>()?;
    /// assert_eq!(
    ///     schema.as_value(),
    ///     &serde_json::json!({
    ///         "type": "object",
    ///         "properties": {
    ///             "title": {"type": "string", "description": "At most ten words."},
    ///             "tags": {"type": "array", "items": {"type": "string"}},
    ///         },
    ///         "required": ["title"],
    ///     }),
    /// );
    /// # Ok::<(), svc_sdk::types::OutputSchemaError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn for_type<T: JsonSchema>() -> Result<Self, OutputSchemaError> {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let mut schema = settings.into_generator().into_root_schema_for::<T>();
        let mut replace_bools = ReplaceBoolSchemas::default();
        replace_bools.skip_additional_properties = true;
        replace_bools.transform(&mut schema);
        IntoSubset.transform(&mut schema);
        Self::new(schema.to_value())
    }
}

/// Rewrites a schema with the keywords of the supported subset.
struct IntoSubset;

impl Transform for IntoSubset {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        for annotation in ANNOTATIONS {
            schema.remove(annotation);
        }
        // The width of a number is redundant: it has bounds.
        if schema.get("format").and_then(Value::as_str) != Some("uri") && is_number(schema) {
            schema.remove("format");
        }
        remove_null(schema);
        constants_to_enum(schema);
    }
}

/// Keywords that do not change how the output is decoded. `uniqueItems` is one, because a set can
/// be decoded from a list with duplicates.
const ANNOTATIONS: [&str; 7] =
    ["title", "default", "examples", "deprecated", "readOnly", "writeOnly", "uniqueItems"];

fn is_number(schema: &Schema) -> bool {
    let is_number = |name: &Value| name == "integer" || name == "number";
    schema.get("type").is_some_and(|names| match names {
        Value::Array(names) => names.iter().any(is_number),
        name => is_number(name),
    })
}

/// Removes `null`: an `Option` that is `None` is left out.
fn remove_null(schema: &mut Schema) {
    let is_null = |name: &Value| name.as_str() == Some("null");
    if let Some(Value::Array(names)) = schema.get("type") {
        let others: Vec<_> = names.iter().filter(|name| !is_null(name)).cloned().collect();
        if let [only] = others.as_slice() {
            schema.insert("type".to_owned(), only.clone());
        }
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        let others = values.iter().filter(|value| !value.is_null()).cloned();
        let others = others.collect();
        schema.insert("enum".to_owned(), others);
    }
    let Some(Value::Array(choices)) = schema.get("anyOf") else { return };
    let others: Vec<_> =
        choices.iter().filter(|choice| !choice.get("type").is_some_and(is_null)).cloned().collect();
    if let [Value::Object(only)] = others.as_slice() {
        schema.remove("anyOf");
        for (keyword, value) in only {
            if schema.get(keyword).is_none() {
                schema.insert(keyword.clone(), value.clone());
            }
        }
    }
}

/// Replaces alternatives of constants, which is how variants with docs are derived, by an enum.
fn constants_to_enum(schema: &mut Schema) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else { return };
    let mut values = Vec::new();
    for choice in choices {
        match (choice.get("const"), choice.get("enum")) {
            (Some(value), None) => values.push(value.clone()),
            (None, Some(Value::Array(several))) => values.extend(several.iter().cloned()),
            _ => return,
        }
    }
    let all_strings = values.iter().all(Value::is_string);
    schema.remove("oneOf");
    schema.insert("enum".to_owned(), Value::Array(values));
    if all_strings {
        schema.insert("type".to_owned(), "string".into());
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Mood {
        Calm,
        Wild,
    }

    #[derive(JsonSchema, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Tag {
        /// For the web.
        Web,
        /// For print.
        Print,
    }

    #[derive(JsonSchema, Deserialize)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Size {
        width: u32,
    }

    fn of<T: JsonSchema>() -> Value {
        match OutputSchema::for_type::<T>() {
            Ok(schema) => schema.as_value().clone(),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn supports_common_types() {
        use std::collections::{BTreeSet, HashMap};

        #[derive(JsonSchema, Deserialize)]
        #[expect(dead_code, reason = "only the schema is used")]
        struct Name(String);

        #[derive(JsonSchema, Deserialize)]
        #[expect(dead_code, reason = "only the schema is used")]
        struct Common {
            lang: String,
        }

        #[derive(JsonSchema, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        #[expect(dead_code, reason = "only the schema is used")]
        struct Everything {
            /// The name to show.
            display_name: Name,
            nested: Option<Option<Mood>>,
            documented: Option<Tag>,
            gaps: Vec<Option<String>>,
            boxed: Option<Box<Size>>,
            many: Option<Vec<Size>>,
            set: BTreeSet<String>,
            pair: [f32; 2],
            byte: u8,
            score: f64,
            #[serde(default)]
            count: i64,
            #[serde(rename = "other")]
            anything: Value,
            things: Vec<Value>,
            perhaps: Option<Value>,
            #[serde(skip_serializing)]
            secret: String,
            #[schemars(range(min = 1, max = 5), length(max = 7), title = "Stars")]
            stars: u32,
            #[schemars(url)]
            link: String,
            loose: HashMap<String, Value>,
        }

        let size = json!({
            "type": "object",
            "properties": {"width": {"type": "integer", "minimum": 0}},
            "required": ["width"],
        });
        let properties = json!({
            "displayName": {"type": "string", "description": "The name to show."},
            "nested": {"type": "string", "enum": ["calm", "wild"]},
            "documented": {"type": "string", "enum": ["web", "print"]},
            "gaps": {"type": "array", "items": {"type": "string"}},
            "boxed": size,
            "many": {"type": "array", "items": size},
            "set": {"type": "array", "items": {"type": "string"}},
            "pair": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
            "byte": {"type": "integer", "minimum": 0, "maximum": 255},
            "score": {"type": "number"},
            "count": {"type": "integer"},
            "other": {},
            "things": {"type": "array", "items": {}},
            "perhaps": {},
            "secret": {"type": "string"},
            "stars": {"type": "integer", "minimum": 1, "maximum": 5},
            "link": {"type": "string", "format": "uri"},
            "loose": {"type": "object", "additionalProperties": true},
        });
        let schema = of::<Everything>();
        assert_eq!(schema["properties"], properties);
        assert_eq!(schema["additionalProperties"], false);

        #[derive(JsonSchema, Deserialize)]
        #[expect(dead_code, reason = "only the schema is used")]
        struct Flat {
            #[serde(flatten)]
            common: Common,
            #[serde(flatten)]
            rest: HashMap<String, Value>,
            title: String,
        }
        let flat = of::<Flat>();
        assert_eq!(flat["properties"]["lang"], json!({"type": "string"}));
    }

    #[test]
    fn types_outside_the_subset_are_told_of() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema is used")]
        struct Tree {
            name: String,
            children: Vec<Self>,
            next: Option<Box<Self>>,
        }

        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only the schema is used")]
        struct Counts {
            by_name: std::collections::BTreeMap<String, u32>,
        }

        assert_ne!(OutputSchema::validate(&of::<Tree>()), []);
        assert_ne!(OutputSchema::validate(&of::<Vec<String>>()), [], "the root must be an object");
        let violations = OutputSchema::validate(&of::<Counts>());
        assert_eq!(violations[0].path, "/properties/by_name/additionalProperties");
    }
}
