//! `svc operations`: the operations of the API, and the commands that call them.

use clap::Args;
use serde::Serialize;
use svc_sdk::contract::{Operation, exhaustive};

use crate::args::PageArgs;
use crate::error::Result;
use crate::listing;
use crate::output::Table;
use crate::output::layout::{cut, required, whole};
use crate::session::Session;

#[derive(Args, Debug)]
pub(crate) struct Operations {
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Serialize)]
struct OperationRow {
    name: &'static str,
    method: &'static str,
    path: &'static str,
    surface: &'static str,
    auth: &'static str,
    scope: Option<String>,
    budget: &'static str,
    retry: &'static str,
    cli: &'static str,
    summary: &'static str,
}

pub(crate) fn run(session: &Session, args: &Operations) -> Result {
    let rows: Vec<OperationRow> = Operation::ALL.iter().map(|operation| row(*operation)).collect();
    // The table is fixed, so all of it is one page.
    let max_items = args.page.max_items_or(None);
    let (rows, rest) = listing::select(rows, &args.page, max_items, |row| row.name)?;
    session.printer.print_list(&rows, |rows| {
        let [cli, method, path] = ["cli", "method", "path"].map(whole);
        Table::rows(rows, [required("name"), cli, method, path, cut("surface"), cut("retry")])
    })?;
    rest.report(&session.printer, rows.len(), "operations");
    Ok(())
}

fn row(operation: Operation) -> OperationRow {
    OperationRow {
        name: operation.name(),
        method: operation.method().as_str(),
        path: operation.path(),
        surface: operation.surface().as_str(),
        auth: operation.auth().as_str(),
        scope: operation.scope().map(|scope| scope.to_string()),
        budget: operation.rate_limit_bucket().as_str(),
        retry: operation.retry().as_str(),
        cli: command_of(operation),
        summary: operation.summary(),
    }
}

