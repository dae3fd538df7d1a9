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
enum Became {
    /// Nothing was carried out, and it can be submitted anew.
    Released,
    /// Something was written by a newer version.
    Unreadable,
    Accepted,
    /// It was accepted, and did not succeed.
    Unsuccessful,
    /// It is recorded as unsuccessful, without a receipt.
    UnsuccessfulWithoutReceipt,
    AcceptedWithoutId,
    /// The last attempt proved that nothing ran.
    NothingRan,
    MayHaveRun,
}

/// The phase and the records of an intent, and what they say.
#[derive(Debug)]
struct History {
    became: Became,
    phase: Phase,
    has_newer_facts: bool,
    records: Vec<String>,
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
struct Case<'h> {
    history: &'h History,
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
fn expected(cases: &[Case<'_>], now: Now) -> Expected {
    use Became::*;

    let next = cases.len() + 1;
    let mut numbered = (1..).zip(cases);
    let found = match now.reuse {
        Reuse::ContinueAbandoned => numbered.find(|(_, case)| {
            let is_over =
                case.history.became == Released || case.history.phase == Phase::Acknowledged;
            !is_over && case.owner != Owner::Other && !case.is_active
        }),
        _ => numbered.filter(|(_, case)| case.history.became != Released).last(),
    };
    let Some((generation, case)) = found else { return Expected::Begin(next) };
    let became = case.history.became;
    if became == Unreadable {
        return Expected::Undecided(generation, UndecidedReason::NewerVersion);
    }
    if !now.has_label && (now.origin != ORIGIN || now.api_key != API_KEY) {
        return Expected::AccountChanged(generation);
    }
    let is_unsuccessful = matches!(became, Unsuccessful | UnsuccessfulWithoutReceipt);
    match now.reuse {
        Reuse::ReplaceUnsuccessful if is_unsuccessful => return Expected::Begin(next),
        _ if now.body == OTHER_MEANING => return Expected::Conflict(generation),
        Reuse::RetryUnsuccessful if is_unsuccessful => return Expected::Begin(next),
        _ => {}
    }
    match became {
        Accepted | Unsuccessful => return Expected::Return(generation),
        AcceptedWithoutId => {
            return Expected::Undecided(generation, UndecidedReason::AcceptedWithoutId);
        }
        _ if case.owner == Owner::Other || case.is_active => return Expected::Wait(generation),
        _ => {}
    }
    let is_open = case.history.phase == Phase::Open;
    match (became, case.key, now.age) {
        (NothingRan, ..) if is_open => Expected::Resend(generation),
        (NothingRan, ..) => Expected::Begin(next),
        (_, KeyIs::NotDocumented, _) => {
            Expected::Undecided(generation, UndecidedReason::KeyNotDocumented)
        }
        (_, KeyIs::Documented, Age::JustExpired | Age::ClockWasSetBack) => {
            Expected::Undecided(generation, UndecidedReason::KeyExpired)
        }
        _ if is_open => Expected::Resend(generation),
        _ => Expected::Undecided(generation, UndecidedReason::Closed),
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

/// All that a journal may have of a request.
fn histories() -> Vec<History> {
    use Became::*;

    let (kind, id) = (ResourceKind::Job, "job_1".to_owned());
    let accepted = Record::Accepted(Receipt { kind, id, request_id: None, price_usd: None });
    let ended = |status: &str| Record::Ended(Ended { status: status.to_owned(), charge_usd: None });
    let released = |reason| Record::Released(self::Released { reason, code: None });
    let nothing_ran = Record::NothingRan { attempt: 0 };
    let without_id = Record::AcceptedWithoutId { request_id: None };
    let acknowledged = &Record::Acknowledged;
    let history = |became, phase, records| {
        let has_newer_facts = false;
        History { became, phase, has_newer_facts, records }
    };
    let mut histories = vec![
        History { has_newer_facts: true, ..history(Unreadable, Phase::Open, Vec::new()) },
        history(Unreadable, Phase::Open, vec![r#"{"v":9,"event":"forked"}"#.to_owned()]),
        history(
            MayHaveRun,
            Phase::Open,
            vec![r#"{"v":9,"critical":false,"event":"note"}"#.to_owned()],
        ),
    ];
    let mut add = |became, phase, records: &[&Record]| {
        let records = records.iter().map(|record| record.to_json()).collect();
        histories.push(history(became, phase, records));
    };
    add(MayHaveRun, Phase::Open, &[]);
    add(NothingRan, Phase::Open, &[&nothing_ran]);
    add(MayHaveRun, Phase::Open, &[&nothing_ran, &Record::Sending { attempt: 1 }]);
    add(MayHaveRun, Phase::Open, &[&Record::Unknown]);
    add(AcceptedWithoutId, Phase::Open, &[&without_id]);
    add(Accepted, Phase::Accepted, &[&accepted]);
    // It was found later.
    add(Accepted, Phase::Accepted, &[&without_id, &accepted]);
    add(Accepted, Phase::Acknowledged, &[&accepted, acknowledged]);
    add(MayHaveRun, Phase::Acknowledged, &[acknowledged]);
    add(NothingRan, Phase::Acknowledged, &[&nothing_ran, acknowledged]);
    add(UnsuccessfulWithoutReceipt, Phase::Ended, &[&ended("failed")]);
    add(Accepted, Phase::Ended, &[&accepted, &ended("completed")]);
    for status in ["failed", "canceled", "skipped", "expired"] {
        add(Unsuccessful, Phase::Ended, &[&accepted, &ended(status)]);
    }
    for (became, status) in [(Accepted, "completed"), (Unsuccessful, "failed")] {
        add(became, Phase::Acknowledged, &[&accepted, &ended(status), acknowledged]);
    }
    for reason in [ReleaseReason::NotSent, ReleaseReason::Refused, ReleaseReason::Settled] {
        add(Released, Phase::Released, &[&released(reason)]);
    }
    add(Released, Phase::Released, &[]);
    add(Accepted, Phase::Released, &[&released(ReleaseReason::Settled), &accepted]);
    histories
}

fn intent(case: Case<'_>, generation: usize) -> Intent {
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
    if case.history.has_newer_facts {
        facts = facts.replace(r#""v":1"#, r#""v":9"#);
    }
    let records = case.history.records.iter().cloned();
    let at = begun_at();
    Intent::read(StoredIntent {
        id: IntentId::new(generation.to_string()),
        namespace: String::new(),
        account: String::new(),
        submission_id: Some("order-1".to_owned()),
        generation: u32::try_from(generation).unwrap(),
        facts,
        records: records.map(|record| StoredRecord { record, at }).collect(),
        begun_at: at,
        read_at: at,
        phase: case.history.phase,
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

fn decided(cases: &[Case<'_>], intents: &[Intent], now: Now) -> Expected {
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
fn compare(cases: &[Case<'_>], origins: &[&'static str], bodies: &[&'static str]) -> usize {
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

fn all_cases(histories: &[History]) -> Vec<Case<'_>> {
    let keys = [KeyIs::NotDocumented, KeyIs::Documented, KeyIs::Permanent];
    let owners =
        [(Owner::This, false), (Owner::This, true), (Owner::Other, false), (Owner::Gone, false)];
    let mut cases = Vec::new();
    for history in histories {
        for (&key, &(owner, is_active)) in pairs(&keys, &owners) {
            cases.push(Case { history, owner, is_active, key });
        }
    }
    cases
}

#[test]
fn one_generation_is_decided_by_the_table() {
    let origins = [ORIGIN, "https://other.example/"];
    let bodies = [BODY, OTHER_BYTES, OTHER_MEANING];
    let histories = histories();
    let cases = all_cases(&histories).into_iter();
    let compared: usize = cases.map(|case| compare(&[case], &origins, &bodies)).sum();
    assert_eq!(compared, 26 * 3 * 4 * (2 * 2 * 2 * 3 * 4 * 4));
}

#[test]
fn an_earlier_generation_counts_where_the_newer_one_was_not_carried_out() {
    let earlier = [
        (Became::Released, Phase::Released, Owner::Gone),
        (Became::Unsuccessful, Phase::Ended, Owner::Gone),
        (Became::Unsuccessful, Phase::Acknowledged, Owner::Gone),
        (Became::Accepted, Phase::Ended, Owner::Gone),
        (Became::Accepted, Phase::Released, Owner::Gone),
        (Became::Accepted, Phase::Accepted, Owner::Other),
        (Became::MayHaveRun, Phase::Open, Owner::Gone),
    ];
    let histories = histories();
    let mut compared = 0;
    for case in all_cases(&histories) {
        for (became, phase, owner) in earlier {
            let mut all = histories.iter();
            let history = all.find(|it| it.became == became && it.phase == phase).unwrap();
            let first = Case { history, owner, is_active: false, key: case.key };
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
