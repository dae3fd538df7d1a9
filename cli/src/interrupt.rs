//! Ctrl-C, SIGTERM and SIGHUP: the first signal stops the command gracefully, the second ends it at once.

use std::cell::OnceCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::sync::watch;

use crate::error::Exit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    CtrlC,
    Terminate,
    HangUp,
}

impl Interrupt {
    pub(crate) const fn exit(self) -> Exit {
        match self {
            Self::CtrlC => Exit::Interrupted,
            Self::Terminate => Exit::Terminated,
            Self::HangUp => Exit::HungUp,
        }
    }
}

/// The handler of signals.
///
/// Until [`first`](Self::first) is called for the first time, a signal ends the program, also at a
/// prompt: with a message after [`report_with`](Self::report_with), and by default without.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    handler: OnceCell<Option<Handler>>,
}

#[derive(Debug)]
struct Handler {
    is_handled: Arc<AtomicBool>,
    interrupted: watch::Receiver<Option<Interrupt>>,
}

impl Interrupts {
    /// Makes a signal call a function before it ends the program.
    pub(crate) fn report_with(&self, report: impl FnOnce(Interrupt) + Send + 'static) {
        self.handler.get_or_init(|| listen(report).ok());
    }

    pub(crate) async fn first(&self) -> Interrupt {
        // If the handler cannot be installed, signals keep their default behavior.
        let Some(handler) = self.handler.get_or_init(|| listen(|_| ()).ok()) else {
            return std::future::pending().await;
        };
        handler.is_handled.store(true, Ordering::Release);
        let mut interrupted = handler.interrupted.clone();
        let received = interrupted.wait_for(Option::is_some).await.map(|it| *it);
        match received {
            Ok(Some(interrupt)) => interrupt,
            _ => std::future::pending().await,
        }
    }

    pub(crate) fn received(&self) -> Option<Interrupt> {
        self.handler.get()?.as_ref().and_then(|handler| *handler.interrupted.borrow())
    }
}

/// Listens on a thread, because the command may block its own, for example at a prompt.
fn listen(report: impl FnOnce(Interrupt) + Send + 'static) -> io::Result<Handler> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _context = runtime.enter();
        Signals::new()?
    };
    let terminal = TerminalModes::current();
    let is_handled = Arc::new(AtomicBool::new(false));
    let (sender, interrupted) = watch::channel(None);
    let handler = Handler { is_handled: Arc::clone(&is_handled), interrupted };
    thread::Builder::new().spawn(move || {
        runtime.block_on(async {
            let mut interrupt = signals.next().await;
            if is_handled.load(Ordering::Acquire) {
                sender.send_replace(Some(interrupt));
                interrupt = signals.next().await;
            } else {
                report(interrupt);
            }
            terminal.restore();
            std::process::exit(i32::from(interrupt.exit().code()));
        });
    })?;
    Ok(handler)
}

/// The modes of the terminal, which a prompt may change.
#[cfg(unix)]
struct TerminalModes(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl TerminalModes {
    fn current() -> Self {
        Self(rustix::termios::tcgetattr(io::stdin()).ok())
    }

    fn restore(self) {
        use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

        // A process in the background may not set them, and has not changed them.
        if let (Some(modes), Ok(current)) = (self.0, tcgetattr(io::stdin()))
            && current.local_modes != modes.local_modes
        {
            // Nothing can be done about a terminal that is gone.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        }
    }
}

#[cfg(windows)]
struct TerminalModes;

#[cfg(windows)]
impl TerminalModes {
    const fn current() -> Self {
        Self
    }

    const fn restore(self) {}
}

#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: if is_hang_up_ignored() { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    pub(crate) async fn next(&mut self) -> Interrupt {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => None,
            }
        };
        tokio::select! {
            Some(()) = self.interrupt.recv() => Interrupt::CtrlC,
            Some(()) = self.terminate.recv() => Interrupt::Terminate,
            Some(()) = hang_up => Interrupt::HangUp,
            else => std::future::pending().await,
        }
    }
}

/// Returns whether the program shall survive its terminal, as under `nohup`.
#[cfg(unix)]
fn is_hang_up_ignored() -> bool {
    use io::IsTerminal;

    let ignored = std::fs::read_to_string("/proc/self/status").ok().and_then(|status| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    match ignored {
        // The lowest bit is that of signal 1, SIGHUP.
        Some(mask) => mask & 1 == 1,
        // Only Linux shows the mask. `nohup` leaves no terminal to write to.
        None => !io::stderr().is_terminal(),
    }
}

#[cfg(windows)]
pub(crate) struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    pub(crate) async fn next(&mut self) -> Interrupt {
        match self.0.recv().await {
            Some(()) => Interrupt::CtrlC,
            None => std::future::pending().await,
        }
    }
}
