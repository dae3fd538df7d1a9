//! The command-line parser and the dispatch of commands.

use std::pin::Pin;

use clap::builder::Resettable;
use clap::{ArgMatches, CommandFactory, Error, FromArgMatches, Parser, Subcommand};

use crate::args::Global;
use crate::commands::{
    account, agent, api, avatar, batch, catalog, format, history, job, media, mock, model,
    operations, run, schema, usage, webhook,
};
use crate::error::Result;
use crate::session::Session;
use crate::{completion, help, setup, version};

/// Generate images, videos and music, and run agents
#[derive(Debug, Parser)]
#[command(name = "svc", version = version::LINE.as_str(), disable_help_subcommand = true)]
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
    Image(Deferred<media::Image>),
    /// Generate videos
    #[command(subcommand)]
    Video(Deferred<media::Video>),
    /// Generate music
    #[command(subcommand)]
    Music(Deferred<media::Music>),
    /// Generate avatars, and videos in which they speak
    #[command(subcommand)]
    Avatar(Deferred<avatar::Avatar>),
    /// List and show avatar videos
    #[command(subcommand)]
    AvatarVideo(Deferred<avatar::AvatarVideo>),
    /// Create previews of avatar videos
    #[command(subcommand)]
    Preview(Deferred<avatar::Preview>),
    /// Add captions to videos
    #[command(subcommand)]
    Caption(Deferred<media::Caption>),
    /// List and run Actions (scheduled agent tasks)
    #[command(subcommand)]
    Action(Deferred<agent::ActionCommand>),
    /// List and run Formats (reusable agent recipes), singly or in bulk
    #[command(subcommand)]
    Format(Deferred<format::FormatCommand>),
    /// Run the agent with an instruction
    #[command(subcommand)]
    Agent(Deferred<agent::Agent>),
    /// Show, wait for, download and cancel runs of agents
    #[command(subcommand)]
    Run(Deferred<run::Run>),
    /// Show and wait for bulk queues of Format runs
    #[command(subcommand)]
    Queue(Deferred<run::Queue>),
    /// Run a file of requests, and resume it after interruptions
    #[command(subcommand)]
    Batch(Deferred<batch::Batch>),
    /// List, show, watch, wait for, download and cancel jobs
    #[command(subcommand)]
    Job(Deferred<job::Job>),
    /// List and show models, or run a compatibility alias
    #[command(subcommand)]
    Model(Deferred<model::Model>),
    /// Show prices in US dollars
    #[command(subcommand)]
    Pricing(Deferred<model::Pricing>),
    /// Estimate the price of an image or video
    Estimate(Box<model::Estimate>),
    /// Add funds to the balance
    #[command(subcommand)]
    TopUp(Deferred<account::TopUp>),
    /// Show the workspace, scopes and limits of the API key
    Me,
    /// Show the available balance
    Balance,
    /// Show spending by day and kind
    ///
    /// Totals and charts are computed from the newest 1000 ledger entries, or from as many as --limit
    /// or --all say.
    Usage(usage::Usage),
    /// Show the catalog of the developer surface (no key)
    Catalog,
    /// List and pick background music (no key)
    #[command(subcommand)]
    Bgm(Deferred<catalog::Bgm>),
    /// Search trending videos
    #[command(subcommand)]
    Trending(Deferred<catalog::Trending>),
    /// Check whether the developer surface is up (no key)
    Health,
    /// Receive, verify, sign and test webhooks
    #[command(subcommand)]
    Webhook(Deferred<webhook::Webhook>),
    /// List, call and serve tools over MCP
    #[cfg(feature = "mcp")]
    #[command(subcommand)]
    Mcp(Deferred<crate::commands::mcp::Mcp>),
    /// List requests submitted from this machine, newest first
    ///
    /// Batches are not among them: they have a journal of their own, which `svc batch status MANIFEST`
    /// shows. The label is the first 40 characters of the prompt or instruction; where SVC_NO_LABELS is
    /// set, the journal keeps none.
    History(history::History),
    /// Fetch the service's OpenAPI schema, or compare it (no key)
    #[command(subcommand)]
    Schema(Deferred<schema::Schema>),
    /// Send a raw API request
    Api(api::Api),
    /// List API operations and the commands that call them
    Operations(operations::Operations),
    /// Set up URLs and API keys: ask for them, verify and store them
    Init(setup::plan::Init),
    /// Store, show and remove API keys
    #[command(subcommand)]
    Auth(Deferred<setup::auth::Auth>),
    /// Show and change the configuration
    #[command(subcommand)]
    Config(Deferred<setup::config::Config>),
    /// List, show, choose and delete profiles of the configuration
    #[command(subcommand)]
    Profile(Deferred<setup::profile::Profile>),
    /// Check the configuration, API keys, network and journal
    Doctor,
    /// Run a local mock of the service
    #[command(subcommand)]
    Mock(Deferred<mock::Mock>),
    /// Print a shell completion script
    Completions(completion::Completions),
    /// Write the manual pages to a directory
    Man(help::Man),
    /// Show the version, commit, target and features
    #[command(hide = true)]
    Version,
    /// Show the help of a command or of a topic
    #[command(hide = true)]
    Help {
        /// Command, such as `video generate`, or a topic: all, options, surfaces, exit-codes or environment
        #[arg(value_name = "COMMAND")]
        topic: Vec<String>,
    },
}

