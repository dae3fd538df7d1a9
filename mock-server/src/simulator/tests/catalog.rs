//! The routes of the developer surface that need no key: health, catalog, background music.

use serde_json::{Value, json};

use super::Mock;
use crate::engine::Host;

#[test]
fn the_service_says_that_it_is_well() {
    let mut mock = Mock::new();
    for path in ["/v1/health", "/health"] {
        let answer = mock.ask(Host::Developer).get(path);
        assert_eq!(answer.json(), json!({"data": {"status": "ok"}}), "{path}");
    }
}

#[test]
fn the_catalog_has_endpoints_models_and_prices() {
    let mut mock = Mock::new();
    let catalog = mock.ask(Host::Developer).get("/v1/catalog").data(200);
    let endpoints = catalog["endpoints"].as_array().unwrap();
    let redeliver = json!({
        "operation": "jobs_webhook_redeliver", "method": "POST",
        "path": "/v1/jobs/{job_id}/webhook/redeliver", "auth": "key", "scope": "jobs:write"
    });
    assert!(endpoints.contains(&redeliver), "{endpoints:?}");
    let health = json!({
        "operation": "health", "method": "GET", "path": "/v1/health", "auth": "public", "scope": null
    });
    assert!(endpoints.contains(&health));
    assert!(endpoints.iter().all(
        |entry| entry["operation"] != "hidden_health" && entry["operation"] != "video_generate"
    ));
    assert_eq!(catalog["runtime"]["models"]["video-1.0"], "ready");
    assert_eq!(catalog["capabilities"].as_array().map(Vec::len), Some(8));
    let expected = json!({
        "unit": "credit", "currency": "USD", "usd_per_credit": "0.0100",
        "charged": "reserved at the submit, captured on completion, refunded otherwise"
    });
    assert_eq!(catalog["pricing"], expected);
    let models = catalog["models"].as_array().unwrap();
    let ids: Vec<_> = models.iter().map(|model| &model["id"]).collect();
    let expected = [
        "image-1.0",
        "video-1.0",
        "music-1.0",
        "avatar-1.0",
        "avatar-face-swap",
        "video-captions",
    ];
    assert_eq!(ids, expected);
    let expected = json!({
        "id": "image-1.0", "name": "Image 1.0", "type": "image",
        "capabilities": {
            "inputs": ["prompt", "num_images"],
            "resolutions": ["720p", "1080p"],
            "aspect_ratios": ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"]
        },
        "pricing": {"currency": "credits", "usd_per_credit": "0.0100", "rates": [
            {"makes": "image_generation", "unit": "image", "resolution": "720p",
             "unit_price_credits": "1.00", "unit_price_usd": "0.0100"},
            {"makes": "image_generation", "unit": "image", "resolution": "1080p",
             "unit_price_credits": "2.00", "unit_price_usd": "0.0200"}
        ]}
    });
    assert_eq!(models[0], expected);
}

#[test]
fn background_music_is_listed_by_category_and_plays() {
    let mut mock = Mock::new();
    let tracks = mock.ask(Host::Developer).get("/v1/bgm/catalog").data(200);
    assert_eq!(tracks.as_array().map(Vec::len), Some(12));
    let expected = json!({
        "id": "bgm_porch_light", "title": "Porch Light", "category": "acoustic", "mood": "calm",
        "url": "http://127.0.0.1:4012/artifacts/bgm_porch_light.wav", "content_type": "audio/wav",
        "duration_seconds": 62
    });
    assert_eq!(tracks[0], expected);
    let categories = mock
        .ask(Host::Developer)
        .get("/v1/bgm/categories")
        .data(200);
    assert_eq!(
        categories[0],
        json!({"id": "acoustic", "name": "Acoustic", "track_count": 2})
    );
    let file = mock.ask(Host::Media).get("/artifacts/bgm_porch_light.wav");
    assert_eq!(
        (file.status(), file.header("content-type")),
        (200, "audio/wav")
    );
    for path in ["/artifacts/bgm_porch_light.mp4", "/artifacts/bgm_none.wav"] {
        assert_eq!(mock.ask(Host::Media).get(path).status(), 404, "{path}");
    }
}

#[test]
fn a_pick_is_of_the_category_and_the_mood() {
    let mut mock = Mock::new();
    let mut pick = |body: Value| mock.ask(Host::Developer).post("/v1/bgm/pick", body);
    let track = pick(json!({"category": "electronic", "mood": "focused"})).data(200);
    assert_eq!(track["id"], "bgm_soft_reset");
    for _ in 0..20 {
        let track = pick(json!({"category": "ambient"})).data(200);
        assert_eq!(track["category"], "ambient");
    }
    pick(json!({})).data(200);
    pick(json!({"category": "polka"})).refused(404, "not_found");
    pick(json!({"category": "ambient", "mood": "happy"})).refused(404, "not_found");
    for (body, field) in [
        (json!({"tempo": 120}), "tempo"),
        (json!({"mood": 7}), "mood"),
        (json!({"user_id": "u"}), "user_id"),
    ] {
        let error = pick(body).refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field);
    }
    let nothing = mock.ask(Host::Developer).send("POST", "/v1/bgm/pick", "");
    nothing.data(200);
}
