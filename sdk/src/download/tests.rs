//! Tests of downloads against a scripted transport.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::DownloadedFile;
use crate::call::clock;
use crate::error::ErrorKind;
use crate::surface::Open;
use crate::transport::scripted::{
    Script, ScriptedTransport, Step, builder, developer_client, json, open_client,
};
use crate::transport::{ResponseFuture, Transport};

pub(super) const BODY: &[u8] = b"0123456789abcdef";

pub(super) fn job_result(artifacts: &str) -> Step {
    json(
        200,
        &format!(
            r#"{{"data": {{"job_id": "job_1", "status": "completed", "artifacts": [{artifacts}]}}}}"#
        ),
    )
}

pub(super) fn image_result() -> Step {
    job_result(
        r#"{"id": "art_1", "url": "https://media.example/a?sig=1", "content_type": "image/png"}"#,
    )
}

pub(super) fn image(status: u16, body: &'static [u8]) -> Step {
    Step::Response(
        status,
        vec![("content-type", "image/png".into()), ("etag", "\"v1\"".into())],
        Bytes::from_static(body),
    )
}

/// A partial response with the bytes of `BODY` from `start` to `end`.
fn range(start: usize, end: usize) -> Step {
    let content_range = format!("bytes {start}-{}/{}", end - 1, BODY.len());
    image(206, &BODY[start..end]).header("content-range", content_range)
}

pub(super) fn rest(start: usize) -> Step {
    range(start, BODY.len())
}

/// A response with another version of the file.
pub(super) fn other_version(status: u16, body: &'static [u8]) -> Step {
    let headers = vec![("etag", "\"v2\"".into())];
    Step::Response(status, headers, Bytes::from_static(body))
}

fn redirect(location: &str) -> Step {
    let headers = vec![("location", location.to_owned())];
    Step::Response(302, headers, Bytes::new())
}

pub(super) async fn download(
    script: &Arc<Script>,
    folder: &Path,
) -> crate::Result<Vec<DownloadedFile>> {
    open_client(script).jobs().handle("job_1").download(folder).concurrency(1).await
}

pub(super) fn files_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn download_creates_the_folder_and_sends_no_credentials() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("new/out");
    let script = Script::new([image_result(), image(200, BODY)]);
    let files = download(&script, &folder).await.unwrap();
    assert_eq!(files[0].path, folder.join("art_1.png"));
    assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
    assert_eq!(files_in(&folder), ["art_1.png"]);
    let request = &script.requests()[1];
    assert_eq!(request.url, "https://media.example/a?sig=1");
    assert!(request.headers.is_empty(), "{:?}", request.headers);
}

#[tokio::test(start_paused = true)]
async fn interrupted_download_is_resumed() {
    let cut = || image(200, BODY).truncated_after(5);
    for steps in [
        vec![cut(), Step::ConnectionRefused, rest(5).truncated_after(4), rest(9)],
        // A range may end before the file.
        vec![cut(), range(5, 9), rest(9)],
        vec![range(0, 5), range(5, 9), rest(9)],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new([image_result()].into_iter().chain(steps));
        let files = download(&script, folder.path()).await.unwrap();
        assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
        let requests = script.requests();
        let last = requests.last().unwrap();
        assert_eq!(
            (last.header("range"), last.header("if-range")),
            (Some("bytes=9-"), Some("\"v1\""))
        );
        assert_eq!(files_in(folder.path()), ["art_1.png"]);
    }
}

#[tokio::test(start_paused = true)]
async fn partial_file_of_a_failed_download_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        Script::new([image_result(), image(200, BODY).truncated_after(5), json(403, "{}")]);
    let error = download(&script, folder.path()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Download);
    assert_eq!(error.job_id().unwrap().as_str(), "job_1");
    assert!(!folder.path().join("art_1.png").exists());

    let script = Script::new([image_result(), rest(5)]);
    let files = download(&script, folder.path()).await.unwrap();
    assert_eq!(files[0].resumed_from, 5);
    assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
}

