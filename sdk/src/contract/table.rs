//! The table of operations: everything that can be asked of the service, one row each.
//!
//! The SDK builds its requests from this table, the mock server routes by it, the command line
//! names its commands in it. No path, scope or retry rule is written anywhere else.
//!
//! A row reads: variant, name, method, path; host, credential, scope, budget, retry class;
//! the command that reaches it, and what it does.

use super::{Auth, Budget, Method, RetryClass, Scope, Surface};

macro_rules! operations {
    ($(
        $variant:ident $name:literal: $method:ident $path:literal,
        $surface:ident, $auth:ident, $scope:expr, $budget:ident, $retry:ident,
        cli $cli:literal, $summary:literal;
    )*) => {
        /// One operation of the service.
        ///
        /// ```
        /// use svc_sdk::contract::{Operation, RetryClass};
        ///
        /// let operation = Operation::VideoGenerate;
        /// assert_eq!(operation.path(), "/v1/video-router/generate");
        /// assert_eq!(operation.retry(), RetryClass::Key);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Operation {
            $(
                #[doc = $summary]
                #[doc = concat!("\n\n`", $path, "`")]
                $variant,
            )*
        }

        impl Operation {
            /// Every operation, in the table's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The operation's name, in snake case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The HTTP method.
            #[must_use]
            pub const fn method(self) -> Method {
                match self { $(Self::$variant => Method::$method),* }
            }

            /// The path template; each `{…}` is one percent-encoded segment.
            #[must_use]
            pub const fn path(self) -> &'static str {
                match self { $(Self::$variant => $path),* }
            }

            /// The host or hosts that answer it.
            #[must_use]
            pub const fn surface(self) -> Surface {
                match self { $(Self::$variant => Surface::$surface),* }
            }

            /// Whether it needs a key.
            #[must_use]
            pub const fn auth(self) -> Auth {
                match self { $(Self::$variant => Auth::$auth),* }
            }

            /// The scope that the key needs, if any.
            #[must_use]
            pub fn scope(self) -> Option<Scope> {
                let scope: Option<&'static str> = match self { $(Self::$variant => $scope),* };
                scope.map(Scope::from)
            }

            /// The rate-limit budget that it spends from.
            #[must_use]
            pub const fn budget(self) -> Budget {
                match self { $(Self::$variant => Budget::$budget),* }
            }

            /// What a client may do by itself after a failure.
            #[must_use]
            pub const fn retry(self) -> RetryClass {
                match self { $(Self::$variant => RetryClass::$retry),* }
            }

            /// The command that reaches it.
            #[must_use]
            pub const fn cli(self) -> &'static str {
                match self { $(Self::$variant => $cli),* }
            }

            /// What it does, in one sentence.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary),* }
            }
        }
    };
}

