//! Tests of what is delivered where, and of the checks of the content.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::tests::{
    BODY, download, files_in, image, image_result, job_result, other_version, rest,
};
use super::{ArtifactDownload, DownloadEvent, DownloadProgress, FileStatus, IfExists};
use crate::call::clock;
use crate::error::ErrorKind;
use crate::transport::scripted::{Script, Step, json, open_client};
use crate::types::Artifact;

/// Returns the download of one artifact that the script serves.
fn artifact(script: &Arc<Script>) -> ArtifactDownload {
    let artifact =
        r#"{"id": "art_1", "url": "https://media.example/a", "content_type": "image/png"}"#;
    let artifact: Artifact = serde_json::from_str(artifact).unwrap();
    open_client(script).jobs().handle("job_1").download_artifact(&artifact)
}

/// Reads a stream to its end or to its error.
async fn read(download: ArtifactDownload) -> (Vec<u8>, Option<crate::Error>) {
    let mut stream = download.stream();
    let mut content = Vec::new();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) => content.extend_from_slice(&chunk),
            Err(error) => {
                assert!(stream.next().await.is_none());
                return (content, Some(error));
            }
        }
    }
    (content, None)
}

fn digest(content: &[u8]) -> String {
    use base64::Engine;
    let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(content));
    format!("sha-256=:{digest}:")
}

#[tokio::test(start_paused = true)]
async fn stream_continues_after_interruptions() {
    let cut = || image(200, BODY).truncated_after(5);
    for (steps, range) in [
        (vec![cut(), Step::ConnectionRefused, rest(5)], 2),
        // A server that ignores the range sends the same version again.
        (vec![cut(), image(200, BODY)], 1),
    ] {
        let script = Script::new(steps);
        let (content, error) = read(artifact(&script)).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(content, BODY);
        let requests = script.requests();
        assert_eq!(requests[range].header("range"), Some("bytes=5-"));
        assert_eq!(requests[range].header("if-range"), Some("\"v1\""));
    }
}

