//! The table of operations, one row each.
//!
//! The SDK builds its requests from this table and the mock server routes by it. Paths, scopes and
//! retry classes are written nowhere else.
//!
//! A row reads: variant, name, method, path; surface, credential, scope, rate-limit bucket, retry
//! class; summary.

use super::{Auth, Method, RateLimitBucket, RetryClass, Scope, Surface};

macro_rules! operations {
    ($(
        $variant:ident $name:literal: $method:ident $path:literal,
        $surface:ident, $auth:ident, $scope:expr, $bucket:ident, $retry:ident,
        $summary:literal;
    )*) => {
        /// An operation of the service.
        ///
        /// New operations may be added in any release, so a `match` needs a wildcard arm.
        ///
        /// # Examples
        ///
        /// ```
        /// use svc_sdk::contract::{Operation, RetryClass};
        ///
        /// let operation = Operation::VideoGenerate;
        /// assert_eq!(operation.path(), "/v1/video-router/generate");
        /// assert_eq!(operation.retry(), RetryClass::Key);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Operation {
            $(
                #[doc = $summary]
                #[doc = concat!("\n\n`", $path, "`")]
                $variant,
            )*
        }

        impl Operation {
            /// Returns the operation for an exhaustive `match`.
            #[doc(hidden)]
            #[must_use]
            pub const fn exhaustive(self) -> exhaustive::Operation {
                match self { $(Self::$variant => exhaustive::Operation::$variant),* }
            }

            /// All operations.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the operation's name in snake case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Returns the HTTP method.
            #[must_use]
            pub const fn method(self) -> Method {
                match self { $(Self::$variant => Method::$method),* }
            }

            /// Returns the path template, in which each `{…}` stands for one percent-encoded segment.
            #[must_use]
            pub const fn path(self) -> &'static str {
                match self { $(Self::$variant => $path),* }
            }

            /// Returns the surface whose host serves the operation.
            #[must_use]
            pub const fn surface(self) -> Surface {
                match self { $(Self::$variant => Surface::$surface),* }
            }

            /// Returns whether the operation requires an API key.
            #[must_use]
            pub const fn auth(self) -> Auth {
                match self { $(Self::$variant => Auth::$auth),* }
            }

            /// Returns the scope that the API key needs, if any.
            #[must_use]
            pub fn scope(self) -> Option<Scope> {
                let scope: Option<&'static str> = match self { $(Self::$variant => $scope),* };
                scope.map(Scope::from)
            }

            /// Returns the rate-limit bucket that requests count against.
            #[must_use]
            pub const fn rate_limit_bucket(self) -> RateLimitBucket {
                match self { $(Self::$variant => RateLimitBucket::$bucket),* }
            }

            /// Returns which failed requests may be retried automatically.
            #[must_use]
            pub const fn retry(self) -> RetryClass {
                match self { $(Self::$variant => RetryClass::$retry),* }
            }

            /// Returns a one-sentence description.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary),* }
            }
        }

        /// The operations as an enum that can be matched exhaustively, so that the compiler points out
        /// what a new operation lacks. For the crates of this workspace: it is not a stable API.
        #[doc(hidden)]
        pub mod exhaustive {
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum Operation {
                $(
                    #[doc = $summary]
                    $variant,
                )*
            }
        }
    };
}

