//! Injected faults of downloads from the media host.

use std::time::Duration;

use super::*;

on_every_frontend! {
    truncate_breaks_the_connection,
    a_stalled_download_continues_after_the_pause,
    a_stalled_download_does_not_complete_early,
    statuses_replace_the_file,
    status_416_tells_the_length_of_the_file,
    wrong_length_is_a_complete_but_short_response,
    changed_etag_is_that_of_another_file,
    a_range_with_the_original_etag_gets_the_file_with_the_changed_etag,
    faults_of_downloads_apply_to_artifacts_only,
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
    mock.add_fault(json!({"kind": kind, "operation": "artifact"}))
        .await;
}

/// Downloads a file twice: with the fault, and without.
async fn download(mock: &Mock, path: &str, kind: &str) -> (Response, Response) {
    add_fault(mock, kind).await;
    let faulty = media(mock).get(path).await;
    (faulty, media(mock).get(path).await.expect(200))
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

async fn a_stalled_download_continues_after_the_pause(mock: Mock) {
    let path = artifact(&mock).await;
    mock.add_fault(json!({"kind": "stall", "surface": "media", "delay_ms": 20}))
        .await;
    let stalled = media(&mock).get(&path).await.expect(200);
    let whole = media(&mock).get(&path).await.expect(200);
    assert_eq!(stalled.body(), whole.body());
}

async fn a_stalled_download_does_not_complete_early(mock: Mock) {
    let path = artifact(&mock).await;
    add_fault(&mock, "stall").await;
    let client = media(&mock);
    let stalled = tokio::time::timeout(Duration::from_millis(300), client.get(&path));
    assert!(stalled.await.is_err(), "the download did not stall");
    media(&mock).get(&path).await.expect(200);
}

async fn statuses_replace_the_file(mock: Mock) {
    let path = artifact(&mock).await;
    for (kind, status) in [
        ("status_403", 403),
        ("status_404", 404),
        ("status_503", 503),
    ] {
        let (faulty, whole) = download(&mock, &path, kind).await;
        let faulty = faulty.expect(status);
        assert_ne!(faulty.body(), whole.body());
        assert_eq!(faulty.header("etag"), None);
    }
}

async fn status_416_tells_the_length_of_the_file(mock: Mock) {
    let path = artifact(&mock).await;
    for range in [None, Some("bytes=4-11")] {
        add_fault(&mock, "status_416").await;
        let client = match range {
            Some(range) => media(&mock).header("range", range),
            None => media(&mock),
        };
        let faulty = client.get(&path).await.expect(416);
        let whole = media(&mock).get(&path).await.expect(200);
        let length = format!("bytes */{}", whole.body().len());
        assert_eq!(faulty.header("content-range"), Some(length.as_str()));
        assert!(faulty.body().is_empty());
    }
}

async fn wrong_length_is_a_complete_but_short_response(mock: Mock) {
    let path = artifact(&mock).await;
    let (faulty, whole) = download(&mock, &path, "wrong_length").await;
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

async fn changed_etag_is_that_of_another_file(mock: Mock) {
    let path = artifact(&mock).await;
    let (faulty, whole) = download(&mock, &path, "changed_etag").await;
    let (changed, original) = (
        faulty.header("etag").unwrap(),
        whole.header("etag").unwrap(),
    );
    assert_ne!(changed, original);
    assert!(
        changed.starts_with('"') && changed.ends_with('"'),
        "{changed}"
    );
    // The file is not that of a cache that has the original.
    add_fault(&mock, "changed_etag").await;
    let cached = media(&mock).header("if-none-match", original);
    cached.get(&path).await.expect(200);
    cached.get(&path).await.expect(304);
}

async fn a_range_with_the_original_etag_gets_the_file_with_the_changed_etag(mock: Mock) {
    let path = artifact(&mock).await;
    let whole = media(&mock).get(&path).await.expect(200);
    let resumed = media(&mock)
        .header("range", "bytes=4-11")
        .header("if-range", whole.header("etag").unwrap());
    add_fault(&mock, "changed_etag").await;
    let restarted = resumed.get(&path).await.expect(200);
    assert_eq!(restarted.body(), whole.body());
    assert_ne!(restarted.header("etag"), whole.header("etag"));
    resumed.get(&path).await.expect(206);
}

async fn faults_of_downloads_apply_to_artifacts_only(mock: Mock) {
    let path = artifact(&mock).await;
    mock.add_fault(json!({"kind": "status_404"})).await;
    mock.open().get("/v1/jobs").await.expect(200);
    media(&mock).get(&path).await.expect(404);
    media(&mock).get(&path).await.expect(200);
}
