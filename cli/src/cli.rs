//! The command line: every command, and the function that runs it.

use clap::{CommandFactory, Parser, Subcommand};

use crate::args::Global;
use crate::commands;
use crate::error::Failure;
use crate::help;
use crate::session::Session;

/// Make images and videos, run agents, pay for each once, and never lose one.
#[derive(Debug, Parser)]
#[command(
    name = "svc",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One noun each.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Images.
    #[command(subcommand)]
    Image(commands::image::Image),
    /// Videos.
    #[command(subcommand)]
    Video(commands::video::Video),
    /// Music.
    #[command(subcommand)]
    Music(commands::music::Music),
    /// Avatars, and what they say.
    #[command(subcommand)]
    Avatar(commands::avatar::Avatar),
    /// Videos that avatars speak in.
    #[command(subcommand)]
    AvatarVideo(commands::avatar_video::AvatarVideo),
    /// Previews of avatar videos.
    #[command(subcommand)]
    Preview(commands::preview::Preview),
    /// Captions of videos.
    #[command(subcommand)]
    Caption(commands::caption::Caption),
    /// Actions: scheduled agent work, and runs of it.
    #[command(subcommand)]
    Action(commands::action::Action),
    /// Formats: reusable agent recipes, run singly or in bulk.
    #[command(subcommand)]
    Format(commands::format::Format),
    /// The agent on an instruction of one's own, with nothing saved.
    #[command(subcommand)]
    Agent(commands::agent::Agent),
    /// Runs of Actions, Formats and Agent Completions: how they stand, what they made.
    #[command(subcommand)]
    Run(commands::run::Run),
    /// Bulk queues of Format runs.
    #[command(subcommand)]
    Queue(commands::queue::Queue),
    /// Jobs: what was submitted, how it stands, what it made.
    #[command(subcommand)]
    Job(commands::job::Job),
    /// Models, and what they take.
    #[command(subcommand)]
    Model(commands::model::Model),
    /// Dollar prices.
    #[command(subcommand)]
    Pricing(commands::pricing::Pricing),
    /// What a submit would cost. It equals the charge.
    Estimate(Box<commands::estimate::Estimate>),
    /// The balance's top-ups.
    #[command(subcommand)]
    TopUp(commands::top_up::TopUp),
    /// Who the key is, and what it may do.
    Me,
    /// What is left to spend.
    Balance,
    /// What was spent, by day and kind.
    Usage(commands::usage::Usage),
    /// What the developer surface offers. Needs no key.
    Catalog,
    /// Background music. Needs no key.
    #[command(subcommand)]
    Bgm(commands::bgm::Bgm),
    /// Trending videos.
    #[command(subcommand)]
    Trending(commands::trending::Trending),
    /// Whether the developer surface is up. Needs no key.
    Health,
    /// Webhooks: receive them, verify them, make them.
    #[command(subcommand)]
    Webhook(commands::webhook::Webhook),
    /// The service's tools over MCP.
    #[cfg(feature = "mcp")]
    #[command(subcommand)]
    Mcp(commands::mcp::Mcp),
    /// What this machine submitted, newest first.
    History(commands::history::History),
    /// The service's own schema, and what it has that this build does not know. Needs no key.
    #[command(subcommand)]
    Schema(commands::schema::Schema),
    /// Any request, raw.
    Api(commands::api::Api),
    /// Every operation of the service, and the command that reaches it.
    Operations(commands::operations::Operations),
    /// Keys: store one, look, remove it.
    #[command(subcommand)]
    Auth(commands::auth::Auth),
    /// The configuration, and where each value comes from.
    #[command(subcommand)]
    Config(commands::config::Config),
    /// The service in miniature, on this machine.
    #[command(subcommand)]
    Mock(commands::mock::Mock),
    /// A completion script for a shell.
    Completions(commands::completions::Completions),
    /// Manual pages, written into a folder.
    Man(commands::man::Man),
}

/// The whole command line, with the operations that each command reaches in its long help.
pub(crate) fn command_line() -> clap::Command {
    help::annotate(Cli::command(), "svc")
}

