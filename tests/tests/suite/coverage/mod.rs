//! The table of operations, walked: each has a typed method of the SDK that the mock answers.
//!
//! The `match` is exhaustive: an operation that is new in the table does not compile until it is
//! dealt with here.

mod examples;
mod runs;

use std::sync::Arc;

use serde_json::{Value, json};
use svc_mock_server::InProcess;
use svc_sdk::contract::{Method, Operation, Surface, exhaustive};
use svc_sdk::types::{
    AvatarFaceSwap, AvatarGenerate, AvatarInput, AvatarPreviewCreate, AvatarTalkingVideo,
    Image1Generate, ImageGenerate, JobId, Music1Generate, MusicPick, SearchQuery, TopUpCreate,
    TopUpId, Usd, Video1Generate, VideoCaptionsCreate, VideoGenerate,
};
use svc_sdk::{ApiKey, Call, Developer, JobHandle, Result, developer, open};

use self::runs::Runs;

fn avatar(handle: &str) -> AvatarGenerate {
    AvatarGenerate::new(handle).input(AvatarInput::prompt("a presenter"))
}

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
async fn made(submit: Call<JobHandle<Developer>>, resource: &str) -> String {
    let job = submit.await.unwrap();
    job.wait().await.unwrap();
    let resource: Value = job.receipt().unwrap().extra.get_as(resource).unwrap();
    resource["id"].as_str().unwrap().to_owned()
}

impl World {
    async fn new() -> Self {
        let mock = InProcess::default();
        let open = open::Client::builder()
            .base_url(mock.base_url())
            .api_key(ApiKey::new("svc_open_demo").unwrap())
            .transport(Arc::new(mock.clone()))
            .build()
            .unwrap();
        let developer = developer::Client::builder()
            .base_url(mock.developer_base_url())
            .api_key(ApiKey::new("svc_dev_demo").unwrap())
            .transport(Arc::new(mock.clone()))
            .build()
            .unwrap();
        let job =
            open.images().generate(ImageGenerate::new("image-i").prompt("a fox")).await.unwrap();
        job.wait().await.unwrap();
        let top_up =
            open.top_ups().create(TopUpCreate::new(Usd::from_micros(20_000_000))).await.unwrap();
        let speech = AvatarTalkingVideo::new("ada").script("Hello.");
        let preview = AvatarPreviewCreate::new("ada").script("Hello.");
        let captions = VideoCaptionsCreate::new("https://media.example/a.mp4");
        Self {
            job: job.id().clone(),
            top_up: top_up.id().clone(),
            avatar_video: made(developer.avatars().talking_video(&speech), "avatar_video").await,
            preview: made(developer.previews().create(&preview), "preview").await,
            captions: made(developer.captions().create(&captions), "caption").await,
            runs: Runs::new(&developer).await,
            mock,
            open,
            developer,
        }
    }

