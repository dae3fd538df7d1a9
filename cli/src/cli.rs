//! The command-line parser and the dispatch of commands.

use clap::{CommandFactory, Parser, Subcommand};

use crate::args::Global;
use crate::commands;
use crate::deferred::Deferred;
use crate::error::Failure;
use crate::help;
use crate::session::Session;

/// Generate images, videos and music, and run agents
#[derive(Debug, Parser)]
#[command(name = "svc", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The top-level commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Generate images
    #[command(subcommand)]
    Image(Deferred<commands::image::Image>),
    /// Generate videos
    #[command(subcommand)]
    Video(Deferred<commands::video::Video>),
    /// Generate music
    #[command(subcommand)]
    Music(Deferred<commands::music::Music>),
    /// Generate avatars, and videos in which they speak
    #[command(subcommand)]
    Avatar(Deferred<commands::avatar::Avatar>),
    /// List and show avatar videos
    #[command(subcommand)]
    AvatarVideo(Deferred<commands::avatar_video::AvatarVideo>),
    /// Create previews of avatar videos
    #[command(subcommand)]
    Preview(Deferred<commands::preview::Preview>),
    /// Add captions to videos
    #[command(subcommand)]
    Caption(Deferred<commands::caption::Caption>),
    /// List and run Actions (scheduled agent tasks)
    #[command(subcommand)]
    Action(Deferred<commands::action::Action>),
    /// List and run Formats (reusable agent recipes), singly or in bulk
    #[command(subcommand)]
    Format(Deferred<commands::format::Format>),
    /// Run the agent with an instruction
    #[command(subcommand)]
    Agent(Deferred<commands::agent::Agent>),
    /// Show, wait for, download and cancel runs of agents
    #[command(subcommand)]
    Run(Deferred<commands::run::Run>),
    /// Show and wait for bulk queues of Format runs
    #[command(subcommand)]
    Queue(Deferred<commands::queue::Queue>),
    /// Run a file of requests, and resume it after interruptions
    #[command(subcommand)]
    Batch(Deferred<commands::batch::Batch>),
    /// List, show, watch, wait for, download and cancel jobs
    #[command(subcommand)]
    Job(Deferred<commands::job::Job>),
    /// List and show models, or run a compatibility alias
    #[command(subcommand)]
    Model(Deferred<commands::model::Model>),
    /// Show prices in US dollars
    #[command(subcommand)]
    Pricing(Deferred<commands::pricing::Pricing>),
    /// Estimate the price of an image or video
    Estimate(Box<commands::estimate::Estimate>),
    /// Add funds to the balance
    #[command(subcommand)]
    TopUp(Deferred<commands::top_up::TopUp>),
    /// Show the workspace, scopes and limits of the API key
    Me,
    /// Show the available balance
    Balance,
    /// Show spending by day and kind
    ///
    /// Totals and charts are computed from the newest 1000 ledger entries, or from as many as --limit
    /// or --all say.
    Usage(commands::usage::Usage),
    /// Show the catalog of the developer surface (no key)
    Catalog,
    /// List and pick background music (no key)
    #[command(subcommand)]
    Bgm(Deferred<commands::bgm::Bgm>),
    /// Search trending videos
    #[command(subcommand)]
    Trending(Deferred<commands::trending::Trending>),
    /// Check whether the developer surface is up (no key)
    Health,
    /// Receive, verify, sign and test webhooks
    #[command(subcommand)]
    Webhook(Deferred<commands::webhook::Webhook>),
    /// List, call and serve tools over MCP
    #[cfg(feature = "mcp")]
    #[command(subcommand)]
    Mcp(Deferred<commands::mcp::Mcp>),
    /// List requests submitted from this machine, newest first
    ///
    /// Batches are not among them: they have a journal of their own, which `svc batch status MANIFEST`
    /// shows.
    History(commands::history::History),
    /// Fetch the service's OpenAPI schema, or compare it (no key)
    #[command(subcommand)]
    Schema(Deferred<commands::schema::Schema>),
    /// Send a raw API request
    Api(commands::api::Api),
    /// List API operations and the commands that call them
    Operations(commands::operations::Operations),
    /// Set up URLs and API keys: ask for them, verify and store them
    Init(commands::init::Init),
    /// Store, show and remove API keys
    #[command(subcommand)]
    Auth(Deferred<commands::auth::Auth>),
    /// Show and change the configuration
    #[command(subcommand)]
    Config(Deferred<commands::config::Config>),
    /// Check the configuration, API keys, network and journal
    Doctor,
    /// Run a local mock of the service
    #[command(subcommand)]
    Mock(Deferred<commands::mock::Mock>),
    /// Print a shell completion script
    Completions(commands::completions::Completions),
    /// Write the manual pages to a directory
    Man(commands::man::Man),
    /// Show the help of a command or of a topic
    #[command(hide = true)]
    Help {
        /// Command, such as `video generate`, or a topic: options, surfaces, exit-codes or environment
        #[arg(value_name = "COMMAND")]
        topic: Vec<String>,
    },
}

