//! Lists: their order, their filters and their pages.

use serde_json::{Value, json};
use svc_tests::{Client, Mock, on_every_frontend};

use super::runs::{RUNS, instruction, start};
use super::{IMAGE, VIDEO, image, submit, text, video};

on_every_frontend! {
    jobs_are_listed_newest_first_and_filtered,
    usage_pages_do_not_shift_when_entries_are_added,
    avatar_pages_continue_with_the_first_party_avatars,
    format_and_action_pages_end_with_a_null_cursor,
    formats_and_actions_are_listed_for_their_owner,
    run_pages_belong_to_one_format,
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
        (mock.developer(), "/v1/actions?status=inactive", &[]),
    ] {
        assert_eq!(page(&client, path, "id").await.0, expected, "{path}");
    }
    let response = key("svc_dev_other").get("/v1/actions/act_daily").await;
    response.expect_error(404, "action_not_found");
    for path in ["fmt_builtin", "team/brand-film"] {
        for suffix in ["", "/runs"] {
            let path = format!("/v1/formats/{path}{suffix}");
            let response = mock.developer().get(&path).await;
            response.expect_error(404, "format_not_found");
        }
    }
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
