//! What requests refer to: artifacts of earlier jobs, assets, and hosts that are or are not public.

use super::runs::{Kind, RUNS, receipt, start};
use super::webhooks::wait_for_outcomes;
use super::*;

const MB: u64 = 1_000_000;
const HOOK: &str = "https://hooks.example.com/in";

on_every_frontend! {
    an_artifact_can_be_the_input_of_the_next_job,
    the_content_of_an_artifact_is_judged,
    an_unknown_artifact_cannot_be_fetched,
    hosts_below_invalid_cannot_be_fetched,
    an_artifact_can_be_attached_to_a_run,
    an_asset_can_be_attached_in_its_workspace,
    the_sizes_of_assets_are_limited,
    a_host_with_a_private_address_is_not_public,
}

on_every_socket_frontend! {
    the_destination_is_checked_again_at_each_delivery,
    a_redelivery_is_checked_against_the_current_address,
}

/// Completes a job and returns the URL of its first artifact.
async fn artifact(mock: &Mock, client: &Client, path: &str, body: Value) -> String {
    let id = submit(client, path, body).await;
    mock.advance(10).await;
    text(&job_result(client, &id).await["artifacts"][0]["url"])
}

async fn an_artifact_can_be_the_input_of_the_next_job(mock: Mock) {
    let (open, developer) = (mock.open(), mock.developer());
    let image = artifact(&mock, &open, IMAGE, image()).await;
    let first_frame = with(video(), json!({"image_url": image}));
    let clip = artifact(&mock, &open, VIDEO, first_frame).await;
    let references = json!({
        "model": "video-f", "prompt": "p",
        "reference_image_urls": [image, IMAGE_URL], "reference_video_urls": [clip],
    });
    submit(&open, VIDEO, references.clone()).await;
    let estimate = json!({"model": "video-l", "input": {"prompt": "p", "image_url": image}});
    open.post(ESTIMATE, estimate).await.expect(200);
    let music = json!({"prompt": "calm", "duration": 5});
    let music = artifact(&mock, &developer, "/v1/music-1.0/generate", music).await;
    let lip_sync = json!({"model": "lipsync-s", "audio_url": music, "image_url": image});
    submit(&open, VIDEO, lip_sync).await;
    let captions = json!({"video_url": clip});
    submit(&developer, "/v1/video-captions", captions).await;
    let avatar = json!({"avatar_handle": "eve", "input": {"image_url": image}});
    submit(&developer, "/v1/avatar-1.0/generate", avatar).await;
}

async fn the_content_of_an_artifact_is_judged(mock: Mock) {
    let (open, developer) = (mock.open(), mock.developer());
    let image = artifact(&mock, &open, IMAGE, image()).await;
    let silent = artifact(&mock, &open, VIDEO, video()).await;
    let with_sound = with(video(), json!({"generate_audio": true}));
    let with_sound = artifact(&mock, &open, VIDEO, with_sound).await;
    for (field, url) in [("image_url", &silent), ("reference_video_urls", &image)] {
        let value = if field.ends_with('s') {
            json!([url])
        } else {
            json!(url)
        };
        let error = open
            .post_error(
                VIDEO,
                with(video(), json!({field: value})),
                400,
                "invalid_request",
            )
            .await;
        assert!(
            text(&error["details"]["field"]).starts_with(field),
            "{error}"
        );
    }
    let lip_sync =
        |audio: &str| json!({"model": "lipsync-s", "audio_url": audio, "image_url": image});
    open.post_error(VIDEO, lip_sync(&silent), 400, "invalid_request")
        .await;
    submit(&open, VIDEO, lip_sync(&with_sound)).await;
    let captions = json!({"video_url": image});
    developer
        .post_error("/v1/video-captions", captions, 400, "invalid_request")
        .await;
}

