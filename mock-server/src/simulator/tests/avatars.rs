//! Avatars: made, listed, read.

use serde_json::{Value, json};

use super::Mock;
use crate::engine::Host;

const GENERATE: &str = "/v1/avatar-1.0/generate";
const CANONICAL: &str = "/v1/avatar-1.0/avatars";
const ALL: &str = "/v1/avatars";

fn mia() -> Value {
    json!({"avatar_handle": "mia", "input": {"prompt": "a calm presenter"}})
}

fn handles(mock: &mut Mock, path: &str) -> Vec<String> {
    let avatars = mock.read(path);
    let handles = avatars.as_array().unwrap().iter();
    handles
        .map(|avatar| avatar["avatar_handle"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_first_party_avatars_are_there_and_have_faces() {
    let mut mock = Mock::new();
    assert_eq!(handles(&mut mock, CANONICAL), ["ada", "lin"]);
    assert_eq!(handles(&mut mock, ALL).len(), 12);
    let expected = json!({
        "id": "ava_ada", "avatar_handle": "ada", "name": "Ada", "status": "completed",
        "first_party": true, "tags": ["presenter", "business", "studio", "calm"],
        "image_url": "http://127.0.0.1:4012/artifacts/ava_ada.png",
        "created_at": "2025-06-02T09:00:00Z"
    });
    assert_eq!(mock.read("/v1/avatars/ava_ada"), expected);
    assert_eq!(mock.read("/v1/avatar-1.0/avatars/ava_ada"), expected);
    assert_eq!(
        mock.file(&expected["image_url"]).header("content-type"),
        "image/png"
    );
    assert_eq!(mock.read("/v1/avatars/ava_kofi")["name"], "Kofi");
    for path in ["/v1/avatar-1.0/avatars/ava_kofi", "/v1/avatars/ava_none"] {
        mock.developer().get(path).refused(404, "not_found");
    }
}

#[test]
fn a_new_avatar_is_read_at_once_and_listed_once_it_is_made() {
    let mut mock = Mock::new();
    let receipt = mock.order(GENERATE, mia());
    let job = &receipt["job"];
    assert_eq!(
        (&job["type"], &job["model"]),
        (&json!("avatar_generation"), &json!("avatar-1.0"))
    );
    let id = receipt["avatar"]["id"].as_str().unwrap();
    let mut expected = json!({
        "id": id, "avatar_handle": "mia", "name": "Mia", "status": "queued", "first_party": false,
        "tags": [], "image_url": null, "job_id": job["id"], "created_at": "2026-01-01T00:00:00Z"
    });
    assert_eq!(receipt["avatar"], expected);
    assert!(id.starts_with("ava_"));
    mock.pass(5_999);
    expected["status"] = json!("processing");
    assert_eq!(mock.read(&format!("{ALL}/{id}")), expected);
    assert_eq!(handles(&mut mock, CANONICAL), ["ada", "lin"]);
    mock.pass(1);
    let made = mock.read(&format!("{CANONICAL}/{id}"));
    assert_eq!(made["status"], "completed");
    mock.file(&made["image_url"]);
    assert_eq!(handles(&mut mock, CANONICAL), ["mia", "ada", "lin"]);
    assert_eq!(handles(&mut mock, ALL)[0], "mia");
    let stranger = mock
        .ask(Host::Developer)
        .key("svc_dev_other")
        .get(&format!("{ALL}/{id}"));
    stranger.refused(404, "not_found");
    mock.books_are_balanced();
}

#[test]
fn lists_go_on_from_the_own_avatars_to_the_first_party_ones() {
    let mut mock = Mock::new();
    for handle in ["one", "two", "three"] {
        mock.order(
            GENERATE,
            json!({"avatar_handle": handle, "input": {"props": {"age": 30}}}),
        );
    }
    mock.pass(6_000);
    let (mut found, mut path) = (Vec::new(), format!("{CANONICAL}?limit=2"));
    loop {
        let mut page = mock.developer().get(&path).json();
        for avatar in page["data"].as_array().unwrap() {
            found.push(avatar["avatar_handle"].as_str().unwrap().to_owned());
        }
        match page["next_cursor"].take() {
            Value::String(cursor) => path = format!("{CANONICAL}?limit=2&cursor={cursor}"),
            _ => break,
        }
    }
    assert_eq!(found, ["three", "two", "one", "ada", "lin"]);
    let bad = mock
        .developer()
        .get(&format!("{CANONICAL}?cursor=ava_kofi"));
    bad.refused(400, "invalid_request");
}

#[test]
fn an_input_is_exactly_one_of_prompt_props_and_photo() {
    let mut mock = Mock::new();
    let photo = "https://cdn.example.com/face.png";
    let good = [
        json!({"prompt": "x"}),
        json!({"props": {"hair": "red"}}),
        json!({"image_url": photo}),
        json!({"photo": photo}),
    ];
    for (place, input) in good.into_iter().enumerate() {
        let handle = format!("good-{place}");
        mock.order(GENERATE, json!({"avatar_handle": handle, "input": input}));
    }
    let rows = [
        (json!({}), "input"),
        (json!({"prompt": "x", "props": {"a": 1}}), "input"),
        (json!({"prompt": " "}), "input.prompt"),
        (json!({"props": {}}), "input.props"),
        (json!({"props": "x"}), "input.props"),
        (
            json!({"image_url": "http://cdn.example.com/a.png"}),
            "input.image_url",
        ),
        (
            json!({"image_url": "https://cdn.example.com/a.mp4"}),
            "input.image_url",
        ),
        (json!({"voice": "low"}), "input.voice"),
        (json!("x"), "input"),
    ];
    for (input, field) in rows {
        let body = json!({"avatar_handle": "mia", "input": input});
        let error = mock
            .developer()
            .post(GENERATE, body)
            .refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field, "{input}");
    }
    for (body, field) in [
        (json!({"avatar_handle": "mia"}), "input"),
        (json!({"input": {"prompt": "x"}}), "avatar_handle"),
        (
            json!({"avatar_handle": "M a", "input": {"prompt": "x"}}),
            "avatar_handle",
        ),
        (
            json!({"avatar_handle": "mia", "input": {"prompt": "x"}, "name": "Mia"}),
            "name",
        ),
        (
            json!({"avatar_handle": "mia", "input": {"prompt": "x"}, "user_id": "u"}),
            "user_id",
        ),
    ] {
        let error = mock
            .developer()
            .post(GENERATE, body)
            .refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field);
    }
}

#[test]
fn a_handle_is_taken_until_its_avatar_comes_to_nothing() {
    let mut mock = Mock::new();
    let generate = |mock: &mut Mock, handle: &str, prompt: &str| {
        let body = json!({"avatar_handle": handle, "input": {"prompt": prompt}});
        mock.developer().post(GENERATE, body)
    };
    for handle in ["ada", "kofi"] {
        generate(&mut mock, handle, "x").refused(400, "invalid_request");
    }
    generate(&mut mock, "mia", "[mock:fail]").data(202);
    let error = generate(&mut mock, "mia", "x").refused(400, "invalid_request");
    assert_eq!(error["details"]["field"], "avatar_handle");
    mock.pass(6_000);
    let again = generate(&mut mock, "mia", "x").data(202);
    mock.pass(6_000);
    let id = again["avatar"]["id"].as_str().unwrap();
    assert_eq!(mock.read(&format!("{ALL}/{id}"))["status"], "completed");
    assert_eq!(handles(&mut mock, CANONICAL), ["mia", "ada", "lin"]);
}

#[test]
fn a_failed_avatar_says_why() {
    let mut mock = Mock::new();
    let body = json!({"avatar_handle": "mia", "input": {"props": {"like": "[mock:fail]"}}});
    let receipt = mock.order(GENERATE, body);
    mock.pass(6_000);
    let id = receipt["avatar"]["id"].as_str().unwrap();
    let avatar = mock.read(&format!("{ALL}/{id}"));
    assert_eq!(
        (&avatar["status"], &avatar["error"]["code"]),
        (&json!("failed"), &json!("generation_failed"))
    );
}

#[test]
fn a_waiting_submit_answers_with_the_finished_avatar() {
    let mut mock = Mock::new();
    let body = json!({
        "avatar_handle": "mia", "input": {"prompt": "[mock:seconds=0]"}, "mode": "sync"
    });
    let held = mock.developer().post(GENERATE, body).0.pending.unwrap();
    let reply = mock.simulator.resume(mock.now, &held);
    assert_eq!(reply.response.status(), 200);
    let body: Value = serde_json::from_slice(reply.response.body()).unwrap();
    assert_eq!(body["data"]["avatar"]["status"], "completed");
    assert!(body["data"]["avatar"]["image_url"].is_string());
}