operations! {
    ImageGenerate "image_generate": Post "/v1/image-router/generate", Open, Key, None, Write, Key,
        cli "svc image generate", "Create an image job.";
    ImageModelsList "image_models_list": Get "/v1/image-router/models", Open, Key, None, Read, Safe,
        cli "svc model list --type image", "List image models.";
    ImageModelsGet "image_models_get": Get "/v1/image-router/models/{model_id}", Open, Key, None, Read, Safe,
        cli "svc model get MODEL_ID", "Get one image model.";
    VideoGenerate "video_generate": Post "/v1/video-router/generate", Open, Key, None, Write, Key,
        cli "svc video generate", "Create a video job.";
    VideoModelsList "video_models_list": Get "/v1/video-router/models", Open, Key, None, Read, Safe,
        cli "svc model list --type video", "List video models.";
    VideoModelsGet "video_models_get": Get "/v1/video-router/models/{model_id}", Open, Key, None, Read, Safe,
        cli "svc model get MODEL_ID", "Get one video model.";
    JobsList "jobs_list": Get "/v1/jobs", Both, Key, None, Read, Safe,
        cli "svc job list", "List jobs of the workspace.";
    JobsGet "jobs_get": Get "/v1/jobs/{id}", Both, Key, None, Read, Safe,
        cli "svc job get JOB_ID", "Get a job.";
    JobsStatus "jobs_status": Get "/v1/jobs/{id}/status", Both, Key, None, Read, Safe,
        cli "svc job status JOB_ID", "Poll a job, lightly.";
    JobsResult "jobs_result": Get "/v1/jobs/{id}/result", Both, Key, None, Read, Safe,
        cli "svc job result JOB_ID", "Get a job's result with artifact URLs.";
    JobsCancel "jobs_cancel": Post "/v1/jobs/{id}/cancel", Both, Key, None, Write, Idempotent,
        cli "svc job cancel JOB_ID", "Cancel a job before its generation starts.";
    OpenCatalogList "open_catalog_list": Get "/v1/open/catalog", Open, Key, None, Read, Safe,
        cli "svc pricing list", "List open models with dollar prices.";
    OpenCatalogGet "open_catalog_get": Get "/v1/open/catalog/{model_id}", Open, Key, None, Read, Safe,
        cli "svc pricing get MODEL_ID", "Get one open model.";
    OpenEstimate "open_estimate": Post "/v1/open/estimate", Open, Key, None, Write, Idempotent,
        cli "svc estimate", "Estimate a price; it equals the charge.";
    TopUpsCreate "top_ups_create": Post "/v1/open/top-ups", Open, Key, None, Write, Key,
        cli "svc top-up create", "Start a balance top-up.";
    TopUpsGet "top_ups_get": Get "/v1/open/top-ups/{id}", Open, Key, None, Read, Safe,
        cli "svc top-up get TOP_UP_ID", "Read a top-up.";
    Health "health": Get "/v1/health", Developer, Public, None, Read, Safe,
        cli "svc health", "Is the service up?";
    Catalog "catalog": Get "/v1/catalog", Developer, Public, None, Read, Safe,
        cli "svc catalog", "Capabilities, endpoints, readiness, models and pricing.";
    Me "me": Get "/v1/me", Developer, Key, None, Read, Safe,
        cli "svc me", "The current key, its owner and workspace.";
    Balance "balance": Get "/v1/balance", Developer, Key, None, Read, Safe,
        cli "svc balance", "The available balance.";
    Usage "usage": Get "/v1/usage", Developer, Key, None, Read, Safe,
        cli "svc usage", "The usage ledger.";
    Openapi "openapi": Get "/v1/openapi.json", Developer, Public, None, Read, Safe,
        cli "svc schema fetch", "The OpenAPI document.";
    Reference "reference": Get "/reference/json", Developer, Public, None, Read, Safe,
        cli "svc schema fetch --reference", "The live schema, the authority for exact shapes.";
    BgmCatalog "bgm_catalog": Get "/v1/bgm/catalog", Developer, Public, None, Read, Safe,
        cli "svc bgm list", "List background music.";
    BgmCategories "bgm_categories": Get "/v1/bgm/categories", Developer, Public, None, Read, Safe,
        cli "svc bgm categories", "List background music categories.";
    BgmPick "bgm_pick": Post "/v1/bgm/pick", Developer, Public, None, Write, Idempotent,
        cli "svc bgm pick", "Pick a piece of background music.";
    JobsEvents "jobs_events": Get "/v1/jobs/{id}/events", Developer, Key, None, Read, Safe,
        cli "svc job events JOB_ID", "A job's public timeline, as a snapshot.";
    JobsWebhookRedeliver "jobs_webhook_redeliver": Post "/v1/jobs/{job_id}/webhook/redeliver", Developer, Key, Some("jobs:write"), Write, Never,
        cli "svc job redeliver JOB_ID", "Send a job's terminal event again.";
    AvatarGenerate "avatar_generate": Post "/v1/avatar-1.0/generate", Developer, Key, None, Write, Unsent,
        cli "svc avatar generate", "Create an avatar.";
    AvatarTalkingVideo "avatar_talking_video": Post "/v1/avatar-1.0/talking-video", Developer, Key, None, Write, Unsent,
        cli "svc avatar talking-video", "Make an avatar speak.";
    AvatarCanonicalList "avatar_canonical_list": Get "/v1/avatar-1.0/avatars", Developer, Key, None, Read, Safe,
        cli "svc avatar list", "List avatars.";
    AvatarCanonicalGet "avatar_canonical_get": Get "/v1/avatar-1.0/avatars/{id}", Developer, Key, None, Read, Safe,
        cli "svc avatar get AVATAR_ID", "Get an avatar.";
    Image1Generate "image_1_generate": Post "/v1/image-1.0/generate", Developer, Key, None, Write, Unsent,
        cli "svc image generate --surface developer", "Create an image on the developer surface.";
    Video1Generate "video_1_generate": Post "/v1/video-1.0/generate", Developer, Key, None, Write, Unsent,
        cli "svc video generate --surface developer", "Create a video on the developer surface.";
    Music1Generate "music_1_generate": Post "/v1/music-1.0/generate", Developer, Key, None, Write, Unsent,
        cli "svc music generate", "Create music.";
    AliasAvatarV10 "alias_avatar_v1_0": Post "/v1/models/{first_party_owner}/avatar/v1.0/runs", Developer, Key, None, Write, Unsent,
        cli "svc model run avatar/v1.0", "Compatibility alias of avatar creation.";
    AliasAvatar10Generate "alias_avatar_1_0_generate": Post "/v1/models/{first_party_owner}/avatar-1.0/generate/runs", Developer, Key, None, Write, Unsent,
        cli "svc model run avatar-1.0/generate", "Compatibility alias of avatar creation.";
    AliasAvatar10TalkingVideo "alias_avatar_1_0_talking_video": Post "/v1/models/{first_party_owner}/avatar-1.0/talking-video/runs", Developer, Key, None, Write, Unsent,
        cli "svc model run avatar-1.0/talking-video", "Compatibility alias of the talking video.";
    AliasAvatarVideoV10 "alias_avatar_video_v1_0": Post "/v1/models/{first_party_owner}/avatar-video/v1.0/runs", Developer, Key, None, Write, Unsent,
        cli "svc model run avatar-video/v1.0", "Compatibility alias of the talking video.";
    AliasAvatarFaceSwapV10 "alias_avatar_face_swap_v1_0": Post "/v1/models/{first_party_owner}/avatar-face-swap/v1.0/runs", Developer, Key, None, Write, Unsent,
        cli "svc model run avatar-face-swap/v1.0", "Compatibility alias of the avatar face swap (beta).";
    AliasImage10 "alias_image_1_0": Post "/v1/models/{first_party_owner}/image-1.0/runs", Developer, Key, None, Write, Unsent,
        cli "svc model run image-1.0", "Compatibility alias of `image_1_generate`.";
    AliasVideo10 "alias_video_1_0": Post "/v1/models/{first_party_owner}/video-1.0/runs", Developer, Key, None, Write, Unsent,
        cli "svc model run video-1.0", "Compatibility alias of `video_1_generate`.";
    AliasMusic10 "alias_music_1_0": Post "/v1/models/{first_party_owner}/music-1.0/runs", Developer, Key, None, Write, Unsent,
        cli "svc model run music-1.0", "Compatibility alias of `music_1_generate`.";
    AvatarsList "avatars_list": Get "/v1/avatars", Developer, Key, None, Read, Safe,
        cli "svc avatar list --all", "List all avatars the key can see.";
    AvatarsGet "avatars_get": Get "/v1/avatars/{id}", Developer, Key, None, Read, Safe,
        cli "svc avatar get AVATAR_ID --any", "Get any avatar the key can see.";
    AvatarVideosList "avatar_videos_list": Get "/v1/avatar-videos", Developer, Key, None, Read, Safe,
        cli "svc avatar-video list", "List avatar videos.";
    AvatarVideosGet "avatar_videos_get": Get "/v1/avatar-videos/{id}", Developer, Key, None, Read, Safe,
        cli "svc avatar-video get ID", "Get an avatar video.";
    AvatarCatalogSearch "avatar_catalog_search": Post "/v1/avatar-catalog/search", Developer, Key, None, Write, Idempotent,
        cli "svc avatar search", "Search the avatar catalog.";
    AvatarPreviewsCreate "avatar_previews_create": Post "/v1/avatar-video-previews", Developer, Key, None, Write, Unsent,
        cli "svc preview create", "Create an avatar video preview.";
    AvatarPreviewsGet "avatar_previews_get": Get "/v1/avatar-video-previews/{id}", Developer, Key, None, Read, Safe,
        cli "svc preview get ID", "Get an avatar video preview.";
    AvatarPreviewsRegenerate "avatar_previews_regenerate": Post "/v1/avatar-video-previews/{id}/regenerate", Developer, Key, None, Write, Unsent,
        cli "svc preview regenerate ID", "Make a preview again.";
    AvatarPreviewsGenerateVideo "avatar_previews_generate_video": Post "/v1/avatar-video-previews/{id}/generate-video", Developer, Key, None, Write, Unsent,
        cli "svc preview generate-video ID", "Make the video of a preview.";
    VideoCaptionsCreate "video_captions_create": Post "/v1/video-captions", Developer, Key, None, Write, Unsent,
        cli "svc caption create", "Caption a video.";
    VideoCaptionsGet "video_captions_get": Get "/v1/video-captions/{id}", Developer, Key, None, Read, Safe,
        cli "svc caption get ID", "Get a captioning.";
    TrendingVideosSearch "trending_videos_search": Post "/v1/trending-videos/search", Developer, Key, None, Write, Idempotent,
        cli "svc trending search", "Search trending videos.";
    ActionsList "actions_list": Get "/v1/actions", Developer, Key, Some("actions:read"), Read, Safe,
        cli "svc action list", "List Actions.";
    ActionsGet "actions_get": Get "/v1/actions/{action_id}", Developer, Key, Some("actions:read"), Read, Safe,
        cli "svc action get ACTION_ID", "Get an Action.";
    ActionsRunsList "actions_runs_list": Get "/v1/actions/{action_id}/runs", Developer, Key, Some("actions:read"), Read, Safe,
        cli "svc action runs ACTION_ID", "List the runs of an Action.";
    ActionsRunsCreate "actions_runs_create": Post "/v1/actions/{action_id}/runs", Developer, Key, Some("actions:write"), Write, Unsent,
        cli "svc action run ACTION_ID", "Start an Action through its API-call trigger.";
    ActionsRunsGet "actions_runs_get": Get "/v1/actions/{action_id}/runs/{run_id}", Developer, Key, Some("actions:read"), Read, Safe,
        cli "svc action run-get ACTION_ID RUN_ID", "Read a run under its Action.";
    ActionRunsGet "action_runs_get": Get "/v1/action-runs/{run_id}", Developer, Key, Some("actions:read"), Read, Safe,
        cli "svc run get RUN_ID --kind action", "Read an Action run's receipt.";
    ActionRunsStatus "action_runs_status": Get "/v1/action-runs/{run_id}/status", Developer, Key, Some("actions:read"), Read, Safe,
        cli "svc run status RUN_ID --kind action", "Poll an Action run.";
    ActionRunsResult "action_runs_result": Get "/v1/action-runs/{run_id}/result", Developer, Key, Some("actions:read"), Read, Safe,
        cli "svc run result RUN_ID --kind action", "Read an Action run's terminal receipt.";
    ActionRunsCancel "action_runs_cancel": Post "/v1/action-runs/{run_id}/cancel", Developer, Key, Some("actions:write"), Write, Idempotent,
        cli "svc run cancel RUN_ID --kind action", "Cancel an Action run.";
    FormatsList "formats_list": Get "/v1/formats", Developer, Key, Some("formats:read"), Read, Safe,
        cli "svc format list", "List Formats.";
    FormatsGet "formats_get": Get "/v1/formats/{format_id}", Developer, Key, Some("formats:read"), Read, Safe,
        cli "svc format get FORMAT_ID", "Get a Format.";
    FormatsRunsList "formats_runs_list": Get "/v1/formats/{format_id}/runs", Developer, Key, Some("formats:read"), Read, Safe,
        cli "svc format runs FORMAT_ID", "List the runs of a Format, newest first.";
    FormatsRunsCreate "formats_runs_create": Post "/v1/formats/{format_id}/runs", Developer, Key, Some("formats:write"), Write, Key,
        cli "svc format run FORMAT_ID", "Run a Format.";
    FormatsBulkCreate "formats_bulk_create": Post "/v1/formats/{format_id}/bulk-runs", Developer, Key, Some("formats:write"), Write, Key,
        cli "svc format bulk FORMAT_ID", "Run a Format over many items.";
    FormatsBySlugGet "formats_by_slug_get": Get "/v1/formats/{handle}/{slug}", Developer, Key, Some("formats:read"), Read, Safe,
        cli "svc format get HANDLE/SLUG", "Get a Format by handle and slug.";
    FormatsBySlugRunsList "formats_by_slug_runs_list": Get "/v1/formats/{handle}/{slug}/runs", Developer, Key, Some("formats:read"), Read, Safe,
        cli "svc format runs HANDLE/SLUG", "List the runs of a Format addressed by handle and slug.";
    FormatsBySlugRunsCreate "formats_by_slug_runs_create": Post "/v1/formats/{handle}/{slug}/runs", Developer, Key, Some("formats:write"), Write, Key,
        cli "svc format run HANDLE/SLUG", "Run a Format addressed by handle and slug.";
    FormatsBySlugBulkCreate "formats_by_slug_bulk_create": Post "/v1/formats/{handle}/{slug}/bulk-runs", Developer, Key, Some("formats:write"), Write, Key,
        cli "svc format bulk HANDLE/SLUG", "Run a Format, addressed by handle and slug, over many items.";
    FormatQueuesGet "format_queues_get": Get "/v1/format-run-queues/{queue_id}", Developer, Key, Some("formats:read"), Read, Safe,
        cli "svc queue get QUEUE_ID", "Progress of a bulk queue.";
    FormatRunsGet "format_runs_get": Get "/v1/format-runs/{run_id}", Developer, Key, Some("formats:read"), Read, Safe,
        cli "svc run get RUN_ID --kind format", "Read a Format run's receipt.";
    FormatRunsStatus "format_runs_status": Get "/v1/format-runs/{run_id}/status", Developer, Key, Some("formats:read"), Read, Safe,
        cli "svc run status RUN_ID --kind format", "Poll a Format run.";
    FormatRunsResult "format_runs_result": Get "/v1/format-runs/{run_id}/result", Developer, Key, Some("formats:read"), Read, Safe,
        cli "svc run result RUN_ID --kind format", "Read a Format run's terminal receipt.";
    FormatRunsEvents "format_runs_events": Get "/v1/format-runs/{run_id}/events", Developer, Key, Some("formats:read"), Read, Safe,
        cli "svc run events RUN_ID", "A Format run's phase timeline, oldest first.";
    FormatRunsCancel "format_runs_cancel": Post "/v1/format-runs/{run_id}/cancel", Developer, Key, Some("formats:write"), Write, Idempotent,
        cli "svc run cancel RUN_ID --kind format", "Cancel a Format run.";
    FormatRunsWebhookRedeliver "format_runs_webhook_redeliver": Post "/v1/format-runs/{run_id}/webhook/redeliver", Developer, Key, Some("formats:write"), Write, Never,
        cli "svc run redeliver RUN_ID", "Send a Format run's terminal event again.";
    AgentCompletionsCreate "agent_completions_create": Post "/v1/agent/completions", Developer, Key, Some("agent_completions:write"), Write, Key,
        cli "svc agent run", "Run the agent on an ad-hoc instruction.";
    AgentRunsList "agent_runs_list": Get "/v1/agent-runs", Developer, Key, Some("agent_completions:read"), Read, Safe,
        cli "svc agent runs", "List agent runs, newest first.";
    AgentRunsGet "agent_runs_get": Get "/v1/agent-runs/{run_id}", Developer, Key, Some("agent_completions:read"), Read, Safe,
        cli "svc run get RUN_ID --kind agent", "Read an agent run's receipt.";
    AgentRunsStatus "agent_runs_status": Get "/v1/agent-runs/{run_id}/status", Developer, Key, Some("agent_completions:read"), Read, Safe,
        cli "svc run status RUN_ID --kind agent", "Poll an agent run.";
    AgentRunsResult "agent_runs_result": Get "/v1/agent-runs/{run_id}/result", Developer, Key, Some("agent_completions:read"), Read, Safe,
        cli "svc run result RUN_ID --kind agent", "Read an agent run's terminal receipt.";
    AgentRunsCancel "agent_runs_cancel": Post "/v1/agent-runs/{run_id}/cancel", Developer, Key, Some("agent_completions:write"), Write, Idempotent,
        cli "svc run cancel RUN_ID --kind agent", "Cancel an agent run.";
    SigningSecretGet "signing_secret_get": Get "/v1/webhooks/signing-secret", Developer, Key, Some("account:read"), Read, Safe,
        cli "svc webhook secret show", "Read the workspace's webhook signing secret.";
    SigningSecretRotate "signing_secret_rotate": Post "/v1/webhooks/signing-secret/rotate", Developer, Key, Some("account:write"), Write, Never,
        cli "svc webhook secret rotate", "Rotate the signing secret; a second rotation retires the older one at once.";
    TestDeliveriesCreate "test_deliveries_create": Post "/v1/webhooks/test-deliveries", Developer, Key, Some("account:write"), Write, Never,
        cli "svc webhook test URL", "Send a signed `webhook.test` event to a URL.";
    Mcp "mcp": Post "{mcp_url}", Mcp, Key, None, Read, Never,
        cli "svc mcp tools | svc mcp call TOOL", "The MCP endpoint (JSON-RPC).";
    HiddenHealth "hidden_health": Get "/health", Developer, Public, None, Read, Safe,
        cli "svc api get /health", "Unversioned health, hidden from the public schema.";
    HiddenAdmissionPreview "hidden_admission_preview": Post "/v1/generation/admission-preview", Developer, Key, None, Read, Idempotent,
        cli "svc api post /v1/generation/admission-preview", "Preview of admission; submits nothing, hidden from the public schema.";
}
