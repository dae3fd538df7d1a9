//! Properties of schemas and values: the checks here, the SDK's, and the `jsonschema` crate agree.

use jsonschema::Draft;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use svc_sdk::types::OutputSchema;

use super::{check, example, fit};

const URL: &str = "https://media.example/a.png";

/// Generates numbers, with several spellings of equal ones and neighbors that an `f64` confuses.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (-3..4_i64).prop_map(Value::from),
        2 => (-6..7_i32).prop_map(|halves| json!(f64::from(halves) / 2.0)),
        1 => select(vec![
            json!(9_007_199_254_740_992_u64),
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992.0),
            json!(-9_007_199_254_740_993_i64),
            json!(i64::MIN),
            json!(i64::MAX),
            json!(u64::MAX),
            json!(u64::MAX - 1),
            json!(18_446_744_073_709_551_616.0),
            json!(1e300),
            json!(-0.0),
        ]),
    ]
}

/// Generates values with few names and texts, so that they often fit.
fn value() -> impl Strategy<Value = Value> {
    let text = select(vec!["", "a", "ä", URL, "urn:isbn:1", "no url", "/relative"]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c/d~", "type", ""]).prop_map(str::to_owned)
}

/// The keywords of a schema, each of which may be missing.
fn keywords(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Map<String, Value>> {
    let weighted = |share: f64, keyword: &'static str, value: BoxedStrategy<Value>| {
        proptest::option::weighted(share, value)
            .prop_map(move |value| value.map(|value| (keyword.to_owned(), value)))
            .boxed()
    };
    let maybe = |keyword, value| weighted(0.2, keyword, value);
    let types = ["object", "array", "string", "number", "integer", "boolean", "null"];
    let names = proptest::collection::btree_set(name(), 0..3);
    let count = || (0..4_u64).prop_map(Value::from).boxed();
    let properties = proptest::collection::btree_map(name(), inner.clone(), 0..4)
        .prop_map(|properties| Value::Object(properties.into_iter().collect()));
    let schema = [
        weighted(0.7, "type", select(types.to_vec()).prop_map(Value::from).boxed()),
        weighted(0.5, "properties", properties.boxed()),
        maybe("required", names.prop_map(|names| json!(names)).boxed()),
        maybe("items", inner),
        maybe("enum", proptest::collection::vec(value(), 1..4).prop_map(Value::from).boxed()),
        maybe("const", value().boxed()),
        maybe("description", Just(json!("d")).boxed()),
        maybe("additionalProperties", any::<bool>().prop_map(Value::from).boxed()),
        maybe("minItems", count()),
        maybe("maxItems", count()),
        maybe("minimum", number().boxed()),
        maybe("maximum", number().boxed()),
        maybe("format", Just(json!("uri")).boxed()),
    ];
    schema.to_vec().prop_map(|keywords| keywords.into_iter().flatten().collect())
}

/// Generates schemas that use no other keywords than the supported ones.
fn subschema() -> impl Strategy<Value = Value> {
    let leaf = Just(json!({})).boxed();
    keywords(leaf)
        .prop_map(Value::Object)
        .prop_recursive(3, 16, 4, |inner| keywords(inner.boxed()).prop_map(Value::Object))
}

fn schema() -> impl Strategy<Value = Value> {
    keywords(subschema().boxed()).prop_map(|mut keywords| {
        keywords.insert("type".to_owned(), json!("object"));
        Value::Object(keywords)
    })
}

/// Replaces one part of a schema by an arbitrary value, or adds a keyword.
fn damaged_schema() -> impl Strategy<Value = Value> {
    let keyword = select(vec![
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "description",
        "additionalProperties",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "format",
        "pattern",
        "$ref",
    ]);
    let damage = prop_oneof![
        3 => value(),
        1 => Just(json!(["a", "a"])),
        1 => Just(json!("date")),
        1 => Just(json!(-1)),
        1 => Just(json!(1.5)),
    ];
    (schema(), any::<prop::sample::Index>(), keyword, damage).prop_map(
        |(mut schema, index, keyword, damage)| {
            let mut parts = Vec::new();
            collect_schemas(&schema, String::new(), &mut parts);
            let part = schema.pointer_mut(&parts[index.index(parts.len())]);
            if let Some(part) = part.and_then(Value::as_object_mut) {
                part.insert(keyword.to_owned(), damage);
            }
            schema
        },
    )
}

fn collect_schemas(schema: &Value, path: String, paths: &mut Vec<String>) {
    if let Some(items) = schema.get("items") {
        collect_schemas(items, format!("{path}/items"), paths);
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let path = super::child_path(&format!("{path}/properties"), name);
        collect_schemas(property, path, paths);
    }
    paths.push(path);
}

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .build(schema)
        .unwrap()
}

