//! Subcommands that are defined only when they are used.

use clap::builder::Resettable;
use clap::{ArgMatches, Command, Error, FromArgMatches, Subcommand};

use crate::help;

/// The subcommands of a command, which are added to the parser when it reaches that command. Most of
/// the time that `svc` needs to start would otherwise be spent on the options of other commands.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub(crate) T);

impl<T: Subcommand> Subcommand for Deferred<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(|command| {
            // The definition of the subcommands would replace the description by its own.
            let about = command.get_about().cloned();
            let long_about = command.get_long_about().cloned();
            let command = T::augment_subcommands(command);
            help::annotate_command(
                command
                    .about(Resettable::from(about))
                    .long_about(Resettable::from(long_about)),
                "svc",
            )
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
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

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }

    fn update_from_arg_matches_mut(&mut self, matches: &mut ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches_mut(matches)
    }
}
