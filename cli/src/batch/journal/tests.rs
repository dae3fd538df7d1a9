use std::collections::HashMap;

use serde_json::json;
use svc_sdk::types::Usd;

use super::*;
use crate::error::Exit;
use crate::types::ResourceId;

fn usd(text: &str) -> Usd {
    text.parse().unwrap()
}

fn intent(id: &str, key: &str, price: Option<&str>) -> Entry {
    Entry::Intent(Box::new(Intent {
        id: id.to_owned(),
        hash: u64::MAX - 7,
        operation: "video_generate".to_owned(),
        idempotency_key: key.parse().unwrap(),
        price_usd: price.map(usd),
        base_url: "https://a".to_owned(),
        key_fingerprint: "f".to_owned(),
        at: jiff::Timestamp::UNIX_EPOCH,
    }))
}

fn receipt(id: &str, job: &str, charge: Option<&str>) -> Entry {
    Entry::Receipt(Box::new(Receipt {
        id: id.to_owned(),
        resource: ResourceId::Job(job.to_owned()),
        price_usd: charge.map(usd),
        request_id: None,
    }))
}

fn outcome(id: &str, status: Status, cost: Option<&str>) -> Entry {
    Entry::Outcome(Box::new(Outcome {
        id: id.to_owned(),
        status,
        price_usd: cost.map(usd),
        files: Vec::new(),
        error: None,
        at: jiff::Timestamp::UNIX_EPOCH,
    }))
}

fn record(entries: Vec<Entry>) -> Record {
    let mut record = Record::default();
    entries.into_iter().for_each(|entry| record.apply(entry));
    record
}

fn replay(path: &Path) -> Result<(Journal, HashMap<String, Record>), Failure> {
    let mut records: HashMap<String, Record> = HashMap::new();
    let journal = Journal::open(path, |entry| {
        let id = match &entry {
            Entry::Batch { .. } | Entry::Quota(_) => return,
            Entry::Intent(it) => it.id.clone(),
            Entry::Released { id } => id.clone(),
            Entry::Receipt(it) => it.id.clone(),
            Entry::Outcome(it) => it.id.clone(),
        };
        records.entry(id).or_default().apply(entry);
    })?;
    Ok((journal, records))
}

/// A journal that was cut off anywhere is read up to the last complete line, and continued.
#[test]
fn a_journal_that_is_cut_off_at_any_byte_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.jsonl.journal.jsonl");
    let entries = [
        intent("a", "k1", Some("0.70")),
        receipt("a", "job_1", Some("0.70")),
        intent("b", "k2", Some("0.30")),
        outcome("a", Status::Completed, Some("0.70")),
    ];
    let mut journal = Journal::open(&path, |_| {}).unwrap();
    journal.begin(2, "svc batch run m.jsonl".to_owned());
    entries.iter().for_each(|entry| journal.add(entry));
    journal.sync().unwrap();
    drop(journal);
    let whole = std::fs::read(&path).unwrap();
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        // The last line is complete even without its line break.
        let complete = whole[..cut].split(|byte| *byte == b'\n');
        let complete = complete
            .filter(|line| serde_json::from_slice::<Entry>(line).is_ok())
            .count();
        let expected_begin = whole[..cut].contains(&b'\n');
        let known = match expected_begin {
            true => complete - 1,
            false => 0,
        };
        let expected = |id: &str| {
            let own = entries.iter().take(known).filter(|entry| {
                let entry = serde_json::to_value(entry).unwrap();
                entry.as_object().unwrap().values().any(|it| it["id"] == id)
            });
            record(own.cloned().collect())
        };
        let (mut journal, records) = replay(&path).unwrap();
        for id in ["a", "b"] {
            let found = records.get(id).cloned().unwrap_or_default();
            assert_eq!(found, expected(id), "{id}, cut at {cut}");
        }
        // What is appended after the cut is read as well.
        journal.begin(2, "svc batch run m.jsonl".to_owned());
        journal.add(&intent("c", "k3", None));
        journal.sync().unwrap();
        drop(journal);
        let (_, records) = replay(&path).unwrap();
        assert!(records["c"].attempt.is_some(), "cut at {cut}");
        assert_eq!(records.get("a").cloned().unwrap_or_default(), expected("a"));
    }
}

