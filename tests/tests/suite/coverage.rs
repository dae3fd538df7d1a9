//! The table of operations, walked: each has a typed method of the SDK that the mock answers, and
//! an answer among the fixtures, which tests the method as well.
//!
//! The `match` is exhaustive: an operation that is new in the table does not compile until it is
//! dealt with here.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use svc_mock_server::InProcess;
use svc_sdk::contract::{ErrorCode, Method, Operation, exhaustive};
use svc_sdk::types::{
    ActionId, ActionRunCreate, AgentCompletionCreate, AvatarFaceSwap, AvatarGenerate, AvatarInput,
    AvatarPreviewCreate, AvatarTalkingVideo, BulkRunCreate, FormatRunCreate, Image1Generate,
    ImageGenerate, JobId, Music1Generate, MusicPick, QueueId, RunId, SearchQuery,
    TestDeliveryCreate, TopUpCreate, TopUpId, Usd, Video1Generate, VideoCaptionsCreate,
    VideoGenerate,
};
use svc_sdk::{Call, Developer, JobHandle, Result, developer, open};

use crate::fixtures::Canned;
use crate::{developer_client, open_client};

const HOOK: &str = "https://hooks.example.com/svc";
const FORMAT: &str = "fmt_media";
const SLUG: &str = "demo/product-shot";

fn image() -> ImageGenerate {
    ImageGenerate::new("image-i").prompt("a fox")
}

fn avatar(handle: &str) -> AvatarGenerate {
    AvatarGenerate::new(handle).input(AvatarInput::prompt("a presenter"))
}

fn speech() -> AvatarTalkingVideo {
    AvatarTalkingVideo::new("ada").script("Hello.")
}

fn preview() -> AvatarPreviewCreate {
    AvatarPreviewCreate::new("ada").script("Hello.")
}

fn captions() -> VideoCaptionsCreate {
    VideoCaptionsCreate::new("https://media.example/a.mp4")
}

fn top_up(cents: i64) -> TopUpCreate {
    TopUpCreate::new(Usd::from_micros(cents * 10_000))
}

fn format_body() -> FormatRunCreate {
    FormatRunCreate::new("a teaser").webhook_url(HOOK)
}

fn bulk_body() -> BulkRunCreate {
    BulkRunCreate::new([format_body()])
}

fn agent_body() -> AgentCompletionCreate {
    AgentCompletionCreate::new("three posters", Usd::from_micros(1_000_000))
}

/// A resource of each kind, for the operations that need one.
pub(crate) struct Resources {
    mock: InProcess,
    open: open::Client,
    developer: developer::Client,
    job: JobId,
    /// A job that has not started, and one with a webhook that has ended.
    queued_job: JobId,
    job_with_webhook: JobId,
    top_up: TopUpId,
    avatar_video: String,
    preview: String,
    other_preview: String,
    captions: String,
    action: ActionId,
    action_run: RunId,
    format_run: RunId,
    agent_run: RunId,
    queue: QueueId,
}

/// Makes what a submit makes, and gives the id of the resource that its receipt names.
async fn made(submit: Call<JobHandle<Developer>>, resource: &str) -> String {
    let job = submit.await.unwrap();
    job.wait().await.unwrap();
    let resource: Value = job.receipt().unwrap().extra.get_as(resource).unwrap();
    resource["id"].as_str().unwrap().to_owned()
}

/// What a typed method has read of a response.
pub(crate) struct Answer {
    pub(crate) data: Value,
    /// The id of the handle, if a submit was answered.
    pub(crate) id: Option<String>,
}

/// Returns what was read of a response: the receipt of a submit, the items of a list, or the whole.
macro_rules! answer {
    ([receipt] $handle:ident) => {
        Answer { data: json!($handle.receipt()), id: Some($handle.id().to_string()) }
    };
    ([items] $page:ident) => {
        Answer { data: json!($page.items), id: None }
    };
    ([raw] $response:ident) => {
        Answer {
            data: serde_json::from_slice::<Value>(&$response.body).unwrap()["data"].take(),
            id: None,
        }
    };
    ([] $value:ident) => {
        Answer { data: json!($value), id: None }
    };
}

