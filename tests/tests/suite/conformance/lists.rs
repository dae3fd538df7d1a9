//! Lists: their order, their filters and their pages, and the models and prices.

use super::runs::{RUNS, instruction, start};
use super::*;

on_every_frontend! {
    jobs_are_filtered_by_status,
    jobs_of_other_workspaces_are_not_listed,
    video_models_match_the_profiles,
    image_models_match_the_profiles,
    models_can_be_read_by_id,
    catalog_prices_match_the_specification,
    jobs_are_listed_newest_first_and_filtered,
    usage_pages_do_not_shift_when_entries_are_added,
    avatar_pages_continue_with_the_first_party_avatars,
    format_and_action_pages_end_with_a_null_cursor,
    formats_and_actions_are_listed_for_their_owner,
    run_pages_belong_to_one_format,
}

fn ids(items: &[Value]) -> Vec<String> {
    let mut ids: Vec<_> = items.iter().map(|item| text(&item["id"])).collect();
    ids.sort();
    ids
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

/// Returns the values of `field` on a page and the page's cursor.
async fn page(client: &Client, path: &str, field: &str) -> (Vec<String>, Value) {
    let response = client.get(path).await.expect(200);
    let values = response
        .items()
        .iter()
        .map(|item| text(&item[field]))
        .collect();
    (values, response.json()["next_cursor"].take())
}

/// Returns the values of `field` on all pages of at most two items.
async fn all_pages(client: &Client, path: &str, field: &str) -> Vec<String> {
    let (mut all, mut cursor) = page(client, &format!("{path}?limit=2"), field).await;
    while let Value::String(next) = cursor {
        let path = format!("{path}?limit=2&cursor={next}");
        let (values, after) = page(client, &path, field).await;
        assert!(values.len() <= 2, "{values:?}");
        all.extend(values);
        cursor = after;
    }
    all
}

async fn jobs_are_listed_newest_first_and_filtered(mock: Mock) {
    let open = mock.open();
    let a = submit(&open, VIDEO, video()).await;
    let b = submit(&open, IMAGE, image()).await;
    mock.advance(3).await;
    let c = submit(&open, IMAGE, image()).await;
    for (query, expected) in [
        ("", vec![&c, &b, &a]),
        ("?status=completed", vec![&b]),
        ("?status=queued&type=image_generation", vec![&c]),
        ("?type=image_generation", vec![&c, &b]),
        ("?status=failed", vec![]),
        ("?limit=1000&unknown=x", vec![&c, &b, &a]),
    ] {
        let (ids, cursor) = page(&open, &format!("/v1/jobs{query}"), "id").await;
        assert_eq!(ids.iter().collect::<Vec<_>>(), expected, "{query}");
        assert_eq!(cursor, Value::Null, "{query}");
    }
    assert_eq!(all_pages(&open, "/v1/jobs", "id").await, [c, b, a]);
}

async fn usage_pages_do_not_shift_when_entries_are_added(mock: Mock) {
    let (open, developer) = (mock.open(), mock.developer());
    for _ in 0..3 {
        submit(&open, IMAGE, image()).await;
    }
    let (before, _) = page(&developer, "/v1/usage", "id").await;
    let (mut paged, mut cursor) = page(&developer, "/v1/usage?limit=2", "id").await;
    while let Value::String(next) = cursor {
        submit(&open, IMAGE, image()).await;
        let path = format!("/v1/usage?limit=2&cursor={next}");
        let (ids, after) = page(&developer, &path, "id").await;
        paged.extend(ids);
        cursor = after;
    }
    assert_eq!(paged, before);
}

async fn avatar_pages_continue_with_the_first_party_avatars(mock: Mock) {
    let developer = mock.developer();
    for handle in ["one", "two", "three"] {
        let body = json!({"avatar_handle": handle, "input": {"props": {"age": 30}}});
        submit(&developer, "/v1/avatar-1.0/generate", body).await;
    }
    mock.advance(6).await;
    let path = "/v1/avatar-1.0/avatars";
    let handles = all_pages(&developer, path, "avatar_handle").await;
    assert_eq!(handles, ["three", "two", "one", "ada", "lin"]);
}

async fn format_and_action_pages_end_with_a_null_cursor(mock: Mock) {
    let developer = mock.developer();
    let (ids, cursor) = page(&developer, "/v1/formats?limit=4", "id").await;
    assert_eq!((ids.len(), cursor), (4, json!("fmt_inactive")));
    let path = "/v1/formats?limit=4&cursor=fmt_inactive";
    let (ids, cursor) = page(&developer, path, "id").await;
    assert_eq!(ids, ["fmt_no_trigger", "fmt_storyboard"]);
    assert_eq!(cursor, Value::Null);
    let (ids, cursor) = page(&developer, "/v1/actions?limit=1", "id").await;
    assert_eq!(
        (ids, cursor),
        (vec!["act_daily".to_owned()], json!("act_daily"))
    );
}

async fn formats_and_actions_are_listed_for_their_owner(mock: Mock) {
    let key = |key: &str| mock.client(svc_tests::Host::Developer).bearer(key);
    for (client, path, expected) in [
        (
            mock.developer(),
            "/v1/formats",
            &[
                "fmt_demo",
                "fmt_media",
                "fmt_capped",
                "fmt_inactive",
                "fmt_no_trigger",
                "fmt_storyboard",
            ][..],
        ),
        (
            key("svc_team_demo"),
            "/v1/formats",
            &["fmt_team", "fmt_storyboard"],
        ),
        (
            mock.developer(),
            "/v1/actions",
            &["act_daily", "act_no_trigger"],
        ),
        (
            mock.developer(),
            "/v1/actions?trigger_type=schedule&status=active",
            &["act_daily"],
        ),
        (
            mock.developer(),
            "/v1/actions?trigger_type=api_call",
            &["act_daily"],
        ),
        (mock.developer(), "/v1/actions?status=inactive", &[]),
        (key("svc_dev_other"), "/v1/formats", &["fmt_storyboard"]),
    ] {
        assert_eq!(page(&client, path, "id").await.0, expected, "{path}");
    }
    let response = key("svc_dev_other").get("/v1/actions/act_daily").await;
    response.expect_error(404, "action_not_found");
    let inactive = mock.developer().get("/v1/formats/fmt_inactive").await;
    assert_eq!(inactive.data()["status"], "inactive");
    let storyboard = mock.developer().get("/v1/formats/studio/storyboard").await;
    assert_eq!(storyboard.data()["first_party"], true);
    let daily = mock.developer().get("/v1/actions/act_daily").await.data();
    assert_eq!(
        daily["triggers"],
        json!([{"type": "schedule", "schedule": "0 9 * * *"}, {"type": "api_call"}])
    );
}

async fn run_pages_belong_to_one_format(mock: Mock) {
    let developer = mock.developer();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.insert(0, start(&developer, RUNS, instruction("x")).await);
    }
    let media = "/v1/formats/fmt_media/runs";
    start(&developer, media, instruction("x")).await;
    let by_slug = "/v1/formats/demo/teaser/runs";
    assert_eq!(all_pages(&developer, by_slug, "run_id").await, ids);
    let foreign = developer.get(&format!("{media}?cursor={}", ids[0])).await;
    foreign.expect_error(400, "invalid_request");
}
