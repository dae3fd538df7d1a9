//! What the commands do, one file a noun.

pub(crate) mod account;
pub(crate) mod action;
pub(crate) mod agent;
pub(crate) mod api;
pub(crate) mod auth;
pub(crate) mod avatar;
pub(crate) mod avatar_video;
pub(crate) mod bgm;
pub(crate) mod caption;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod estimate;
pub(crate) mod format;
pub(crate) mod history;
pub(crate) mod image;
pub(crate) mod job;
pub(crate) mod man;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod mock;
pub(crate) mod model;
pub(crate) mod music;
pub(crate) mod operations;
pub(crate) mod preview;
pub(crate) mod pricing;
pub(crate) mod queue;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod top_up;
pub(crate) mod trending;
pub(crate) mod usage;
pub(crate) mod video;
pub(crate) mod webhook;

use crate::args::Command;
use crate::failure::Failure;
use crate::session::Session;

/// Runs a command. The future of each is boxed: one run needs one of them.
pub(crate) async fn run(session: &Session, command: Command) -> Result<(), Failure> {
    match command {
        Command::Image(image) => Box::pin(image::run(session, image)).await,
        Command::Video(video) => Box::pin(video::run(session, video)).await,
        Command::Music(music) => Box::pin(music::run(session, music)).await,
        Command::Avatar(avatar) => Box::pin(avatar::run(session, avatar)).await,
        Command::AvatarVideo(video) => Box::pin(avatar_video::run(session, video)).await,
        Command::Preview(preview) => Box::pin(preview::run(session, preview)).await,
        Command::Caption(caption) => Box::pin(caption::run(session, caption)).await,
        Command::Action(action) => Box::pin(action::run(session, action)).await,
        Command::Format(format) => Box::pin(format::run(session, format)).await,
        Command::Agent(agent) => Box::pin(agent::run(session, agent)).await,
        Command::Run(run) => Box::pin(run::run(session, run)).await,
        Command::Queue(queue) => Box::pin(queue::run(session, queue)).await,
        Command::Me => Box::pin(account::me(session)).await,
        Command::Balance => Box::pin(account::balance(session)).await,
        Command::Usage(usage) => Box::pin(usage::run(session, &usage)).await,
        Command::Catalog => Box::pin(account::catalog(session)).await,
        Command::Bgm(bgm) => Box::pin(bgm::run(session, bgm)).await,
        Command::Trending(trending) => Box::pin(trending::run(session, trending)).await,
        Command::Health => Box::pin(account::health(session)).await,
        Command::Job(job) => Box::pin(job::run(session, job)).await,
        Command::Model(model) => Box::pin(model::run(session, model)).await,
        Command::Pricing(pricing) => Box::pin(pricing::run(session, pricing)).await,
        Command::Estimate(estimate) => Box::pin(estimate::run(session, *estimate)).await,
        Command::TopUp(top_up) => Box::pin(top_up::run(session, top_up)).await,
        Command::Webhook(webhook) => Box::pin(webhook::run(session, webhook)).await,
        Command::Schema(schema) => Box::pin(schema::run(session, schema)).await,
        #[cfg(feature = "mcp")]
        Command::Mcp(mcp) => Box::pin(mcp::run(session, mcp)).await,
        Command::Api(api) => Box::pin(api::run(session, api)).await,
        Command::Auth(auth) => Box::pin(auth::run(session, auth)).await,
        Command::Mock(mock) => Box::pin(mock::run(session, mock)).await,
        Command::History(history) => history::run(session, &history),
        Command::Operations(operations) => operations::run(session, &operations),
        Command::Config(config) => config::run(session, &config),
        Command::Completions(completions) => completions::run(session, &completions),
        Command::Man(man) => man::run(session, &man),
    }
}
