//! Whose submission it is, and when: keys, base URLs, tenants and clocks that change.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::super::{Journal, JournalError, MemoryStore, UndecidedReason, lock};
use super::{Step, builder, fox, keys, open_client, receipt, refusal, two_processes, undecided};
use crate::surface::Open;
use crate::transport::scripted::Script;
use crate::{ApiKey, Client};

/// The key is rotated while the call is under way, and the process ends before an answer comes.
#[tokio::test(start_paused = true)]
async fn a_key_that_is_rotated_in_mid_call_does_not_pay_again() {
    for (account, is_resumed) in [("", false), ("tenant-1", true)] {
        let (first, second) = two_processes();
        let steps = [refusal(401, "unauthorized"), Step::ConnectionReset, receipt("job_1")];
        let script = Script::new(steps);
        let count = AtomicUsize::new(0);
        let provider = move || {
            let number = count.fetch_add(1, Ordering::Relaxed);
            let key = ApiKey::new(format!("key-{number}")).unwrap();
            async move { Ok::<_, Infallible>(key) }
        };
        let rotating: Client<Open> =
            builder(&script, &first).key_provider(provider).build().unwrap().with_account(account);
        let submit = |client: &Client<Open>| {
            let call = client.videos().generate(fox());
            call.submission_id("order-1").into_future()
        };
        assert!(submit(&rotating).await.unwrap_err().is_ambiguous());
        drop((rotating, first));

        let restarted: Client<Open> = builder(&script, &second)
            .api_key(ApiKey::new("key-1").unwrap())
            .build()
            .unwrap()
            .with_account(account);
        let result = submit(&restarted).await;
        assert_eq!(result.is_ok(), is_resumed, "{account}");
        if let Err(error) = result {
            let is_changed = matches!(error.journal(), Some(JournalError::AccountChanged { .. }));
            assert!(is_changed && error.idempotency_key().is_some(), "{error}");
        }
        let keys = keys(&script);
        assert_eq!(keys.len(), if is_resumed { 3 } else { 2 });
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_key_or_base_url_is_another_account_unless_it_is_named() {
    let first = ("https://api.example", "first");
    for second in [("https://moved.example", "first"), (first.0, "second")] {
        for (account, is_resumed) in [("", false), ("tenant-1", true)] {
            let script = Script::new([receipt("job_1")]);
            let journal = Journal::in_memory();
            let submit = |(url, key): (&str, &str)| {
                let client = builder(&script, &journal).base_url(url);
                let client = client.api_key(ApiKey::new(key).unwrap());
                let client: Client<Open> = client.build().unwrap();
                let call = client.with_account(account).videos().generate(fox());
                call.submission_id("order-1").into_future()
            };
            submit(first).await.unwrap();
            let result = submit(second).await;
            assert_eq!(result.is_ok(), is_resumed, "{second:?} {account}");
            if let Err(error) = result {
                let is_changed =
                    matches!(error.journal(), Some(JournalError::AccountChanged { .. }));
                assert!(is_changed, "{error}");
            }
            assert_eq!(script.requests().len(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tenants_have_names_of_their_own() {
    let script = Script::new([receipt("job_1"), receipt("job_2")]);
    let journal = Journal::in_memory();
    let client = open_client(&script, &journal);
    let submit = |tenant: &str| {
        let client = client.clone().with_account(tenant);
        let call = client.videos().generate(fox());
        call.submission_id("order-1").into_future()
    };
    for (tenant, job) in [("a", "job_1"), ("b", "job_2"), ("a", "job_1"), ("b", "job_2")] {
        assert_eq!(submit(tenant).await.unwrap().id().as_str(), job, "{tenant}");
    }
    let keys = keys(&script);
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_was_set_back_says_nothing_of_the_age_of_a_key() {
    let time = Arc::new(Mutex::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)));
    let store_time = Arc::clone(&time);
    let store = MemoryStore::with_clock(Arc::new(move || *lock(&store_time)));
    let second = Journal::with_store(store.handle());
    let first = Journal::with_store(store);
    let script = Script::new([Step::ConnectionReset, receipt("job_1")]);
    let submit = |journal: &Journal| {
        let call = open_client(&script, journal).videos().generate(fox());
        call.submission_id("order-1").into_future()
    };
    submit(&first).await.unwrap_err();
    drop(first);
    let day = Duration::from_secs(24 * 60 * 60);
    *lock(&time) -= day;
    let error = submit(&second).await.unwrap_err();
    assert_eq!(undecided(&error), Some(UndecidedReason::KeyExpired));
    assert_eq!(script.requests().len(), 1);
    *lock(&time) += day;
    assert_eq!(submit(&second).await.unwrap().id().as_str(), "job_1");
}

/// Without the folder nothing is known, so that only the key, which is the same, protects.
#[tokio::test]
async fn a_folder_that_was_removed_is_no_new_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let saved = folder.path().join("saved");
    let script = Script::new([receipt("job_1"), receipt("job_1"), receipt("job_2")]);
    let submit = async |journal: Journal| {
        let call = open_client(&script, &journal).videos().generate(fox());
        let job = call.submission_id("order-1").await.unwrap();
        (job.id().to_string(), job.is_resumed())
    };
    let first = submit(Journal::create(&path).await.unwrap()).await;
    assert_eq!(first, ("job_1".to_owned(), false));
    std::fs::rename(&path, &saved).unwrap();
    Journal::open(&path).await.unwrap_err();
    let removed = submit(Journal::create(&path).await.unwrap()).await;
    assert_eq!(removed, ("job_1".to_owned(), false));
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::rename(&saved, &path).unwrap();
    let restored = submit(Journal::open(&path).await.unwrap()).await;
    assert_eq!(restored, ("job_1".to_owned(), true));
    let keys = keys(&script);
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
}
