//! What can be typed: the argument structs. What they do is in `commands`.

mod body;
mod global;
mod run;
mod speech;
mod submit;
mod values;

use clap::{Parser, Subcommand};

pub(crate) use body::{BodyArgs, CommunicationFields, ImageFields, VideoFields};
pub(crate) use global::{Color, Format, Global, SurfaceArg, SurfaceChoice};
pub(crate) use run::{CapArg, FormatFields, KindChoice, StartArgs, ToldArgs};
pub(crate) use speech::SpeechFields;
pub(crate) use submit::{MoneyArgs, SubmitArgs, Terms, WaitArgs};
pub(crate) use values::{JsonField, Pair, Timeout};

use crate::commands;

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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_contradict_nothing() {
        Cli::command().debug_assert();
    }
}
