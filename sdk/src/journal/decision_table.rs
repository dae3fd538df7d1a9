//! The decision held against the table that it implements, over all combinations of what the table
//! names. The table is written down a second time, over what happened rather than over records.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::super::fingerprint::Fingerprint;
use super::super::record::{Ended, Facts, Receipt, Record, ReleaseReason, Released, ResourceKind};
use super::super::store::{Hold, IntentId, Owner, StoredIntent, StoredRecord};
use super::*;
use crate::contract::Operation;

const POLICIES: [Reuse; 4] = [
    Reuse::ReturnExisting,
    Reuse::RetryUnsuccessful,
    Reuse::ReplaceUnsuccessful,
    Reuse::ContinueAbandoned,
];
const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
const ORIGIN: &str = "https://api.example/";
const API_KEY: &str = "5e884898";

/// What became of a request, as far as its journal tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happened {
    Begun,
    NothingRan,
    SentAgain,
    Unknown,
    AcceptedWithoutId,
    Accepted,
    FoundLater,
    AcceptedAfterRelease,
    Ended(&'static str),
    EndedAndAcknowledged(&'static str),
    AcceptedAndAcknowledged,
    BegunAndAcknowledged,
    NothingRanAndAcknowledged,
    EndedWithoutReceipt,
    Released(ReleaseReason),
    ReleasedWithoutRecord,
    NoteOfNewerVersion,
    RecordOfNewerVersion,
    FactsOfNewerVersion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyIs {
    NotDocumented,
    Documented,
    Permanent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    New,
    AlmostExpired,
    JustExpired,
    ClockWasSetBack,
}

/// One intent of a submission.
#[derive(Clone, Copy, Debug)]
struct Case {
    happened: Happened,
    owner: Owner,
    /// Whether a task of this process works on it.
    is_active: bool,
    key: KeyIs,
}

/// The request that is about to be submitted, compared with the one of the intents.
#[derive(Clone, Copy, Debug)]
struct Now {
    has_label: bool,
    origin: &'static str,
    api_key: &'static str,
    body: &'static str,
    age: Age,
    reuse: Reuse,
}

/// What is decided, with the generation that it is about.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Begin(usize),
    Resend(usize),
    Return(usize),
    Wait(usize),
    AccountChanged(usize),
    Conflict(usize),
    Undecided(usize, UndecidedReason),
}

/// The table, first match.
fn expected(cases: &[Case], now: Now) -> Expected {
    use Happened::*;

    let next = cases.len() + 1;
    let mut generation = 0;
    for (index, case) in cases.iter().enumerate() {
        if now.reuse == Reuse::ContinueAbandoned {
            let is_over = matches!(
                case.happened,
                Released(_)
                    | ReleasedWithoutRecord
                    | AcceptedAndAcknowledged
                    | BegunAndAcknowledged
                    | NothingRanAndAcknowledged
                    | EndedAndAcknowledged(_)
            );
            let is_somebody_on_it = case.owner == Owner::Other || case.is_active;
            if generation == 0 && !is_over && !is_somebody_on_it {
                generation = index + 1;
            }
        } else if !matches!(case.happened, Released(_) | ReleasedWithoutRecord) {
            generation = index + 1;
        }
    }
    if generation == 0 {
        return Expected::Begin(next);
    }
    let case = cases[generation - 1];
    match case.happened {
        RecordOfNewerVersion | FactsOfNewerVersion => {
            return Expected::Undecided(generation, UndecidedReason::NewerVersion);
        }
        _ => {}
    }
    if !now.has_label && (now.origin != ORIGIN || now.api_key != API_KEY) {
        return Expected::AccountChanged(generation);
    }
    let is_unsuccessful = match case.happened {
        Ended(status) | EndedAndAcknowledged(status) => status != "completed",
        happened => happened == EndedWithoutReceipt,
    };
    let may_replace = now.reuse == Reuse::ReplaceUnsuccessful && is_unsuccessful;
    if now.body == OTHER_MEANING && !may_replace {
        return Expected::Conflict(generation);
    }
    let may_retry = now.reuse == Reuse::RetryUnsuccessful || may_replace;
    match case.happened {
        Ended(status) | EndedAndAcknowledged(status) if may_retry && status != "completed" => {
            return Expected::Begin(next);
        }
        EndedWithoutReceipt if may_retry => return Expected::Begin(next),
        Ended(_) | EndedAndAcknowledged(_) | Accepted | FoundLater | AcceptedAndAcknowledged => {
            return Expected::Return(generation);
        }
        AcceptedAfterRelease => return Expected::Return(generation),
        AcceptedWithoutId => {
            return Expected::Undecided(generation, UndecidedReason::AcceptedWithoutId);
        }
        _ => {}
    }
    if case.owner == Owner::Other || case.is_active {
        return Expected::Wait(generation);
    }
    let same_key = match case.happened {
        BegunAndAcknowledged | EndedWithoutReceipt => {
            Expected::Undecided(generation, UndecidedReason::Closed)
        }
        _ => Expected::Resend(generation),
    };
    match (case.happened, case.key, now.age) {
        (NothingRan, _, _) => same_key,
        (NothingRanAndAcknowledged, _, _) => Expected::Begin(next),
        (_, KeyIs::Permanent, _) => same_key,
        (_, KeyIs::Documented, Age::New | Age::AlmostExpired) => same_key,
        (_, KeyIs::Documented, _) => Expected::Undecided(generation, UndecidedReason::KeyExpired),
        (_, KeyIs::NotDocumented, _) => {
            Expected::Undecided(generation, UndecidedReason::KeyNotDocumented)
        }
    }
}

const BODY: &str = r#"{"prompt": "a red fox", "duration": 5}"#;
const OTHER_BYTES: &str = r#"{"duration":5,"prompt":"a red fox"}"#;
const OTHER_MEANING: &str = r#"{"prompt": "a red fox", "duration": 6}"#;

fn begun_at() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

fn operation(key: KeyIs) -> &'static str {
    match key {
        KeyIs::Permanent => Operation::TopUpsCreate.name(),
        KeyIs::NotDocumented | KeyIs::Documented => "video_generate",
    }
}

