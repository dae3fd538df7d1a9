//! The table of operations, walked: each has a typed method of the SDK that the mock answers.
//!
//! The `match` is exhaustive: an operation that is new in the table does not compile until it is
//! dealt with here.

mod examples;
mod runs;

use std::sync::Arc;

use serde_json::{Value, json};
use svc_mock_server::InProcess;
use svc_sdk::contract::{Method, Operation, Surface};
use svc_sdk::developer::Alias;
use svc_sdk::types::{
    AvatarGenerate, AvatarInput, AvatarPreviewCreate, AvatarTalkingVideo, Image1Generate,
    ImageGenerate, JobId, Music1Generate, MusicPick, Search, TopUpCreate, TopUpId, Video1Generate,
    VideoCaptionsCreate, VideoGenerate,
};
use svc_sdk::{Developer, Result, Secret, Submit, developer, open};

use self::runs::Runs;

const AVATAR: &str = r#"{"avatar_handle": "noa", "input": {"prompt": "a presenter"}}"#;
const OTHER_AVATAR: &str = r#"{"avatar_handle": "tom", "input": {"prompt": "a presenter"}}"#;
const SPEECH: &str = r#"{"avatar_handle": "ada", "script": "Hello."}"#;
const FACE_SWAP: &str = r#"{"avatar_handle": "ada", "video_url": "https://media.example/a.mp4"}"#;
const PROMPT: &str = r#"{"prompt": "a fox"}"#;

struct World {
    mock: InProcess,
    open: open::Client,
    developer: developer::Client,
    job: JobId,
    top_up: TopUpId,
    avatar_video: String,
    preview: String,
    captions: String,
    runs: Runs,
}

/// Makes what a submit makes, and gives the id of the resource that its receipt names.
async fn made(submit: Submit<svc_sdk::JobHandle<Developer>>, resource: &str) -> String {
    let job = submit.send().await.unwrap();
    job.wait().await.unwrap();
    let resource: Value = job.receipt().unwrap().extra.field(resource).unwrap();
    resource["id"].as_str().unwrap().to_owned()
}

impl World {
    async fn new() -> Self {
        let mock = InProcess::default();
        let open = open::Client::builder()
            .base_url(mock.base_url())
            .api_key(Secret::new("svc_open_demo").unwrap())
            .transport(Arc::new(mock.clone()))
            .build()
            .unwrap();
        let developer = developer::Client::builder()
            .base_url(mock.developer_base_url())
            .api_key(Secret::new("svc_dev_demo").unwrap())
            .transport(Arc::new(mock.clone()))
            .build()
            .unwrap();
        let job = open
            .image_generate(&ImageGenerate::new("image-i").prompt("a fox"))
            .send()
            .await
            .unwrap();
        job.wait().await.unwrap();
        let top_up = open
            .top_ups_create(&TopUpCreate::new(2_000))
            .send()
            .await
            .unwrap();
        let speech = AvatarTalkingVideo::new("ada").script("Hello.");
        let preview = AvatarPreviewCreate::new("ada").script("Hello.");
        let captions = VideoCaptionsCreate::new("https://media.example/a.mp4");
        Self {
            job: job.id().clone(),
            top_up: top_up.id,
            avatar_video: made(developer.avatar_talking_video(&speech), "avatar_video").await,
            preview: made(developer.avatar_previews_create(&preview), "preview").await,
            captions: made(developer.video_captions_create(&captions), "caption").await,
            runs: Runs::new(&developer).await,
            mock,
            open,
            developer,
        }
    }

