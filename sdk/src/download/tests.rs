//! Downloads against a scripted transport: what the scripts of [`crate::scripts`] cannot say.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::{
    ArtifactDownload, DownloadEvent, DownloadProgress, DownloadedFile, FileStatus, IfExists,
    NameTemplate,
};
use crate::error::ErrorKind;
use crate::surface::Open;
use crate::transport::scripted::{Script, ScriptedTransport, Step, builder, json, open_client};
use crate::transport::{ResponseFuture, Transport};
use crate::types::Artifact;

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

pub(super) fn rest(start: usize) -> Step {
    let content_range = format!("bytes {start}-{}/{}", BODY.len() - 1, BODY.len());
    image(206, &BODY[start..]).header("content-range", content_range)
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

/// A transport whose response body never ends, and always has data.
struct EndlessBody;

impl Transport for EndlessBody {
    fn send(&self, _: http::Request<Bytes>) -> ResponseFuture {
        let frames = stream::repeat_with(|| Ok(Frame::data(Bytes::from_static(b"x"))));
        let response = http::Response::new(StreamBody::new(frames).boxed_unsync());
        Box::pin(std::future::ready(Ok(response)))
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

/// Returns the download of one artifact that the script serves.
fn artifact(script: &Arc<Script>) -> ArtifactDownload {
    let artifact =
        r#"{"id": "art_1", "url": "https://media.example/a", "content_type": "image/png"}"#;
    let artifact: Artifact = serde_json::from_str(artifact).unwrap();
    open_client(script).jobs().handle("job_1").download_artifact(&artifact)
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
    let template: NameTemplate = "{slug}.{ext}".parse().unwrap();
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

fn if_exists(overwrite: bool) -> IfExists {
    if overwrite { IfExists::Overwrite } else { IfExists::Rename }
}

#[tokio::test(start_paused = true)]
async fn only_a_partial_file_with_a_whole_etag_of_its_source_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join(".art_1.png.part");
    let etag = folder.path().join(".art_1.png.etag");
    let script =
        Script::new([image_result(), image(200, BODY).truncated_after(5), json(403, "{}")]);
    download(&script, folder.path()).await.unwrap_err();
    let recorded = std::fs::read(&etag).unwrap();
    std::fs::remove_file(&part).unwrap();

    let other_source = [recorded.as_slice(), b"x"].concat();
    let weak = [b"W/", recorded.as_slice()].concat();
    let torn = (0..recorded.len()).map(|length| recorded[..length].to_vec());
    for content in torn.chain([other_source, weak]) {
        std::fs::write(&part, &BODY[..5]).unwrap();
        std::fs::write(&etag, &content).unwrap();
        let script = Script::new([image_result(), image(200, BODY)]);
        download(&script, folder.path()).await.unwrap();
        let range = script.requests()[1].header("range").map(str::to_owned);
        assert_eq!(range, None, "{:?}", String::from_utf8_lossy(&content));
        assert_eq!(files_in(folder.path()), ["art_1.png"]);
    }
}

#[tokio::test]
async fn artifacts_with_the_same_name_are_all_kept() {
    let artifacts = r#"
        {"id": "art_1", "url": "https://media.example/1"},
        {"id": "art_1", "url": "https://media.example/2"},
        {"id": "ART_1", "url": "https://media.example/3"}"#;
    for overwrite in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        for is_repeated in [false, true] {
            let script = Script::new([
                job_result(artifacts),
                image(200, b"one"),
                image(200, b"two"),
                image(200, b"three"),
            ]);
            let job = open_client(&script).jobs().handle("job_1");
            let download = job.download(folder.path()).if_exists(if_exists(overwrite));
            let files = download.concurrency(1).await.unwrap();
            for (file, expected) in files.iter().zip([&b"one"[..], b"two", b"three"]) {
                assert_eq!(std::fs::read(&file.path).unwrap(), expected);
                let status = if is_repeated { FileStatus::Unchanged } else { FileStatus::Created };
                assert_eq!(file.status, status);
            }
            assert_eq!(files_in(folder.path()).len(), 3);
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn symbolic_link_in_place_of_the_target_is_not_followed() {
    for overwrite in [false, true] {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let linked = outside.path().join("linked");
        std::fs::write(&linked, "unchanged").unwrap();
        std::os::unix::fs::symlink(&linked, folder.path().join("art_1.png")).unwrap();
        let script = Script::new([image_result(), image(200, BODY)]);
        let job = open_client(&script).jobs().handle("job_1");
        let download = job.download(folder.path()).if_exists(if_exists(overwrite));
        let file = download.await.unwrap().remove(0);
        assert_eq!(std::fs::read(&file.path).unwrap(), BODY);
        assert_eq!(std::fs::read(&linked).unwrap(), b"unchanged");
        let count = if overwrite { 1 } else { 2 };
        assert_eq!(files_in(folder.path()).len(), count);
    }
}