    /// Calls the typed method of an operation; none where this build has none yet, which is said
    /// family by family.
    async fn call(&self, operation: Operation) -> Option<Result<()>> {
        use exhaustive::Operation as Op;

        let Self { open, developer, job, top_up, .. } = self;
        let video = VideoGenerate::new("video-f").prompt("a fox");
        let speech = AvatarTalkingVideo::new("ada").script("Hello.");
        let aliases = developer.model_aliases("studio");
        Some(match operation.exhaustive() {
            Op::ImageGenerate => open
                .images()
                .generate(ImageGenerate::new("image-i").prompt("a fox"))
                .await
                .map(drop),
            Op::ImageModelsList => open.models().list_images().await.map(drop),
            Op::ImageModelsGet => open.models().get_image("image-i").await.map(drop),
            Op::VideoGenerate => open.videos().generate(&video).await.map(drop),
            Op::VideoModelsList => open.models().list_videos().await.map(drop),
            Op::VideoModelsGet => open.models().get_video("video-f").await.map(drop),
            Op::JobsList => open.jobs().list().await.map(drop),
            Op::JobsGet => open.jobs().handle(job).get().await.map(drop),
            Op::JobsStatus => open.jobs().handle(job).status().await.map(drop),
            Op::JobsResult => open.jobs().handle(job).result().await.map(drop),
            Op::JobsCancel => match open.videos().generate(&video).await {
                Ok(job) => job.cancel().await.map(drop),
                Err(error) => Err(error),
            },
            Op::OpenCatalogList => open.pricing().list().await.map(drop),
            Op::OpenCatalogGet => open.pricing().get("video-f").await.map(drop),
            Op::OpenEstimate => open.estimates().create(&video).await.map(drop),
            Op::TopUpsCreate => {
                open.top_ups().create(TopUpCreate::new(Usd::from_micros(5_000_000))).await.map(drop)
            }
            Op::TopUpsGet => open.top_ups().handle(top_up).get().await.map(drop),

            Op::Health => developer.catalog().health().await.map(drop),
            Op::Catalog => developer.catalog().get().await.map(drop),
            Op::Openapi => developer.schema().openapi().await.map(drop),
            Op::Reference => developer.schema().reference().await.map(drop),
            Op::Me => developer.account().me().await.map(drop),
            Op::Balance => developer.account().balance().await.map(drop),
            Op::Usage => developer.account().usage().await.map(drop),
            Op::BgmCatalog => developer.background_music().list().await.map(drop),
            Op::BgmCategories => developer.background_music().categories().await.map(drop),
            Op::BgmPick => developer.background_music().pick(MusicPick::new()).await.map(drop),
            Op::JobsEvents => developer.jobs().handle(job).events().await.map(drop),
            Op::TrendingVideosSearch => {
                developer.trending().search(SearchQuery::new("dance")).await.map(drop)
            }
            Op::AvatarGenerate => {
                let body =
                    AvatarGenerate::new("mia").input(AvatarInput::prompt("a calm presenter"));
                developer.avatars().generate(&body).await.map(drop)
            }
            Op::AvatarTalkingVideo => {
                let body = AvatarTalkingVideo::new("ada").script("Hello.");
                developer.avatars().talking_video(&body).await.map(drop)
            }
            Op::Image1Generate => {
                developer.images().generate(Image1Generate::new("a fox")).await.map(drop)
            }
            Op::Video1Generate => {
                developer.videos().generate(Video1Generate::new("a fox")).await.map(drop)
            }
            Op::Music1Generate => {
                developer.music().generate(Music1Generate::new("a waltz")).await.map(drop)
            }
            Op::AvatarCanonicalList => developer.avatars().list().await.map(drop),
            Op::AvatarCanonicalGet => developer.avatars().get("ava_ada").await.map(drop),
            Op::AvatarsList => developer.avatars().list_any().await.map(drop),
            Op::AvatarsGet => developer.avatars().get_any("ava_lin").await.map(drop),
            Op::AvatarCatalogSearch => {
                developer.avatars().search(SearchQuery::new("ada")).await.map(drop)
            }
            Op::AvatarVideosList => developer.avatar_videos().list().await.map(drop),
            Op::AvatarVideosGet => {
                developer.avatar_videos().get(&self.avatar_video).await.map(drop)
            }
            Op::AvatarPreviewsCreate => {
                let body = AvatarPreviewCreate::new("ada").script("Hello.");
                developer.previews().create(&body).await.map(drop)
            }
            Op::AvatarPreviewsGet => developer.previews().get(&self.preview).await.map(drop),
            Op::AvatarPreviewsRegenerate => {
                match developer.previews().regenerate(&self.preview).await {
                    // Only a preview that is there again has a video to be made of it.
                    Ok(job) => job.wait().await.map(drop),
                    Err(error) => Err(error),
                }
            }
            Op::AvatarPreviewsGenerateVideo => {
                developer.previews().generate_video(&self.preview).await.map(drop)
            }
            Op::VideoCaptionsCreate => {
                let body = VideoCaptionsCreate::new("https://media.example/a.mp4");
                developer.captions().create(&body).await.map(drop)
            }
            Op::VideoCaptionsGet => developer.captions().get(&self.captions).await.map(drop),
            Op::AliasAvatarV10 => aliases.avatar_v1_0(avatar("noa")).await.map(drop),
            Op::AliasAvatar10Generate => aliases.avatar_1_0_generate(avatar("tom")).await.map(drop),
            Op::AliasAvatar10TalkingVideo => {
                aliases.avatar_1_0_talking_video(speech).await.map(drop)
            }
            Op::AliasAvatarVideoV10 => aliases.avatar_video_v1_0(speech).await.map(drop),
            Op::AliasAvatarFaceSwapV10 => {
                let body = AvatarFaceSwap::new("ada").video_url("https://media.example/a.mp4");
                aliases.avatar_face_swap_v1_0(body).await.map(drop)
            }
            Op::AliasImage10 => aliases.image_1_0(Image1Generate::new("a fox")).await.map(drop),
            Op::AliasVideo10 => aliases.video_1_0(Video1Generate::new("a fox")).await.map(drop),
            Op::AliasMusic10 => aliases.music_1_0(Music1Generate::new("a fox")).await.map(drop),

            // Hidden from the public schema: reachable raw, without a typed promise.
            Op::HiddenHealth => {
                developer.raw_request(Method::Get, operation.path()).await.map(drop)
            }
            Op::HiddenAdmissionPreview => {
                let body = json!({"model": "video-1.0", "input": {"prompt": "a fox"}});
                developer.raw_request(Method::Post, operation.path()).body(&body).await.map(drop)
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
            .api_key(ApiKey::new("svc_dev_demo").unwrap())
            .transport(Arc::new(self.mock.clone()))
            .connect()
            .await
            .unwrap();
        assert_eq!(client.protocol_version().as_deref(), Some("2026-07-28"));
        let tools = client.tools().await.unwrap();
        assert!(tools.iter().any(|tool| tool.name == "jobs_status" && tool.read_only));
        let status = client.call("jobs_status", json!({"job_id": self.job.as_str()}));
        let status = status.await.unwrap().structured.unwrap();
        assert_eq!(status["terminal"], true);
        let unknown = client.call("jobs_status", json!({"job_id": "job_none"})).await;
        let unknown = unknown.unwrap_err();
        assert_eq!(unknown.code().map(svc_sdk::contract::ErrorCode::as_str), Some("job_not_found"));
    }

    fn operations(&self) -> Vec<String> {
        let requests = self.mock.requests(0);
        let names = requests.iter().filter_map(|request| request["operation"].as_str());
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
            world.operations().iter().any(|name| name == operation.name()),
            "{operation} was not asked"
        );
        called += 1;
    }
    assert_eq!(called, 92);
}
