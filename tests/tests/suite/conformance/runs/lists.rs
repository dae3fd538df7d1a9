//! Lists of runs, Formats and Actions.

use serde_json::Value;
use svc_tests::{Host, Mock, on_every_face};

use super::{DEMO, DEMO_BY_SLUG, Kind, MEDIA, run_of, start, started, text};

on_every_face! {
    runs_are_listed_newest_first,
    a_list_of_runs_is_of_one_format_or_action,
    formats_are_ones_own_and_the_first_party_ones,
    a_list_of_formats_can_be_limited,
    a_format_is_the_same_by_id_and_by_slug,
    a_format_never_tells_its_recipe,
    a_format_says_what_it_makes_and_what_it_may_spend,
    actions_can_be_filtered,
    pages_of_runs_are_all_the_runs,
}

fn ids(items: &[Value], field: &str) -> Vec<String> {
    items.iter().map(|item| text(&item[field])).collect()
}

async fn runs_are_listed_newest_first(mock: Mock) {
    for kind in Kind::ALL {
        let mut started_ids = Vec::new();
        for step in [0, 1, 5] {
            mock.advance(step).await;
            started_ids.push(started(&mock, kind, "x").await);
        }
        started_ids.push(started(&mock, kind, "in the same moment").await);
        started_ids.reverse();
        let listed = mock.developer().get(kind.list()).await.expect(200).items();
        assert_eq!(ids(&listed, "run_id"), started_ids, "{kind:?}");
    }
}

async fn a_list_of_runs_is_of_one_format_or_action(mock: Mock) {
    let developer = mock.developer();
    let demo = start(&developer, &format!("{DEMO}/runs"), run_of("x")).await;
    let media = start(&developer, &format!("{MEDIA}/runs"), run_of("x")).await;
    for (path, expected) in [
        (format!("{DEMO}/runs"), vec![demo.clone()]),
        (format!("{DEMO_BY_SLUG}/runs"), vec![demo]),
        (format!("{MEDIA}/runs"), vec![media]),
        ("/v1/formats/fmt_capped/runs".to_owned(), vec![]),
        ("/v1/actions/act_daily/runs".to_owned(), vec![]),
        ("/v1/agent-runs".to_owned(), vec![]),
    ] {
        let listed = developer.get(&path).await.expect(200).items();
        assert_eq!(ids(&listed, "run_id"), expected, "{path}");
    }
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    assert!(
        stranger
            .get("/v1/agent-runs")
            .await
            .expect(200)
            .items()
            .is_empty()
    );
}

async fn formats_are_ones_own_and_the_first_party_ones(mock: Mock) {
    let formats = mock
        .developer()
        .get("/v1/formats")
        .await
        .expect(200)
        .items();
    let listed = ids(&formats, "id");
    for expected in ["fmt_demo", "fmt_media", "fmt_capped", "fmt_storyboard"] {
        assert!(
            listed.iter().any(|id| id == expected),
            "no {expected} in {listed:?}"
        );
    }
    for absent in ["fmt_archived", "fmt_team"] {
        assert!(
            listed.iter().all(|id| id != absent),
            "{absent} in {listed:?}"
        );
    }
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    let theirs = stranger.get("/v1/formats").await.expect(200).items();
    let theirs = ids(&theirs, "id");
    assert!(theirs.iter().any(|id| id == "fmt_storyboard"), "{theirs:?}");
    assert!(theirs.iter().all(|id| id != "fmt_demo"), "{theirs:?}");
}

async fn a_list_of_formats_can_be_limited(mock: Mock) {
    for limit in [1, 2] {
        let path = format!("/v1/formats?limit={limit}");
        assert_eq!(
            mock.developer().get(&path).await.expect(200).items().len(),
            limit
        );
    }
    for bad in ["0", "-1", "x", "1.5", ""] {
        let path = format!("/v1/formats?limit={bad}");
        mock.developer()
            .get(&path)
            .await
            .refused(400, "invalid_request");
    }
}

async fn a_format_is_the_same_by_id_and_by_slug(mock: Mock) {
    for (id, slug) in [
        ("fmt_demo", "demo/teaser"),
        ("fmt_media", "demo/product-shot"),
        ("fmt_storyboard", "studio/storyboard"),
    ] {
        let by_id = mock
            .developer()
            .get(&format!("/v1/formats/{id}"))
            .await
            .expect(200)
            .data();
        let by_slug = mock
            .developer()
            .get(&format!("/v1/formats/{slug}"))
            .await
            .expect(200)
            .data();
        assert_eq!(by_id, by_slug);
        assert_eq!(by_id["id"], id);
    }
}

async fn a_format_never_tells_its_recipe(mock: Mock) {
    for path in [
        "/v1/formats",
        "/v1/formats/fmt_demo",
        "/v1/formats/studio/storyboard",
    ] {
        let text = mock
            .developer()
            .get(path)
            .await
            .expect(200)
            .text()
            .to_lowercase();
        assert!(
            !text.contains("skill") && !text.contains("recipe"),
            "{text}"
        );
    }
}

async fn a_format_says_what_it_makes_and_what_it_may_spend(mock: Mock) {
    for (id, kind, cap) in [
        ("fmt_demo", None, 400_000_000),
        ("fmt_media", Some("image"), 400_000_000),
        ("fmt_capped", None, 2_000_000),
    ] {
        let record = mock
            .developer()
            .get(&format!("/v1/formats/{id}"))
            .await
            .expect(200)
            .data();
        assert_eq!(record["generation_spend_cap_usd_micros"], cap, "{id}");
        if id != "fmt_capped" {
            assert_eq!(record["io"]["output_kind"].as_str(), kind, "{id}");
        }
    }
}

async fn actions_can_be_filtered(mock: Mock) {
    let listed = |query: &'static str| {
        let developer = mock.developer();
        async move {
            let items = developer
                .get(&format!("/v1/actions{query}"))
                .await
                .expect(200)
                .items();
            ids(&items, "id")
        }
    };
    let all = listed("").await;
    assert!(all.contains(&"act_daily".to_owned()) && all.contains(&"act_no_trigger".to_owned()));
    assert_eq!(listed("?limit=1").await.len(), 1);
    assert_eq!(listed("?trigger_type=api_call").await, ["act_daily"]);
    assert!(
        listed("?trigger_type=schedule")
            .await
            .contains(&"act_daily".to_owned())
    );
    assert!(
        listed("?status=active")
            .await
            .contains(&"act_daily".to_owned())
    );
}

async fn pages_of_runs_are_all_the_runs(mock: Mock) {
    for kind in Kind::ALL {
        for _ in 0..5 {
            started(&mock, kind, "x").await;
        }
        let whole = mock.developer().get(kind.list()).await.expect(200).items();
        let (mut paged, mut query) = (Vec::new(), String::from("?limit=2"));
        loop {
            let answer = mock
                .developer()
                .get(&format!("{}{query}", kind.list()))
                .await
                .expect(200);
            assert!(answer.items().len() <= 2);
            paged.extend(answer.items());
            match answer.json()["next_cursor"].as_str() {
                Some(cursor) => query = format!("?limit=2&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(ids(&paged, "run_id"), ids(&whole, "run_id"), "{kind:?}");
    }
}
