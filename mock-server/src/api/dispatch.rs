//! The handler of each operation.

use svc_sdk::contract::{ErrorCode, exhaustive};

use super::api_error::ApiError;
use super::request::Request;
use super::response::ApiResult;
use super::{
    account, actions, agent, avatar_videos, avatars, background_music, captions, estimate, formats,
    jobs, models, queues, resources, runs, schema, search, submit, top_ups, versioned_models,
    webhooks,
};
use crate::engine::models::Router;
use crate::engine::resources::ResourceKind;
use crate::engine::runs::RunKind;

pub(super) fn dispatch(request: &mut Request<'_>) -> ApiResult {
    use exhaustive::Operation as Op;
    match request.operation.exhaustive() {
        Op::ImageGenerate => submit::submit(request, Router::Image),
        Op::ImageModelsList => models::list(Router::Image),
        Op::ImageModelsGet => models::get(Router::Image, request.id()),
        Op::VideoGenerate => submit::submit(request, Router::Video),
        Op::VideoModelsList => models::list(Router::Video),
        Op::VideoModelsGet => models::get(Router::Video, request.id()),
        Op::JobsList => jobs::list(request),
        Op::JobsGet => jobs::get(request),
        Op::JobsStatus => jobs::status(request),
        Op::JobsResult => jobs::result(request),
        Op::JobsCancel => jobs::cancel(request),
        Op::OpenCatalogList => models::list_catalog(request),
        Op::OpenCatalogGet => models::get_catalog(request),
        Op::OpenEstimate => estimate::estimate(request),
        Op::TopUpsCreate => top_ups::create(request),
        Op::TopUpsGet => top_ups::get(request),
        Op::Health | Op::HiddenHealth => models::health(request),
        Op::Catalog => models::developer_catalog(request),
        Op::Me => account::me(request),
        Op::Balance => account::balance(request),
        Op::Usage => account::usage(request),
        Op::Openapi | Op::Reference => schema::get(request),
        Op::BgmCatalog => background_music::list(request),
        Op::BgmCategories => background_music::categories(request),
        Op::BgmPick => background_music::pick(request),
        Op::JobsEvents => jobs::events(request),
        Op::JobsWebhookRedeliver => webhooks::redeliver_job(request),
        Op::AvatarGenerate => avatars::generate(request),
        Op::AvatarTalkingVideo => avatar_videos::talking_video(request),
        Op::AvatarCanonicalList => avatars::list(request, |avatar| avatar.canonical),
        Op::AvatarCanonicalGet => avatars::get(request, |avatar| avatar.canonical),
        Op::AvatarsList => avatars::list(request, |_| true),
        Op::AvatarsGet => avatars::get(request, |_| true),
        Op::AvatarVideosList => resources::list(request, ResourceKind::AvatarVideo),
        Op::AvatarVideosGet => resources::get(request, ResourceKind::AvatarVideo),
        Op::AvatarCatalogSearch => avatars::search_catalog(request),
        Op::AvatarPreviewsCreate => avatar_videos::create_preview(request),
        Op::AvatarPreviewsGet => resources::get(request, ResourceKind::Preview),
        Op::AvatarPreviewsRegenerate => avatar_videos::regenerate_preview(request),
        Op::AvatarPreviewsGenerateVideo => avatar_videos::generate_from_preview(request),
        Op::Image1Generate => versioned_models::image(request),
        Op::Video1Generate => versioned_models::video(request),
        Op::Music1Generate => versioned_models::music(request),
        Op::HiddenAdmissionPreview => estimate::admission_preview(request),
        Op::AliasAvatarV10 | Op::AliasAvatar10Generate => {
            versioned_models::run_canonical(request, avatars::generate)
        }
        Op::AliasAvatar10TalkingVideo | Op::AliasAvatarVideoV10 => {
            versioned_models::run_canonical(request, avatar_videos::talking_video)
        }
        Op::AliasAvatarFaceSwapV10 => {
            versioned_models::run_canonical(request, avatar_videos::face_swap)
        }
        Op::AliasImage10 => versioned_models::run_canonical(request, versioned_models::image),
        Op::AliasVideo10 => versioned_models::run_canonical(request, versioned_models::video),
        Op::AliasMusic10 => versioned_models::run_canonical(request, versioned_models::music),
        Op::VideoCaptionsCreate => captions::create(request),
        Op::VideoCaptionsGet => resources::get(request, ResourceKind::Captions),
        Op::TrendingVideosSearch => search::trending_videos(request),
        Op::ActionsList => actions::list(request),
        Op::ActionsGet => actions::get(request),
        Op::ActionsRunsList => actions::list_runs(request),
        Op::ActionsRunsCreate => actions::run(request),
        Op::ActionsRunsGet => actions::get_run(request),
        Op::ActionRunsGet => runs::get(request, RunKind::Action),
        Op::ActionRunsStatus => runs::status(request, RunKind::Action),
        Op::ActionRunsResult => runs::result(request, RunKind::Action),
        Op::ActionRunsCancel => runs::cancel(request, RunKind::Action),
        Op::FormatsList => formats::list(request),
        Op::FormatsGet | Op::FormatsBySlugGet => formats::get(request),
        Op::FormatsRunsList | Op::FormatsBySlugRunsList => formats::list_runs(request),
        Op::FormatsRunsCreate | Op::FormatsBySlugRunsCreate => formats::run(request),
        Op::FormatsBulkCreate | Op::FormatsBySlugBulkCreate => queues::create(request),
        Op::FormatQueuesGet => queues::get(request),
        Op::FormatRunsGet => runs::get(request, RunKind::Format),
        Op::FormatRunsStatus => runs::status(request, RunKind::Format),
        Op::FormatRunsResult => runs::result(request, RunKind::Format),
        Op::FormatRunsEvents => runs::events(request),
        Op::FormatRunsCancel => runs::cancel(request, RunKind::Format),
        Op::FormatRunsWebhookRedeliver => runs::redeliver(request),
        Op::AgentCompletionsCreate => agent::create(request),
        Op::AgentRunsList => agent::list(request),
        Op::AgentRunsGet => runs::get(request, RunKind::Agent),
        Op::AgentRunsStatus => runs::status(request, RunKind::Agent),
        Op::AgentRunsResult => runs::result(request, RunKind::Agent),
        Op::AgentRunsCancel => runs::cancel(request, RunKind::Agent),
        Op::SigningSecretGet => webhooks::get_secret(request),
        Op::SigningSecretRotate => webhooks::rotate_secret(request),
        Op::TestDeliveriesCreate => webhooks::test(request),
        // Requests to the MCP endpoint are JSON-RPC and are handled before the dispatch.
        Op::Mcp => Err(ApiError::new(ErrorCode::NotFound, "MCP is served at its own endpoint")),
    }
}
