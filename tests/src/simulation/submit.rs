//! The submits of a simulation: which operations there are, and a random body of each.

use serde_json::{Value, json};
use svc_sdk::contract::Operation;

use super::orders::ResourceKind;
use super::rng::Rng;

/// Returns all operations that submit something. Under a spend limit, those that have a price.
pub(super) fn operations(has_limit: bool) -> Vec<Operation> {
    let all = Operation::ALL.iter().copied();
    let submits = all.filter(|operation| operation.retry().sends_idempotency_key());
    let has_price = |operation| ResourceKind::of(operation) != ResourceKind::DeveloperJob;
    submits.filter(|operation| !has_limit || has_price(*operation)).collect()
}

/// Returns the values of the path's placeholders. `preview` is the id of a known preview.
///
/// Returns `None` if the operation needs a preview and there is none.
pub(super) fn segments(
    operation: Operation,
    workspace: &str,
    preview: Option<&str>,
) -> Option<Vec<String>> {
    use Operation as Op;

    let is_demo = workspace == "ws_demo";
    let segments = match operation {
        Op::ActionsRunsCreate => vec!["act_daily"],
        Op::FormatsRunsCreate | Op::FormatsBulkCreate if is_demo => vec!["fmt_demo"],
        Op::FormatsRunsCreate | Op::FormatsBulkCreate => vec!["fmt_storyboard"],
        Op::FormatsBySlugRunsCreate | Op::FormatsBySlugBulkCreate if is_demo => {
            vec!["demo", "teaser"]
        }
        Op::FormatsBySlugRunsCreate | Op::FormatsBySlugBulkCreate => vec!["studio", "storyboard"],
        Op::AvatarPreviewsRegenerate | Op::AvatarPreviewsGenerateVideo => vec![preview?],
        _ if operation.is_alias() => vec!["studio"],
        _ => Vec::new(),
    };
    Some(segments.into_iter().map(str::to_owned).collect())
}

/// Returns a random body of an operation for the order `id`, whose webhooks go to `hook`. It never
/// has one of the directives in `without`.
pub(super) fn body(
    operation: Operation,
    id: &str,
    hook: &str,
    without: &[&str],
    rng: &mut Rng,
) -> Value {
    use Operation as Op;

    let is_job =
        matches!(ResourceKind::of(operation), ResourceKind::OpenJob | ResourceKind::DeveloperJob);
    let mut text = format!("{id}{}", directives(!is_job, rng));
    for directive in without {
        text = text.replace(directive, "");
    }
    let mut body = match operation {
        Op::ImageGenerate => {
            json!({"model": "image-i", "prompt": text})
        }
        Op::VideoGenerate => {
            json!({"model": rng.pick(&["video-f", "auto"]), "prompt": text, "duration": 5})
        }
        Op::TopUpsCreate => return json!({"amount_usd_cents": rng.between(500, 5_000)}),
        Op::ActionsRunsCreate => json!({"instruction": text}),
        Op::FormatsRunsCreate | Op::FormatsBySlugRunsCreate => {
            json!({"instruction": text, "generation_spend_cap_usd": 2})
        }
        Op::FormatsBulkCreate | Op::FormatsBySlugBulkCreate => {
            let item = || json!({"instruction": text, "generation_spend_cap_usd": 1});
            let items: Vec<_> = (0..rng.between(1, 4)).map(|_| item()).collect();
            return json!({"items": items, "concurrency": rng.between(1, 3)});
        }
        Op::AgentCompletionsCreate => {
            json!({"instruction": text, "generation_spend_cap_usd": 1})
        }
        Op::AvatarGenerate | Op::AliasAvatarV10 | Op::AliasAvatar10Generate => {
            let handle = format!("sim-{:x}", rng.next() >> 32);
            json!({"avatar_handle": handle, "input": {"prompt": text}})
        }
        Op::AvatarTalkingVideo
        | Op::AliasAvatar10TalkingVideo
        | Op::AliasAvatarVideoV10
        | Op::AvatarPreviewsCreate => json!({"avatar_handle": "ada", "script": text}),
        Op::AliasAvatarFaceSwapV10 => {
            json!({"avatar_handle": "ada", "video_url": format!("https://media.example/{id}.mp4")})
        }
        Op::VideoCaptionsCreate => {
            json!({"video_url": format!("https://media.example/{id}.mp4")})
        }
        Op::AvatarPreviewsRegenerate | Op::AvatarPreviewsGenerateVideo => return json!({}),
        _ => json!({"prompt": text}),
    };
    communication(operation, id, hook, rng, &mut body);
    body
}

/// Adds the communication fields and the metadata, by which a list of jobs shows the order.
fn communication(operation: Operation, id: &str, hook: &str, rng: &mut Rng, body: &mut Value) {
    let kind = ResourceKind::of(operation);
    let is_job = matches!(kind, ResourceKind::OpenJob | ResourceKind::DeveloperJob);
    if is_job {
        body["metadata"] = json!({"intent": id});
    }
    if rng.per_mille(300) {
        body["webhook_url"] = json!(hook);
        if is_job {
            body["mode"] = json!("webhook");
        }
    } else if is_job && rng.per_mille(150) {
        body["mode"] = json!(rng.pick(&["sync", "subscribe"]));
        body["wait_timeout_seconds"] = json!(rng.between(0, 30));
    }
}

/// Every submit with it is refused, for a reason that passes.
pub(super) const ALWAYS_BUSY: &str = " [mock:refuse=database_busy]";
/// It costs more than its estimate.
pub(super) const OTHER_PRICE: &str = " [mock:cost=0.3001]";

/// Returns words that make the mock fail, refuse or take its time. Some are for runs only.
pub(super) fn directives(is_run: bool, rng: &mut Rng) -> String {
    let mut text = format!(" [mock:seconds={}]", rng.between(0, 120));
    match rng.below(100) {
        0..12 => text.push_str(" [mock:fail]"),
        12..15 => text.push_str(ALWAYS_BUSY),
        15..18 => text.push_str(" [mock:refuse=invalid_request]"),
        18..20 => text.push_str(" [mock:refuse=insufficient_credits]"),
        20..24 if is_run => text.push_str(OTHER_PRICE),
        24..27 if is_run => text.push_str(" [mock:outage=2]"),
        27..29 if is_run => text.push_str(" [mock:skip]"),
        _ => {}
    }
    text
}