/// Returns the parser with its help. Most subcommands are added by parsing.
pub(crate) fn command_line() -> clap::Command {
    help::annotate(Cli::command())
}

pub(crate) fn full_command_line() -> clap::Command {
    let mut root = command_line();
    root.build();
    root
}

/// Returns whether a command goes on when the service is not there: it waits for or downloads what was
/// submitted before, or is a batch.
pub(crate) fn waits_for_service(matches: &ArgMatches) -> bool {
    let group = matches.subcommand();
    let verb = group.and_then(|(_, matches)| matches.subcommand_name());
    match (group.map(|(name, _)| name), verb) {
        (Some("batch"), verb) => verb == Some("run"),
        (_, verb) => matches!(verb, Some("wait" | "download" | "watch")),
    }
}

/// Each future is boxed: inline, their sizes would add up in this one.
pub(crate) async fn run(session: &Session, command: Command) -> Result {
    let running: Pin<Box<dyn Future<Output = Result> + '_>> = match command {
        Command::Image(Deferred(image)) => Box::pin(media::image(session, image)),
        Command::Video(Deferred(video)) => Box::pin(media::video(session, video)),
        Command::Music(Deferred(music)) => Box::pin(media::music(session, music)),
        Command::Avatar(Deferred(avatar)) => Box::pin(avatar::avatar(session, avatar)),
        Command::AvatarVideo(Deferred(video)) => Box::pin(avatar::avatar_video(session, video)),
        Command::Preview(Deferred(preview)) => Box::pin(avatar::preview(session, preview)),
        Command::Caption(Deferred(caption)) => Box::pin(media::caption(session, caption)),
        Command::Action(Deferred(action)) => Box::pin(agent::action(session, action)),
        Command::Format(Deferred(format)) => Box::pin(format::run(session, format)),
        Command::Agent(Deferred(agent)) => Box::pin(agent::agent(session, agent)),
        Command::Run(Deferred(run)) => Box::pin(run::run(session, run)),
        Command::Queue(Deferred(queue)) => Box::pin(run::queue(session, queue)),
        Command::Batch(Deferred(batch)) => Box::pin(batch::run(session, batch)),
        Command::Me => Box::pin(account::me(session)),
        Command::Balance => Box::pin(account::balance(session)),
        Command::Usage(usage) => Box::pin(async move { usage::run(session, &usage).await }),
        Command::Catalog => Box::pin(catalog::catalog(session)),
        Command::Bgm(Deferred(bgm)) => Box::pin(catalog::bgm(session, bgm)),
        Command::Trending(Deferred(videos)) => Box::pin(catalog::trending(session, videos)),
        Command::Health => Box::pin(catalog::health(session)),
        Command::Job(Deferred(job)) => Box::pin(job::run(session, job)),
        Command::Model(Deferred(model)) => Box::pin(model::run(session, model)),
        Command::Pricing(Deferred(pricing)) => Box::pin(model::pricing(session, pricing)),
        Command::Estimate(estimate) => Box::pin(model::estimate(session, *estimate)),
        Command::TopUp(Deferred(top_up)) => Box::pin(account::top_up(session, top_up)),
        Command::Webhook(Deferred(webhook)) => Box::pin(webhook::run(session, webhook)),
        Command::Schema(Deferred(schema)) => Box::pin(schema::run(session, schema)),
        #[cfg(feature = "mcp")]
        Command::Mcp(Deferred(mcp)) => Box::pin(crate::commands::mcp::run(session, mcp)),
        Command::Api(api) => Box::pin(api::run(session, api)),
        Command::Init(init) => Box::pin(setup::init::init(session, init)),
        Command::Doctor => Box::pin(setup::doctor::doctor(session)),
        Command::Auth(Deferred(auth)) => Box::pin(setup::auth::auth(session, auth)),
        Command::Mock(Deferred(mock)) => Box::pin(mock::run(session, mock)),
        Command::History(history) => Box::pin(async move { history::run(session, &history).await }),
        Command::Profile(Deferred(profile)) => Box::pin(setup::profile::profile(session, profile)),
        Command::Operations(operations) => return operations::run(session, &operations),
        Command::Config(Deferred(config)) => return setup::config::config(session, &config),
        Command::Completions(completions) => {
            return completion::print_script(session, &completions);
        }
        Command::Version => return version::print(session),
        Command::Man(man) => return help::write_manual(session, &man, command_line()),
        // It has been shown without a session, so that a wrong configuration does not matter.
        Command::Help { .. } => return Ok(()),
    };
    running.await
}

/// The subcommands of a command, which are added when it is parsed, so that `svc` starts fast.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub(crate) T);

impl<T: Subcommand> Subcommand for Deferred<T> {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        command.defer(|command| {
            // The definition of the subcommands would replace the description by its own.
            let about = command.get_about().cloned();
            let long_about = command.get_long_about().cloned();
            let command = T::augment_subcommands(command);
            help::annotate_command(
                command.about(Resettable::from(about)).long_about(Resettable::from(long_about)),
                "svc",
            )
        })
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        T::augment_subcommands_for_update(command)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_definition_is_valid() {
        Cli::command().debug_assert();
    }
}
