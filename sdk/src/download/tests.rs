//! Downloads against a script.

use std::sync::Arc;

use bytes::Bytes;

use crate::transport::script::{Script, Step, json, open_client};

const BODY: &[u8] = b"0123456789abcdef";

fn result(artifact: &str) -> Step {
    json(
        200,
        &format!(
            r#"{{"data": {{"job_id": "job_1", "status": "completed", "artifacts": [{artifact}]}}}}"#
        ),
    )
}

fn picture() -> Step {
    result(
        r#"{"id": "art_1", "url": "https://media.example/a?sig=1", "content_type": "image/png"}"#,
    )
}

fn file(status: u16, body: &'static [u8]) -> Step {
    Step::Response(
        status,
        vec![
            ("content-type", "image/png".into()),
            ("etag", "\"v1\"".into()),
        ],
        Bytes::from_static(body),
    )
}

fn rest(from: usize) -> Step {
    file(206, &BODY[from..]).header("content-range", format!("bytes {from}-15/16"))
}

async fn download(
    script: &Arc<Script>,
    folder: &std::path::Path,
) -> crate::Result<Vec<super::DownloadedFile>> {
    open_client(script).job("job_1").download(folder).await
}

fn left_in(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_file_arrives_whole_under_a_name_of_ours_and_without_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new([picture(), file(200, BODY)]);
    let files = download(&script, &folder.path().join("new/out"))
        .await
        .unwrap();
    assert_eq!(files[0].path, folder.path().join("new/out/art_1.png"));
    assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
    assert_eq!(left_in(&folder.path().join("new/out")), ["art_1.png"]);
    let asked = &script.requests()[1];
    assert_eq!(asked.url, "https://media.example/a?sig=1");
    assert!(asked.headers.is_empty(), "{:?}", asked.headers);
}

#[tokio::test(start_paused = true)]
async fn what_was_cut_off_goes_on_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new([
        picture(),
        file(200, BODY).truncated_after(5),
        Step::ConnectionRefused,
        rest(5).truncated_after(4),
        rest(9),
    ]);
    let files = download(&script, folder.path()).await.unwrap();
    assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
    let seen = script.requests();
    assert_eq!(seen[4].header("range"), Some("bytes=9-"));
    assert_eq!(seen[4].header("if-range"), Some("\"v1\""));
    assert_eq!(left_in(folder.path()), ["art_1.png"]);
}

#[tokio::test(start_paused = true)]
async fn another_process_goes_on_where_one_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let gone = json(403, "{}");
    let script = Script::new([picture(), file(200, BODY).truncated_after(5), gone]);
    let error = download(&script, folder.path()).await.unwrap_err();
    assert!(error.is_download());
    assert_eq!(error.job_id().unwrap().as_str(), "job_1");
    assert!(!folder.path().join("art_1.png").exists());

    let script = Script::new([picture(), rest(5)]);
    let files = download(&script, folder.path()).await.unwrap();
    assert_eq!(files[0].resumed_from, 5);
    assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_changed_in_between_is_taken_anew() {
    let folder = tempfile::tempdir().unwrap();
    let changed = Step::Response(
        200,
        vec![("etag", "\"v2\"".into())],
        Bytes::from_static(b"new"),
    );
    let script = Script::new([picture(), file(200, BODY).truncated_after(5), changed]);
    let files = download(&script, folder.path()).await.unwrap();
    assert_eq!(std::fs::read(&files[0].path).unwrap(), b"new");

    let shifted = file(206, &BODY[3..]).header("content-range", "bytes 3-15/16");
    let script = Script::new([
        picture(),
        file(200, BODY).truncated_after(5),
        shifted,
        file(200, BODY),
    ]);
    let files = download(&script, folder.path()).await.unwrap();
    assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
}

#[tokio::test(start_paused = true)]
async fn a_part_that_ends_before_the_file_is_gone_on_from() {
    let piece = |from: usize, to: usize| {
        file(206, &BODY[from..to]).header("content-range", format!("bytes {from}-{}/16", to - 1))
    };
    for first in [file(200, BODY).truncated_after(5), piece(0, 5)] {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new([picture(), first, piece(5, 9), rest(9)]);
        let files = download(&script, folder.path()).await.unwrap();
        assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
        assert_eq!(script.requests()[3].header("range"), Some("bytes=9-"));
    }
}

