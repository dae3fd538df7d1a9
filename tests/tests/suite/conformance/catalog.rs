//! The public part of the developer surface: the catalog and the background music.

use serde_json::json;
use svc_tests::{Host, Mock, on_every_frontend};

use super::text;

on_every_frontend! {
    the_catalog_has_all_sections,
    models_have_prices_in_credits_and_dollars,
    background_music_can_be_downloaded,
    a_pick_is_one_of_the_tracks,
    a_pick_without_a_match_is_not_found,
    health_is_available_without_a_version_prefix,
}

async fn the_catalog_has_all_sections(mock: Mock) {
    let catalog = mock.client(Host::Developer).get_data("/v1/catalog").await;
    for part in ["capabilities", "endpoints", "runtime", "models", "pricing"] {
        assert!(!catalog[part].is_null(), "{part} in {catalog}");
    }
    let endpoints = catalog["endpoints"].as_array().unwrap();
    assert!(
        endpoints
            .iter()
            .any(|entry| entry["path"] == "/v1/avatar-1.0/generate" && entry["method"] == "POST")
    );
}

async fn models_have_prices_in_credits_and_dollars(mock: Mock) {
    let catalog = mock.client(Host::Developer).get_data("/v1/catalog").await;
    assert_eq!(catalog["pricing"]["usd_per_credit"], "0.0100");
    for model in catalog["models"].as_array().unwrap() {
        for rate in model["pricing"]["rates"].as_array().unwrap() {
            assert!(rate["unit_price_credits"].is_string(), "{model}");
            assert!(rate["unit_price_usd"].is_string(), "{model}");
        }
    }
}

async fn background_music_can_be_downloaded(mock: Mock) {
    let anonymous = mock.client(Host::Developer);
    let tracks = anonymous.get_items("/v1/bgm/catalog").await;
    let categories = anonymous.get_items("/v1/bgm/categories").await;
    assert!(tracks.len() >= 12 && categories.len() > 2);
    for track in &tracks {
        assert!(
            categories
                .iter()
                .any(|category| category["id"] == track["category"]),
            "{track}"
        );
    }
    let file = mock.download(&tracks[0]["url"]).await;
    assert_eq!(file.header("content-type"), Some("audio/wav"));
    assert!(file.body().starts_with(b"RIFF"));
}

async fn a_pick_is_one_of_the_tracks(mock: Mock) {
    let anonymous = mock.client(Host::Developer);
    let tracks = anonymous.get_items("/v1/bgm/catalog").await;
    let filter = json!({"category": "ambient", "mood": "calm"});
    let picked = anonymous.post_data("/v1/bgm/pick", filter, 200).await;
    assert!(tracks.contains(&picked), "{picked}");
    assert_eq!(text(&picked["category"]), "ambient");
    assert_eq!(text(&picked["mood"]), "calm");
}

async fn a_pick_without_a_match_is_not_found(mock: Mock) {
    let anonymous = mock.client(Host::Developer);
    let filter = json!({"category": "no such"});
    anonymous
        .post_error("/v1/bgm/pick", filter, 404, "not_found")
        .await;
    anonymous
        .post_error("/v1/bgm/pick", json!({"tempo": 1}), 400, "invalid_request")
        .await;
}

async fn health_is_available_without_a_version_prefix(mock: Mock) {
    let anonymous = mock.client(Host::Developer);
    for path in ["/v1/health", "/health"] {
        assert_eq!(anonymous.get_data(path).await["status"], "ok");
    }
}
