use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::types::*;

/// Decodes and encodes a body of the type with the name.
type RoundTrip = fn(Value) -> Result<Value, serde_json::Error>;

fn round_trip<T: DeserializeOwned + Serialize>(json: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(json)?)
}

/// A response body, with the JSON of its required fields.
struct ReceivedBody {
    name: &'static str,
    round_trip: RoundTrip,
    required: &'static str,
    names: &'static [&'static str],
}

impl ReceivedBody {
    fn required(&self) -> Value {
        serde_json::from_str(self.required).unwrap()
    }

    fn optional_names(&self) -> Vec<&'static str> {
        let required = self.required();
        let names = self.names.iter().filter(|name| required.get(name).is_none());
        names.copied().collect()
    }
}

macro_rules! table {
    ($($type:ident $required:tt,)+) => {
        &[$(ReceivedBody {
            name: stringify!($type),
            round_trip: round_trip::<$type>,
            required: stringify!($required),
            names: $type::NAMES,
        }),+]
    };
}

/// Every response body with its required fields.
#[rustfmt::skip]
const BODIES: &[ReceivedBody] = table! {
    Health {},
    Me {},
    KeyMetadata {"id": "k"},
    Workspace {"id": "w"},
    GenerationLimits {},
    Balance {"available_usd": "1.0000"},
    UsageEntry {"kind": "capture", "amount_usd": "1.0000"},
    Action {"id": "a"},
    ActionSchedule {},
    ActionTrigger {},
    Avatar {"id": "a"},
    AvatarVideo {"id": "a"},
    VideoCaptions {"id": "c"},
    Estimate {"price_usd": "0.5000"},
    TopUp {"id": "t"},
    ServiceCatalog {},
    MusicTrack {},
    MusicCategory {},
    TrendingVideo {},
    JobEvent {},
    ErrorBody {"code": "nsfw"},
    ErrorDetails {},
    UnknownParameter {},
    SchemaViolation {"path": ""},
    Format {"id": "f"},
    FormatIo {},
    Queue {},
    QueueItem {},
    Job {"id": "j"},
    JobOutput {},
    Artifact {},
    WebhookDelivery {},
    Redelivery {},
    SubmitReceipt {"job": {"id": "j", "status": "queued"}},
    JobStatusPayload {},
    JobResult {"job_id": "j"},
    Model {"id": "m"},
    Capabilities {},
    NumberRange {"min": 1, "max": 2},
    CatalogModel {"id": "m"},
    CatalogPricing {"unit": "second"},
    CatalogRate {"unit_price_usd": "0.1000"},
    RunReceipt {},
    RunUsage {},
    RunStatusPayload {},
    RunEvent {},
    WebhookEvent {"event": "job.completed"},
    SigningSecret {},
    SecretRotation {},
    TestDelivery {},
};

#[test]
fn an_amount_is_written_back_as_it_came() {
    for json in [
        json!({"id": "j", "price_usd": "0.10000000"}),
        json!({"id": "j", "price_usd": "0.1"}),
        json!({"id": "j", "price_usd": "0.1000"}),
    ] {
        let job: Job = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(job.price_usd, Some(Usd::from_micros(100_000)));
        assert_eq!(serde_json::to_value(&job).unwrap(), json);
    }
    let json = json!({"available_usd": "12.50", "currency": "USD"});
    let balance: Balance = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(balance.available_usd, Usd::from_micros(12_500_000));
    assert_eq!(serde_json::to_value(&balance).unwrap(), json);
}

/// Values for every field: blank ones, ones that some fields expect, and ones that none does.
fn unexpected_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(-0.1234567),
        json!(u64::MAX),
        json!(""),
        json!("text"),
        json!([]),
        json!([7, {"id": 1}, "text", null]),
        json!({}),
        json!({"id": [], "status": [], "lane": 1}),
    ]
}

#[test]
fn unexpected_values_are_written_back_unchanged() {
    for body @ ReceivedBody { name, round_trip, .. } in BODIES {
        let (required, fields) = (body.required(), body.optional_names());
        assert_eq!(round_trip(required.clone()).unwrap(), required, "{name}");
        for field in fields.iter().chain(&["lane"]) {
            for value in unexpected_values() {
                let mut json = required.clone();
                json[field] = value;
                let written = round_trip(json.clone());
                assert_eq!(written.unwrap(), json, "{name}");
            }
        }
        for value in unexpected_values() {
            let mut json = required.clone();
            for field in &fields {
                json[field] = value.clone();
            }
            let written = round_trip(json.clone());
            assert_eq!(written.unwrap(), json, "{name}");
        }
    }
}

#[test]
fn a_missing_required_field_is_named() {
    for body @ ReceivedBody { name, round_trip, .. } in BODIES {
        let required = body.required();
        for field in required.as_object().unwrap().keys() {
            if *name == "JobResult" {
                continue;
            }
            let mut json = required.clone();
            json.as_object_mut().unwrap().remove(field);
            let error = round_trip(json).unwrap_err().to_string();
            assert_eq!(error, format!("missing field `{field}`"), "{name}");
        }
        assert!(round_trip(json!("text")).is_err(), "{name}");
        assert!(round_trip(Value::Null).is_err(), "{name}");
    }
}

