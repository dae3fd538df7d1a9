//! The files that jobs make.

use serde_json::json;

use super::{IMAGE, Mock, VIDEO, video};
use crate::engine::Host;

fn artifact(mock: &mut Mock, id: &str) -> String {
    let result = mock.open().get(&format!("/v1/jobs/{id}/result")).data(200);
    let url = result["artifacts"][0]["url"].as_str().unwrap();
    url.strip_prefix("http://127.0.0.1:4012")
        .unwrap()
        .to_owned()
}

#[test]
fn an_artifact_is_a_file_that_anybody_can_fetch() {
    let mut mock = Mock::new();
    let id = mock.submit(
        IMAGE,
        json!({"model": "image-i", "prompt": "x", "aspect_ratio": "9:16"}),
    );
    mock.pass(2_000);
    let path = artifact(&mut mock, &id);
    let file = mock.ask(Host::Media).get(&path);
    assert_eq!(
        (file.status(), file.header("content-type")),
        (200, "image/png")
    );
    // Width and height of a PNG.
    assert_eq!(&file.0.response.body()[16..24], [0, 0, 2, 208, 0, 0, 5, 0]);
    assert!(file.header("x-svc-request-id").starts_with("req_"));
    assert!(!file.header("etag").is_empty());
    let part = mock
        .ask(Host::Media)
        .header("range", "bytes=0-7")
        .get(&path);
    assert_eq!(
        (part.status(), part.0.response.body().as_ref()),
        (206, b"\x89PNG\r\n\x1a\n".as_slice())
    );
    let head = mock.ask(Host::Media).send("HEAD", &path, "");
    assert_eq!(
        head.header("content-length"),
        file.0.response.body().len().to_string()
    );
    assert!(head.0.response.body().is_empty());
}

#[test]
fn a_file_is_there_once_its_job_is_completed_and_under_its_own_name_only() {
    let mut mock = Mock::new();
    let id = mock.submit(VIDEO, video("x"));
    let token = mock.simulator.state.jobs.by_id(&id).unwrap().artifacts[0]
        .token
        .clone();
    mock.ask(Host::Media)
        .get(&format!("/artifacts/{token}.mp4"))
        .refused(404, "not_found");
    mock.pass(8_000);
    assert_eq!(artifact(&mut mock, &id), format!("/artifacts/{token}.mp4"));
    assert_eq!(
        mock.ask(Host::Media)
            .get(&format!("/artifacts/{token}.mp4"))
            .status(),
        200
    );
    for path in [
        format!("/artifacts/{token}.png"),
        format!("/artifacts/{token}"),
        "/artifacts/x.mp4".to_owned(),
    ] {
        mock.ask(Host::Media).get(&path).refused(404, "not_found");
    }
}