#[tokio::test(start_paused = true)]
async fn stream_says_what_the_server_announced() {
    for (content_type, expected) in [(Some("image/webp"), "image/webp"), (None, "image/png")] {
        let mut response = Step::Response(200, vec![], Bytes::from_static(BODY));
        if let Some(content_type) = content_type {
            response = response.header("content-type", content_type);
        }
        let mut stream = artifact(&Script::new([response])).stream();
        assert_eq!((stream.length(), stream.range()), (None, None));
        stream.ready().await.unwrap();
        assert_eq!(stream.content_type(), Some(expected));
        let length = BODY.len() as u64;
        assert_eq!(stream.range(), Some(0..length));
        assert_eq!(stream.next().await.unwrap().unwrap(), BODY);
        assert_eq!(stream.range(), Some(length..length));
        assert!(stream.next().await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn stream_does_not_mix_versions() {
    let without_etag = || Step::Response(200, vec![], Bytes::from_static(BODY));
    let other_length =
        Step::Response(200, vec![("etag", "\"v1\"".into())], Bytes::from_static(b"0123456789"));
    for steps in [
        vec![image(200, BODY).truncated_after(5), other_version(200, b"another version!")],
        vec![image(200, BODY).truncated_after(5), other_length],
        vec![without_etag().truncated_after(5), without_etag()],
        vec![image(200, BODY).truncated_after(5), json(416, "{}")],
    ] {
        let script = Script::new(steps);
        let (content, error) = read(artifact(&script)).await;
        assert_eq!(content, &BODY[..5]);
        let error = error.unwrap();
        assert_eq!(error.kind(), ErrorKind::Download, "{error}");
        assert_eq!(error.job_id().unwrap().as_str(), "job_1");
    }
    // Nothing was delivered, so any version can follow.
    let cut = image(200, BODY).truncated_after(0);
    let script = Script::new([cut, other_version(200, b"new")]);
    assert_eq!(read(artifact(&script)).await.0, b"new");
}

#[tokio::test(start_paused = true)]
async fn writer_receives_the_content() {
    let script = Script::new([image(200, BODY).truncated_after(5), rest(5)]);
    let mut content = Vec::new();
    let bytes = artifact(&script).to_writer(&mut content).await.unwrap();
    assert_eq!((bytes, content.as_slice()), (BODY.len() as u64, BODY));

    let script = Script::new([image(200, BODY)]);
    let (mut writer, reader) = tokio::io::duplex(1);
    drop(reader);
    let error = artifact(&script).to_writer(&mut writer).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Download && !error.is_ambiguous(), "{error}");
    assert_eq!(error.to_string(), "cannot write the downloaded content");
}

#[tokio::test(start_paused = true)]
async fn stream_has_a_time_limit() {
    let script = Script::new([Step::NoResponse]);
    let download = artifact(&script).timeout(Duration::from_secs(10));
    let (content, error) = read(download).await;
    assert!(content.is_empty() && error.unwrap().is_timeout());
}

#[tokio::test(start_paused = true)]
async fn existing_files_are_kept_unless_overwritten() {
    use FileStatus::{Created, Renamed, Replaced, Skipped, Unchanged};
    use IfExists::{Overwrite, Rename, Skip};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/fox.png");
    let modified = || std::fs::metadata(&path).unwrap().modified().unwrap();
    let mut first_modified = None;
    for (body, if_exists, name, status) in [
        (&b"one"[..], Rename, "fox.png", Created),
        (b"one", Rename, "fox.png", Unchanged),
        (b"one", Overwrite, "fox.png", Unchanged),
        // The same length does not make the same content.
        (b"two", Rename, "fox-1.png", Renamed),
        (b"three", Rename, "fox-2.png", Renamed),
        (b"two", Rename, "fox-1.png", Unchanged),
        (b"two", Skip, "fox.png", Skipped),
        (b"four", Overwrite, "fox.png", Replaced),
    ] {
        let script = Script::new([image(200, body)]);
        let file = artifact(&script).if_exists(if_exists).to_file(&path).await.unwrap();
        assert_eq!((file.path, file.status), (path.with_file_name(name), status));
        assert_eq!(script.requests().len(), usize::from(status != Skipped));
        if status != Replaced {
            assert_eq!(std::fs::read(&path).unwrap(), b"one");
            assert_eq!(modified(), *first_modified.get_or_insert_with(modified));
        }
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"four");
    assert_eq!(files_in(path.parent().unwrap()), ["fox-1.png", "fox-2.png", "fox.png"]);
}

#[tokio::test(start_paused = true)]
async fn content_is_checked_against_its_digest() {
    let intact = |name| image(200, BODY).header(name, digest(BODY));
    let damaged = |name| image(200, b"0123456789abcdeF").header(name, digest(BODY));
    for name in ["repr-digest", "content-digest", "digest"] {
        let folder = tempfile::tempdir().unwrap();
        // One more attempt, as the content may have been damaged on the way.
        let script = Script::new([image_result(), damaged(name), intact(name)]);
        let files = download(&script, folder.path()).await.unwrap();
        assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);

        let folder = tempfile::tempdir().unwrap();
        let script = Script::new([image_result(), damaged(name)]);
        let error = download(&script, folder.path()).await.unwrap_err();
        assert!(error.to_string().contains("SHA-256"), "{error}");
        assert_eq!(script.requests().len(), 3);
        assert!(files_in(folder.path()).is_empty());

        let script = Script::new([damaged(name)]);
        let (_, error) = read(artifact(&script)).await;
        assert!(error.unwrap().to_string().contains("SHA-256"));
        let script = Script::new([intact(name).truncated_after(5), rest(5)]);
        assert_eq!(read(artifact(&script)).await.0, BODY);
    }
}

#[tokio::test(start_paused = true)]
async fn digest_covers_what_was_there_before() {
    let folder = tempfile::tempdir().unwrap();
    let cut = image(200, BODY).truncated_after(5);
    let script = Script::new([image_result(), cut, json(403, "{}")]);
    download(&script, folder.path()).await.unwrap_err();
    std::fs::write(folder.path().join(".art_1.png.part"), b"01X34").unwrap();
    let rest = rest(5).header("repr-digest", digest(BODY));
    let script = Script::new([image_result(), rest, image(200, BODY)]);
    let files = download(&script, folder.path()).await.unwrap();
    assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
    assert_eq!(files[0].resumed_from, 0);
}

#[tokio::test(start_paused = true)]
async fn content_is_checked_against_the_size_in_the_result() {
    let result = |size: &str| {
        job_result(&format!(
            r#"{{"id": "art_1", "url": "https://media.example/a", "size_bytes": {size}}}"#
        ))
    };
    for (size, step, fits) in [
        ("16", image(200, BODY), true),
        ("\"1024x1024\"", image(200, BODY), true),
        ("17", image(200, BODY), false),
        ("15", image(200, BODY), false),
        ("15", rest(0), false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new([result(size), step]);
        let outcome = download(&script, folder.path()).await;
        assert_eq!(outcome.is_ok(), fits, "{size}: {outcome:?}");
        if let Err(error) = outcome {
            assert!(error.to_string().contains("the result says"), "{error}");
            assert!(files_in(folder.path()).is_empty());
        }
    }
}

/// Downloads two artifacts of which the second has no URL, and returns the events.
async fn events_of(script: &Arc<Script>, folder: &Path) -> Vec<DownloadProgress> {
    let events = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&events);
    let job = open_client(script).jobs().handle("job_1");
    let download = job.download(folder).concurrency(1);
    let download = download.on_progress(move |event| recorded.lock().unwrap().push(event));
    drop(download.await);
    Arc::into_inner(events).unwrap().into_inner().unwrap()
}

#[tokio::test(start_paused = true)]
async fn progress_is_reported_as_events() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = r#"{"id": "art_1", "url": "https://media.example/1"}, {"id": "art_2"}"#;
    let script = Script::new([job_result(artifacts), image(200, BODY).truncated_after(5), rest(5)]);
    let events = events_of(&script, folder.path()).await;
    assert!(events.iter().all(|event| event.count == 2));
    let of = |index: usize| {
        let events = events.iter().filter(move |event| event.index == index);
        events.map(|event| &event.event).collect::<Vec<_>>()
    };
    let total = Some(BODY.len() as u64);
    let first = of(0);
    assert_eq!(first.len(), 6, "{first:?}");
    assert_eq!(*first[0], DownloadEvent::Started { bytes: 0, total });
    assert_eq!(*first[1], DownloadEvent::Advanced { bytes: 5, total });
    assert!(matches!(first[2], DownloadEvent::Retrying { .. }));
    assert_eq!(*first[3], DownloadEvent::Advanced { bytes: 5, total });
    assert_eq!(*first[4], DownloadEvent::Advanced { bytes: 16, total });
    assert_eq!(*first[5], DownloadEvent::Finished { bytes: 16 });
    assert!(
        matches!(of(1).as_slice(), [DownloadEvent::Failed { reason }] if reason.contains("no URL"))
    );
    assert_eq!(events[0].artifact_id.as_ref().unwrap().as_str(), "art_1");
}