async fn an_unknown_artifact_cannot_be_fetched(mock: Mock) {
    let media = mock.base_url(Host::Media).to_owned();
    let running = submit(&mock.open(), IMAGE, image()).await;
    mock.advance(10).await;
    let url = text(&job_result(&mock.open(), &running).await["artifacts"][0]["url"]);
    for url in [
        format!("{media}/artifacts/none.png"),
        format!("{media}/checkout/none"),
        format!("{media}/"),
        url.replace(".png", ".mp4"),
        // Another host on the same machine is not public.
        mock.base_url(Host::Open).to_owned() + "/a.png",
    ] {
        let body = with(video(), json!({"image_url": url}));
        mock.open()
            .post_error(VIDEO, body, 400, "invalid_request")
            .await;
    }
}

async fn hosts_below_invalid_cannot_be_fetched(mock: Mock) {
    for url in ["https://cdn.invalid/a.png", "https://CDN.INVALID./a.png"] {
        let body = with(video(), json!({"image_url": url}));
        let error = mock
            .open()
            .post_error(VIDEO, body, 400, "invalid_request")
            .await;
        assert_eq!(error["details"]["field"], "image_url");
        let attached = json!({"attachments": [{"url": IMAGE_URL}, {"url": url}]});
        let error = mock
            .developer()
            .post_error(RUNS, attached, 502, "attachment_fetch_failed")
            .await;
        assert_eq!(error["details"]["index"], 1);
    }
}

async fn an_artifact_can_be_attached_to_a_run(mock: Mock) {
    let url = artifact(&mock, &mock.open(), IMAGE, image()).await;
    let attached = json!({"attachments": [{"url": url}]});
    start(&mock.developer(), RUNS, attached).await;
    let missing = json!({"attachments": [{"url": url.replace("artifacts/", "artifacts/x")}]});
    mock.developer()
        .post_error(RUNS, missing, 502, "attachment_fetch_failed")
        .await;
}

async fn create_asset(mock: &Mock, workspace: &str, content_type: &str, bytes: u64) -> String {
    let body = json!({"workspace": workspace, "content_type": content_type, "bytes": bytes});
    let created = mock
        .control()
        .post("/assets", body.clone())
        .await
        .expect(201)
        .json();
    for field in ["workspace", "content_type", "bytes"] {
        assert_eq!(created[field], body[field]);
    }
    text(&created["asset_id"])
}

fn attachments(ids: &[&str]) -> Value {
    let items: Vec<_> = ids.iter().map(|id| json!({"asset_id": id})).collect();
    json!({"attachments": items})
}

async fn an_asset_can_be_attached_in_its_workspace(mock: Mock) {
    let id = create_asset(&mock, "ws_demo", "image/png", 1_000).await;
    start(&mock.developer(), RUNS, attachments(&[&id, "asset_logo"])).await;
    let other = mock.developer_as("svc_dev_other");
    let storyboard = "/v1/formats/studio/storyboard/runs";
    let error = other
        .post_error(
            storyboard,
            attachments(&["asset_logo", &id]),
            400,
            "attachment_not_found",
        )
        .await;
    assert_eq!(error["details"]["index"], 1);
}

async fn the_sizes_of_assets_are_limited(mock: Mock) {
    let developer = mock.developer();
    let largest = create_asset(&mock, "ws_demo", "image/jpeg", 30 * MB).await;
    start(&developer, RUNS, attachments(&[&largest])).await;
    let too_large = create_asset(&mock, "ws_demo", "image/webp", 30 * MB + 1).await;
    let error = developer
        .post_error(
            RUNS,
            attachments(&[&too_large]),
            413,
            "attachment_too_large",
        )
        .await;
    assert_eq!(error["details"]["limit_bytes"], 30 * MB);
    let film = create_asset(&mock, "ws_demo", "video/mp4", 470 * MB).await;
    start(&developer, RUNS, attachments(&[&film, &largest])).await;
    let one = create_asset(&mock, "ws_demo", "text/plain", 1).await;
    let error = developer
        .post_error(
            RUNS,
            attachments(&[&film, &largest, &one]),
            413,
            "attachment_too_large",
        )
        .await;
    assert_eq!(error["details"]["limit_bytes"], 500 * MB);
}

async fn set_address(mock: &Mock, address: &str) {
    let body = json!({"host": "Hooks.Example.com", "address": address});
    mock.control().post("/dns", body).await.expect(200);
}

