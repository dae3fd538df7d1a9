//! Tests of the files that downloads leave, also after a crash.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::disk::crash;
use super::property_tests::{self, Etag, Server, ServerAnswer, Turn, content};
use super::tests::{BODY, download, files_in, image, image_result, job_result};
use super::{DownloadedFile, FileStatus, IfExists};
use crate::transport::scripted::{Script, json, open_client};

fn if_exists(overwrite: bool) -> IfExists {
    if overwrite { IfExists::Overwrite } else { IfExists::Rename }
}

/// Downloads an artifact whose server answers with these versions of it, each cut off after some bytes.
async fn download_versions(
    folder: &Path,
    responses: &[(u8, Option<usize>)],
) -> crate::Result<Vec<DownloadedFile>> {
    let turn = |&(version, cut)| Turn { answer: ServerAnswer::File(Etag::Strong), version, cut };
    let server = Server(Mutex::new(responses.iter().map(turn).collect()));
    property_tests::download(&Arc::new(server), folder).await
}

#[tokio::test(start_paused = true)]
async fn crash_at_any_time_leaves_no_mixed_file() {
    let responses = [(1, Some(5)), (1, Some(3)), (2, Some(7)), (2, Some(2)), (2, None)];
    for version in [0, 1, 2] {
        let mut crashes = 0;
        loop {
            let folder = tempfile::tempdir().unwrap();
            crash::after(crashes);
            let interrupted = download_versions(folder.path(), &responses).await;
            let is_complete = crash::reset().is_some_and(|steps| steps > 0);
            assert!(interrupted.is_ok() || !is_complete, "{interrupted:?} without a crash");

            // Version 2 may have been stored before the crash, and is not changed by another.
            let target = folder.path().join("art_1.png");
            let stored = std::fs::read(&target).ok();
            assert!(stored.as_ref().is_none_or(|stored| *stored == content(2)));

            let context = format!("version {version} after a crash at step {crashes}");
            let files = download_versions(folder.path(), &[(version, None)]).await;
            let file = &files.unwrap()[0];
            assert_eq!(std::fs::read(&file.path).unwrap(), content(version), "{context}");
            let names = files_in(folder.path());
            assert!(!names.iter().any(|name| name.starts_with('.')), "{context}");
            if let Some(stored) = &stored {
                assert_eq!(&std::fs::read(&target).unwrap(), stored, "{context}");
            }
            if stored.is_some() && version != 2 {
                assert_eq!(names, ["art_1-1.png", "art_1.png"], "{context}");
            } else {
                assert_eq!(names, ["art_1.png"], "{context}");
            }
            if is_complete {
                break;
            }
            crashes += 1;
        }
        assert!(crashes > 20, "{crashes}");
    }
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

#[tokio::test(start_paused = true)]
async fn partial_file_of_another_artifact_with_the_same_name_is_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = r#"
        {"id": "art_1", "url": "https://media.example/1"},
        {"id": "art_1", "url": "https://media.example/2"}"#;
    // Both have the same ETag.
    let script = Script::new([
        job_result(artifacts),
        image(200, b"first"),
        image(200, BODY).truncated_after(5),
        json(403, "{}"),
    ]);
    download(&script, folder.path()).await.unwrap_err();
    let script = Script::new([job_result(artifacts), image(200, b"first"), image(200, BODY)]);
    let files = download(&script, folder.path()).await.unwrap();
    assert_eq!(script.requests()[1].header("range"), None);
    assert_eq!(files_in(folder.path()), ["art_1-1.bin", "art_1.bin"]);
    assert_eq!(files[0].status, FileStatus::Unchanged);
    assert_eq!(files[1].status, FileStatus::Created);
    assert_eq!(std::fs::read(&files[1].path).unwrap(), BODY);
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