/// Runs a command. The future of each is boxed: one run needs one of them.
pub(crate) async fn run(session: &Session, command: Command) -> Result<(), Failure> {
    match command {
        Command::Image(image) => Box::pin(commands::image::run(session, image)).await,
        Command::Video(video) => Box::pin(commands::video::run(session, video)).await,
        Command::Music(music) => Box::pin(commands::music::run(session, music)).await,
        Command::Avatar(avatar) => Box::pin(commands::avatar::run(session, avatar)).await,
        Command::AvatarVideo(video) => Box::pin(commands::avatar_video::run(session, video)).await,
        Command::Preview(preview) => Box::pin(commands::preview::run(session, preview)).await,
        Command::Caption(caption) => Box::pin(commands::caption::run(session, caption)).await,
        Command::Action(action) => Box::pin(commands::action::run(session, action)).await,
        Command::Format(format) => Box::pin(commands::format::run(session, format)).await,
        Command::Agent(agent) => Box::pin(commands::agent::run(session, agent)).await,
        Command::Run(run) => Box::pin(commands::run::run(session, run)).await,
        Command::Queue(queue) => Box::pin(commands::queue::run(session, queue)).await,
        Command::Me => Box::pin(commands::account::me(session)).await,
        Command::Balance => Box::pin(commands::account::balance(session)).await,
        Command::Usage(usage) => Box::pin(commands::usage::run(session, &usage)).await,
        Command::Catalog => Box::pin(commands::account::catalog(session)).await,
        Command::Bgm(bgm) => Box::pin(commands::bgm::run(session, bgm)).await,
        Command::Trending(trending) => Box::pin(commands::trending::run(session, trending)).await,
        Command::Health => Box::pin(commands::account::health(session)).await,
        Command::Job(job) => Box::pin(commands::job::run(session, job)).await,
        Command::Model(model) => Box::pin(commands::model::run(session, model)).await,
        Command::Pricing(pricing) => Box::pin(commands::pricing::run(session, pricing)).await,
        Command::Estimate(estimate) => Box::pin(commands::estimate::run(session, *estimate)).await,
        Command::TopUp(top_up) => Box::pin(commands::top_up::run(session, top_up)).await,
        Command::Webhook(webhook) => Box::pin(commands::webhook::run(session, webhook)).await,
        Command::Schema(schema) => Box::pin(commands::schema::run(session, schema)).await,
        #[cfg(feature = "mcp")]
        Command::Mcp(mcp) => Box::pin(commands::mcp::run(session, mcp)).await,
        Command::Api(api) => Box::pin(commands::api::run(session, api)).await,
        Command::Auth(auth) => Box::pin(commands::auth::run(session, auth)).await,
        Command::Mock(mock) => Box::pin(commands::mock::run(session, mock)).await,
        Command::History(history) => commands::history::run(session, &history),
        Command::Operations(operations) => commands::operations::run(session, &operations),
        Command::Config(config) => commands::config::run(session, &config),
        Command::Completions(completions) => {
            commands::completions::run(session, &completions, command_line())
        }
        Command::Man(man) => commands::man::run(session, &man, command_line()),
    }
}

#[cfg(test)]
mod tests {
    use crate::operation_commands::command_of;
    use svc_sdk::contract::Operation;

    use super::*;

    #[test]
    fn the_arguments_contradict_nothing() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_operation_has_its_command() {
        let missing: Vec<_> = Operation::ALL
            .iter()
            .map(|op| command_of(*op))
            .filter(|cli| cfg!(feature = "mcp") || !cli.starts_with("svc mcp "))
            .filter(|cli| !exists(&command_line(), cli))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    fn exists(root: &clap::Command, cli: &str) -> bool {
        let mut command = root;
        for word in cli.split(' ').skip(1) {
            match command.find_subcommand(word) {
                Some(sub) => command = sub,
                None => return !command.has_subcommands(),
            }
        }
        !command.has_subcommands()
    }
}
