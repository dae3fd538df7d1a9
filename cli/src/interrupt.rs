//! Ctrl-C handling: the first interrupt stops the command gracefully, the second exits at once.

use std::cell::OnceCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::sync::watch;

use crate::error::Exit;

/// The exit code that shells show for a process that SIGTERM ended.
const TERMINATED: i32 = 143;

/// The Ctrl-C handler.
///
/// Until [`first`](Self::first) is called for the first time, Ctrl-C ends the program, also at a
/// prompt: with a message after [`report_with`](Self::report_with), and by default without.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    handler: OnceCell<Option<Handler>>,
}

#[derive(Debug)]
struct Handler {
    /// Whether the command reacts to Ctrl-C.
    is_handled: Arc<AtomicBool>,
    interrupted: watch::Receiver<bool>,
}

impl Interrupts {
    /// Makes Ctrl-C call a function before it ends the program.
    pub(crate) fn report_with(&self, report: impl FnOnce() + Send + 'static) {
        self.handler.get_or_init(|| listen(report).ok());
    }

    /// Waits for the first Ctrl-C.
    pub(crate) async fn first(&self) {
        // If the handler cannot be installed, Ctrl-C keeps its default behavior.
        let Some(handler) = self.handler.get_or_init(|| listen(|| ()).ok()) else {
            return std::future::pending().await;
        };
        handler.is_handled.store(true, Ordering::Release);
        let mut interrupted = handler.interrupted.clone();
        if interrupted.wait_for(|is_set| *is_set).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Installs a handler for SIGTERM and returns a future that waits for it.
pub(crate) fn terminated() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        Ok(async move {
            if terminate.recv().await.is_none() {
                std::future::pending::<()>().await;
            }
        })
    }
    #[cfg(not(unix))]
    Ok(std::future::pending())
}

/// Restores the terminal before SIGTERM ends the program, as a prompt may have changed its modes. For
/// commands that do not react to SIGTERM otherwise.
pub(crate) fn restore_terminal_when_terminated() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let terminated = {
        let _context = runtime.enter();
        terminated()?
    };
    let terminal = TerminalModes::current();
    thread::Builder::new().spawn(move || {
        runtime.block_on(terminated);
        terminal.restore();
        std::process::exit(TERMINATED);
    })?;
    Ok(())
}

/// Listens on a thread, because the command may block its own, for example at a prompt.
fn listen(report: impl FnOnce() + Send + 'static) -> io::Result<Handler> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut signal = {
        let _context = runtime.enter();
        Signal::new()?
    };
    let terminal = TerminalModes::current();
    let is_handled = Arc::new(AtomicBool::new(false));
    let (sender, interrupted) = watch::channel(false);
    let handler = Handler { is_handled: Arc::clone(&is_handled), interrupted };
    thread::Builder::new().spawn(move || {
        runtime.block_on(async {
            signal.next().await;
            if is_handled.load(Ordering::Acquire) {
                sender.send_replace(true);
                signal.next().await;
            } else {
                report();
            }
            terminal.restore();
            std::process::exit(i32::from(Exit::Interrupted.code()));
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
struct Signal(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signal {
    fn new() -> io::Result<Self> {
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).map(Self)
    }
}

#[cfg(windows)]
struct Signal(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signal {
    fn new() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }
}

impl Signal {
    async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}