    /// Calls the typed method of an operation; none where this build has none yet, which is said
    /// family by family.
    async fn call(&self, operation: Operation) -> Option<Result<()>> {
        use Operation as Op;

        let Self {
            open,
            developer,
            job,
            top_up,
            ..
        } = self;
        let video = VideoGenerate::new("video-f").prompt("a fox");
        Some(match operation {
            Op::ImageGenerate => open
                .image_generate(&ImageGenerate::new("image-i").prompt("a fox"))
                .send()
                .await
                .map(drop),
            Op::ImageModelsList => open.image_models_list().send().await.map(drop),
            Op::ImageModelsGet => open.image_models_get("image-i").send().await.map(drop),
            Op::VideoGenerate => open.video_generate(&video).send().await.map(drop),
            Op::VideoModelsList => open.video_models_list().send().await.map(drop),
            Op::VideoModelsGet => open.video_models_get("video-f").send().await.map(drop),
            Op::JobsList => open.jobs_list().send().await.map(drop),
            Op::JobsGet => open.jobs_get(job).send().await.map(drop),
            Op::JobsStatus => open.jobs_status(job).send().await.map(drop),
            Op::JobsResult => open.jobs_result(job).send().await.map(drop),
            Op::JobsCancel => match open.video_generate(&video).send().await {
                Ok(job) => job.cancel().await.map(drop),
                Err(error) => Err(error),
            },
            Op::OpenCatalogList => open.open_catalog_list().send().await.map(drop),
            Op::OpenCatalogGet => open.open_catalog_get("video-f").send().await.map(drop),
            Op::OpenEstimate => open.open_estimate(&video).send().await.map(drop),
            Op::TopUpsCreate => open
                .top_ups_create(&TopUpCreate::new(500))
                .send()
                .await
                .map(drop),
            Op::TopUpsGet => open.top_ups_get(top_up).send().await.map(drop),

            Op::Health => developer.health().send().await.map(drop),
            Op::Catalog => developer.catalog().send().await.map(drop),
            Op::Openapi => developer.openapi().send().await.map(drop),
            Op::Reference => developer.reference().send().await.map(drop),
            Op::Me => developer.me().send().await.map(drop),
            Op::Balance => developer.balance().send().await.map(drop),
            Op::Usage => developer.usage().send().await.map(drop),
            Op::BgmCatalog => developer.bgm_catalog().send().await.map(drop),
            Op::BgmCategories => developer.bgm_categories().send().await.map(drop),
            Op::BgmPick => developer.bgm_pick(&MusicPick::new()).send().await.map(drop),
            Op::JobsEvents => developer.jobs_events(job).send().await.map(drop),
            Op::TrendingVideosSearch => developer
                .trending_videos_search(&Search::new("dance"))
                .send()
                .await
                .map(drop),
            Op::AvatarGenerate => {
                let body =
                    AvatarGenerate::new("mia").input(AvatarInput::prompt("a calm presenter"));
                developer.avatar_generate(&body).send().await.map(drop)
            }
            Op::AvatarTalkingVideo => {
                let body = AvatarTalkingVideo::new("ada").script("Hello.");
                developer.avatar_talking_video(&body).send().await.map(drop)
            }
            Op::Image1Generate => developer
                .image_1_generate(&Image1Generate::new("a fox"))
                .send()
                .await
                .map(drop),
            Op::Video1Generate => developer
                .video_1_generate(&Video1Generate::new("a fox"))
                .send()
                .await
                .map(drop),
            Op::Music1Generate => developer
                .music_1_generate(&Music1Generate::new("a waltz"))
                .send()
                .await
                .map(drop),
            Op::AvatarCanonicalList => developer.avatar_canonical_list().send().await.map(drop),
            Op::AvatarCanonicalGet => developer
                .avatar_canonical_get("ava_ada")
                .send()
                .await
                .map(drop),
            Op::AvatarsList => developer.avatars_list().send().await.map(drop),
            Op::AvatarsGet => developer.avatars_get("ava_lin").send().await.map(drop),
            Op::AvatarCatalogSearch => developer
                .avatar_catalog_search(&Search::new("ada"))
                .send()
                .await
                .map(drop),
            Op::AvatarVideosList => developer.avatar_videos_list().send().await.map(drop),
            Op::AvatarVideosGet => developer
                .avatar_videos_get(&self.avatar_video)
                .send()
                .await
                .map(drop),
            Op::AvatarPreviewsCreate => {
                let body = AvatarPreviewCreate::new("ada").script("Hello.");
                developer
                    .avatar_previews_create(&body)
                    .send()
                    .await
                    .map(drop)
            }
            Op::AvatarPreviewsGet => developer
                .avatar_previews_get(&self.preview)
                .send()
                .await
                .map(drop),
            Op::AvatarPreviewsRegenerate => {
                match developer
                    .avatar_previews_regenerate(&self.preview)
                    .send()
                    .await
                {
                    // Only a preview that is there again has a video to be made of it.
                    Ok(job) => job.wait().await.map(drop),
                    Err(error) => Err(error),
                }
            }
            Op::AvatarPreviewsGenerateVideo => developer
                .avatar_previews_generate_video(&self.preview)
                .send()
                .await
                .map(drop),
            Op::VideoCaptionsCreate => {
                let body = VideoCaptionsCreate::new("https://media.example/a.mp4");
                developer
                    .video_captions_create(&body)
                    .send()
                    .await
                    .map(drop)
            }
            Op::VideoCaptionsGet => developer
                .video_captions_get(&self.captions)
                .send()
                .await
                .map(drop),
            Op::AliasAvatarV10 => self.alias(Alias::AvatarV1_0, AVATAR).await,
            Op::AliasAvatar10Generate => self.alias(Alias::Avatar1_0Generate, OTHER_AVATAR).await,
            Op::AliasAvatar10TalkingVideo => self.alias(Alias::Avatar1_0TalkingVideo, SPEECH).await,
            Op::AliasAvatarVideoV10 => self.alias(Alias::AvatarVideoV1_0, SPEECH).await,
            Op::AliasAvatarFaceSwapV10 => self.alias(Alias::AvatarFaceSwapV1_0, FACE_SWAP).await,
            Op::AliasImage10 => self.alias(Alias::Image1_0, PROMPT).await,
            Op::AliasVideo10 => self.alias(Alias::Video1_0, PROMPT).await,
            Op::AliasMusic10 => self.alias(Alias::Music1_0, PROMPT).await,

            // Hidden from the public schema: reachable raw, without a typed promise.
            Op::HiddenHealth => developer
                .raw(Method::Get, operation.path())
                .send()
                .await
                .map(drop),
            Op::HiddenAdmissionPreview => {
                let body = json!({"model": "video-1.0", "input": {"prompt": "a fox"}});
                developer
                    .raw(Method::Post, operation.path())
                    .body(&body)
                    .send()
                    .await
                    .map(drop)
            }

            // Actions, Formats, bulk queues, Agent Completions; webhook delivery and its
            // administration.
            Op::ActionsList
            | Op::ActionsGet
            | Op::ActionsRunsList
            | Op::ActionsRunsCreate
            | Op::ActionsRunsGet
            | Op::ActionRunsGet
            | Op::ActionRunsStatus
            | Op::ActionRunsResult
            | Op::ActionRunsCancel
            | Op::FormatsList
            | Op::FormatsGet
            | Op::FormatsRunsList
            | Op::FormatsRunsCreate
            | Op::FormatsBulkCreate
            | Op::FormatsBySlugGet
            | Op::FormatsBySlugRunsList
            | Op::FormatsBySlugRunsCreate
            | Op::FormatsBySlugBulkCreate
            | Op::FormatQueuesGet
            | Op::FormatRunsGet
            | Op::FormatRunsStatus
            | Op::FormatRunsResult
            | Op::FormatRunsEvents
            | Op::FormatRunsCancel
            | Op::AgentCompletionsCreate
            | Op::AgentRunsList
            | Op::AgentRunsGet
            | Op::AgentRunsStatus
            | Op::AgentRunsResult
            | Op::AgentRunsCancel
            | Op::JobsWebhookRedeliver
            | Op::FormatRunsWebhookRedeliver
            | Op::SigningSecretGet
            | Op::SigningSecretRotate
            | Op::TestDeliveriesCreate => return self.runs.call(operation).await,
            Op::Mcp => {
                self.tools().await;
                Ok(())
            }
        })
    }

