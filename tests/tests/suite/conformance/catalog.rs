//! What anybody may read of the developer surface: the catalog and the background music.

use serde_json::json;
use svc_tests::{Host, Mock, on_every_face};

use super::text;

on_every_face! {
    the_catalog_has_its_parts,
    models_have_prices_in_credits_and_dollars,
    background_music_can_be_heard,
    a_pick_is_one_of_the_tracks,
    a_pick_that_nothing_fits_is_not_found,
    health_is_told_without_a_version_too,
}

async fn the_catalog_has_its_parts(mock: Mock) {
    let catalog = mock.caller(Host::Developer).get("/v1/catalog").await;
    let catalog = catalog.expect(200).data();
    for part in ["capabilities", "endpoints", "runtime", "models", "pricing"] {
        assert!(!catalog[part].is_null(), "no {part} in {catalog}");
    }
    let endpoints = catalog["endpoints"].as_array().unwrap();
    assert!(
        endpoints
            .iter()
            .any(|entry| entry["path"] == "/v1/avatar-1.0/generate" && entry["method"] == "POST")
    );
}

async fn models_have_prices_in_credits_and_dollars(mock: Mock) {
    let catalog = mock.caller(Host::Developer).get("/v1/catalog").await;
    let catalog = catalog.expect(200).data();
    assert_eq!(catalog["pricing"]["usd_per_credit"], "0.0100");
    for model in catalog["models"].as_array().unwrap() {
        for rate in model["pricing"]["rates"].as_array().unwrap() {
            assert!(rate["unit_price_credits"].is_string(), "{model}");
            assert!(rate["unit_price_usd"].is_string(), "{model}");
        }
    }
}

async fn background_music_can_be_heard(mock: Mock) {
    let stranger = mock.caller(Host::Developer);
    let tracks = stranger.get("/v1/bgm/catalog").await.expect(200).items();
    let categories = stranger.get("/v1/bgm/categories").await.expect(200).items();
    assert!(tracks.len() >= 12 && categories.len() > 2);
    for track in &tracks {
        assert!(
            categories
                .iter()
                .any(|category| category["id"] == track["category"]),
            "{track}"
        );
    }
    let path = mock.path_of(Host::Media, &tracks[0]["url"]);
    let file = mock.caller(Host::Media).get(&path).await.expect(200);
    assert_eq!(file.header("content-type"), Some("audio/wav"));
    assert!(file.body().starts_with(b"RIFF"));
}

async fn a_pick_is_one_of_the_tracks(mock: Mock) {
    let stranger = mock.caller(Host::Developer);
    let tracks = stranger.get("/v1/bgm/catalog").await.expect(200).items();
    let wish = json!({"category": "ambient", "mood": "calm"});
    let picked = stranger.post("/v1/bgm/pick", wish).await.expect(200).data();
    assert!(tracks.contains(&picked), "{picked}");
    assert_eq!(text(&picked["category"]), "ambient");
    assert_eq!(text(&picked["mood"]), "calm");
}

async fn a_pick_that_nothing_fits_is_not_found(mock: Mock) {
    let stranger = mock.caller(Host::Developer);
    let wish = json!({"category": "no such"});
    let answer = stranger.post("/v1/bgm/pick", wish).await;
    answer.refused(404, "not_found");
    let answer = stranger.post("/v1/bgm/pick", json!({"tempo": 1})).await;
    answer.refused(400, "invalid_request");
}

async fn health_is_told_without_a_version_too(mock: Mock) {
    let stranger = mock.caller(Host::Developer);
    for path in ["/v1/health", "/health"] {
        assert_eq!(stranger.get(path).await.expect(200).data()["status"], "ok");
    }
}
