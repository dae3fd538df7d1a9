//! A child process that receives the signals of this one.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::ExitStatus;

use tokio::process::Command;

/// How a child process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With an exit code.
    Code(u8),
    /// By a signal.
    Signal(i32),
}

/// Runs a program with additional environment variables, and waits for it. SIGINT and SIGTERM are
/// forwarded to it.
///
/// # Errors
///
/// Returns an error if the program cannot be started.
pub(super) async fn run_child(
    program: &OsStr,
    arguments: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, String)>,
) -> io::Result<Ended> {
    // Installed before the child starts, so that a signal never ends this process alone.
    let mut signals = Signals::new()?;
    let mut child = Command::new(program)
        .args(arguments)
        .envs(variables)
        .spawn()?;
    loop {
        tokio::select! {
            ended = child.wait() => return Ok(Ended::from(ended?)),
            signal = signals.next() => signal.forward_to(&child),
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        // Codes of other platforms can be larger than those of this program.
        let code = status.code().unwrap_or(1);
        Self::Code(u8::try_from(code).unwrap_or(1))
    }
}

#[cfg(unix)]
use unix::Signals;

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::{Pid, Signal, getpgrp, kill_process};
    use rustix::termios::tcgetpgrp;
    use tokio::process::Child;
    use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

    /// The signals that are forwarded.
    pub(super) struct Signals {
        interrupt: Listener,
        terminate: Listener,
    }

    /// A received signal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Received {
        Interrupt,
        Terminate,
    }

    impl Signals {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }

        pub(super) async fn next(&mut self) -> Received {
            tokio::select! {
                _ = self.interrupt.recv() => Received::Interrupt,
                _ = self.terminate.recv() => Received::Terminate,
            }
        }
    }

    impl Received {
        pub(super) fn forward_to(self, child: &Child) {
            let signal = match self {
                // A terminal sends Ctrl-C to all of its foreground processes. Programs often take
                // a second one as the order to exit at once.
                Self::Interrupt if is_in_foreground() => return,
                Self::Interrupt => Signal::INT,
                Self::Terminate => Signal::TERM,
            };
            let pid = child.id().and_then(|id| i32::try_from(id).ok());
            if let Some(pid) = pid.and_then(Pid::from_raw) {
                // A child that has just ended cannot receive it any more.
                let _ = kill_process(pid, signal);
            }
        }
    }

    /// Returns whether this process belongs to the foreground processes of its terminal.
    fn is_in_foreground() -> bool {
        let group = getpgrp();
        let stdio = [
            tcgetpgrp(rustix::stdio::stdin()),
            tcgetpgrp(rustix::stdio::stderr()),
            tcgetpgrp(rustix::stdio::stdout()),
        ];
        stdio
            .into_iter()
            .flatten()
            .any(|foreground| foreground == group)
    }
}

#[cfg(not(unix))]
use other::Signals;

#[cfg(not(unix))]
mod other {
    use std::io;

    use tokio::process::Child;

    /// Ctrl-C, which reaches all processes of a console.
    pub(super) struct Signals;

    pub(super) struct Received;

    impl Signals {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        /// Completes on Ctrl-C, so that it does not end this process before its child.
        pub(super) async fn next(&mut self) -> Received {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            Received
        }
    }

    impl Received {
        pub(super) fn forward_to(self, _: &Child) {}
    }
}
