//! Avatars and the videos in which they speak.

use serde_json::{Value, json};
use svc_tests::{Host, Mock, mp4, on_every_face};

use super::{amounts, text, with};

on_every_face! {
    the_avatars_of_the_start_are_there,
    an_avatar_is_made_from_one_of_three_inputs,
    an_avatar_is_listed_once_it_is_made,
    an_avatar_is_its_workspaces_own,
    a_handle_is_given_once,
    a_script_is_spoken,
    exactly_one_of_script_and_video_inputs_is_taken,
    quality_is_plus_unless_it_is_said,
    an_unknown_handle_is_refused,
    a_canceled_avatar_video_is_refunded,
    fields_that_come_from_the_key_are_refused,
    aliases_of_avatars_take_the_same_bodies,
    the_catalog_is_searched,
}

const GENERATE: &str = "/v1/avatar-1.0/generate";
const TALKING: &str = "/v1/avatar-1.0/talking-video";
const LISTS: [&str; 2] = ["/v1/avatar-1.0/avatars", "/v1/avatars"];

fn mia() -> Value {
    json!({"avatar_handle": "mia", "input": {"prompt": "a calm presenter"}})
}

fn speech() -> Value {
    json!({"avatar_handle": "ada", "script": "Good morning. Here is what is new this week."})
}

async fn handles(mock: &Mock, list: &str) -> Vec<String> {
    let avatars = mock.developer().get(list).await.expect(200).items();
    avatars
        .iter()
        .map(|avatar| text(&avatar["avatar_handle"]))
        .collect()
}

async fn the_avatars_of_the_start_are_there(mock: Mock) {
    for list in LISTS {
        let found = handles(&mock, list).await;
        for handle in ["ada", "lin"] {
            assert!(found.iter().any(|found| found == handle), "{list}");
        }
        for id in ["ava_ada", "ava_lin"] {
            let avatar = mock.developer().get(&format!("{list}/{id}")).await;
            let avatar = avatar.expect(200).data();
            assert_eq!(avatar["id"], id);
            let face = mock.path_of(Host::Media, &avatar["image_url"]);
            let face = mock.caller(Host::Media).get(&face).await.expect(200);
            assert_eq!(face.header("content-type"), Some("image/png"));
        }
    }
}

async fn an_avatar_is_made_from_one_of_three_inputs(mock: Mock) {
    let developer = mock.developer();
    let inputs = [
        json!({"prompt": "a calm presenter"}),
        json!({"props": {"age": 30, "hair": "red"}}),
        json!({"image_url": "https://cdn.example.com/face.png"}),
    ];
    for (place, input) in inputs.into_iter().enumerate() {
        let body = json!({"avatar_handle": format!("mia-{place}"), "input": input});
        let receipt = developer.post(GENERATE, body).await.expect(202).data();
        assert_eq!(receipt["job"]["type"], "avatar_generation");
        assert!(text(&receipt["avatar"]["id"]).starts_with("ava_"));
    }
    let two = json!({"prompt": "x", "props": {"age": 30}});
    for input in [json!({}), two] {
        let body = json!({"avatar_handle": "leo", "input": input});
        let answer = developer.post(GENERATE, body).await;
        let error = answer.refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], "input");
    }
}

async fn an_avatar_is_listed_once_it_is_made(mock: Mock) {
    let developer = mock.developer();
    let receipt = developer.post(GENERATE, mia()).await.expect(202).data();
    let path = format!("/v1/avatars/{}", text(&receipt["avatar"]["id"]));
    let early = developer.get(&path).await.expect(200).data();
    assert_eq!(early["status"], "queued");
    for list in LISTS {
        assert!(!handles(&mock, list).await.contains(&"mia".to_owned()));
    }
    mock.advance(6).await;
    for list in LISTS {
        assert_eq!(handles(&mock, list).await[0], "mia");
    }
    let made = developer.get(&path).await.expect(200).data();
    assert_eq!(made["status"], "completed");
    let face = mock.path_of(Host::Media, &made["image_url"]);
    mock.caller(Host::Media).get(&face).await.expect(200);
}

async fn an_avatar_is_its_workspaces_own(mock: Mock) {
    let receipt = mock.developer().post(GENERATE, mia()).await;
    let id = text(&receipt.expect(202).data()["avatar"]["id"]);
    mock.advance(6).await;
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    for list in LISTS {
        stranger.get(&format!("{list}/{id}")).await.expect(404);
        let seen = stranger.get(list).await.expect(200).items();
        assert!(seen.iter().all(|avatar| avatar["id"] != id.as_str()));
    }
    stranger.post(GENERATE, mia()).await.expect(202);
}

async fn a_handle_is_given_once(mock: Mock) {
    let developer = mock.developer();
    developer.post(GENERATE, mia()).await.expect(202);
    for handle in ["mia", "ada"] {
        let body = with(mia(), json!({"avatar_handle": handle}));
        let answer = developer.post(GENERATE, body).await;
        let error = answer.refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], "avatar_handle");
    }
}