/// Matches an operation with the name of the fixture that shows its answer, which is empty if there is
/// none, and with the call of its typed method.
macro_rules! call {
    ($operation:expr; $($name:ident $($fixture:literal)? $([$view:ident])? => $call:expr;)+) => {
        match $operation.exhaustive() {
            $(exhaustive::Operation::$name => {
                let answer = $call.await.map(|it| answer!([$($view)?] it));
                (concat!($($fixture)?), answer)
            })+
        }
    };
}

impl Resources {
    pub(crate) async fn new() -> Self {
        let mock = InProcess::default();
        let open = open_client(&mock).build().unwrap();
        let developer = developer_client(&mock, "svc_dev_demo").build().unwrap();
        let job = open.images().generate(image()).await.unwrap();
        job.wait().await.unwrap();
        let long = VideoGenerate::new("video-f").prompt("a fox [mock:seconds=90000]");
        let with_webhook = Video1Generate::new("a fox").webhook_url(HOOK);
        let with_webhook = developer.videos().generate(with_webhook).await.unwrap();
        with_webhook.wait().await.unwrap();
        let action = ActionId::from("act_daily");
        let action_run = developer.actions().run(&action, ActionRunCreate::default());
        let action_run = action_run.await.unwrap();
        let format_run = developer.formats().run(FORMAT, format_body()).await.unwrap();
        let agent_run = developer.agents().run(agent_body()).await.unwrap();
        let bulk = BulkRunCreate::new([FormatRunCreate::new("a teaser")]);
        let queue = developer.formats().bulk_run(FORMAT, &bulk).await.unwrap();
        action_run.wait().await.unwrap();
        format_run.wait().await.unwrap();
        agent_run.wait().await.unwrap();
        Self {
            job: job.id().clone(),
            queued_job: open.videos().generate(long).await.unwrap().id().clone(),
            job_with_webhook: with_webhook.id().clone(),
            top_up: open.top_ups().create(top_up(2_000)).await.unwrap().id().clone(),
            avatar_video: made(developer.avatars().talking_video(speech()), "avatar_video").await,
            preview: made(developer.previews().create(preview()), "preview").await,
            other_preview: made(developer.previews().create(preview()), "preview").await,
            captions: made(developer.captions().create(captions()), "caption").await,
            action,
            action_run: action_run.id().clone(),
            format_run: format_run.id().clone(),
            agent_run: agent_run.id().clone(),
            queue: queue.id().clone(),
            mock,
            open,
            developer,
        }
    }

    /// Returns the resources that the fixtures name, of clients that have one answer.
    pub(crate) fn of_fixtures(canned: &Arc<Canned>) -> Self {
        let (job, run) = (JobId::from("job_01"), RunId::from("run_01"));
        Self {
            mock: InProcess::default(),
            open: canned.client(),
            developer: canned.developer(),
            queued_job: job.clone(),
            job_with_webhook: job.clone(),
            job,
            top_up: TopUpId::from("top_01"),
            avatar_video: "avv_01".to_owned(),
            preview: "pre_01".to_owned(),
            other_preview: "pre_01".to_owned(),
            captions: "cap_01".to_owned(),
            action: ActionId::from("act_daily"),
            action_run: run.clone(),
            format_run: run.clone(),
            agent_run: run,
            queue: QueueId::from("frq_01"),
        }
    }