#[test]
fn a_journal_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j");
    let journal = Journal::open(&path, |_| {}).unwrap();
    let failure = Journal::open(&path, |_| {}).unwrap_err();
    assert_eq!(failure.exit(), Exit::Usage);
    assert!(failure.headline().contains("another process"));
    drop(journal);
    Journal::open(&path, |_| {}).unwrap();
}

#[test]
fn another_file_is_not_taken_for_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.jsonl");
    for text in ["{\"body\": {}}\n", "{\"body\"", "x"] {
        std::fs::write(&path, text).unwrap();
        let opened = Journal::open(&path, |_| {}).unwrap_err();
        let read = read(&path, |_| {}).unwrap_err();
        for failure in [opened, read] {
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(failure.headline().contains("not the journal of a batch"));
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    let missing = read(&folder.path().join("none"), |_| {}).unwrap_err();
    assert_eq!(missing.exit(), Exit::Usage);
}

#[test]
fn money_is_reserved_charged_and_given_back() {
    let committed = |entries: Vec<Entry>| {
        let record = record(entries);
        (record.committed(), record.spent())
    };
    let start = || vec![intent("a", "k1", Some("0.70"))];
    let accepted = || [start(), vec![receipt("a", "job_1", Some("0.65"))]].concat();
    assert_eq!(committed(start()), (usd("0.70"), usd("0")));
    assert_eq!(committed(accepted()), (usd("0.65"), usd("0.65")));
    let ended = |status, cost| [accepted(), vec![outcome("a", status, cost)]].concat();
    let rows = [
        (Status::Completed, Some("0.65"), "0.65"),
        (Status::Completed, None, "0.65"),
        (Status::Failed, Some("0"), "0"),
        (Status::TimedOut, None, "0.65"),
    ];
    for (status, cost, expected) in rows {
        let (committed, spent) = committed(ended(status, cost));
        assert_eq!(
            (committed, spent),
            (usd(expected), usd(expected)),
            "{status:?}"
        );
    }
    let again = [
        ended(Status::Failed, Some("0.10")),
        vec![intent("a", "k2", Some("0.70"))],
    ];
    assert_eq!(committed(again.concat()), (usd("0.80"), usd("0.10")));
    let released = [start(), vec![Entry::Released { id: "a".into() }]];
    assert_eq!(committed(released.concat()), (usd("0"), usd("0")));
}

#[test]
fn a_rejected_line_may_change_and_a_submitted_one_may_not() {
    let rejected = record(vec![
        intent("a", "k", None),
        outcome("a", Status::Failed, Some("0")),
    ]);
    assert_eq!(rejected.hash, None);
    let failed = record(vec![
        intent("a", "k", None),
        receipt("a", "job_1", None),
        outcome("a", Status::Failed, Some("0")),
    ]);
    assert!(failed.hash.is_some() && failed.attempt.is_none());
}

#[test]
fn a_job_whose_files_are_missing_keeps_its_id_and_costs_nothing_more() {
    let Entry::Outcome(mut missing) = outcome("a", Status::Completed, Some("0.70")) else {
        unreachable!()
    };
    missing.error = Some(json!({"code": DOWNLOAD_FAILED, "message": "…"}));
    let missing = Entry::Outcome(missing);
    let mut record = record(vec![
        intent("a", "k", Some("0.70")),
        receipt("a", "job_1", Some("0.70")),
        missing.clone(),
    ]);
    let attempt = record.attempt.clone().unwrap();
    assert_eq!(attempt.resource, Some(ResourceId::Job("job_1".into())));
    assert_eq!(record.committed(), usd("0.70"));
    record.apply(missing);
    assert_eq!(record.committed(), usd("0.70"));
    record.apply(outcome("a", Status::Completed, Some("0.70")));
    assert_eq!(record.committed(), usd("0.70"));
    assert_eq!(record.attempt, None);
}

#[test]
fn an_overcharge_is_noticed() {
    for (charge, expected) in [("0.70", false), ("0.71", true)] {
        let record = record(vec![
            intent("a", "k", Some("0.70")),
            receipt("a", "job_1", Some(charge)),
        ]);
        assert_eq!(record.is_overcharged, expected);
    }
}
