//! The command-line parser and the dispatch of commands.

use clap::{CommandFactory, Parser, Subcommand};

use crate::args::Global;
use crate::commands;
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
    Image(commands::image::Image),
    /// Generate videos
    #[command(subcommand)]
    Video(commands::video::Video),
    /// Generate music
    #[command(subcommand)]
    Music(commands::music::Music),
    /// Generate avatars, and videos in which they speak
    #[command(subcommand)]
    Avatar(commands::avatar::Avatar),
    /// List and show avatar videos
    #[command(subcommand)]
    AvatarVideo(commands::avatar_video::AvatarVideo),
    /// Create previews of avatar videos
    #[command(subcommand)]
    Preview(commands::preview::Preview),
    /// Add captions to videos
    #[command(subcommand)]
    Caption(commands::caption::Caption),
    /// List and run Actions (scheduled agent tasks)
    #[command(subcommand)]
    Action(commands::action::Action),
    /// List and run Formats (reusable agent recipes), singly or in bulk
    #[command(subcommand)]
    Format(commands::format::Format),
    /// Run the agent with an instruction
    #[command(subcommand)]
    Agent(commands::agent::Agent),
    /// Show, wait for, download and cancel runs of agents
    #[command(subcommand)]
    Run(commands::run::Run),
    /// Show and wait for bulk queues of Format runs
    #[command(subcommand)]
    Queue(commands::queue::Queue),
    /// Run the requests of a file, within limits, and resume after interruptions
    #[command(subcommand)]
    Batch(commands::batch::Batch),
    /// List, show, wait for, download and cancel jobs
    #[command(subcommand)]
    Job(commands::job::Job),
    /// List and show models, or run a compatibility alias
    #[command(subcommand)]
    Model(commands::model::Model),
    /// Show prices in US dollars
    #[command(subcommand)]
    Pricing(commands::pricing::Pricing),
    /// Estimate the price of an image or video
    Estimate(Box<commands::estimate::Estimate>),
    /// Add funds to the balance
    #[command(subcommand)]
    TopUp(commands::top_up::TopUp),
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
    Bgm(commands::bgm::Bgm),
    /// Search trending videos
    #[command(subcommand)]
    Trending(commands::trending::Trending),
    /// Check whether the developer surface is up (no key)
    Health,
    /// Receive, verify, sign and test webhooks
    #[command(subcommand)]
    Webhook(commands::webhook::Webhook),
    /// List, call and serve tools over MCP
    #[cfg(feature = "mcp")]
    #[command(subcommand)]
    Mcp(commands::mcp::Mcp),
    /// List requests submitted from this machine, newest first
    History(commands::history::History),
    /// Fetch the service's OpenAPI schema, or compare it (no key)
    #[command(subcommand)]
    Schema(commands::schema::Schema),
    /// Send a raw API request
    Api(commands::api::Api),
    /// List API operations and the commands that call them
    Operations(commands::operations::Operations),
    /// Set up URLs and API keys: ask for them, verify and store them
    Init(commands::init::Init),
    /// Store, show and remove API keys
    #[command(subcommand)]
    Auth(commands::auth::Auth),
    /// Show and change the configuration
    #[command(subcommand)]
    Config(commands::config::Config),
    /// Check the configuration, the API keys, the network and the journal
    Doctor,
    /// Run a local mock of the service
    #[command(subcommand)]
    Mock(commands::mock::Mock),
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

/// Returns the parser, with groups of commands, examples and operations in the help.
pub(crate) fn command_line() -> clap::Command {
    help::annotate(Cli::command())
}

/// Runs a command.
///
/// Each future is boxed: inline, their sizes would add up in this one.
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
        Command::Batch(batch) => Box::pin(commands::batch::run(session, batch)).await,
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
        Command::Init(init) => Box::pin(commands::init::run(session, init)).await,
        Command::Doctor => Box::pin(commands::doctor::run(session)).await,
        Command::Auth(auth) => Box::pin(commands::auth::run(session, auth)).await,
        Command::Mock(mock) => Box::pin(commands::mock::run(session, mock)).await,
        Command::History(history) => Box::pin(commands::history::run(session, &history)).await,
        Command::Operations(operations) => commands::operations::run(session, &operations),
        Command::Config(config) => commands::config::run(session, &config),
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
