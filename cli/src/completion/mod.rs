//! Dynamic shell completion: values that the shell asks this program for while the user types.
//!
//! It runs only if the variable `COMPLETE` names a shell. Nothing is printed but candidates, and
//! whatever goes wrong means that there are none.

mod attach;
mod cache;
mod candidates;
mod remote;
mod value;

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};

use clap::{Command, FromArgMatches};
use clap_complete::env::{CompleteEnv, Shells};

use self::attach::attach;
use crate::args::Global;
use crate::error::Exit;

/// The variable that names the shell to complete for.
const VARIABLE: &str = "COMPLETE";

/// Completes a command line, or prints the script that makes a shell ask for completions. Returns
/// `None` if neither is requested.
pub(crate) fn complete(command_line: fn() -> Command) -> Option<Exit> {
    std::env::var_os(VARIABLE)?;
    let words: Vec<OsString> = std::env::args_os().collect();
    // The words of the command line follow `--`; without them the script is requested.
    let line: Vec<OsString> = words
        .iter()
        .skip_while(|it| *it != "--")
        .skip(1)
        .cloned()
        .collect();
    let is_script = line.is_empty();
    panic::set_hook(Box::new(|_| {}));
    let completed = panic::catch_unwind(AssertUnwindSafe(|| {
        let directory = std::env::current_dir().ok();
        CompleteEnv::with_factory(|| attach(command_line(), &global_flags(command_line, &line)))
            .var(VARIABLE)
            .bin("svc")
            .try_complete(words, directory.as_deref())
    }));
    // Only the default hook is left to the rest of the program.
    let _ = panic::take_hook();
    match completed {
        Ok(Ok(true)) => Some(Exit::Done),
        Ok(Ok(false)) => None,
        Ok(Err(error)) if is_script => {
            let _ = error.print();
            Some(Exit::Usage)
        }
        Ok(Err(_)) | Err(_) => Some(Exit::Failure),
    }
}

/// Returns the script that makes a shell ask this program for completions, or `None` if the shell
/// is not known.
///
/// # Errors
///
/// Returns an error if the script cannot be created.
pub(crate) fn script(shell: &str) -> std::io::Result<Option<Vec<u8>>> {
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(shell) else {
        return Ok(None);
    };
    let mut script = Vec::new();
    completer.write_registration(VARIABLE, "svc", "svc", "svc", &mut script)?;
    Ok(Some(script))
}

/// Returns the global flags of an incomplete command line.
fn global_flags(command_line: fn() -> Command, line: &[OsString]) -> Global {
    let matches = command_line()
        .ignore_errors(true)
        .try_get_matches_from(line);
    let global = matches.and_then(|matches| Global::from_arg_matches(&matches));
    Global {
        quiet: true,
        verbose: 0,
        output: None,
        jq: None,
        ..global.unwrap_or_default()
    }
}
