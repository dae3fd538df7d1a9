//! Lists of runs, Formats and Actions.

use super::*;

on_every_frontend! {
    runs_are_listed_newest_first,
    run_lists_are_limited_to_their_format_or_action,
    a_format_is_the_same_by_id_and_by_slug,
    a_format_does_not_expose_its_recipe,
    a_format_has_its_output_kind_and_spend_cap,
    pages_contain_all_runs,
}

fn ids(items: &[Value], field: &str) -> Vec<String> {
    items.iter().map(|item| text(&item[field])).collect()
}

async fn runs_are_listed_newest_first(mock: Mock) {
    for kind in Kind::ALL {
        let mut started_ids = Vec::new();
        for step in [0, 1, 5] {
            mock.advance(step).await;
            started_ids.push(start_run(&mock, kind, "x").await);
        }
        started_ids.push(start_run(&mock, kind, "in the same moment").await);
        started_ids.reverse();
        let listed = mock.developer().get_items(kind.list()).await;
        assert_eq!(ids(&listed, "run_id"), started_ids, "{kind:?}");
    }
}

async fn run_lists_are_limited_to_their_format_or_action(mock: Mock) {
    let developer = mock.developer();
    let demo = start(&developer, &format!("{DEMO}/runs"), instruction("x")).await;
    let media = start(&developer, MEDIA_RUNS, instruction("x")).await;
    for (path, expected) in [
        (format!("{DEMO}/runs"), vec![demo.clone()]),
        (format!("{DEMO_BY_SLUG}/runs"), vec![demo]),
        (format!("{MEDIA}/runs"), vec![media]),
        ("/v1/formats/fmt_capped/runs".to_owned(), vec![]),
        ("/v1/actions/act_daily/runs".to_owned(), vec![]),
        ("/v1/agent-runs".to_owned(), vec![]),
    ] {
        let listed = developer.get_items(&path).await;
        assert_eq!(ids(&listed, "run_id"), expected, "{path}");
    }
    let other = mock.developer_as("svc_dev_other");
    assert!(other.get_items("/v1/agent-runs").await.is_empty());
}

async fn a_format_is_the_same_by_id_and_by_slug(mock: Mock) {
    for (id, slug) in [
        ("fmt_demo", "demo/teaser"),
        ("fmt_media", "demo/product-shot"),
        ("fmt_storyboard", "studio/storyboard"),
    ] {
        let by_id = mock
            .developer()
            .get_data(&format!("/v1/formats/{id}"))
            .await;
        let by_slug = mock
            .developer()
            .get_data(&format!("/v1/formats/{slug}"))
            .await;
        assert_eq!(by_id, by_slug);
        assert_eq!(by_id["id"], id);
    }
}

async fn a_format_does_not_expose_its_recipe(mock: Mock) {
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

async fn a_format_has_its_output_kind_and_spend_cap(mock: Mock) {
    for (id, kind, cap) in [
        ("fmt_demo", None, 400_000_000),
        ("fmt_media", Some("image"), 400_000_000),
        ("fmt_capped", None, 2_000_000),
    ] {
        let record = mock
            .developer()
            .get_data(&format!("/v1/formats/{id}"))
            .await;
        assert_eq!(record["generation_spend_cap_usd_micros"], cap, "{id}");
        if id != "fmt_capped" {
            assert_eq!(record["io"]["output_kind"].as_str(), kind, "{id}");
        }
    }
}

async fn pages_contain_all_runs(mock: Mock) {
    for kind in Kind::ALL {
        for _ in 0..5 {
            start_run(&mock, kind, "x").await;
        }
        let all_runs = mock.developer().get_items(kind.list()).await;
        let (mut paged, mut query) = (Vec::new(), String::from("?limit=2"));
        loop {
            let response = mock
                .developer()
                .get(&format!("{}{query}", kind.list()))
                .await
                .expect(200);
            assert!(response.items().len() <= 2);
            paged.extend(response.items());
            match response.json()["next_cursor"].as_str() {
                Some(cursor) => query = format!("?limit=2&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(ids(&paged, "run_id"), ids(&all_runs, "run_id"), "{kind:?}");
    }
}
