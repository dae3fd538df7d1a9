//! Ctrl-C handling: the first interrupt stops the command gracefully, the second exits at once.

use std::cell::OnceCell;
use std::io;

use tokio::sync::watch;

use crate::error::Exit;

/// A lazily installed Ctrl-C handler.
///
/// Until [`first`](Self::first) is called for the first time, Ctrl-C ends the program by default,
/// also at a prompt.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    receiver: OnceCell<Option<watch::Receiver<bool>>>,
}

impl Interrupts {
    /// Waits for the first Ctrl-C.
    pub(crate) async fn first(&self) {
        // If the handler cannot be installed, Ctrl-C keeps its default behavior.
        let Some(mut interrupted) = self.receiver.get_or_init(|| listen().ok()).clone() else {
            return std::future::pending().await;
        };
        if interrupted.wait_for(|is_set| *is_set).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Installs a handler for SIGTERM and returns a future that waits for it.
///
/// # Errors
///
/// Returns an error if the handler cannot be installed.
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

fn listen() -> io::Result<watch::Receiver<bool>> {
    let mut signal = Signal::new()?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        signal.next().await;
        sender.send_replace(true);
        signal.next().await;
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
    Ok(receiver)
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
