//! Avatars and talking videos.

use serde_json::{Value, json};
use svc_tests::{Host, Mock, mp4, on_every_frontend};

use super::{ledger_amounts, text, with};

on_every_frontend! {
    seeded_avatars_exist,
    an_avatar_requires_exactly_one_input,
    an_avatar_is_listed_after_completion,
    avatars_are_private_to_their_workspace,
    avatar_handles_are_unique,
    a_talking_video_has_audio_and_the_reported_duration,
    script_and_video_inputs_are_mutually_exclusive,
    quality_defaults_to_plus_and_sets_the_price,
    an_unknown_handle_is_rejected,
    a_canceled_avatar_video_is_refunded,
    avatar_model_aliases_accept_the_same_bodies,
    the_avatar_catalog_is_searchable,
}

const GENERATE: &str = "/v1/avatar-1.0/generate";
const TALKING: &str = "/v1/avatar-1.0/talking-video";
const LISTS: [&str; 2] = ["/v1/avatar-1.0/avatars", "/v1/avatars"];

fn avatar_body() -> Value {
    json!({"avatar_handle": "mia", "input": {"prompt": "a calm presenter"}})
}

fn talking_video_body() -> Value {
    json!({"avatar_handle": "ada", "script": "Good morning. Here is what is new this week."})
}

async fn handles(mock: &Mock, list: &str) -> Vec<String> {
    let avatars = mock.developer().get_items(list).await;
    avatars
        .iter()
        .map(|avatar| text(&avatar["avatar_handle"]))
        .collect()
}

async fn seeded_avatars_exist(mock: Mock) {
    for list in LISTS {
        let listed = handles(&mock, list).await;
        for handle in ["ada", "lin"] {
            assert!(listed.iter().any(|listed| listed == handle), "{list}");
        }
        for id in ["ava_ada", "ava_lin"] {
            let avatar = mock.developer().get_data(&format!("{list}/{id}")).await;
            assert_eq!(avatar["id"], id);
            let frontend = mock.download(&avatar["image_url"]).await;
            assert_eq!(frontend.header("content-type"), Some("image/png"));
        }
    }
}

async fn an_avatar_requires_exactly_one_input(mock: Mock) {
    let developer = mock.developer();
    let inputs = [
        json!({"prompt": "a calm presenter"}),
        json!({"props": {"age": 30, "hair": "red"}}),
        json!({"image_url": "https://cdn.example.com/frontend.png"}),
    ];
    for (index, input) in inputs.into_iter().enumerate() {
        let body = json!({"avatar_handle": format!("mia-{index}"), "input": input});
        let receipt = developer.post_data(GENERATE, body, 202).await;
        assert_eq!(receipt["job"]["type"], "avatar_generation");
        assert!(text(&receipt["avatar"]["id"]).starts_with("ava_"));
    }
    let two = json!({"prompt": "x", "props": {"age": 30}});
    for input in [json!({}), two] {
        let body = json!({"avatar_handle": "leo", "input": input});
        developer
            .post(GENERATE, body)
            .await
            .expect_invalid_field("input");
    }
}

async fn an_avatar_is_listed_after_completion(mock: Mock) {
    let developer = mock.developer();
    let receipt = developer.post_data(GENERATE, avatar_body(), 202).await;
    let path = format!("/v1/avatars/{}", text(&receipt["avatar"]["id"]));
    let early = developer.get_data(&path).await;
    assert_eq!(early["status"], "queued");
    for list in LISTS {
        assert!(!handles(&mock, list).await.contains(&"mia".to_owned()));
    }
    mock.advance(6).await;
    for list in LISTS {
        assert_eq!(handles(&mock, list).await[0], "mia");
    }
    let created = developer.get_data(&path).await;
    assert_eq!(created["status"], "completed");
    mock.download(&created["image_url"]).await;
}

async fn avatars_are_private_to_their_workspace(mock: Mock) {
    let receipt = mock.developer().post(GENERATE, avatar_body()).await;
    let id = text(&receipt.expect(202).data()["avatar"]["id"]);
    mock.advance(6).await;
    let other = mock.developer_as("svc_dev_other");
    for list in LISTS {
        other.get(&format!("{list}/{id}")).await.expect(404);
        let seen = other.get_items(list).await;
        assert!(seen.iter().all(|avatar| avatar["id"] != id.as_str()));
    }
    other.post(GENERATE, avatar_body()).await.expect(202);
}

async fn avatar_handles_are_unique(mock: Mock) {
    let developer = mock.developer();
    developer.post(GENERATE, avatar_body()).await.expect(202);
    for handle in ["mia", "ada"] {
        let body = with(avatar_body(), json!({"avatar_handle": handle}));
        developer
            .post(GENERATE, body)
            .await
            .expect_invalid_field("avatar_handle");
    }
}