async fn a_script_is_spoken(mock: Mock) {
    let developer = mock.developer();
    let receipt = developer.post(TALKING, speech()).await.expect(202).data();
    let id = text(&receipt["avatar_video"]["id"]);
    assert!(id.starts_with("avv_"), "{id}");
    mock.advance(8).await;
    let video = developer.get(&format!("/v1/avatar-videos/{id}")).await;
    let video = video.expect(200).data();
    assert_eq!(video["status"], "completed");
    let path = mock.path_of(Host::Media, &video["artifacts"][0]["url"]);
    let file = mock.caller(Host::Media).get(&path).await.expect(200);
    let movie = mp4(file.body());
    assert!(movie.has_sound());
    let said = video["duration_seconds"].as_f64().unwrap();
    assert!((movie.seconds - said).abs() < 0.1, "{movie:?}");
    let listed = developer.get("/v1/avatar-videos").await.expect(200);
    assert_eq!(listed.items(), [video]);
}

async fn exactly_one_of_script_and_video_inputs_is_taken(mock: Mock) {
    let developer = mock.developer();
    let scenes = json!({"avatar_handle": "ada", "video_inputs": [{"script": "Hello."}]});
    developer.post(TALKING, scenes.clone()).await.expect(202);
    for body in [
        json!({"avatar_handle": "ada"}),
        with(scenes, json!({"script": "Hello."})),
    ] {
        let answer = developer.post(TALKING, body).await;
        answer.refused(400, "invalid_request");
    }
}

async fn quality_is_plus_unless_it_is_said(mock: Mock) {
    let developer = mock.developer();
    let mut prices = Vec::new();
    for more in [
        json!({}),
        json!({"quality": "standard"}),
        json!({"quality": "plus"}),
        json!({"quality": "max"}),
    ] {
        let answer = developer.post(TALKING, with(speech(), more)).await;
        let id = text(&answer.expect(202).data()["job"]["id"]);
        prices.push(amounts(&mock, "reservation", &id).await);
    }
    assert_eq!(prices[0], prices[2]);
    assert!(prices.get(1..).unwrap().is_sorted() && prices[1] != prices[3]);
    let bad = with(speech(), json!({"quality": "ultra"}));
    let answer = developer.post(TALKING, bad).await;
    let error = answer.refused(400, "invalid_request");
    assert_eq!(error["details"]["field"], "quality");
}

async fn an_unknown_handle_is_refused(mock: Mock) {
    let body = with(speech(), json!({"avatar_handle": "nobody"}));
    let answer = mock.developer().post(TALKING, body).await;
    let error = answer.refused(400, "invalid_request");
    assert_eq!(error["details"]["field"], "avatar_handle");
}

async fn a_canceled_avatar_video_is_refunded(mock: Mock) {
    let developer = mock.developer();
    let receipt = developer.post(TALKING, speech()).await.expect(202).data();
    let cancel = mock.path_of(Host::Developer, &receipt["cancel_url"]);
    developer.post_nothing(&cancel).await.expect(200);
    let job = text(&receipt["job"]["id"]);
    assert_eq!(
        amounts(&mock, "refund", &job).await,
        amounts(&mock, "reservation", &job).await
    );
    let id = text(&receipt["avatar_video"]["id"]);
    let video = developer.get(&format!("/v1/avatar-videos/{id}")).await;
    assert_eq!(video.expect(200).data()["status"], "canceled");
}

async fn fields_that_come_from_the_key_are_refused(mock: Mock) {
    for field in ["workspace_id", "owner_user_id", "user_id"] {
        for (path, mut body) in [(GENERATE, mia()), (TALKING, speech())] {
            body[field] = json!("ws_other");
            let answer = mock.developer().post(path, body).await;
            let error = answer.refused(400, "invalid_request");
            assert_eq!(error["details"]["field"], field, "{path}");
        }
    }
}

async fn aliases_of_avatars_take_the_same_bodies(mock: Mock) {
    let developer = mock.developer();
    let swap = json!({"avatar_handle": "ada", "video_url": "https://cdn.example.com/a.mp4"});
    let zoe = with(mia(), json!({"avatar_handle": "zoe"}));
    for (alias, body, kind) in [
        ("avatar/v1.0", mia(), "avatar_generation"),
        ("avatar-1.0/generate", zoe, "avatar_generation"),
        (
            "avatar-1.0/talking-video",
            speech(),
            "avatar_video_generation",
        ),
        ("avatar-video/v1.0", speech(), "avatar_video_generation"),
        ("avatar-face-swap/v1.0", swap, "avatar_face_swap"),
    ] {
        let path = format!("/v1/models/studio/{alias}/runs");
        let receipt = developer.post(&path, body.clone()).await.expect(202).data();
        assert_eq!(receipt["job"]["type"], kind, "{alias}");
        let path = format!("/v1/models/nobody/{alias}/runs");
        developer.post(&path, body).await.expect(404);
    }
}

async fn the_catalog_is_searched(mock: Mock) {
    let developer = mock.developer();
    let body = json!({"query": "presenter", "limit": 2});
    let found = developer.post("/v1/avatar-catalog/search", body).await;
    let found = found.expect(200).items();
    assert_eq!(found.len(), 2);
    for avatar in found {
        let handle = text(&avatar["avatar_handle"]);
        let body = json!({"avatar_handle": handle, "script": "Hello."});
        developer.post(TALKING, body).await.expect(202);
    }
    let answer = developer.post("/v1/avatar-catalog/search", json!({})).await;
    let error = answer.refused(400, "invalid_request");
    assert_eq!(error["details"]["field"], "query");
}