/// The `match` is exhaustive, so that an operation cannot be added without a command.
pub(crate) const fn command_of(operation: Operation) -> &'static str {
    use exhaustive::Operation as Op;

    match operation.exhaustive() {
        Op::ImageGenerate => "svc image generate",
        Op::ImageModelsList => "svc model list --type image",
        Op::ImageModelsGet => "svc model get MODEL_ID",
        Op::VideoGenerate => "svc video generate",
        Op::VideoModelsList => "svc model list --type video",
        Op::VideoModelsGet => "svc model get MODEL_ID",
        Op::JobsList => "svc job list",
        Op::JobsGet => "svc job get JOB_ID",
        Op::JobsStatus => "svc job status JOB_ID",
        Op::JobsResult => "svc job result JOB_ID",
        Op::JobsCancel => "svc job cancel JOB_ID",
        Op::OpenCatalogList => "svc pricing list",
        Op::OpenCatalogGet => "svc pricing get MODEL_ID",
        Op::OpenEstimate => "svc estimate",
        Op::TopUpsCreate => "svc top-up create",
        Op::TopUpsGet => "svc top-up get TOP_UP_ID",
        Op::Health => "svc health",
        Op::Catalog => "svc catalog",
        Op::Me => "svc me",
        Op::Balance => "svc balance",
        Op::Usage => "svc usage",
        Op::Openapi => "svc schema fetch",
        Op::Reference => "svc schema fetch --reference",
        Op::BgmCatalog => "svc bgm list",
        Op::BgmCategories => "svc bgm categories",
        Op::BgmPick => "svc bgm pick",
        Op::JobsEvents => "svc job events JOB_ID",
        Op::JobsWebhookRedeliver => "svc job redeliver JOB_ID",
        Op::AvatarGenerate => "svc avatar generate",
        Op::AvatarTalkingVideo => "svc avatar talking-video",
        Op::AvatarCanonicalList => "svc avatar list",
        Op::AvatarCanonicalGet => "svc avatar get AVATAR_ID",
        Op::Image1Generate => "svc image generate --surface developer",
        Op::Video1Generate => "svc video generate --surface developer",
        Op::Music1Generate => "svc music generate",
        Op::AliasAvatarV10 => "svc model run avatar/v1.0",
        Op::AliasAvatar10Generate => "svc model run avatar-1.0/generate",
        Op::AliasAvatar10TalkingVideo => "svc model run avatar-1.0/talking-video",
        Op::AliasAvatarVideoV10 => "svc model run avatar-video/v1.0",
        Op::AliasAvatarFaceSwapV10 => "svc model run avatar-face-swap/v1.0",
        Op::AliasImage10 => "svc model run image-1.0",
        Op::AliasVideo10 => "svc model run video-1.0",
        Op::AliasMusic10 => "svc model run music-1.0",
        Op::AvatarsList => "svc avatar list --any",
        Op::AvatarsGet => "svc avatar get AVATAR_ID --any",
        Op::AvatarVideosList => "svc avatar-video list",
        Op::AvatarVideosGet => "svc avatar-video get ID",
        Op::AvatarCatalogSearch => "svc avatar search",
        Op::AvatarPreviewsCreate => "svc preview create",
        Op::AvatarPreviewsGet => "svc preview get ID",
        Op::AvatarPreviewsRegenerate => "svc preview regenerate ID",
        Op::AvatarPreviewsGenerateVideo => "svc preview generate-video ID",
        Op::VideoCaptionsCreate => "svc caption create",
        Op::VideoCaptionsGet => "svc caption get ID",
        Op::TrendingVideosSearch => "svc trending search",
        Op::ActionsList => "svc action list",
        Op::ActionsGet => "svc action get ACTION_ID",
        Op::ActionsRunsList => "svc action runs ACTION_ID",
        Op::ActionsRunsCreate => "svc action run ACTION_ID",
        Op::ActionsRunsGet => "svc action run-get ACTION_ID RUN_ID",
        Op::ActionRunsGet => "svc run get RUN_ID --kind action",
        Op::ActionRunsStatus => "svc run status RUN_ID --kind action",
        Op::ActionRunsResult => "svc run result RUN_ID --kind action",
        Op::ActionRunsCancel => "svc run cancel RUN_ID --kind action",
        Op::FormatsList => "svc format list",
        Op::FormatsGet => "svc format get FORMAT_ID",
        Op::FormatsRunsList => "svc format runs FORMAT_ID",
        Op::FormatsRunsCreate => "svc format run FORMAT_ID",
        Op::FormatsBulkCreate => "svc format bulk FORMAT_ID",
        Op::FormatsBySlugGet => "svc format get HANDLE/SLUG",
        Op::FormatsBySlugRunsList => "svc format runs HANDLE/SLUG",
        Op::FormatsBySlugRunsCreate => "svc format run HANDLE/SLUG",
        Op::FormatsBySlugBulkCreate => "svc format bulk HANDLE/SLUG",
        Op::FormatQueuesGet => "svc queue get QUEUE_ID",
        Op::FormatRunsGet => "svc run get RUN_ID --kind format",
        Op::FormatRunsStatus => "svc run status RUN_ID --kind format",
        Op::FormatRunsResult => "svc run result RUN_ID --kind format",
        Op::FormatRunsEvents => "svc run events RUN_ID",
        Op::FormatRunsCancel => "svc run cancel RUN_ID --kind format",
        Op::FormatRunsWebhookRedeliver => "svc run redeliver RUN_ID",
        Op::AgentCompletionsCreate => "svc agent run",
        Op::AgentRunsList => "svc agent runs",
        Op::AgentRunsGet => "svc run get RUN_ID --kind agent",
        Op::AgentRunsStatus => "svc run status RUN_ID --kind agent",
        Op::AgentRunsResult => "svc run result RUN_ID --kind agent",
        Op::AgentRunsCancel => "svc run cancel RUN_ID --kind agent",
        Op::SigningSecretGet => "svc webhook secret show",
        Op::SigningSecretRotate => "svc webhook secret rotate",
        Op::TestDeliveriesCreate => "svc webhook test URL",
        Op::Mcp => "svc mcp tools | svc mcp call TOOL",
        Op::HiddenHealth => "svc api get /health",
        Op::HiddenAdmissionPreview => "svc api post /v1/generation/admission-preview",
    }
}