async fn a_talking_video_has_audio_and_the_reported_duration(mock: Mock) {
    let developer = mock.developer();
    let receipt = developer
        .post_data(TALKING, talking_video_body(), 202)
        .await;
    let id = text(&receipt["avatar_video"]["id"]);
    assert!(id.starts_with("avv_"), "{id}");
    mock.advance(8).await;
    let video = developer.get_data(&format!("/v1/avatar-videos/{id}")).await;
    assert_eq!(video["status"], "completed");
    let file = mock.download(&video["artifacts"][0]["url"]).await;
    let movie = mp4(file.body());
    assert!(movie.has_audio());
    let reported = video["duration_seconds"].as_f64().unwrap();
    assert!((movie.seconds - reported).abs() < 0.1, "{movie:?}");
    let listed = developer.get("/v1/avatar-videos").await.expect(200);
    assert_eq!(listed.items(), [video]);
}

async fn script_and_video_inputs_are_mutually_exclusive(mock: Mock) {
    let developer = mock.developer();
    let scenes = json!({"avatar_handle": "ada", "video_inputs": [{"script": "Hello."}]});
    developer.post(TALKING, scenes.clone()).await.expect(202);
    for body in [
        json!({"avatar_handle": "ada"}),
        with(scenes, json!({"script": "Hello."})),
    ] {
        developer
            .post_error(TALKING, body, 400, "invalid_request")
            .await;
    }
}

async fn quality_defaults_to_plus_and_sets_the_price(mock: Mock) {
    let developer = mock.developer();
    let mut prices = Vec::new();
    for more in [
        json!({}),
        json!({"quality": "standard"}),
        json!({"quality": "plus"}),
        json!({"quality": "max"}),
    ] {
        let response = developer
            .post(TALKING, with(talking_video_body(), more))
            .await;
        let id = text(&response.expect(202).data()["job"]["id"]);
        prices.push(ledger_amounts(&mock, "reservation", &id).await);
    }
    assert_eq!(prices[0], prices[2]);
    assert!(prices.get(1..).unwrap().is_sorted() && prices[1] != prices[3]);
    let bad = with(talking_video_body(), json!({"quality": "ultra"}));
    developer
        .post(TALKING, bad)
        .await
        .expect_invalid_field("quality");
}

async fn an_unknown_handle_is_rejected(mock: Mock) {
    let body = with(talking_video_body(), json!({"avatar_handle": "unknown"}));
    mock.developer()
        .post(TALKING, body)
        .await
        .expect_invalid_field("avatar_handle");
}

async fn a_canceled_avatar_video_is_refunded(mock: Mock) {
    let developer = mock.developer();
    let receipt = developer
        .post_data(TALKING, talking_video_body(), 202)
        .await;
    let cancel = mock.path_of(Host::Developer, &receipt["cancel_url"]);
    developer.post_empty(&cancel).await.expect(200);
    let job = text(&receipt["job"]["id"]);
    assert_eq!(
        ledger_amounts(&mock, "refund", &job).await,
        ledger_amounts(&mock, "reservation", &job).await
    );
    let id = text(&receipt["avatar_video"]["id"]);
    let video = developer.get(&format!("/v1/avatar-videos/{id}")).await;
    assert_eq!(video.expect(200).data()["status"], "canceled");
}

async fn avatar_model_aliases_accept_the_same_bodies(mock: Mock) {
    let developer = mock.developer();
    let swap = json!({"avatar_handle": "ada", "video_url": "https://cdn.example.com/a.mp4"});
    let zoe = with(avatar_body(), json!({"avatar_handle": "zoe"}));
    for (alias, body, kind) in [
        ("avatar/v1.0", avatar_body(), "avatar_generation"),
        ("avatar-1.0/generate", zoe, "avatar_generation"),
        (
            "avatar-1.0/talking-video",
            talking_video_body(),
            "avatar_video_generation",
        ),
        (
            "avatar-video/v1.0",
            talking_video_body(),
            "avatar_video_generation",
        ),
        ("avatar-face-swap/v1.0", swap, "avatar_face_swap"),
    ] {
        let path = format!("/v1/models/studio/{alias}/runs");
        let receipt = developer.post_data(&path, body.clone(), 202).await;
        assert_eq!(receipt["job"]["type"], kind, "{alias}");
        let path = format!("/v1/models/other/{alias}/runs");
        developer.post(&path, body).await.expect(404);
    }
}

async fn the_avatar_catalog_is_searchable(mock: Mock) {
    let developer = mock.developer();
    let body = json!({"query": "presenter", "limit": 2});
    let listed = developer
        .post("/v1/avatar-catalog/search", body)
        .await
        .expect(200)
        .items();
    assert_eq!(listed.len(), 2);
    for avatar in listed {
        let handle = text(&avatar["avatar_handle"]);
        let body = json!({"avatar_handle": handle, "script": "Hello."});
        developer.post(TALKING, body).await.expect(202);
    }
    developer
        .post("/v1/avatar-catalog/search", json!({}))
        .await
        .expect_invalid_field("query");
}
