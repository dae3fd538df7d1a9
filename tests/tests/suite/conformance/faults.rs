//! Injected faults, of requests and of downloads.

use std::time::Duration;

use super::*;

on_every_frontend! {
    delay_delays_the_response,
    random_faults_are_reproducible_by_seed,
    a_stalled_download_continues_after_the_pause,
    truncate_breaks_the_connection,
    a_stalled_download_does_not_complete_early,
    wrong_length_is_a_complete_but_short_response,
}

async fn delay_delays_the_response(mock: Mock) {
    mock.add_fault(json!({"kind": "delay", "delay_ms": 60_000})).await;
    let client = mock.open();
    let delayed = tokio::time::timeout(Duration::from_millis(50), client.get("/v1/jobs"));
    assert!(delayed.await.is_err(), "the response was not delayed");
    mock.add_fault(json!({"kind": "delay", "delay_ms": 1})).await;
    mock.open().get("/v1/jobs").await.expect(200);
}

async fn random_faults_are_reproducible_by_seed(mock: Mock) {
    let mut runs = Vec::new();
    for seed in [7, 7] {
        let mock = mock.start_another(Setup::default().seed(seed)).await;
        mock.add_fault(json!({"kind": "status_503", "times": 1_000, "probability": 0.5})).await;
        let mut statuses = Vec::new();
        for _ in 0..40 {
            statuses.push(mock.open().get("/v1/jobs").await.status());
        }
        runs.push(statuses);
    }
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].contains(&200) && runs[0].contains(&503), "{:?}", runs[0]);
}

/// Generates an image and returns its path on the media host.
async fn artifact(mock: &Mock) -> String {
    let id = submit(&mock.open(), IMAGE, image()).await;
    mock.advance(2).await;
    let result = job_result(&mock.open(), &id).await;
    mock.path_of(Host::Media, &result["artifacts"][0]["url"])
}

fn media(mock: &Mock) -> Client {
    mock.client(Host::Media)
}

async fn add_fault(mock: &Mock, kind: &str) {
    mock.add_fault(json!({"kind": kind, "operation": "artifact"})).await;
}

async fn truncate_breaks_the_connection(mock: Mock) {
    let path = artifact(&mock).await;
    add_fault(&mock, "truncate").await;
    let truncated = media(&mock).try_get(&path).await;
    let whole = media(&mock).get(&path).await.expect(200);
    if mock.kind() == FrontendKind::Wiremock {
        // The wiremock frontend shortens the body but keeps the connection intact.
        assert_eq!(truncated.unwrap().body().len(), whole.body().len() / 2);
    } else {
        assert!(truncated.is_err(), "{truncated:?}");
    }
}

async fn a_stalled_download_does_not_complete_early(mock: Mock) {
    let path = artifact(&mock).await;
    add_fault(&mock, "stall").await;
    let client = media(&mock);
    let stalled = tokio::time::timeout(Duration::from_millis(300), client.get(&path));
    assert!(stalled.await.is_err(), "the download did not stall");
    media(&mock).get(&path).await.expect(200);
}

async fn wrong_length_is_a_complete_but_short_response(mock: Mock) {
    let path = artifact(&mock).await;
    add_fault(&mock, "wrong_length").await;
    let faulty = media(&mock).get(&path).await;
    let whole = media(&mock).get(&path).await.expect(200);
    let half = whole.body().len() / 2;
    let faulty = faulty.expect(200);
    assert_eq!(faulty.int_header("content-length"), half as u64);
    assert_eq!(faulty.body()[..], whole.body()[..half]);
    assert_eq!(faulty.header("etag"), whole.header("etag"));

    add_fault(&mock, "wrong_length").await;
    let part = media(&mock).header("range", "bytes=4-11").get(&path).await;
    let part = part.expect(206);
    let range = format!("bytes 4-11/{}", whole.body().len());
    assert_eq!(part.header("content-range"), Some(range.as_str()));
    assert_eq!(part.body()[..], whole.body()[4..8]);

    add_fault(&mock, "wrong_length").await;
    let head = media(&mock).head(&path).await.expect(200);
    assert_eq!(head.int_header("content-length"), half as u64);
}

async fn a_stalled_download_continues_after_the_pause(mock: Mock) {
    let path = artifact(&mock).await;
    mock.add_fault(json!({"kind": "stall", "surface": "media", "delay_ms": 20})).await;
    let stalled = media(&mock).get(&path).await.expect(200);
    let whole = media(&mock).get(&path).await.expect(200);
    assert_eq!(stalled.body(), whole.body());
}