/// All that may have become of a request, with the phase and the records that its journal has then.
fn histories() -> Vec<(Happened, Phase, Vec<String>)> {
    use Happened::*;

    let (kind, id) = (ResourceKind::Job, "job_1".to_owned());
    let accepted = Record::Accepted(Receipt { kind, id, request_id: None, price_usd: None });
    let ended =
        |status: &str| Record::Ended(self::Ended { status: status.to_owned(), charge_usd: None });
    let released = |reason| Record::Released(self::Released { reason, code: None });
    let nothing_ran = Record::NothingRan { attempt: 0 };
    let without_id = Record::AcceptedWithoutId { request_id: None };
    let acknowledged = &Record::Acknowledged;
    let mut histories = vec![
        (
            NoteOfNewerVersion,
            Phase::Open,
            vec![r#"{"v":9,"critical":false,"event":"note"}"#.to_owned()],
        ),
        (RecordOfNewerVersion, Phase::Open, vec![r#"{"v":9,"event":"forked"}"#.to_owned()]),
    ];
    let mut add = |happened, phase, records: &[&Record]| {
        histories.push((happened, phase, records.iter().map(|record| record.to_json()).collect()));
    };
    add(Begun, Phase::Open, &[]);
    add(FactsOfNewerVersion, Phase::Open, &[]);
    add(NothingRan, Phase::Open, &[&nothing_ran]);
    add(SentAgain, Phase::Open, &[&nothing_ran, &Record::Sending { attempt: 1 }]);
    add(Unknown, Phase::Open, &[&Record::Unknown]);
    add(AcceptedWithoutId, Phase::Open, &[&without_id]);
    add(Accepted, Phase::Accepted, &[&accepted]);
    add(FoundLater, Phase::Accepted, &[&without_id, &accepted]);
    add(AcceptedAndAcknowledged, Phase::Acknowledged, &[&accepted, acknowledged]);
    add(BegunAndAcknowledged, Phase::Acknowledged, &[acknowledged]);
    add(NothingRanAndAcknowledged, Phase::Acknowledged, &[&nothing_ran, acknowledged]);
    add(EndedWithoutReceipt, Phase::Ended, &[&ended("failed")]);
    for status in ["completed", "failed", "canceled", "skipped", "expired"] {
        add(Ended(status), Phase::Ended, &[&accepted, &ended(status)]);
    }
    for status in ["completed", "failed"] {
        let records = [&accepted, &ended(status), acknowledged];
        add(EndedAndAcknowledged(status), Phase::Acknowledged, &records);
    }
    for reason in [ReleaseReason::NotSent, ReleaseReason::Refused, ReleaseReason::Settled] {
        add(Released(reason), Phase::Released, &[&released(reason)]);
    }
    add(ReleasedWithoutRecord, Phase::Released, &[]);
    let late = [&released(ReleaseReason::Settled), &accepted];
    add(AcceptedAfterRelease, Phase::Released, &late);
    histories
}

fn intent(case: Case, generation: usize) -> Intent {
    let fingerprint = Fingerprint::new(operation(case.key), "/v1", BODY.as_bytes());
    let key = "svc-1".parse().unwrap();
    let facts = Facts {
        path: "/v1".to_owned(),
        is_key_documented: case.key != KeyIs::NotDocumented,
        origin: ORIGIN.to_owned(),
        api_key: Some(API_KEY.to_owned()),
        ..Facts::new(operation(case.key), key)
    };
    let mut facts = facts.with_hashes(&fingerprint).to_json();
    if case.happened == Happened::FactsOfNewerVersion {
        facts = facts.replace(r#""v":1"#, r#""v":9"#);
    }
    let mut histories = histories().into_iter();
    let (_, phase, records) = histories.find(|it| it.0 == case.happened).unwrap();
    let at = begun_at();
    Intent::read(StoredIntent {
        id: IntentId::new(generation.to_string()),
        namespace: String::new(),
        account: String::new(),
        submission_id: Some("order-1".to_owned()),
        generation: u32::try_from(generation).unwrap(),
        facts,
        records: records.into_iter().map(|record| StoredRecord { record, at }).collect(),
        begun_at: at,
        read_at: at,
        phase,
        owner: case.owner,
        budget: None,
        hold: Hold::default(),
    })
}

fn request(operation: &str, now: Now) -> JournaledRequest {
    JournaledRequest {
        submission_id: Some("order-1".to_owned()),
        reuse: now.reuse,
        account: if now.has_label { "tenant-1" } else { "" }.into(),
        facts: Facts {
            origin: now.origin.to_owned(),
            api_key: Some(now.api_key.to_owned()),
            ..Facts::new(operation, "svc-2".parse().unwrap())
        },
        fingerprint: Fingerprint::new(operation, "/v1", now.body.as_bytes()),
        is_job: true,
    }
}

fn decided(cases: &[Case], intents: &[Intent], now: Now) -> Expected {
    let key = cases[0].key;
    let read_at = match now.age {
        Age::New => begun_at(),
        Age::AlmostExpired => begun_at() + RETENTION - Duration::from_secs(1),
        Age::JustExpired => begun_at() + RETENTION,
        Age::ClockWasSetBack => begun_at() - RETENTION,
    };
    let request = request(operation(key), now);
    let generation = |intent: &Intent| intent.stored.generation as usize;
    let is_active = |intent: &Intent| cases[generation(intent) - 1].is_active;
    let mut intents = intents.to_vec();
    intents.iter_mut().for_each(|intent| intent.stored.read_at = read_at);
    match decide(intents, &request, RETENTION, is_active) {
        Decision::Begin(next) => Expected::Begin(next as usize),
        Decision::Resend(intent) => Expected::Resend(generation(&intent)),
        Decision::Return(intent) => Expected::Return(generation(&intent)),
        Decision::Wait(intent) => Expected::Wait(generation(&intent)),
        Decision::AccountChanged(intent) => Expected::AccountChanged(generation(&intent)),
        Decision::Conflict(intent) => Expected::Conflict(generation(&intent)),
        Decision::Undecided(intent, reason) => Expected::Undecided(generation(&intent), reason),
    }
}

/// Compares the decision with the table for each request in each combination of those inputs.
/// Returns how often.
fn compare(cases: &[Case], origins: &[&'static str], bodies: &[&'static str]) -> usize {
    let numbered = cases.iter().zip(1..);
    let intents: Vec<_> = numbered.map(|(case, number)| intent(*case, number)).collect();
    let mut compared = 0;
    let ages = [Age::New, Age::AlmostExpired, Age::JustExpired, Age::ClockWasSetBack];
    let keys = [(API_KEY, false), (API_KEY, true), ("ab56b4d9", false), ("ab56b4d9", true)];
    for (&origin, &(api_key, has_label)) in pairs(origins, &keys) {
        for (&body, &(&age, &reuse)) in pairs(bodies, &pairs(&ages, &POLICIES)) {
            let now = Now { has_label, origin, api_key, body, age, reuse };
            assert_eq!(decided(cases, &intents, now), expected(cases, now), "{cases:?} {now:?}");
            compared += 1;
        }
    }
    compared
}

fn pairs<'a, A, B>(first: &'a [A], second: &'a [B]) -> Vec<(&'a A, &'a B)> {
    first.iter().flat_map(|one| second.iter().map(move |other| (one, other))).collect()
}

fn all_cases() -> impl Iterator<Item = Case> {
    let keys = [KeyIs::NotDocumented, KeyIs::Documented, KeyIs::Permanent];
    let owners =
        [(Owner::This, false), (Owner::This, true), (Owner::Other, false), (Owner::Gone, false)];
    histories().into_iter().flat_map(move |(happened, ..)| {
        keys.into_iter().flat_map(move |key| {
            owners.into_iter().map(move |(owner, is_active)| Case {
                happened,
                owner,
                is_active,
                key,
            })
        })
    })
}

#[test]
fn one_generation_is_decided_by_the_table() {
    let origins = [ORIGIN, "https://other.example/"];
    let bodies = [BODY, OTHER_BYTES, OTHER_MEANING];
    let compared: usize = all_cases().map(|case| compare(&[case], &origins, &bodies)).sum();
    assert_eq!(compared, 26 * 3 * 4 * (2 * 2 * 2 * 3 * 4 * 4));
}

#[test]
fn an_earlier_generation_counts_where_the_newer_one_was_not_carried_out() {
    let earlier = [
        (Happened::Released(ReleaseReason::Refused), Owner::Gone),
        (Happened::Ended("failed"), Owner::Gone),
        (Happened::EndedAndAcknowledged("failed"), Owner::Gone),
        (Happened::Ended("completed"), Owner::Gone),
        (Happened::AcceptedAfterRelease, Owner::Gone),
        (Happened::Accepted, Owner::Other),
        (Happened::Begun, Owner::Gone),
    ];
    let mut compared = 0;
    for case in all_cases() {
        for (happened, owner) in earlier {
            let first = Case { happened, owner, is_active: false, key: case.key };
            compared += compare(&[first, case], &[ORIGIN], &[BODY]);
        }
    }
    assert_eq!(compared, 26 * 3 * 4 * 7 * (2 * 2 * 4 * 4));
}

#[test]
fn the_first_submit_begins_generation_1() {
    for reuse in POLICIES {
        let (origin, api_key) = (ORIGIN, API_KEY);
        let now = Now { has_label: false, origin, api_key, body: BODY, age: Age::New, reuse };
        let decision = decide(Vec::new(), &request("video_generate", now), RETENTION, |_| false);
        assert!(matches!(decision, Decision::Begin(1)), "{decision:?}");
    }
}