/// Returns the parser, with groups of commands, examples and operations in the help. The subcommands
/// of most commands are added by parsing.
pub(crate) fn command_line() -> clap::Command {
    help::annotate(Cli::command())
}

/// Returns the parser with all subcommands.
pub(crate) fn full_command_line() -> clap::Command {
    let mut root = command_line();
    root.build();
    root
}

/// Runs a command.
///
/// Each future is boxed: inline, their sizes would add up in this one.
pub(crate) async fn run(session: &Session, command: Command) -> Result<(), Failure> {
    match command {
        Command::Image(Deferred(image)) => Box::pin(commands::image::run(session, image)).await,
        Command::Video(Deferred(video)) => Box::pin(commands::video::run(session, video)).await,
        Command::Music(Deferred(music)) => Box::pin(commands::music::run(session, music)).await,
        Command::Avatar(Deferred(avatar)) => Box::pin(commands::avatar::run(session, avatar)).await,
        Command::AvatarVideo(Deferred(video)) => {
            Box::pin(commands::avatar_video::run(session, video)).await
        }
        Command::Preview(Deferred(preview)) => {
            Box::pin(commands::preview::run(session, preview)).await
        }
        Command::Caption(Deferred(caption)) => {
            Box::pin(commands::caption::run(session, caption)).await
        }
        Command::Action(Deferred(action)) => Box::pin(commands::action::run(session, action)).await,
        Command::Format(Deferred(format)) => Box::pin(commands::format::run(session, format)).await,
        Command::Agent(Deferred(agent)) => Box::pin(commands::agent::run(session, agent)).await,
        Command::Run(Deferred(run)) => Box::pin(commands::run::run(session, run)).await,
        Command::Queue(Deferred(queue)) => Box::pin(commands::queue::run(session, queue)).await,
        Command::Batch(Deferred(batch)) => Box::pin(commands::batch::run(session, batch)).await,
        Command::Me => Box::pin(commands::account::me(session)).await,
        Command::Balance => Box::pin(commands::account::balance(session)).await,
        Command::Usage(usage) => Box::pin(commands::usage::run(session, &usage)).await,
        Command::Catalog => Box::pin(commands::account::catalog(session)).await,
        Command::Bgm(Deferred(bgm)) => Box::pin(commands::bgm::run(session, bgm)).await,
        Command::Trending(Deferred(trending)) => {
            Box::pin(commands::trending::run(session, trending)).await
        }
        Command::Health => Box::pin(commands::account::health(session)).await,
        Command::Job(Deferred(job)) => Box::pin(commands::job::run(session, job)).await,
        Command::Model(Deferred(model)) => Box::pin(commands::model::run(session, model)).await,
        Command::Pricing(Deferred(pricing)) => {
            Box::pin(commands::pricing::run(session, pricing)).await
        }
        Command::Estimate(estimate) => Box::pin(commands::estimate::run(session, *estimate)).await,
        Command::TopUp(Deferred(top_up)) => Box::pin(commands::top_up::run(session, top_up)).await,
        Command::Webhook(Deferred(webhook)) => {
            Box::pin(commands::webhook::run(session, webhook)).await
        }
        Command::Schema(Deferred(schema)) => Box::pin(commands::schema::run(session, schema)).await,
        #[cfg(feature = "mcp")]
        Command::Mcp(Deferred(mcp)) => Box::pin(commands::mcp::run(session, mcp)).await,
        Command::Api(api) => Box::pin(commands::api::run(session, api)).await,
        Command::Init(init) => Box::pin(commands::init::run(session, init)).await,
        Command::Doctor => Box::pin(commands::doctor::run(session)).await,
        Command::Auth(Deferred(auth)) => Box::pin(commands::auth::run(session, auth)).await,
        Command::Mock(Deferred(mock)) => Box::pin(commands::mock::run(session, mock)).await,
        Command::History(history) => Box::pin(commands::history::run(session, &history)).await,
        Command::Operations(operations) => commands::operations::run(session, &operations),
        Command::Config(Deferred(config)) => commands::config::run(session, &config),
        Command::Completions(completions) => commands::completions::run(session, &completions),
        Command::Man(man) => commands::man::run(session, &man, command_line()),
        // `main` shows the help without a session, so that a wrong configuration does not matter.
        Command::Help { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::operation_commands::command_of;
    use svc_sdk::contract::Operation;

    use super::*;

    #[test]
    fn parser_definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_operation_has_a_command() {
        let missing: Vec<_> = Operation::ALL
            .iter()
            .map(|op| command_of(*op))
            .filter(|cli| cfg!(feature = "mcp") || !cli.starts_with("svc mcp "))
            .filter(|cli| !exists(&full_command_line(), cli))
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