#[tokio::test(start_paused = true)]
async fn download_restarts_if_the_response_does_not_match_the_partial_file() {
    let part = |step: Step, content_range| step.header("content-range", content_range);
    let without_etag = Step::Response(206, vec![], Bytes::from_static(b"OTHERVERSIO"));
    for (response, expected) in [
        (other_version(200, b"new"), &b"new"[..]),
        (rest(3), BODY),
        (part(other_version(206, b"OTHERVERSION"), "bytes 5-15/16"), BODY),
        (part(without_etag, "bytes 5-15/16"), BODY),
        // A range of an unknown total length may not be the rest.
        (part(image(206, &BODY[5..9]), "bytes 5-8/*"), BODY),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let cut = image(200, BODY).truncated_after(5);
        let script = Script::new([image_result(), cut, response, image(200, BODY)]);
        let files = download(&script, folder.path()).await.unwrap();
        assert_eq!(std::fs::read(&files[0].path).unwrap(), expected);
        let again = script.requests().split_off(3);
        assert!(again.iter().all(|request| request.header("range").is_none()));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn symbolic_links_in_place_of_partial_files_are_not_followed() {
    for name in [".art_1.png.part", ".art_1.png.etag"] {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let linked = outside.path().join("linked");
        std::fs::write(&linked, "unchanged").unwrap();
        std::os::unix::fs::symlink(&linked, folder.path().join(name)).unwrap();
        let script = Script::new([image_result(), image(200, BODY)]);
        let _ = download(&script, folder.path()).await;
        assert_eq!(std::fs::read(&linked).unwrap(), b"unchanged", "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn error_does_not_contain_secrets_of_the_url() {
    let url = r#"{"id": "art_1", "url": "https://u:canary@media.example/a?sig=canary#canary"}"#;
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new([job_result(url), json(403, "{}")]);
    let error = download(&script, folder.path()).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
    assert!(error.to_string().contains("https://media.example/a"));
}

#[tokio::test(start_paused = true)]
async fn only_media_are_stored() {
    let failed = r#"{"data": {"status": "failed", "error": {"code": "generation_failed", "message": "no"}}}"#;
    let html =
        Step::Response(200, vec![("content-type", "text/html; charset=utf-8".into())], "".into());
    for (steps, kind, message) in [
        (vec![json(200, failed)], ErrorKind::JobFailed, "no"),
        (vec![image_result(), json(404, "{}")], ErrorKind::Download, "404"),
        (vec![image_result(), json(403, "{}")], ErrorKind::Download, "403"),
        (vec![image_result(), html], ErrorKind::Download, "HTML page"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let error = download(&Script::new(steps), folder.path()).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(message), "{error}");
        assert!(files_in(folder.path()).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn only_redirects_to_secure_urls_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    for location in [
        "http://10.0.0.1/x",
        "http://127.0.0.1/x",
        "https://10.0.0.1/x",
        "https://localhost/x",
        "https://[::ffff:169.254.169.254]/x",
    ] {
        let script = Script::new([image_result(), redirect(location)]);
        assert!(download(&script, folder.path()).await.is_err());
        assert_eq!(script.requests().len(), 2, "{location}");
    }
    let to_cdn = redirect("https://cdn.example/b");
    let script = Script::new([image_result(), to_cdn.clone(), image(200, BODY)]);
    assert!(download(&script, folder.path()).await.is_ok());
    let endless = Script::new([image_result(), to_cdn]);
    let error = download(&endless, folder.path()).await.unwrap_err();
    assert!(error.to_string().contains("redirects"), "{error}");
}

#[tokio::test]
async fn unwritable_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let script = Script::new([image_result(), image(200, BODY)]);
    let error = download(&script, &file.join("out")).await.unwrap_err();
    assert!(error.to_string().contains("cannot write"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Download);
}

#[tokio::test(start_paused = true)]
async fn artifacts_that_cannot_be_downloaded_do_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = r#"
        {"id": "art_1", "url": "https://media.example/1"}, {"id": "art_2"}, {"url": ""}, 7,
        {"id": "art_5", "url": "https://user:canary@:99"}, {"id": "art_6", "url": "ftp://m/a"},
        {"id": "art_7", "url": 7}, {"id": "art_8", "url": "https://media.example/8"},
        {"id": "art_9", "url": "https://media.example/9"}"#;
    let script =
        Script::new([job_result(artifacts), image(200, BODY), json(404, "{}"), image(200, BODY)]);
    let error = download(&script, folder.path()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Download);
    assert_eq!(files_in(folder.path()), ["art_1.bin", "art_9.bin"]);
    let delivered: Vec<_> = error.downloaded_files().iter().map(|f| &f.path).collect();
    let expected = ["art_1.bin", "art_9.bin"].map(|name| folder.path().join(name));
    assert_eq!(delivered, expected.iter().collect::<Vec<_>>());
    let message = error.to_string();
    for part in [
        "artifact art_2: the artifact has no URL",
        "artifact 3 of 9: the artifact has no URL",
        "artifact 4 of 9: it could not be decoded",
        "artifact art_5: invalid URL",
        "artifact art_6 (ftp://m/a)",
        "artifact art_7: the artifact has no URL",
        "artifact art_8 (https://media.example/8): the server returned status 404",
        "2 other files were downloaded",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    assert!(!message.contains("art_1") && !message.contains("canary"));
}

#[tokio::test]
async fn results_with_unexpected_artifacts_are_not_empty() {
    let folder = tempfile::tempdir().unwrap();
    for artifacts in [r#"["https://m/a"]"#, r#""https://m/a""#, "[null]", "[{}]"] {
        let job = format!(r#"{{"data": {{"status": "completed", "artifacts": {artifacts}}}}}"#);
        let script = Script::new([json(200, &job)]);
        let error = download(&script, folder.path()).await.unwrap_err();
        assert!(error.to_string().contains("artifact 1 of 1"), "{error}");

        let run = format!(r#"{{"run_id": "run_1", "status": "failed", "artifacts": {artifacts}}}"#);
        let script = Script::new([json(200, &run)]);
        let run = developer_client(&script).agent_runs().handle("run_1");
        let error = run.download(folder.path()).await.unwrap_err();
        assert!(error.to_string().contains("artifact 1 of 1"), "{error}");
    }
    let empty = r#"{"data": {"status": "completed", "artifacts": []}}"#;
    let files = download(&Script::new([json(200, empty)]), folder.path()).await;
    assert!(files.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn attempts_without_progress_are_limited() {
    let without_data = vec![image(200, BODY).truncated_after(0)];
    // The response to the range request has another ETag, so that every second attempt starts from
    // the beginning.
    let never_complete = vec![
        image(200, BODY).truncated_after(5),
        other_version(206, b"OTHERVERSION").header("content-range", "bytes 5-15/16"),
    ];
    for cycle in [without_data, never_complete] {
        let folder = tempfile::tempdir().unwrap();
        let steps = std::iter::once(image_result()).chain(cycle.into_iter().cycle().take(200));
        let script = Script::new(steps);
        let error = download(&script, folder.path()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Download);
        let requests = script.requests().len();
        assert!(requests < 12, "{requests}");
    }
}

#[tokio::test(start_paused = true)]
async fn download_has_a_time_limit() {
    let artifacts = r#"
        {"id": "art_1", "url": "https://media.example/1"},
        {"id": "art_2", "url": "https://media.example/2"}"#;
    for steps in [
        vec![Step::NoResponse],
        vec![job_result(artifacts), Step::NoResponse],
        vec![job_result(artifacts), json(503, "{}")],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let job = open_client(&Script::new(steps)).jobs().handle("job_1");
        let start = clock::now();
        let download = job.download(folder.path());
        let error = download.timeout(Duration::from_secs(10)).await.unwrap_err();
        assert!(error.is_timeout(), "{error}");
        assert_eq!(error.job_id(), Some(job.id()));
        let elapsed = clock::now() - start;
        assert!((10..11).contains(&elapsed.as_secs()), "{elapsed:?}");
    }

    let folder = tempfile::tempdir().unwrap();
    let script = Script::new([image_result(), Step::NoResponse]);
    let job = open_client(&script).jobs().handle("job_1");
    let error = job.download(folder.path()).no_timeout().await.unwrap_err();
    assert!(!error.is_timeout(), "{error}");
    assert!(error.to_string().contains("timed out waiting"), "{error}");
}

/// A transport whose response body never ends, and always has data.
struct EndlessBody;

impl Transport for EndlessBody {
    fn send(&self, _: http::Request<Bytes>) -> ResponseFuture {
        struct Stream;

        impl futures_core::Stream for Stream {
            type Item = Result<Frame<Bytes>, crate::transport::TransportError>;

            fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
            }
        }

        let response = http::Response::new(StreamBody::new(Stream).boxed_unsync());
        Box::pin(async move { Ok(response) })
    }
}

#[tokio::test]
async fn time_limit_ends_an_endless_response() {
    let folder = tempfile::tempdir().unwrap();
    let client = builder::<Open>(EndlessBody);
    let result = serde_json::from_str(r#"{"artifacts": [{"url": "https://media.example/a"}]}"#);
    let job = client.build().unwrap().jobs().handle("job_1");
    let download = job.download_result(&result.unwrap(), folder.path());
    let error = download.timeout(Duration::from_millis(100)).await;
    assert!(error.unwrap_err().is_timeout());
}

#[tokio::test]
async fn insecure_urls_and_private_hosts_are_refused() {
    let insecure = ["http://media.example/a", "file:///etc/passwd", "ftp://a", "", "/relative"];
    let private = [
        "https://10.0.0.1/a",
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:192.168.0.1]/a",
        "https://[fd00::1]/a",
    ];
    let loopback = [
        "https://127.0.0.1/a",
        "http://127.0.0.1/a",
        "https://localhost/a",
        "http://localhost./a",
        "https://[::1]/a",
    ];
    let is_sent = async |base_url: &str, allow: bool, url: &str| {
        let folder = tempfile::tempdir().unwrap();
        let artifact = format!(r#"{{"id": "art_1", "url": "{url}"}}"#);
        let script = Script::new([job_result(&artifact), image(200, BODY)]);
        let client = builder::<Open>(ScriptedTransport(Arc::clone(&script)))
            .base_url(base_url)
            .allow_private_artifact_hosts(allow)
            .build()
            .unwrap();
        let result = client.jobs().handle("job_1").download(folder.path()).await;
        assert_eq!(result.is_ok(), script.requests().len() == 2, "{url}");
        result.is_ok()
    };
    for url in insecure {
        assert!(!is_sent("https://api.example", true, url).await, "{url}");
    }
    for url in private {
        assert!(!is_sent("https://api.example", false, url).await, "{url}");
        assert!(!is_sent("http://127.0.0.1:4010", false, url).await, "{url}");
        assert!(is_sent("https://api.example", true, url).await, "{url}");
    }
    for url in loopback {
        assert!(!is_sent("https://api.example", false, url).await, "{url}");
        assert!(is_sent("http://localhost:4010", false, url).await, "{url}");
        assert!(is_sent("https://api.example", true, url).await, "{url}");
    }
}
