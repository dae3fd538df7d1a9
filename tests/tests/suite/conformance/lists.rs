//! Lists of jobs, models and prices.

use serde_json::Value;
use svc_tests::{Mock, on_every_frontend};

use super::{IMAGE, VIDEO, cancel, image, job, submit, text, video, video_with_prompt};

on_every_frontend! {
    jobs_are_listed,
    jobs_are_filtered_by_status,
    jobs_are_filtered_by_type,
    jobs_of_other_workspaces_are_not_listed,
    video_models_match_the_profiles,
    image_models_match_the_profiles,
    models_can_be_read_by_id,
    an_unknown_model_is_not_found,
    catalog_prices_match_the_specification,
}

fn ids(items: &[Value]) -> Vec<String> {
    let mut ids: Vec<_> = items.iter().map(|item| text(&item["id"])).collect();
    ids.sort();
    ids
}

fn sorted<const N: usize>(mut ids: [String; N]) -> Vec<String> {
    ids.sort();
    ids.to_vec()
}

async fn jobs_are_listed(mock: Mock) {
    let open = mock.open();
    assert_eq!(open.get_items("/v1/jobs").await, Vec::<Value>::new());
    let first = submit(&open, VIDEO, video()).await;
    let second = submit(&open, IMAGE, image()).await;
    let listed = open.get_items("/v1/jobs").await;
    assert_eq!(ids(&listed), sorted([first, second]));
    assert!(
        listed
            .iter()
            .all(|job| job["status"] == "queued" && job["type"].is_string())
    );
    assert_eq!(
        ids(&mock.developer().get_items("/v1/jobs").await),
        ids(&listed)
    );
}

async fn jobs_are_filtered_by_status(mock: Mock) {
    let open = mock.open();
    let failed = submit(&open, VIDEO, video_with_prompt("[mock:fail]")).await;
    let completed = submit(&open, VIDEO, video()).await;
    let canceled = submit(&open, VIDEO, video()).await;
    cancel(&open, &canceled).await.expect(200);
    let processing = submit(&open, VIDEO, video_with_prompt("[mock:seconds=20]")).await;
    mock.advance(8).await;
    let queued = submit(&open, VIDEO, video()).await;
    for (status, id) in [
        ("failed", failed),
        ("completed", completed),
        ("canceled", canceled),
        ("processing", processing),
        ("queued", queued),
    ] {
        for client in [mock.open(), mock.developer()] {
            let listed = client.get_items(&format!("/v1/jobs?status={status}")).await;
            assert_eq!(ids(&listed), [id.as_str()], "{status}");
            assert_eq!(listed[0]["status"], status);
        }
    }
    assert_eq!(open.get_items("/v1/jobs").await.len(), 5);
}

async fn jobs_are_filtered_by_type(mock: Mock) {
    let open = mock.open();
    let video_id = submit(&open, VIDEO, video()).await;
    let image_id = submit(&open, IMAGE, image()).await;
    let videos = open.get_items("/v1/jobs?type=video_generation").await;
    assert_eq!(ids(&videos), [video_id]);
    let kind = text(&job(&open, &image_id).await["type"]);
    let images = open.get_items(&format!("/v1/jobs?type={kind}")).await;
    assert_eq!(ids(&images), [image_id]);
    let both = open
        .get_items("/v1/jobs?type=video_generation&status=completed")
        .await;
    assert!(both.is_empty(), "{both:?}");
}

async fn jobs_of_other_workspaces_are_not_listed(mock: Mock) {
    submit(&mock.open(), VIDEO, video()).await;
    let other = mock.developer_as("svc_dev_other");
    assert!(other.get_items("/v1/jobs").await.is_empty());
}

async fn video_models_match_the_profiles(mock: Mock) {
    let models = mock.open().get_items("/v1/video-router/models").await;
    assert_eq!(
        ids(&models),
        ["lipsync-s", "video-f", "video-h", "video-l", "video-r"]
    );
    for model in &models {
        assert!(model["capabilities"].is_object(), "{model}");
        assert!(
            !model["capabilities"]["duration_seconds"].is_null(),
            "{model}"
        );
        assert!(!model["pricing"].is_null(), "{model}");
    }
    for (id, resolutions) in [
        ("video-f", &["480p", "720p"][..]),
        ("video-l", &["480p", "720p", "1080p"]),
        ("video-h", &["720p", "1080p", "2K", "4K"]),
        ("video-r", &["720p", "1080p"]),
    ] {
        let model = models.iter().find(|model| model["id"] == id).unwrap();
        let listed = model["capabilities"]["resolutions"].to_string();
        for resolution in ["480p", "720p", "1080p", "2K", "4K"] {
            let expected = resolutions.contains(&resolution);
            assert_eq!(
                listed.contains(resolution),
                expected,
                "{id} {resolution}: {listed}"
            );
        }
    }
}

async fn image_models_match_the_profiles(mock: Mock) {
    let models = mock.open().get_items("/v1/image-router/models").await;
    assert_eq!(ids(&models), ["image-i"]);
    assert!(!models[0]["pricing"].is_null(), "{}", models[0]);
}

async fn models_can_be_read_by_id(mock: Mock) {
    let open = mock.open();
    for list in [
        "/v1/video-router/models",
        "/v1/image-router/models",
        "/v1/open/catalog",
    ] {
        for listed in open.get_items(list).await {
            let path = format!("{list}/{}", text(&listed["id"]));
            assert_eq!(open.get_data(&path).await, listed, "{path}");
        }
    }
}

async fn an_unknown_model_is_not_found(mock: Mock) {
    let open = mock.open();
    for path in [
        "/v1/video-router/models/video-x",
        "/v1/video-router/models/image-i",
        "/v1/image-router/models/video-f",
        "/v1/open/catalog/video-x",
    ] {
        open.get(path).await.expect(404);
    }
}

async fn catalog_prices_match_the_specification(mock: Mock) {
    let entries = mock.open().get_items("/v1/open/catalog").await;
    for (id, prices) in [
        ("video-f", &["0.1407", "0.3024"][..]),
        ("video-l", &["0.0625", "0.1250", "0.2500"]),
        ("video-h", &["0.0578", "0.0963", "0.1444", "0.2157"]),
        ("video-r", &["0.0838", "0.1050"]),
        ("image-i", &["0.0050", "0.0075"]),
        ("lipsync-s", &["0.0500"]),
    ] {
        let entry = entries
            .iter()
            .find(|entry| entry["id"] == id)
            .unwrap_or_else(|| panic!("{id} is missing"));
        let text = entry.to_string();
        for price in prices {
            assert!(
                text.contains(&format!("\"{price}\"")),
                "no {price} in {text}"
            );
        }
    }
    assert_eq!(entries.len(), 6);
}