async fn a_host_with_a_private_address_is_not_public(mock: Mock) {
    let hook = with(image(), json!({"mode": "webhook", "webhook_url": HOOK}));
    let picture = with(
        video(),
        json!({"image_url": "https://hooks.example.com/a.png"}),
    );
    submit(&mock.open(), IMAGE, hook.clone()).await;
    for address in ["127.0.0.1", "10.0.0.8", "169.254.169.254", "::1", "fd00::1"] {
        set_address(&mock, address).await;
        let error = mock
            .open()
            .post_error(IMAGE, hook.clone(), 400, "invalid_request")
            .await;
        assert_eq!(error["details"]["field"], "webhook_url");
        mock.open()
            .post_error(VIDEO, picture.clone(), 400, "invalid_request")
            .await;
        let attached = json!({"attachments": [{"url": "https://hooks.example.com/a.png"}]});
        mock.developer()
            .post_error(RUNS, attached, 400, "invalid_attachment")
            .await;
        let test = json!({"url": HOOK});
        let path = "/v1/webhooks/test-deliveries";
        mock.developer()
            .post_error(path, test, 400, "invalid_request")
            .await;
    }
    let listed = mock.control().get_json("/dns").await;
    assert_eq!(
        listed,
        json!({"data": [{"host": "hooks.example.com", "address": "fd00::1"}]})
    );
    set_address(&mock, "93.184.215.14").await;
    submit(&mock.open(), IMAGE, hook.clone()).await;
    set_address(&mock, "10.0.0.8").await;
    let cleared = mock
        .control()
        .request("DELETE", "/dns")
        .await
        .expect(200)
        .json();
    assert_eq!(cleared, json!({"data": []}));
    submit(&mock.open(), IMAGE, hook).await;
}

async fn the_destination_is_checked_again_at_each_delivery(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Status(500)]);
    let hook = with(image(), json!({"mode": "webhook", "webhook_url": HOOK}));
    let id = submit(&mock.open(), IMAGE, hook).await;
    mock.advance(2).await;
    wait_for_outcomes(&mock, 1).await;
    assert_eq!(
        job(&mock.open(), &id).await["webhook_delivery"]["status"],
        "retrying"
    );
    set_address(&mock, "192.168.1.1").await;
    mock.advance(30).await;
    wait_for_outcomes(&mock, 2).await;
    let delivery = job(&mock.open(), &id).await["webhook_delivery"].take();
    assert_eq!(delivery["status"], "failed");
    assert_eq!(delivery["last_error"], "url_not_public");
    assert_eq!(delivery["next_attempt_at"], json!(null));
    assert_eq!(receiver.deliveries().len(), 1);
    assert_eq!(job(&mock.open(), &id).await["status"], "completed");
}

async fn a_redelivery_is_checked_against_the_current_address(mock: Mock, receiver: Receiver) {
    let developer = mock.developer();
    let body = json!({"instruction": "x", "webhook_url": HOOK});
    let id = start(&developer, RUNS, body).await;
    set_address(&mock, "10.1.2.3").await;
    mock.advance(10).await;
    wait_for_outcomes(&mock, 1).await;
    let failed = receipt(&mock, Kind::Format, &id).await["webhook_delivery"].take();
    assert_eq!(
        (&failed["status"], &failed["last_error"]),
        (&json!("failed"), &json!("url_not_public"))
    );
    let redeliver = format!("{}/webhook/redeliver", Kind::Format.run(&id));
    developer.post_empty(&redeliver).await.expect(202);
    mock.advance(0).await;
    wait_for_outcomes(&mock, 2).await;
    assert!(receiver.deliveries().is_empty());
    set_address(&mock, "93.184.215.14").await;
    developer.post_empty(&redeliver).await.expect(202);
    mock.advance(0).await;
    receiver.wait_for(1).await;
    wait_for_outcomes(&mock, 3).await;
    let delivered = receipt(&mock, Kind::Format, &id).await["webhook_delivery"].take();
    assert_eq!(delivered["status"], "delivered");
}
