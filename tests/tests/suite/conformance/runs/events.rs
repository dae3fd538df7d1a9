//! The timeline of a Format's run.

use super::*;

on_every_frontend! {
    a_timeline_is_append_only,
    a_timeline_ends_with_the_run,
    delivery_attempts_are_in_the_timeline,
}

async fn events(mock: &Mock, id: &str) -> Vec<Value> {
    let path = format!("{}/events", Kind::Format.run(id));
    mock.developer().get_items(&path).await
}

async fn a_timeline_is_append_only(mock: Mock) {
    let id = start_run(&mock, Kind::Format, "x").await;
    let mut before = events(&mock, &id).await;
    assert!(!before.is_empty());
    for _ in 0..10 {
        mock.advance(1).await;
        let now = events(&mock, &id).await;
        assert!(now.starts_with(&before), "{before:?}, then {now:?}");
        before = now;
    }
    assert!(before.len() >= 3, "{before:?}");
    let times: Vec<_> = before.iter().map(|event| text(&event["created_at"])).collect();
    assert!(times.is_sorted_by_key(|time| time.trim_end_matches('Z').to_owned()), "{times:?}");
    assert!(before.iter().all(|event| event["phase"].is_string()), "{before:?}");
    mock.advance(1_000).await;
    assert_eq!(events(&mock, &id).await, before);
}

async fn a_timeline_ends_with_the_run(mock: Mock) {
    for (prompt, end) in [("x", "completed"), ("[mock:fail]", "failed"), ("[mock:skip]", "skipped")]
    {
        let id = start_run(&mock, Kind::Format, prompt).await;
        mock.advance(10).await;
        let events = events(&mock, &id).await;
        assert_eq!(events.last().unwrap()["status"], end, "{events:?}");
    }
}

async fn delivery_attempts_are_in_the_timeline(mock: Mock) {
    let hook = json!({"webhook_url": "https://hooks.example.com/svc"});
    let id = start_demo(&mock, with(instruction("x"), hook)).await;
    mock.advance(10).await;
    let deliveries = |events: &[Value]| {
        events.iter().filter(|event| event["phase"] == "webhook_delivery").count()
    };
    assert_eq!(deliveries(&events(&mock, &id).await), 1);
    mock.advance(3_600).await;
    assert!(deliveries(&events(&mock, &id).await) >= 2);
}
