//! The table of operations, walked: each has a typed method of the SDK that the mock answers.
//!
//! The `match` is exhaustive: an operation that is new in the table does not compile until it is
//! dealt with here.

use std::sync::Arc;

use svc_mock_server::InProcess;
use svc_sdk::contract::{Operation, Surface};
use svc_sdk::types::{ImageGenerate, JobId, TopUpCreate, TopUpId, VideoGenerate};
use svc_sdk::{Result, Secret, developer, open};

struct World {
    mock: InProcess,
    open: open::Client,
    developer: developer::Client,
    job: JobId,
    top_up: TopUpId,
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
        Self {
            job: job.id().clone(),
            top_up: top_up.id,
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
            open, job, top_up, ..
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

            // Account, catalog, generation, avatars and the rest of the developer surface.
            Op::Health
            | Op::Catalog
            | Op::Me
            | Op::Balance
            | Op::Usage
            | Op::BgmCatalog
            | Op::BgmCategories
            | Op::BgmPick
            | Op::JobsEvents
            | Op::AvatarGenerate
            | Op::AvatarTalkingVideo
            | Op::AvatarCanonicalList
            | Op::AvatarCanonicalGet
            | Op::Image1Generate
            | Op::Video1Generate
            | Op::Music1Generate
            | Op::AliasAvatarV10
            | Op::AliasAvatar10Generate
            | Op::AliasAvatar10TalkingVideo
            | Op::AliasAvatarVideoV10
            | Op::AliasAvatarFaceSwapV10
            | Op::AliasImage10
            | Op::AliasVideo10
            | Op::AliasMusic10
            | Op::AvatarsList
            | Op::AvatarsGet
            | Op::AvatarVideosList
            | Op::AvatarVideosGet
            | Op::AvatarCatalogSearch
            | Op::AvatarPreviewsCreate
            | Op::AvatarPreviewsGet
            | Op::AvatarPreviewsRegenerate
            | Op::AvatarPreviewsGenerateVideo
            | Op::VideoCaptionsCreate
            | Op::VideoCaptionsGet
            | Op::TrendingVideosSearch
            | Op::HiddenHealth
            | Op::HiddenAdmissionPreview => return None,
            // Actions, Formats, bulk queues, Agent Completions.
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
            | Op::AgentRunsCancel => return None,
            // Webhook delivery and its administration.
            Op::JobsWebhookRedeliver
            | Op::FormatRunsWebhookRedeliver
            | Op::SigningSecretGet
            | Op::SigningSecretRotate
            | Op::TestDeliveriesCreate => return None,
            // The live schema and MCP.
            Op::Openapi | Op::Reference | Op::Mcp => return None,
        })
    }

    fn last_operation(&self) -> Option<String> {
        let requests = self.mock.requests(0);
        Some(requests.last()?.get("operation")?.as_str()?.to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn every_operation_of_the_open_surface_has_a_method_that_the_mock_answers() {
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
        assert_eq!(world.last_operation().as_deref(), Some(operation.name()));
        called += 1;
    }
    assert_eq!(called, 16);
}

#[tokio::test(start_paused = true)]
async fn both_surfaces_show_the_workspaces_jobs() {
    let world = World::new().await;
    let seen = world.developer.job(world.job.clone()).get().await.unwrap();
    assert_eq!(seen.id, world.job);
    let listed = world.developer.jobs_list().send().await.unwrap();
    assert!(listed.items.iter().any(|job| job.id == world.job));
}
