//! Prices, spend limits, and what a budget holds.

use super::*;

#[tokio::test(start_paused = true)]
async fn reservations_never_exceed_the_limit() {
    let journal = Journal::in_memory();
    let script = Script::new([price("0.2000"), receipt("job_1")]);
    let client = limited_client(&script, &journal, 500_000);
    let submit = |id: &str| client.videos().generate(fox()).submission_id(id);
    submit("1").await.unwrap();
    submit("2").await.unwrap();
    let error = submit("3").await.unwrap_err();
    assert!(matches!(error.journal(), Some(JournalError::OverBudget { .. })), "{error}");
    assert_eq!(script.requests().len(), 3, "one estimate and two submits");
    let totals = journal.budget("images").await.unwrap();
    assert_eq!(totals.hold.reserved, Usd::from_micros(400_000));

    // A failed job is refunded, which makes room.
    let first = journal.find("", "1").await.unwrap().unwrap();
    journal.record_end(&first.id, "failed", Some(Usd::ZERO)).await.unwrap();
    submit("3").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_charge_above_the_reservation_stops_the_budget() {
    let journal = Journal::in_memory();
    let script = Script::new([price("0.1000"), receipt("job_1")]);
    let client = limited_client(&script, &journal, 10_000_000);
    client.videos().generate(fox()).submission_id("1").await.unwrap();
    let error = client.videos().generate(fox()).submission_id("2").await.unwrap_err();
    assert!(error.to_string().contains("stopped"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_charge_that_is_recorded_later_stops_the_budget_too() {
    for (charge, is_stopped) in [("0.2000", false), ("0.2001", true)] {
        for is_settled in [false, true] {
            let journal = Journal::in_memory();
            let answer = if is_settled { answer(202, r#"{"data": {}}"#) } else { receipt("job_1") };
            let script = Script::new([price("0.2000"), answer]);
            let client = limited_client(&script, &journal, 10_000_000);
            let _ = client.videos().generate(fox()).submission_id("1").await;
            let id = journal.find("", "1").await.unwrap().unwrap().id;
            let charge: Usd = charge.parse().unwrap();
            let charge_usd = Some(charge);
            let recorded = match is_settled {
                true => {
                    let executed = Settled::Executed {
                        kind: ResourceKind::Job,
                        id: "job_1".to_owned(),
                        charge_usd,
                    };
                    journal.settle(&id, executed).await
                }
                false => journal.record_end(&id, "completed", charge_usd).await,
            };
            recorded.unwrap();
            let totals = journal.budget("images").await.unwrap();
            assert_eq!(totals.hold.captured, charge);
            assert_eq!(totals.is_stopped, is_stopped, "{charge}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_recovery_cannot_decide_is_undecided_in_its_budget() {
    let (first, second) = two_processes();
    let steps = [price("0.2000"), receipt("job_1")];
    let script = Script::with_latency(steps, Duration::from_secs(5));
    let client = |journal: &Journal| {
        let limit = SpendLimit::new("images", Usd::from_micros(10_000_000));
        builder::<Open>(&script, journal).spend_limit(limit)
    };
    let submit = |client: &Client<Open>| client.videos().generate(fox()).submission_id("1");
    submit_and_end(client(&first), submit, Duration::from_secs(7)).await;
    drop(first);
    let client = client(&second).build().unwrap();
    let held = async || second.budget("images").await.unwrap().hold;
    assert_eq!(held().await.reserved, Usd::from_micros(200_000));
    let recovered = client.recover().next().await;
    assert!(matches!(recovered, Some(Ok(Recovered::Undecided(_)))));
    assert_eq!(held().await.undecided, Usd::from_micros(200_000));
    submit(&client).await.unwrap();
    let hold = held().await;
    assert_eq!(hold.reserved, Usd::from_micros(200_000));
    assert_eq!(hold.undecided, Usd::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_a_crash_left_of_which_nothing_ran_is_given_back() {
    let (first, second) = two_processes();
    let busy = answer(503, BUSY).header("retry-after", 5);
    let script = Script::new([price("0.2000"), busy, receipt("job_1")]);
    let limit = || SpendLimit::new("images", Usd::from_micros(10_000_000));
    let crashing = builder::<Open>(&script, &first).retry(RetryPolicy::default());
    let submit = |client: &Client<Open>| client.videos().generate(fox()).submission_id("1");
    submit_and_end(crashing.spend_limit(limit()), submit, Duration::from_secs(1)).await;
    drop(first);
    let client = builder::<Open>(&script, &second).spend_limit(limit()).build().unwrap();
    let held = async || second.budget("images").await.unwrap().hold.reserved;
    assert_eq!(held().await, Usd::from_micros(200_000));
    assert!(client.recover().next().await.is_none());
    assert_eq!(held().await, Usd::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_estimate_is_used_again_for_a_minute() {
    let journal = Journal::in_memory();
    let steps = [price("0.2000"), receipt("1"), receipt("2"), price("0.3000")];
    let script = Script::new(steps);
    let client = open_client(&script, &journal);
    let at_most = Usd::from_micros(250_000);
    let submit = || client.videos().generate(fox()).at_most(at_most);
    submit().await.unwrap();
    clock::sleep(Duration::from_secs(59)).await;
    submit().await.unwrap();
    assert_eq!(script.requests().len(), 3, "one estimate and two submits");
    clock::sleep(Duration::from_secs(2)).await;
    let error = submit().await.unwrap_err();
    let is_too_expensive = matches!(error.journal(), Some(JournalError::TooExpensive { .. }));
    assert!(is_too_expensive, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_estimate_names_the_field_of_the_body() {
    let journal = Journal::in_memory();
    let refused = json!({"error": {
        "code": "invalid_request",
        "message": "`input.duration` must be at most 15",
        "details": {"field": "input.duration"},
    }});
    let script = Script::new([answer(400, &refused.to_string())]);
    let call = open_client(&script, &journal).videos().generate(fox());
    let error = call.at_most(Usd::from_micros(1)).await.unwrap_err();
    let body = error.body().unwrap();
    assert_eq!(body.details().field.as_deref(), Some("duration"));
    assert_eq!(body.message, "`duration` must be at most 15");
}

#[tokio::test(start_paused = true)]
async fn what_has_no_price_is_not_sent_under_a_limit() {
    let journal = Journal::in_memory();
    let limit = SpendLimit::new("images", Usd::from_micros(10_000_000));
    let script = Script::new([receipt("job_1")]);
    let client: Client<Developer> = builder(&script, &journal).spend_limit(limit).build().unwrap();
    let error = client.music().generate(Music1Generate::new("jazz")).await.unwrap_err();
    assert!(matches!(error.journal(), Some(JournalError::NoPrice { .. })), "{error}");
    assert!(script.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_captured_stays_so_when_it_is_seen_again() {
    let journal = Journal::in_memory();
    let result =
        r#"{"data": {"status": "completed", "job": {"id": "job_1", "status": "completed"}}}"#;
    let no_id = answer(202, r#"{"data": {}}"#);
    let script = Script::new([
        price("0.2000"),
        receipt("job_1"),
        answer(200, result),
        answer(200, result),
        answer(200, result),
        answer(200, result),
        no_id,
    ]);
    let client = limited_client(&script, &journal, 10_000_000);
    let submit = |id: &str| client.videos().generate(fox()).submission_id(id);
    let captured = async || {
        let totals = journal.budget("images").await.unwrap();
        assert!(!totals.is_stopped && totals.hold.reserved == Usd::ZERO);
        totals.hold.captured.as_micros() + totals.hold.undecided.as_micros()
    };
    // A second wait for the same job records the same charge.
    for _ in 0..2 {
        submit("1").await.unwrap().wait().await.unwrap();
        assert_eq!(captured().await, 200_000);
    }
    // So does a second submit of what has no readable receipt, and a person who knows no charge.
    submit("2").await.unwrap_err();
    for _ in 0..2 {
        assert_eq!(captured().await, 400_000);
        let error = submit("2").await.unwrap_err();
        assert_eq!(undecided(&error), Some(UndecidedReason::AcceptedWithoutId));
    }
    let entry = journal.find("", "2").await.unwrap().unwrap();
    let executed =
        Settled::Executed { kind: ResourceKind::Job, id: "job_2".to_owned(), charge_usd: None };
    journal.settle(&entry.id, executed).await.unwrap();
    assert_eq!(captured().await, 400_000);
}
