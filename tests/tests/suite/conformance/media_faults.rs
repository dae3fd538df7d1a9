//! Injected faults of downloads from the media host.

use std::time::Duration;

use super::*;

scripts! {
    statuses_replace_the_file r#"
        media /artifacts/ava_ada.png => 200 @content-length=<length>
        for <status> in 403 404 503
          control /faults {"kind": "status_<status>", "operation": "artifact"} => 200
          media /artifacts/ava_ada.png => <status> @etag=null @content-length!=<length>
          media /artifacts/ava_ada.png => 200
        # Faults of downloads apply to artifacts only.
        control /faults {"kind": "status_404"} => 200
        open /v1/jobs => 200
        media /artifacts/ava_ada.png => 404
        media /artifacts/ava_ada.png => 200
        for <header> in x=x range=bytes=4-11
          control /faults {"kind": "status_416", "operation": "artifact"} => 200
          media <header> /artifacts/ava_ada.png => 416 @content-range="bytes */<length>" %=""
    "#
    changed_etag_is_that_of_another_file r#"
        media /artifacts/ava_ada.png => 200 @etag=<etag> @content-length=<length>
        # The file is not that of a cache that has the original, and a range of the original is not its.
        for <header> <status> in if-none-match=<etag> 304, if-range=<etag> 206
          control /faults {"kind": "changed_etag", "operation": "artifact"} => 200
          media <header> /artifacts/ava_ada.png => 200 @etag!=<etag> @content-length=<length>
          control /faults {"kind": "changed_etag", "operation": "artifact"} => 200
          media range=bytes=4-11 if-range=<etag> /artifacts/ava_ada.png => 200 @etag!=<etag> @content-length=<length>
          media range=bytes=4-11 <header> /artifacts/ava_ada.png => <status>
    "#
}

on_every_frontend! {
    a_stalled_download_continues_after_the_pause,
    truncate_breaks_the_connection,
    a_stalled_download_does_not_complete_early,
    wrong_length_is_a_complete_but_short_response,
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
