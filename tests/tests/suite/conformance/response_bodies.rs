//! Whole response bodies, field by field.

use super::*;

on_every_frontend! {
    the_account_of_each_kind_of_key,
    usage_lists_each_kind_of_entry,
    receipts_of_both_surfaces,
    the_developer_catalog,
    background_music,
    searches,
    an_admission_preview,
    a_new_top_up,
}

/// The service time at which each mock starts.
const START: &str = "2027-01-15T08:00:00Z";

async fn the_account_of_each_kind_of_key(mock: Mock) {
    submit(&mock.open(), IMAGE, image()).await;
    mock.advance(1.5).await;
    let key = |key: &str| mock.client(Host::Developer).bearer(key);
    let expected = json!({
        "key": {
            "id": "key_dev_noscope", "name": "dev noscope", "prefix": "svc_dev", "scopes": [],
            "last_used_at": "2027-01-15T08:00:01.5Z"
        },
        "owner": {"type": "user", "id": "usr_demo", "name": "demo"},
        "workspace": {"id": "ws_demo", "name": "demo", "kind": "personal", "plan": "free"},
        "generation_limits": {"concurrent_jobs": 100, "in_flight": 1}
    });
    assert_eq!(key("svc_dev_noscope").get_data("/v1/me").await, expected);
    let team = key("svc_team_demo").get_data("/v1/me").await;
    assert_eq!(team["owner"]["type"], "team");
    assert_eq!(team["workspace"]["kind"], "team");
    let account = key("svc_sa_demo").get_data("/v1/me").await;
    assert_eq!(account["owner"]["type"], "service_account");
    assert_eq!(account["key"]["prefix"], "svc_sa");
    assert_eq!(account["key"]["scopes"].as_array().map(Vec::len), Some(9));
}

async fn usage_lists_each_kind_of_entry(mock: Mock) {
    let (open, developer) = (mock.open(), mock.developer());
    assert_eq!(developer.get_data("/v1/usage").await, json!([]));
    let completed = submit(&open, IMAGE, image()).await;
    let failed = with(image(), json!({"prompt": "[mock:fail]"}));
    let failed = submit(&open, IMAGE, failed).await;
    mock.advance(2).await;
    let top_up = open.post(TOP_UPS, json!({"amount_usd_cents": 700})).await;
    let top_up = text(&top_up.expect(201).data()["id"]);
    let path = format!("/top-ups/{top_up}");
    mock.control().post(&path, json!({"status": "paid"})).await;
    let mut usage = developer.get_data("/v1/usage").await;
    for entry in usage.as_array_mut().unwrap() {
        let id = entry.as_object_mut().unwrap().remove("id").unwrap();
        assert!(text(&id).starts_with("ent_"), "{id}");
    }
    let end = "2027-01-15T08:00:02Z";
    let expected = json!([
        {"kind": "top_up", "amount_usd": "7.0000", "top_up_id": top_up, "created_at": end},
        {"kind": "refund", "amount_usd": "0.0050", "job_id": failed, "created_at": end},
        {"kind": "capture", "amount_usd": "0.0050", "job_id": completed, "created_at": end},
        {"kind": "reservation", "amount_usd": "0.0050", "job_id": failed, "created_at": START},
        {"kind": "reservation", "amount_usd": "0.0050", "job_id": completed, "created_at": START}
    ]);
    assert_eq!(usage, expected);
}

async fn receipts_of_both_surfaces(mock: Mock) {
    let metadata = json!({"order": [1, null]});
    for (host, client, path, model, price) in [
        (Host::Open, mock.open(), VIDEO, "video-f", Some("0.7035")),
        (
            Host::Developer,
            mock.developer(),
            "/v1/video-1.0/generate",
            "video-1.0",
            None,
        ),
    ] {
        let mut body = json!({"prompt": "x", "metadata": metadata});
        if host == Host::Open {
            body["model"] = json!(model);
        }
        let response = client.post(path, body).await.expect(202);
        let receipt = response.data();
        let id = text(&receipt["job"]["id"]);
        assert!(id.starts_with("job_"), "{id}");
        let url = |end: &str| format!("{}/v1/jobs/{id}/{end}", mock.base_url(host));
        let mut expected = json!({
            "request_id": response.header("x-svc-request-id"),
            "job": {
                "id": id, "status": "queued", "type": "video_generation", "model": model,
                "created_at": START, "updated_at": START, "metadata": metadata
            },
            "status_url": url("status"), "result_url": url("result"), "cancel_url": url("cancel"),
            "next_poll_after_seconds": 4
        });
        if let Some(price) = price {
            expected["job"]["price_usd"] = json!(price);
        }
        assert_eq!(receipt, expected);
        // Only the open surface shows a price.
        let path = format!("/v1/jobs/{id}");
        assert!(mock.open().get_data(&path).await["price_usd"].is_string());
        let developer = mock.developer().get_data(&path).await;
        assert_eq!(developer.get("price_usd"), None);
        let team = mock.client(Host::Developer).bearer("svc_team_demo");
        team.get(&path).await.expect_error(404, "job_not_found");
    }
}