    /// Calls the typed method of an operation. Returns the name of the fixture with its answer as well.
    pub(crate) async fn call(&self, operation: Operation) -> (&'static str, Result<Answer>) {
        let Self { open, developer, job, top_up: paid, action, preview: shown, .. } = self;
        let Self { action_run, format_run, agent_run, .. } = self;
        let aliases = developer.model_aliases("studio");
        let path = operation.path();
        let video = VideoGenerate::new("video-f").prompt("a fox");
        let admission = json!({"model": "video-1.0", "input": {"prompt": "a fox"}});
        call! { operation;
            ImageGenerate "receipt-image" [receipt] => open.images().generate(image());
            ImageModelsList "models-image" [items] => open.models().list_images();
            ImageModelsGet "model" => open.models().get_image("image-i");
            VideoGenerate "receipt-video" [receipt] => open.videos().generate(&video);
            VideoModelsList "models-video" [items] => open.models().list_videos();
            VideoModelsGet "model" => open.models().get_video("video-f");
            JobsList "jobs-list" [items] => open.jobs().list();
            JobsGet "job-completed" => open.jobs().handle(job).get();
            JobsStatus "status-processing" => open.jobs().handle(job).status();
            JobsResult "result-completed" => open.jobs().handle(job).result();
            JobsCancel "job-canceled" => open.jobs().handle(&self.queued_job).cancel();
            OpenCatalogList "catalog" [items] => open.pricing().list();
            OpenCatalogGet "catalog-model" => open.pricing().get("video-f");
            OpenEstimate "estimate-video" => open.estimates().create(&video);
            TopUpsCreate "top-up-pending" [receipt] => open.top_ups().create(top_up(500));
            TopUpsGet "top-up-paid" => open.top_ups().handle(paid).get();

            Health "developer-health" => developer.catalog().health();
            Catalog "developer-catalog" => developer.catalog().get();
            Openapi => developer.schema().openapi();
            Reference => developer.schema().reference();
            Me "developer-me" => developer.account().me();
            Balance "developer-balance" => developer.account().balance();
            Usage "developer-usage" [items] => developer.account().usage();
            BgmCatalog "developer-bgm-catalog" [items] => developer.background_music().list();
            BgmCategories "developer-bgm-categories" [items] => developer.background_music().categories();
            BgmPick "developer-bgm-pick" => developer.background_music().pick(MusicPick::new());
            JobsEvents "developer-job-events" [items] => developer.jobs().handle(job).events();
            TrendingVideosSearch "developer-trending-videos" [items] =>
                developer.trending().search(SearchQuery::new("dance"));
            AvatarGenerate "developer-receipt-avatar" [receipt] =>
                developer.avatars().generate(avatar("mia"));
            AvatarTalkingVideo "developer-receipt-talking-video" [receipt] =>
                developer.avatars().talking_video(speech());
            Image1Generate "developer-receipt-image-1.0" [receipt] =>
                developer.images().generate(Image1Generate::new("a fox"));
            Video1Generate "developer-receipt-video-1.0" [receipt] =>
                developer.videos().generate(Video1Generate::new("a fox"));
            Music1Generate "developer-receipt-music-1.0" [receipt] =>
                developer.music().generate(Music1Generate::new("a waltz"));
            AvatarCanonicalList "developer-avatar-1.0-avatars" [items] => developer.avatars().list();
            AvatarCanonicalGet "developer-avatar-first-party" => developer.avatars().get("ava_ada");
            AvatarsList "developer-avatars" [items] => developer.avatars().list_any();
            AvatarsGet "developer-avatar" => developer.avatars().get_any("ava_lin");
            AvatarCatalogSearch "developer-avatar-search" [items] =>
                developer.avatars().search(SearchQuery::new("ada"));
            AvatarVideosList "developer-avatar-videos" [items] => developer.avatar_videos().list();
            AvatarVideosGet "developer-avatar-video" =>
                developer.avatar_videos().get(&self.avatar_video);
            AvatarPreviewsCreate "developer-receipt-preview" [receipt] =>
                developer.previews().create(preview());
            AvatarPreviewsGet "developer-preview" => developer.previews().get(shown);
            AvatarPreviewsRegenerate "developer-receipt-preview-regenerate" [receipt] =>
                developer.previews().regenerate(&self.other_preview);
            AvatarPreviewsGenerateVideo "developer-receipt-preview-generate-video" [receipt] =>
                developer.previews().generate_video(shown);
            VideoCaptionsCreate "developer-receipt-captions" [receipt] =>
                developer.captions().create(captions());
            VideoCaptionsGet "developer-captions" => developer.captions().get(&self.captions);
            AliasAvatarV10 "developer-receipt-avatar" [receipt] => aliases.avatar_v1_0(avatar("noa"));
            AliasAvatar10Generate "developer-receipt-avatar" [receipt] =>
                aliases.avatar_1_0_generate(avatar("tom"));
            AliasAvatar10TalkingVideo "developer-receipt-talking-video" [receipt] =>
                aliases.avatar_1_0_talking_video(speech());
            AliasAvatarVideoV10 "developer-receipt-talking-video" [receipt] =>
                aliases.avatar_video_v1_0(speech());
            AliasAvatarFaceSwapV10 "developer-receipt-face-swap" [receipt] => aliases.avatar_face_swap_v1_0(
                AvatarFaceSwap::new("ada").video_url("https://media.example/a.mp4")
            );
            AliasImage10 "developer-receipt-alias-image-1.0" [receipt] =>
                aliases.image_1_0(Image1Generate::new("a fox"));
            AliasVideo10 "developer-receipt-video-1.0" [receipt] =>
                aliases.video_1_0(Video1Generate::new("a fox"));
            AliasMusic10 "developer-receipt-music-1.0" [receipt] =>
                aliases.music_1_0(Music1Generate::new("a fox"));

            // Hidden from the public schema: reachable raw, without a typed promise.
            HiddenHealth "developer-health-unversioned" [raw] => developer.raw_request(Method::Get, path);
            HiddenAdmissionPreview [raw] => developer.raw_request(Method::Post, path).body(&admission);

            ActionsList "actions" [items] => developer.actions().list();
            ActionsGet "action" => developer.actions().get(action);
            ActionsRunsList "runs-of-an-action" [items] => developer.actions().list_runs(action);
            ActionsRunsCreate "run-action-created" [receipt] =>
                developer.actions().run(action, ActionRunCreate::default());
            ActionsRunsGet "run-action-running" => developer.actions().get_run(action, action_run);
            ActionRunsGet "run-action-running" => developer.action_runs().handle(action_run).get();
            ActionRunsStatus "run-status-action-running" =>
                developer.action_runs().handle(action_run).status();
            ActionRunsResult "run-action-completed" =>
                developer.action_runs().handle(action_run).result();
            ActionRunsCancel "run-skipped-action" =>
                developer.action_runs().handle(action_run).cancel();
            FormatsList "formats" [items] => developer.formats().list();
            FormatsGet "format" => developer.formats().get(FORMAT);
            FormatsBySlugGet "format" => developer.formats().get(SLUG);
            FormatsRunsList "runs-of-a-format" [items] => developer.formats().list_runs(FORMAT);
            FormatsBySlugRunsList "runs-of-a-format" [items] => developer.formats().list_runs(SLUG);
            FormatsRunsCreate "run-format-created" [receipt] =>
                developer.formats().run(FORMAT, format_body());
            FormatsBySlugRunsCreate "run-format-created" [receipt] =>
                developer.formats().run(SLUG, format_body());
            FormatsBulkCreate "queue-created" [receipt] => developer.formats().bulk_run(FORMAT, bulk_body());
            FormatsBySlugBulkCreate "queue-created" [receipt] =>
                developer.formats().bulk_run(SLUG, bulk_body());
            FormatQueuesGet "queue-running" => developer.queues().handle(&self.queue).get();
            FormatRunsGet "run-format-running" => developer.format_runs().handle(format_run).get();
            FormatRunsStatus "run-status-format-running" =>
                developer.format_runs().handle(format_run).status();
            FormatRunsResult "run-format-completed" =>
                developer.format_runs().handle(format_run).result();
            FormatRunsEvents "run-events" [items] => developer.format_runs().handle(format_run).events();
            FormatRunsCancel "run-canceled" => developer.format_runs().handle(format_run).cancel();
            FormatRunsWebhookRedeliver "redelivery-of-a-run" =>
                developer.format_runs().handle(format_run).redeliver_webhook();
            AgentCompletionsCreate "run-agent-created" [receipt] => developer.agents().run(agent_body());
            AgentRunsList "runs-of-agents" [items] => developer.agent_runs().list();
            AgentRunsGet "run-agent-running" => developer.agent_runs().handle(agent_run).get();
            AgentRunsStatus "run-status-agent-failed" =>
                developer.agent_runs().handle(agent_run).status();
            AgentRunsResult "run-agent-completed" =>
                developer.agent_runs().handle(agent_run).result();
            AgentRunsCancel "run-canceled-before-it-started" =>
                developer.agent_runs().handle(agent_run).cancel();
            SigningSecretGet "signing-secret" => developer.webhooks().signing_secret();
            SigningSecretRotate "signing-secret-rotated" =>
                developer.webhooks().rotate_signing_secret();
            TestDeliveriesCreate "test-delivery" =>
                developer.webhooks().send_test(TestDeliveryCreate::new(HOOK));
            JobsWebhookRedeliver "redelivery-of-a-job" =>
                developer.jobs().handle(&self.job_with_webhook).redeliver_webhook();
            Mcp => self.tools();
        }
    }