#[tokio::test(start_paused = true)]
async fn parts_of_two_versions_are_never_put_together() {
    let folder = tempfile::tempdir().unwrap();
    let other = Step::Response(
        206,
        vec![
            ("etag", "\"v2\"".into()),
            ("content-range", "bytes 5-15/16".into()),
        ],
        Bytes::from_static(b"OTHERVERSION"),
    );
    let whole = file(200, BODY);
    let script = Script::new([picture(), file(200, BODY).truncated_after(5), other, whole]);
    let files = download(&script, folder.path()).await.unwrap();
    assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_in_the_parts_place_leads_nowhere() {
    for name in [".art_1.png.part", ".art_1.png.etag"] {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let precious = outside.path().join("precious");
        std::fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, folder.path().join(name)).unwrap();
        let script = Script::new([picture(), file(200, BODY)]);
        let _ = download(&script, folder.path()).await;
        assert_eq!(std::fs::read(&precious).unwrap(), b"precious", "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_signature_in_the_url_is_not_repeated() {
    let url = r#"{"id": "art_1", "url": "https://u:canary@media.example/a?sig=canary#canary"}"#;
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new([result(url), json(403, "{}")]);
    let error = download(&script, folder.path()).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
    assert!(error.to_string().contains("https://media.example/a"));
}

#[tokio::test(start_paused = true)]
async fn status_type_and_length_are_checked() {
    let page = Step::Response(
        200,
        vec![("content-type", "text/html; charset=utf-8".into())],
        "<html>log in</html>".into(),
    );
    let rows = [
        (json(404, "{}"), "404"),
        (json(403, "{}"), "403"),
        (page, "HTML page"),
    ];
    for (step, words) in rows {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new([picture(), step]);
        let error = download(&script, folder.path()).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(!folder.path().join("art_1.png").exists());
    }
}

#[tokio::test(start_paused = true)]
async fn only_secure_urls_are_fetched_also_after_a_redirect() {
    let folder = tempfile::tempdir().unwrap();
    for url in [
        "http://media.example/a",
        "file:///etc/passwd",
        "ftp://a",
        "",
        "/relative",
    ] {
        let script = Script::new([result(&format!(r#"{{"id": "art_1", "url": "{url}"}}"#))]);
        assert!(
            download(&script, folder.path())
                .await
                .unwrap_err()
                .is_download(),
            "{url}"
        );
        assert_eq!(script.requests().len(), 1);
    }
    let to = |location: &'static str| {
        Step::Response(302, vec![("location", location.into())], Bytes::new())
    };
    for inward in ["http://10.0.0.1/x", "http://127.0.0.1/x"] {
        let script = Script::new([picture(), to(inward)]);
        assert!(download(&script, folder.path()).await.is_err());
        assert_eq!(script.requests().len(), 2);
    }
    let script = Script::new([picture(), to("https://cdn.example/b"), file(200, BODY)]);
    assert!(download(&script, folder.path()).await.is_ok());
    let script = Script::new([picture(), to("https://cdn.example/b")]);
    assert!(
        download(&script, folder.path())
            .await
            .unwrap_err()
            .to_string()
            .contains("redirects")
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_brings_nothing_is_given_up_on() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new([picture(), file(200, BODY).truncated_after(0)]);
    let error = download(&script, folder.path()).await.unwrap_err();
    assert!(error.is_download());
    assert!(script.requests().len() < 12, "{}", script.requests().len());
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let script = Script::new([picture(), file(200, BODY)]);
    let error = download(&script, &blocked.join("out")).await.unwrap_err();
    assert!(error.to_string().contains("could not write"), "{error}");
    assert!(error.is_download());
}

#[tokio::test]
async fn a_failed_job_has_nothing_to_download() {
    let failed = r#"{"data": {"status": "failed", "error": {"code": "generation_failed", "message": "no"}}}"#;
    let script = Script::new([json(200, failed)]);
    let folder = tempfile::tempdir().unwrap();
    assert!(
        download(&script, folder.path())
            .await
            .unwrap_err()
            .is_job_failed()
    );
}