async fn the_developer_catalog(mock: Mock) {
    let catalog = mock.client(Host::Developer).get_data("/v1/catalog").await;
    let endpoints = catalog["endpoints"].as_array().unwrap();
    for expected in [
        json!({
            "operation": "jobs_webhook_redeliver", "method": "POST",
            "path": "/v1/jobs/{job_id}/webhook/redeliver", "auth": "key", "scope": "jobs:write"
        }),
        json!({
            "operation": "health", "method": "GET", "path": "/v1/health", "auth": "public",
            "scope": null
        }),
    ] {
        assert!(endpoints.contains(&expected), "{endpoints:?}");
    }
    for hidden in ["hidden_health", "video_generate"] {
        let is_listed = endpoints.iter().any(|entry| entry["operation"] == hidden);
        assert!(!is_listed, "{hidden}");
    }
    assert_eq!(catalog["runtime"]["models"]["video-1.0"], "ready");
    assert_eq!(catalog["capabilities"].as_array().map(Vec::len), Some(8));
    let pricing = json!({
        "unit": "credit", "currency": "USD", "usd_per_credit": "0.0100",
        "charged": catalog["pricing"]["charged"]
    });
    assert_eq!(catalog["pricing"], pricing);
    let models = catalog["models"].as_array().unwrap();
    let ids: Vec<_> = models.iter().map(|model| text(&model["id"])).collect();
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

async fn background_music(mock: Mock) {
    let public = mock.client(Host::Developer);
    let tracks = public.get_data("/v1/bgm/catalog").await;
    assert_eq!(tracks.as_array().map(Vec::len), Some(12));
    let file = "/artifacts/bgm_porch_light.wav";
    let expected = json!({
        "id": "bgm_porch_light", "title": "Porch Light", "category": "acoustic", "mood": "calm",
        "url": format!("{}{file}", mock.base_url(Host::Media)), "content_type": "audio/wav",
        "duration_seconds": 62
    });
    assert_eq!(tracks[0], expected);
    let file = mock.download(&tracks[0]["url"]).await;
    assert!(file.body().starts_with(b"RIFF"), "{file:?}");
    let categories = public.get_data("/v1/bgm/categories").await;
    let expected = json!({"id": "acoustic", "name": "Acoustic", "track_count": 2});
    assert_eq!(categories[0], expected);
    for path in ["/artifacts/bgm_porch_light.mp4", "/artifacts/bgm_none.wav"] {
        mock.client(Host::Media).get(path).await.expect(404);
    }
    let pick = async |body: Value| public.post("/v1/bgm/pick", body).await;
    let track = pick(json!({"category": "electronic", "mood": "focused"})).await;
    assert_eq!(track.data()["id"], "bgm_soft_reset");
    for _ in 0..20 {
        let track = pick(json!({"category": "ambient"})).await;
        assert_eq!(track.data()["category"], "ambient");
    }
    for body in [
        json!({"category": "polka"}),
        json!({"category": "ambient", "mood": "happy"}),
    ] {
        pick(body).await.expect_error(404, "not_found");
    }
    public.post_empty("/v1/bgm/pick").await.expect(200);
}

async fn searches(mock: Mock) {
    let search = async |path: &str, body: Value| {
        let response = mock.developer().post(path, body).await;
        response.expect(200).items()
    };
    let avatars = "/v1/avatar-catalog/search";
    for (query, expected) in [
        ("presenter", &["Ada", "Lin", "Emil", "Kofi"][..]),
        ("Presenter STUDIO", &["Ada", "Emil"]),
        ("kofi", &["Kofi"]),
        ("unknown", &[]),
    ] {
        let found = search(avatars, json!({"query": query})).await;
        let names: Vec<_> = found.iter().map(|avatar| text(&avatar["name"])).collect();
        assert_eq!(names, expected, "{query}");
    }
    let trending = "/v1/trending-videos/search";
    let videos = search(trending, json!({"query": "animals"})).await;
    let file = "/artifacts/trend_fox_door.mp4";
    let expected = json!({
        "id": "trend_fox_door", "title": "This fox knocks every morning",
        "tags": ["animals", "fox", "morning"], "views": 18_402_113, "duration_seconds": 14,
        "url": format!("{}{file}", mock.base_url(Host::Media)),
        "published_at": "2025-11-28T07:12:00Z"
    });
    assert_eq!((videos.len(), &videos[0]), (2, &expected));
    let file = mock.download(&videos[0]["url"]).await;
    assert_eq!(file.header("content-type"), Some("video/mp4"));
    for (path, body, count) in [
        (trending, json!({"query": "e"}), 10),
        (trending, json!({"query": "e", "limit": 50}), 12),
        (avatars, json!({"query": "a", "limit": 1}), 1),
    ] {
        assert_eq!(search(path, body).await.len(), count, "{path}");
    }
}

async fn an_admission_preview(mock: Mock) {
    let body = json!({"model": "video-1.0", "input": {"prompt": "x", "duration": 10}});
    let path = "/v1/generation/admission-preview";
    let response = mock.developer().post(path, body).await.expect(200);
    let expected = json!({
        "allowed": true, "reason": null, "model": "video-1.0", "estimated_usd": "0.5000",
        "available_usd": "100.0000",
        "generation_limits": {"concurrent_jobs": 100, "in_flight": 0}
    });
    assert_eq!(response.data(), expected);
    // It is a read: it counts as one, and creates no job.
    assert_eq!(response.int_header("ratelimit-limit"), 4_800);
    assert!(mock.jobs().await.is_empty());
}

async fn a_new_top_up(mock: Mock) {
    let body = json!({"amount_usd_cents": 2_000});
    let top_up = mock.open().post(TOP_UPS, body).await.expect(201).data();
    let expected = json!({
        "id": top_up["id"], "status": "pending", "checkout_url": top_up["checkout_url"],
        "amount_usd_cents": 2_000, "created_at": START
    });
    assert_eq!(top_up, expected);
    assert!(text(&top_up["id"]).starts_with("top_"), "{top_up}");
    let path = format!("{TOP_UPS}/{}", text(&top_up["id"]));
    assert_eq!(mock.open().get_data(&path).await, expected);
}