operations! {
    ImageGenerate "image_generate": Post "/v1/image-router/generate", Open, Key, None, Write, Key,
        "Create an image job.";
    ImageModelsList "image_models_list": Get "/v1/image-router/models", Open, Key, None, Read, Safe,
        "List image models.";
    ImageModelsGet "image_models_get": Get "/v1/image-router/models/{model_id}", Open, Key, None, Read, Safe,
        "Get one image model.";
    VideoGenerate "video_generate": Post "/v1/video-router/generate", Open, Key, None, Write, Key,
        "Create a video job.";
    VideoModelsList "video_models_list": Get "/v1/video-router/models", Open, Key, None, Read, Safe,
        "List video models.";
    VideoModelsGet "video_models_get": Get "/v1/video-router/models/{model_id}", Open, Key, None, Read, Safe,
        "Get one video model.";
    JobsList "jobs_list": Get "/v1/jobs", Both, Key, None, Read, Safe,
        "List the workspace's jobs.";
    JobsGet "jobs_get": Get "/v1/jobs/{id}", Both, Key, None, Read, Safe,
        "Get a job.";
    JobsStatus "jobs_status": Get "/v1/jobs/{id}/status", Both, Key, None, Read, Safe,
        "Get a job's status.";
    JobsResult "jobs_result": Get "/v1/jobs/{id}/result", Both, Key, None, Read, Safe,
        "Get a job's result with artifact URLs.";
    JobsCancel "jobs_cancel": Post "/v1/jobs/{id}/cancel", Both, Key, None, Write, Idempotent,
        "Cancel a job before its generation starts.";
    OpenCatalogList "open_catalog_list": Get "/v1/open/catalog", Open, Key, None, Read, Safe,
        "List open models with dollar prices.";
    OpenCatalogGet "open_catalog_get": Get "/v1/open/catalog/{model_id}", Open, Key, None, Read, Safe,
        "Get one open model.";
    OpenEstimate "open_estimate": Post "/v1/open/estimate", Open, Key, None, Write, Idempotent,
        "Estimate the price of a generation, which equals the charge.";
    TopUpsCreate "top_ups_create": Post "/v1/open/top-ups", Open, Key, None, Write, Key,
        "Start a balance top-up.";
    TopUpsGet "top_ups_get": Get "/v1/open/top-ups/{id}", Open, Key, None, Read, Safe,
        "Get a top-up.";
    Health "health": Get "/v1/health", Developer, Public, None, Read, Safe,
        "Check whether the service is up.";
    Catalog "catalog": Get "/v1/catalog", Developer, Public, None, Read, Safe,
        "Get capabilities, endpoints, readiness, models and pricing.";
    Me "me": Get "/v1/me", Developer, Key, None, Read, Safe,
        "Get the current key, its owner and its workspace.";
    Balance "balance": Get "/v1/balance", Developer, Key, None, Read, Safe,
        "Get the available balance.";
    Usage "usage": Get "/v1/usage", Developer, Key, None, Read, Safe,
        "List the entries of the usage ledger.";
    Openapi "openapi": Get "/v1/openapi.json", Developer, Public, None, Read, Safe,
        "Get the OpenAPI document.";
    Reference "reference": Get "/reference/json", Developer, Public, None, Read, Safe,
        "Get the live schema, which is authoritative for exact shapes.";
    BgmCatalog "bgm_catalog": Get "/v1/bgm/catalog", Developer, Public, None, Read, Safe,
        "List background music.";
    BgmCategories "bgm_categories": Get "/v1/bgm/categories", Developer, Public, None, Read, Safe,
        "List background music categories.";
    BgmPick "bgm_pick": Post "/v1/bgm/pick", Developer, Public, None, Write, Idempotent,
        "Pick a background music track.";
    JobsEvents "jobs_events": Get "/v1/jobs/{id}/events", Developer, Key, None, Read, Safe,
        "Get a snapshot of a job's public timeline.";
    JobsWebhookRedeliver "jobs_webhook_redeliver": Post "/v1/jobs/{job_id}/webhook/redeliver", Developer, Key, Some("jobs:write"), Write, Never,
        "Redeliver a job's terminal webhook event.";
    AvatarGenerate "avatar_generate": Post "/v1/avatar-1.0/generate", Developer, Key, None, Write, Unsent,
        "Create an avatar.";
    AvatarTalkingVideo "avatar_talking_video": Post "/v1/avatar-1.0/talking-video", Developer, Key, None, Write, Unsent,
        "Create a talking avatar video.";
    AvatarCanonicalList "avatar_canonical_list": Get "/v1/avatar-1.0/avatars", Developer, Key, None, Read, Safe,
        "List avatars.";
    AvatarCanonicalGet "avatar_canonical_get": Get "/v1/avatar-1.0/avatars/{id}", Developer, Key, None, Read, Safe,
        "Get an avatar.";
    Image1Generate "image_1_generate": Post "/v1/image-1.0/generate", Developer, Key, None, Write, Unsent,
        "Create an image on the developer surface.";
    Video1Generate "video_1_generate": Post "/v1/video-1.0/generate", Developer, Key, None, Write, Unsent,
        "Create a video on the developer surface.";
    Music1Generate "music_1_generate": Post "/v1/music-1.0/generate", Developer, Key, None, Write, Unsent,
        "Create music.";
    AliasAvatarV10 "alias_avatar_v1_0": Post "/v1/models/{first_party_owner}/avatar/v1.0/runs", Developer, Key, None, Write, Unsent,
        "Compatibility alias of avatar creation.";
    AliasAvatar10Generate "alias_avatar_1_0_generate": Post "/v1/models/{first_party_owner}/avatar-1.0/generate/runs", Developer, Key, None, Write, Unsent,
        "Compatibility alias of avatar creation.";
    AliasAvatar10TalkingVideo "alias_avatar_1_0_talking_video": Post "/v1/models/{first_party_owner}/avatar-1.0/talking-video/runs", Developer, Key, None, Write, Unsent,
        "Compatibility alias of the talking video.";
    AliasAvatarVideoV10 "alias_avatar_video_v1_0": Post "/v1/models/{first_party_owner}/avatar-video/v1.0/runs", Developer, Key, None, Write, Unsent,
        "Compatibility alias of the talking video.";
    AliasAvatarFaceSwapV10 "alias_avatar_face_swap_v1_0": Post "/v1/models/{first_party_owner}/avatar-face-swap/v1.0/runs", Developer, Key, None, Write, Unsent,
        "Compatibility alias of the avatar face swap (beta).";
    AliasImage10 "alias_image_1_0": Post "/v1/models/{first_party_owner}/image-1.0/runs", Developer, Key, None, Write, Unsent,
        "Compatibility alias of `image_1_generate`.";
    AliasVideo10 "alias_video_1_0": Post "/v1/models/{first_party_owner}/video-1.0/runs", Developer, Key, None, Write, Unsent,
        "Compatibility alias of `video_1_generate`.";
    AliasMusic10 "alias_music_1_0": Post "/v1/models/{first_party_owner}/music-1.0/runs", Developer, Key, None, Write, Unsent,
        "Compatibility alias of `music_1_generate`.";
    AvatarsList "avatars_list": Get "/v1/avatars", Developer, Key, None, Read, Safe,
        "List all avatars visible to the key.";
    AvatarsGet "avatars_get": Get "/v1/avatars/{id}", Developer, Key, None, Read, Safe,
        "Get any avatar visible to the key.";
    AvatarVideosList "avatar_videos_list": Get "/v1/avatar-videos", Developer, Key, None, Read, Safe,
        "List avatar videos.";
    AvatarVideosGet "avatar_videos_get": Get "/v1/avatar-videos/{id}", Developer, Key, None, Read, Safe,
        "Get an avatar video.";
    AvatarCatalogSearch "avatar_catalog_search": Post "/v1/avatar-catalog/search", Developer, Key, None, Write, Idempotent,
        "Search the avatar catalog.";
    AvatarPreviewsCreate "avatar_previews_create": Post "/v1/avatar-video-previews", Developer, Key, None, Write, Unsent,
        "Create an avatar video preview.";
    AvatarPreviewsGet "avatar_previews_get": Get "/v1/avatar-video-previews/{id}", Developer, Key, None, Read, Safe,
        "Get an avatar video preview.";
    AvatarPreviewsRegenerate "avatar_previews_regenerate": Post "/v1/avatar-video-previews/{id}/regenerate", Developer, Key, None, Write, Unsent,
        "Regenerate an avatar video preview.";
    AvatarPreviewsGenerateVideo "avatar_previews_generate_video": Post "/v1/avatar-video-previews/{id}/generate-video", Developer, Key, None, Write, Unsent,
        "Generate the video of a preview.";
    VideoCaptionsCreate "video_captions_create": Post "/v1/video-captions", Developer, Key, None, Write, Unsent,
        "Create captions for a video.";
    VideoCaptionsGet "video_captions_get": Get "/v1/video-captions/{id}", Developer, Key, None, Read, Safe,
        "Get the captions of a video.";
    TrendingVideosSearch "trending_videos_search": Post "/v1/trending-videos/search", Developer, Key, None, Write, Idempotent,
        "Search trending videos.";
    ActionsList "actions_list": Get "/v1/actions", Developer, Key, Some("actions:read"), Read, Safe,
        "List Actions.";
    ActionsGet "actions_get": Get "/v1/actions/{action_id}", Developer, Key, Some("actions:read"), Read, Safe,
        "Get an Action.";
    ActionsRunsList "actions_runs_list": Get "/v1/actions/{action_id}/runs", Developer, Key, Some("actions:read"), Read, Safe,
        "List the runs of an Action.";
    ActionsRunsCreate "actions_runs_create": Post "/v1/actions/{action_id}/runs", Developer, Key, Some("actions:write"), Write, Unsent,
        "Start an Action through its API-call trigger.";
    ActionsRunsGet "actions_runs_get": Get "/v1/actions/{action_id}/runs/{run_id}", Developer, Key, Some("actions:read"), Read, Safe,
        "Get a run of an Action.";
    ActionRunsGet "action_runs_get": Get "/v1/action-runs/{run_id}", Developer, Key, Some("actions:read"), Read, Safe,
        "Get an Action run's receipt.";
    ActionRunsStatus "action_runs_status": Get "/v1/action-runs/{run_id}/status", Developer, Key, Some("actions:read"), Read, Safe,
        "Get an Action run's status.";
    ActionRunsResult "action_runs_result": Get "/v1/action-runs/{run_id}/result", Developer, Key, Some("actions:read"), Read, Safe,
        "Get an Action run's terminal receipt.";
    ActionRunsCancel "action_runs_cancel": Post "/v1/action-runs/{run_id}/cancel", Developer, Key, Some("actions:write"), Write, Idempotent,
        "Cancel an Action run.";
    FormatsList "formats_list": Get "/v1/formats", Developer, Key, Some("formats:read"), Read, Safe,
        "List Formats.";
    FormatsGet "formats_get": Get "/v1/formats/{format_id}", Developer, Key, Some("formats:read"), Read, Safe,
        "Get a Format.";
    FormatsRunsList "formats_runs_list": Get "/v1/formats/{format_id}/runs", Developer, Key, Some("formats:read"), Read, Safe,
        "List the runs of a Format, newest first.";
    FormatsRunsCreate "formats_runs_create": Post "/v1/formats/{format_id}/runs", Developer, Key, Some("formats:write"), Write, Key,
        "Run a Format.";
    FormatsBulkCreate "formats_bulk_create": Post "/v1/formats/{format_id}/bulk-runs", Developer, Key, Some("formats:write"), Write, Key,
        "Run a Format over many items.";
    FormatsBySlugGet "formats_by_slug_get": Get "/v1/formats/{handle}/{slug}", Developer, Key, Some("formats:read"), Read, Safe,
        "Get a Format by handle and slug.";
    FormatsBySlugRunsList "formats_by_slug_runs_list": Get "/v1/formats/{handle}/{slug}/runs", Developer, Key, Some("formats:read"), Read, Safe,
        "List the runs of a Format addressed by handle and slug.";
    FormatsBySlugRunsCreate "formats_by_slug_runs_create": Post "/v1/formats/{handle}/{slug}/runs", Developer, Key, Some("formats:write"), Write, Key,
        "Run a Format addressed by handle and slug.";
    FormatsBySlugBulkCreate "formats_by_slug_bulk_create": Post "/v1/formats/{handle}/{slug}/bulk-runs", Developer, Key, Some("formats:write"), Write, Key,
        "Run a Format, addressed by handle and slug, over many items.";
    FormatQueuesGet "format_queues_get": Get "/v1/format-run-queues/{queue_id}", Developer, Key, Some("formats:read"), Read, Safe,
        "Get the progress of a bulk queue.";
    FormatRunsGet "format_runs_get": Get "/v1/format-runs/{run_id}", Developer, Key, Some("formats:read"), Read, Safe,
        "Get a Format run's receipt.";
    FormatRunsStatus "format_runs_status": Get "/v1/format-runs/{run_id}/status", Developer, Key, Some("formats:read"), Read, Safe,
        "Get a Format run's status.";
    FormatRunsResult "format_runs_result": Get "/v1/format-runs/{run_id}/result", Developer, Key, Some("formats:read"), Read, Safe,
        "Get a Format run's terminal receipt.";
    FormatRunsEvents "format_runs_events": Get "/v1/format-runs/{run_id}/events", Developer, Key, Some("formats:read"), Read, Safe,
        "List the phases of a Format run, oldest first.";
    FormatRunsCancel "format_runs_cancel": Post "/v1/format-runs/{run_id}/cancel", Developer, Key, Some("formats:write"), Write, Idempotent,
        "Cancel a Format run.";
    FormatRunsWebhookRedeliver "format_runs_webhook_redeliver": Post "/v1/format-runs/{run_id}/webhook/redeliver", Developer, Key, Some("formats:write"), Write, Never,
        "Redeliver a Format run's terminal webhook event.";
    AgentCompletionsCreate "agent_completions_create": Post "/v1/agent/completions", Developer, Key, Some("agent_completions:write"), Write, Key,
        "Run the agent on an ad-hoc instruction.";
    AgentRunsList "agent_runs_list": Get "/v1/agent-runs", Developer, Key, Some("agent_completions:read"), Read, Safe,
        "List agent runs, newest first.";
    AgentRunsGet "agent_runs_get": Get "/v1/agent-runs/{run_id}", Developer, Key, Some("agent_completions:read"), Read, Safe,
        "Get an agent run's receipt.";
    AgentRunsStatus "agent_runs_status": Get "/v1/agent-runs/{run_id}/status", Developer, Key, Some("agent_completions:read"), Read, Safe,
        "Get an agent run's status.";
    AgentRunsResult "agent_runs_result": Get "/v1/agent-runs/{run_id}/result", Developer, Key, Some("agent_completions:read"), Read, Safe,
        "Get an agent run's terminal receipt.";
    AgentRunsCancel "agent_runs_cancel": Post "/v1/agent-runs/{run_id}/cancel", Developer, Key, Some("agent_completions:write"), Write, Idempotent,
        "Cancel an agent run.";
    SigningSecretGet "signing_secret_get": Get "/v1/webhooks/signing-secret", Developer, Key, Some("account:read"), Read, Safe,
        "Get the workspace's webhook signing secret.";
    SigningSecretRotate "signing_secret_rotate": Post "/v1/webhooks/signing-secret/rotate", Developer, Key, Some("account:write"), Write, Never,
        "Rotate the signing secret. A second rotation retires the older secret at once.";
    TestDeliveriesCreate "test_deliveries_create": Post "/v1/webhooks/test-deliveries", Developer, Key, Some("account:write"), Write, Never,
        "Send a signed `webhook.test` event to a URL.";
    Mcp "mcp": Post "{mcp_url}", Mcp, Key, None, Read, Never,
        "Call the MCP endpoint (JSON-RPC).";
    HiddenHealth "hidden_health": Get "/health", Developer, Public, None, Read, Safe,
        "Check whether the service is up; hidden from the public schema.";
    HiddenAdmissionPreview "hidden_admission_preview": Post "/v1/generation/admission-preview", Developer, Key, None, Read, Idempotent,
        "Preview the admission of a generation without submitting it; hidden from the public schema.";
}