    /// Lists the tools of the MCP endpoint, and calls one.
    async fn tools(&self) -> Result<()> {
        let channel = developer_client(&self.mock, "svc_dev_demo").base_url(self.mock.mcp_url());
        let channel = channel.build().unwrap();
        let client = svc_mcp::McpClient::with_client(&channel).await.unwrap();
        assert_eq!(client.protocol_version().as_deref(), Some("2026-07-28"));
        let tools = client.tools().await.unwrap();
        assert!(tools.iter().any(|tool| tool.name == "jobs_status" && tool.read_only));
        let status = client.call("jobs_status", json!({"job_id": self.job.as_str()}));
        let status = status.await.unwrap().structured.unwrap();
        assert_eq!(status["terminal"], true);
        let unknown = client.call("jobs_status", json!({"job_id": "job_none"})).await;
        let unknown = unknown.unwrap_err();
        assert_eq!(unknown.code().map(ErrorCode::as_str), Some("job_not_found"));
        Ok(())
    }

    fn operations(&self) -> Vec<String> {
        let requests = self.mock.requests(0);
        let names = requests.iter().filter_map(|request| request["operation"].as_str());
        names.map(str::to_owned).collect()
    }
}

/// Returns whether there is nothing of an answer to write down: the schema is its own example, the
/// bodies of MCP are those of another protocol, and one operation has no promise of a shape.
pub(crate) fn has_no_fixture(operation: Operation) -> bool {
    use Operation::{HiddenAdmissionPreview, Mcp, Openapi, Reference};
    matches!(operation, Openapi | Reference | Mcp | HiddenAdmissionPreview)
}

#[tokio::test(start_paused = true)]
async fn every_operation_has_a_method_that_the_mock_answers() {
    let world = Resources::new().await;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for operation in Operation::ALL.iter().copied() {
        let (fixture, answer) = world.call(operation).await;
        assert!(answer.is_ok(), "{operation}: {:?}", answer.err());
        assert!(
            world.operations().iter().any(|name| name == operation.name()),
            "{operation} was not asked"
        );
        let path = fixtures.join(format!("{fixture}.json"));
        assert!(has_no_fixture(operation) || path.exists(), "{operation}: no {}", path.display());
    }
}
