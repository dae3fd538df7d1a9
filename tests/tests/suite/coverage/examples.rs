//! Each operation that has a typed method has an answer among the fixtures.

use svc_sdk::contract::Operation;

/// The file among the fixtures that shows an operation's answer.
fn example(operation: Operation) -> Option<&'static str> {
    use Operation as Op;

    Some(match operation {
        Op::ImageGenerate => "receipt-image",
        Op::ImageModelsList => "models-image",
        Op::ImageModelsGet | Op::VideoModelsGet => "model",
        Op::VideoGenerate => "receipt-video",
        Op::VideoModelsList => "models-video",
        Op::JobsList => "jobs-list",
        Op::JobsGet => "job-completed",
        Op::JobsStatus => "status-processing",
        Op::JobsResult => "result-completed",
        Op::JobsCancel => "job-canceled",
        Op::OpenCatalogList => "catalog",
        Op::OpenCatalogGet => "catalog-model",
        Op::OpenEstimate => "estimate-video",
        Op::TopUpsCreate => "top-up-pending",
        Op::TopUpsGet => "top-up-paid",
        Op::Health => "developer-health",
        Op::Catalog => "developer-catalog",
        Op::Me => "developer-me",
        Op::Balance => "developer-balance",
        Op::Usage => "developer-usage",
        Op::BgmCatalog => "developer-bgm-catalog",
        Op::BgmCategories => "developer-bgm-categories",
        Op::BgmPick => "developer-bgm-pick",
        Op::JobsEvents => "developer-job-events",
        Op::AvatarGenerate | Op::AliasAvatarV10 | Op::AliasAvatar10Generate => {
            "developer-receipt-avatar"
        }
        Op::AvatarTalkingVideo | Op::AliasAvatar10TalkingVideo | Op::AliasAvatarVideoV10 => {
            "developer-receipt-talking-video"
        }
        Op::AliasAvatarFaceSwapV10 => "developer-receipt-face-swap",
        Op::AvatarCanonicalList => "developer-avatar-1.0-avatars",
        Op::AvatarCanonicalGet => "developer-avatar-first-party",
        Op::Image1Generate => "developer-receipt-image-1.0",
        Op::Video1Generate | Op::AliasVideo10 => "developer-receipt-video-1.0",
        Op::Music1Generate | Op::AliasMusic10 => "developer-receipt-music-1.0",
        Op::AliasImage10 => "developer-receipt-alias-image-1.0",
        Op::AvatarsList => "developer-avatars",
        Op::AvatarsGet => "developer-avatar",
        Op::AvatarVideosList => "developer-avatar-videos",
        Op::AvatarVideosGet => "developer-avatar-video",
        Op::AvatarCatalogSearch => "developer-avatar-search",
        Op::AvatarPreviewsCreate => "developer-receipt-preview",
        Op::AvatarPreviewsGet => "developer-preview",
        Op::AvatarPreviewsRegenerate => "developer-receipt-preview-regenerate",
        Op::AvatarPreviewsGenerateVideo => "developer-receipt-preview-generate-video",
        Op::VideoCaptionsCreate => "developer-receipt-captions",
        Op::VideoCaptionsGet => "developer-captions",
        Op::TrendingVideosSearch => "developer-trending-videos",
        Op::HiddenHealth => "developer-health-unversioned",
        Op::ActionsList => "actions",
        Op::ActionsGet => "action",
        Op::ActionsRunsList => "runs-of-an-action",
        Op::ActionsRunsCreate => "run-action-created",
        Op::ActionsRunsGet | Op::ActionRunsGet => "run-action-running",
        Op::ActionRunsStatus => "run-status-action-running",
        Op::ActionRunsResult => "run-action-completed",
        Op::ActionRunsCancel => "run-skipped-action",
        Op::FormatsList => "formats",
        Op::FormatsGet | Op::FormatsBySlugGet => "format",
        Op::FormatsRunsList | Op::FormatsBySlugRunsList => "runs-of-a-format",
        Op::FormatsRunsCreate | Op::FormatsBySlugRunsCreate => "run-format-created",
        Op::FormatsBulkCreate | Op::FormatsBySlugBulkCreate => "queue-created",
        Op::FormatQueuesGet => "queue-running",
        Op::FormatRunsGet => "run-format-running",
        Op::FormatRunsStatus => "run-status-format-running",
        Op::FormatRunsResult => "run-format-completed",
        Op::FormatRunsEvents => "run-events",
        Op::FormatRunsCancel => "run-canceled",
        Op::FormatRunsWebhookRedeliver => "redelivery-of-a-run",
        Op::AgentCompletionsCreate => "run-agent-created",
        Op::AgentRunsList => "runs-of-agents",
        Op::AgentRunsGet => "run-agent-running",
        Op::AgentRunsStatus => "run-status-agent-failed",
        Op::AgentRunsResult => "run-agent-completed",
        Op::AgentRunsCancel => "run-canceled-before-it-started",
        Op::JobsWebhookRedeliver => "redelivery-of-a-job",
        Op::SigningSecretGet => "signing-secret",
        Op::SigningSecretRotate => "signing-secret-rotated",
        Op::TestDeliveriesCreate => "test-delivery",
        _ => return None,
    })
}

#[test]
fn every_operation_that_has_a_method_has_an_example_among_the_fixtures() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for operation in Operation::ALL.iter().copied() {
        // Reachable raw, with no promise of a shape.
        let is_hidden = operation == Operation::HiddenAdmissionPreview;
        // The document is its own example, and MCP's bodies are another protocol's.
        let is_elsewhere =
            matches!(operation, Operation::Openapi | Operation::Reference | Operation::Mcp);
        if is_hidden || is_elsewhere {
            continue;
        }
        let name = example(operation).unwrap_or_else(|| panic!("{operation} has no example"));
        let path = folder.join(format!("{name}.json"));
        assert!(path.exists(), "{} of {operation} is missing", path.display());
    }
}
