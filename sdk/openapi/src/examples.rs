//! Examples of request and response bodies. Tests check each against its schema.

use serde_json::{Value, json};
use svc_sdk::contract::Operation;

/// Returns an example of the request body; `None` if the operation needs no body.
pub(crate) fn request(operation: Operation) -> Option<Value> {
    use Operation as Op;

    Some(match operation {
        Op::ImageGenerate => json!({"model": "image-i", "prompt": "a red fox", "num_images": 2}),
        Op::VideoGenerate => json!({"model": "auto", "prompt": "a red fox in snow", "duration": 5}),
        Op::Image1Generate | Op::AliasImage10 => json!({"prompt": "a red fox"}),
        Op::Video1Generate | Op::AliasVideo10 => {
            json!({"prompt": "a red fox in snow", "duration": 5})
        }
        Op::Music1Generate | Op::AliasMusic10 => json!({"prompt": "a slow waltz", "duration": 30}),
        Op::AvatarGenerate | Op::AliasAvatarV10 | Op::AliasAvatar10Generate => {
            json!({"avatar_handle": "mia", "input": {"prompt": "a calm presenter"}})
        }
        Op::AvatarTalkingVideo
        | Op::AliasAvatar10TalkingVideo
        | Op::AliasAvatarVideoV10
        | Op::AvatarPreviewsCreate => {
            json!({"avatar_handle": "ada", "script": "Hello.", "quality": "plus"})
        }
        Op::AliasAvatarFaceSwapV10 => {
            json!({"avatar_handle": "ada", "video_url": "https://media.example/a.mp4"})
        }
        Op::VideoCaptionsCreate => {
            json!({"video_url": "https://media.example/a.mp4", "language": "en"})
        }
        Op::OpenEstimate => {
            json!({"model": "video-f", "input": {"prompt": "a red fox", "duration": 5}})
        }
        Op::TopUpsCreate => {
            json!({"amount_usd_cents": 2000, "success_url": "https://shop.example/thanks"})
        }
        Op::BgmPick => json!({"category": "ambient"}),
        Op::AvatarCatalogSearch | Op::TrendingVideosSearch => json!({"query": "dance", "limit": 5}),
        Op::ActionsRunsCreate => json!({"instruction": "Only the news of today."}),
        Op::FormatsRunsCreate | Op::FormatsBySlugRunsCreate => json!({
            "instruction": "A teaser for a jazz night",
            "input": {"city": "Lisbon"},
            "generation_spend_cap_usd": 1.5,
        }),
        Op::FormatsBulkCreate | Op::FormatsBySlugBulkCreate => json!({
            "items": [{"input": {"city": "Lisbon"}}, {"input": {"city": "Oslo"}}],
            "concurrency": 2,
        }),
        Op::AgentCompletionsCreate => json!({
            "instruction": "Three posters for a jazz night",
            "generation_spend_cap_usd": 2.5,
        }),
        Op::TestDeliveriesCreate => json!({"url": "https://hooks.example.com/svc"}),
        Op::Mcp => json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        _ => return None,
    })
}

/// Returns an example of the response's `data`; `None` if the schema says enough.
pub(crate) fn response(operation: Operation) -> Option<Value> {
    use Operation as Op;

    Some(match operation {
        Op::ImageGenerate | Op::VideoGenerate | Op::Image1Generate | Op::Video1Generate => json!({
            "request_id": "req_01",
            "job": {"id": "job_01", "status": "queued", "type": "video_generation"},
            "status_url": "https://api.example/v1/jobs/job_01/status",
            "result_url": "https://api.example/v1/jobs/job_01/result",
            "cancel_url": "https://api.example/v1/jobs/job_01/cancel",
            "next_poll_after_seconds": 2,
        }),
        Op::JobsStatus => json!({
            "job_id": "job_01",
            "status": "processing",
            "terminal": false,
            "result_ready": false,
            "next_poll_after_seconds": 2,
        }),
        Op::JobsResult => json!({
            "job_id": "job_01",
            "status": "completed",
            "artifacts": [{
                "id": "art_01",
                "url": "https://media.example/art_01.png",
                "media_type": "image",
                "content_type": "image/png",
            }],
        }),
        Op::OpenEstimate => json!({
            "model": "video-f",
            "price_usd": "0.7035",
            "currency": "USD",
            "unit": "second",
            "unit_price_usd": "0.1407",
            "units": 5,
        }),
        Op::TopUpsCreate | Op::TopUpsGet => json!({
            "id": "top_01",
            "status": "pending",
            "checkout_url": "https://checkout.example/top_01",
            "amount_usd_cents": 2000,
        }),
        Op::Balance => {
            json!({"available_usd": "97.5000", "reserved_usd": "0.0050", "currency": "USD"})
        }
        Op::FormatRunsResult | Op::ActionRunsResult | Op::AgentRunsResult => json!({
            "request_id": "req_01",
            "run_id": "run_01",
            "status": "completed",
            "error": null,
            "output": {"title": "Fox"},
            "artifacts": [],
            "primary_output_url": null,
            "usage": {
                "billable_amount_usd_micros": 150_000,
                "generation_spend_cap_usd_micros": 1_500_000,
            },
        }),
        _ => return None,
    })
}