#[tokio::test(start_paused = true)]
async fn artifacts_are_downloaded_at_once_up_to_a_limit() {
    let artifacts: Vec<_> = (0..6)
        .map(|n| format!(r#"{{"id": "art_{n}", "url": "https://media.example/{n}"}}"#))
        .collect();
    for concurrency in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let steps = [job_result(&artifacts.join(",")), image(200, BODY)];
        let script = Script::with_latency(steps, Duration::from_secs(1));
        let job = open_client(&script).jobs().handle("job_1");
        let download = job.download(folder.path()).concurrency(concurrency);
        let files = download.await.unwrap();
        let indexes: Vec<_> = files.iter().map(|file| file.index).collect();
        assert_eq!(indexes, [0, 1, 2, 3, 4, 5]);
        assert_eq!(script.max_in_flight(), concurrency);
    }
}

#[tokio::test(start_paused = true)]
async fn files_are_named_by_templates_and_functions() {
    let artifacts = r#"
        {"id": "art_1", "url": "https://media.example/1", "content_type": "image/png"},
        {"id": "art_2", "url": "https://media.example/2", "content_type": "image/png"}"#;
    let steps = || [job_result(artifacts), image(200, b"one"), image(200, b"two")];
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new(steps());
    let job = open_client(&script).jobs().handle("job_1");
    let template: super::NameTemplate = "{slug}.{ext}".parse().unwrap();
    let download = job.download(folder.path()).concurrency(1);
    let files = download.name_template(template.prompt("A fox!")).await;
    let paths: Vec<_> = files.unwrap().into_iter().map(|file| file.path).collect();
    assert_eq!(paths, ["a-fox.png", "a-fox-1.png"].map(|name| folder.path().join(name)));

    let folder = tempfile::tempdir().unwrap();
    let script = Script::new(steps());
    let job = open_client(&script).jobs().handle("job_1");
    let download = job.download(folder.path()).concurrency(1);
    let files = download.name_with(|name| format!("../{}.{}", name.number, name.extension));
    files.await.unwrap();
    assert_eq!(files_in(folder.path()), ["-1.png", "-2.png"]);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_download_is_resumed_on_a_new_connection() {
    for (sleeps, at_least, at_most) in [(true, 7, 15), (false, 30, 35)] {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new([image_result(), image(200, BODY).stalled_after(5), rest(5)]);
        if sleeps {
            tokio::spawn(async {
                clock::sleep(Duration::from_secs(7)).await;
                clock::sleep_computer(Duration::from_secs(3_600));
            });
        }
        let files = download(&script, folder.path()).await.unwrap();
        assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
        let resumed = &script.requests()[2];
        assert_eq!(resumed.header("range"), Some("bytes=5-"));
        assert_eq!(resumed.reconnects, 1);
        let at = resumed.at.as_secs();
        assert!((at_least..=at_most).contains(&at), "{at} s");
    }
}