    /// Lists the tools of the MCP endpoint, and calls one.
    async fn tools(&self) {
        let client = svc_sdk::mcp::Client::builder()
            .url(self.mock.mcp_url())
            .api_key(Secret::new("svc_dev_demo").unwrap())
            .transport(Arc::new(self.mock.clone()))
            .connect()
            .await
            .unwrap();
        assert_eq!(client.protocol_version().as_deref(), Some("2026-07-28"));
        let tools = client.tools().await.unwrap();
        assert!(
            tools
                .iter()
                .any(|tool| tool.name == "jobs_status" && tool.read_only)
        );
        let status = client.call("jobs_status", json!({"job_id": self.job.as_str()}));
        let status = status.await.unwrap().structured.unwrap();
        assert_eq!(status["terminal"], true);
        let unknown = client
            .call("jobs_status", json!({"job_id": "job_none"}))
            .await;
        let unknown = unknown.unwrap_err();
        assert_eq!(
            unknown.code().map(svc_sdk::contract::ErrorCode::as_str),
            Some("job_not_found")
        );
    }

    async fn alias(&self, alias: Alias, body: &str) -> Result<()> {
        let body = serde_json::from_str(body).unwrap();
        let job = self
            .developer
            .model_run("studio", alias, &body)
            .send()
            .await?;
        assert!(job.idempotency_key().is_some());
        Ok(())
    }

    fn operations(&self) -> Vec<String> {
        let requests = self.mock.requests(0);
        let names = requests
            .iter()
            .filter_map(|request| request["operation"].as_str());
        names.map(str::to_owned).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn every_operation_has_a_method_that_the_mock_answers() {
    let world = World::new().await;
    let mut called = 0;
    for operation in Operation::ALL.iter().copied() {
        let Some(outcome) = world.call(operation).await else {
            assert!(
                matches!(operation.surface(), Surface::Developer | Surface::Mcp),
                "{operation} has no typed method"
            );
            continue;
        };
        outcome.unwrap_or_else(|error| panic!("{operation}: {error}"));
        assert!(
            world
                .operations()
                .iter()
                .any(|name| name == operation.name()),
            "{operation} was not asked"
        );
        called += 1;
    }
    assert_eq!(called, 92);
}

#[tokio::test(start_paused = true)]
async fn both_surfaces_show_the_workspaces_jobs() {
    let world = World::new().await;
    let seen = world.developer.job(world.job.clone()).get().await.unwrap();
    assert_eq!(seen.id, world.job);
    let listed = world.developer.jobs_list().send().await.unwrap();
    assert!(listed.items.iter().any(|job| job.id == world.job));
}