#[test]
fn unexpected_values_do_not_hide_their_neighbours() {
    let json = json!({
        "status": "failed", "kind": "saga", "error": "none", "output": null, "usage": [1],
        "artifacts": ["art_0", {"id": "art_1", "url": null}, {"id": "art_2", "url": "https://m/a.png"}],
        "created_at": 7, "primary_output_key": "hero", "next_poll_after_seconds": "soon"
    });
    let receipt: RunReceipt = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(receipt.artifacts.len(), 2);
    assert_eq!(receipt.artifacts[0].url, None);
    assert_eq!(receipt.primary_output_key.as_deref(), Some("hero"));
    assert_eq!((receipt.created_at.as_ref(), receipt.poll_after), (None, None));
    assert_eq!(receipt.extra.get("created_at"), Some(&json!(7)));
    let written = serde_json::to_string(&receipt).unwrap();
    assert_eq!(written.matches("\"artifacts\"").count(), 1);
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), json);
}

#[test]
fn a_null_field_that_is_set_later_is_written_once() {
    let json = json!({"status": "failed", "output": null});
    let mut receipt: RunReceipt = serde_json::from_value(json).unwrap();
    receipt.output = Some(json!({"title": "Fox"}));
    let written = serde_json::to_string(&receipt).unwrap();
    assert_eq!(written, r#"{"status":"failed","output":{"title":"Fox"}}"#);
}

#[test]
fn durations_are_numbers_of_seconds() {
    for (number, duration) in [
        ("0", Some(Duration::ZERO)),
        ("2", Some(Duration::from_secs(2))),
        ("0.25", Some(Duration::from_millis(250))),
        ("-1", None),
        ("1e300", None),
        ("\"2\"", None),
        ("null", None),
    ] {
        let json = format!("{{\"next_poll_after_seconds\":{number}}}");
        let payload: JobStatusPayload = serde_json::from_str(&json).unwrap();
        assert_eq!(payload.poll_after, duration, "{number}");
        let written = serde_json::to_value(&payload).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(&json).unwrap());
    }
}

#[test]
fn names_may_be_repeated_under_an_alias() {
    for json in [
        json!({"id": "job_1", "job_id": "job_1", "status": "completed"}),
        json!({"job_id": "job_1", "id": null}),
        json!({"id": null, "artifacts": []}),
    ] {
        let result: JobResult = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&result).unwrap(), json);
    }
    let json = json!({"id": 7, "model": "m-1"});
    let model: CatalogModel = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(model.id, "m-1");
    assert_eq!(serde_json::to_value(&model).unwrap(), json);
}

#[test]
fn every_response_body_is_in_the_table() {
    fn declared(folder: &Path) -> usize {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let count = |path: PathBuf| match path.is_dir() {
            true => declared(&path),
            false => fs::read_to_string(path).unwrap().matches("\nresponse_body! {").count(),
        };
        entries.map(count).sum()
    }
    let types = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/types");
    assert_eq!(declared(&types), BODIES.len());
}

/// A job as a program would decode it with types of its own.
#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "only decoded")]
struct PlainJob {
    id: String,
    status: String,
    #[serde(rename = "type")]
    job_type: String,
    model: String,
    price_usd: String,
    result: PlainOutput,
    metadata: serde_json::Map<String, Value>,
    created_at: String,
}

#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "only decoded")]
struct PlainOutput {
    artifacts: Vec<PlainArtifact>,
}

#[derive(serde::Deserialize)]
#[expect(dead_code, reason = "only decoded")]
struct PlainArtifact {
    id: String,
    url: String,
    media_type: String,
}

#[test]
fn a_job_takes_no_more_allocations_than_plain_types() {
    fn allocations<T: DeserializeOwned>(json: &str) -> u64 {
        let counted = allocation_counter::measure(|| {
            serde_json::from_str::<T>(json).unwrap();
        });
        counted.count_total
    }

    let json = r#"{"id": "job_1", "status": "completed", "type": "image_generation", "model": "image-i",
        "price_usd": "0.0050", "metadata": {"order": "1042"}, "created_at": "2026-08-14T09:26:53.589Z",
        "result": {"artifacts": [{"id": "art_1", "url": "https://m/a.png", "media_type": "image"}]}}"#;
    let (own, plain) = (allocations::<Job>(json), allocations::<PlainJob>(json));
    assert!(own <= plain, "{own} instead of {plain}");
}

#[test]
fn fractions_are_read_exactly() {
    // A fraction that a fast parser reads as the one beside it.
    let unknown = r#""score":0.9073038322028689"#;
    let job: Job = serde_json::from_str(&format!(r#"{{"id":"job_1",{unknown}}}"#)).unwrap();
    let written = serde_json::to_string(&job).unwrap();
    assert!(written.contains(unknown), "{written}");
}