fn places(violations: &[super::Violation]) -> Vec<(String, String)> {
    let mut places: Vec<_> =
        violations.iter().map(|it| (it.path.clone(), it.rule.clone())).collect();
    places.sort_unstable();
    places
}

proptest! {
    #[test]
    fn supported_schemas_are_valid_and_accepted_by_the_sdk(schema in schema()) {
        let bounds = "invalid_keyword_value";
        let violations = check(&schema);
        // Bounds that exclude each other are valid JSON Schema.
        prop_assert!(violations.iter().all(|it| it.rule == bounds), "{:?}", violations);
        prop_assert!(jsonschema::draft202012::meta::is_valid(&schema));
        prop_assert!(OutputSchema::new(schema).is_ok());
    }

    #[test]
    fn what_is_accepted_is_valid_json_schema(schema in damaged_schema()) {
        let is_valid = jsonschema::draft202012::meta::is_valid(&schema);
        let by_sdk = OutputSchema::validate(&schema);
        prop_assert!(is_valid || !by_sdk.is_empty(), "the SDK accepts {}", schema);
        prop_assert!(is_valid || !check(&schema).is_empty(), "the mock accepts {}", schema);
    }

    #[test]
    fn the_sdk_finds_the_same_violations(schema in damaged_schema()) {
        let mut by_sdk: Vec<_> = OutputSchema::validate(&schema)
            .into_iter()
            .map(|it| (it.path, it.rule))
            .collect();
        by_sdk.sort_unstable();
        prop_assert_eq!(by_sdk, places(&check(&schema)), "{}", schema);
    }

    #[test]
    fn values_are_judged_as_by_jsonschema(schema in subschema(), value in value()) {
        let violations = fit(&value, &schema);
        prop_assert_eq!(
            violations.is_empty(),
            validator(&schema).is_valid(&value),
            "{} {} {:?}", schema, value, violations
        );
    }

    #[test]
    fn numbers_are_judged_as_by_jsonschema(
        name in select(vec!["integer", "number"]),
        keyword in select(vec!["minimum", "maximum", "const", "enum"]),
        bound in number(),
        number in number(),
    ) {
        let bound = if keyword == "enum" { json!([{"a": [bound]}, bound]) } else { bound };
        let schema = json!({"type": name, keyword: bound});
        let is_valid = validator(&schema).is_valid(&number);
        prop_assert_eq!(fit(&number, &schema).is_empty(), is_valid, "{} {}", schema, number);
        if keyword == "enum" {
            let (schema, value) = (json!({"enum": bound}), json!({"a": [number]}));
            let is_valid = validator(&schema).is_valid(&value);
            prop_assert_eq!(fit(&value, &schema).is_empty(), is_valid, "{} {}", schema, value);
        }
    }

    #[test]
    fn examples_are_judged_as_by_jsonschema(schema in schema()) {
        let value = example(&schema, URL);
        prop_assert_eq!(fit(&value, &schema).is_empty(), validator(&schema).is_valid(&value), "{} {}", schema, value);
    }

    #[test]
    fn violations_are_at_existing_places(schema in subschema(), value in value()) {
        for violation in fit(&value, &schema) {
            prop_assert!(value.pointer(&violation.path).is_some(), "{:?}", violation);
        }
    }
}
