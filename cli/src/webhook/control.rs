//! The socket of a running listener, over which other commands change its store.
//!
//! A store in a file belongs to one process. Its listener therefore makes the changes that
//! `svc webhook replay` and `svc webhook inbox` ask for: a line of JSON each, and a line in return.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use svc_webhook_inbox::{EventId, EventStore, EventStoreError, ReplayFilter};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Change {
    /// Changes nothing, to learn which process listens.
    None,
    ReplayId(String),
    ReplayDead,
    /// Replays what was received from the first time on, and before the second.
    ReplayReceived(Timestamp, Timestamp),
    /// Removes what has been finished for that number of seconds.
    Purge(u64),
}

impl Change {
    /// Makes the change, and returns the number of changed events.
    pub(crate) async fn apply(&self, store: &dyn EventStore) -> Result<u64, EventStoreError> {
        let filter = match self {
            Self::None => return Ok(0),
            Self::Purge(seconds) => return store.purge(Duration::from_secs(*seconds)).await,
            Self::ReplayId(id) => ReplayFilter::Id(EventId::new(id)),
            Self::ReplayDead => ReplayFilter::Dead,
            Self::ReplayReceived(since, until) => {
                ReplayFilter::ReceivedIn(SystemTime::from(*since)..SystemTime::from(*until))
            }
        };
        store.replay(&filter).await
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Changed {
    pub(crate) process: u32,
    /// Whether that process forwards events.
    #[serde(default)]
    pub(crate) is_forwarding: bool,
    /// The number of changed events, or why there are none.
    pub(crate) result: Result<u64, String>,
}

fn socket_of(store: &Path) -> PathBuf {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push(".sock");
    store.with_file_name(name)
}

#[cfg(unix)]
mod unix {
    use std::io::{self, BufRead, BufReader, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::time::Duration;
    use std::{fs, process};

    use svc_webhook_inbox::Inbox;
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixListener;
    use tokio::sync::mpsc;

    use super::{Change, Changed, socket_of};
    use crate::input::parent_dir;
    use crate::text::counted;

    const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
    const MAX_REQUEST_BYTES: u64 = 64 * 1024;

    /// The socket of this process. It is removed when this is dropped.
    #[derive(Debug)]
    pub(crate) struct Control {
        listener: UnixListener,
        path: PathBuf,
    }

    impl Drop for Control {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.path);
        }
    }

    impl Control {
        /// Creates the socket of a store that this process has opened. Only its user can connect.
        pub(crate) fn bind(store: &Path) -> io::Result<Self> {
            let path = socket_of(store);
            // No other user can enter this folder before the permissions are set. The name is short,
            // as that of a socket may be.
            let private = tempfile::Builder::new().prefix(".s").tempdir_in(parent_dir(store))?;
            let unfinished = private.path().join("s");
            let listener = UnixListener::bind(&unfinished)?;
            fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o600))?;
            // It takes the place of the socket of a process that was killed.
            fs::rename(&unfinished, &path)?;
            Ok(Self { listener, path })
        }

        /// `to_event` makes the event that tells the listener of a replay.
        pub(crate) async fn serve<E: Send + 'static>(
            self,
            inbox: Inbox,
            is_forwarding: bool,
            events: mpsc::Sender<E>,
            to_event: fn(String) -> E,
        ) {
            while let Ok((stream, _)) = self.listener.accept().await {
                let (inbox, events) = (inbox.clone(), events.clone());
                tokio::spawn(async move {
                    let (reader, mut writer) = stream.into_split();
                    let mut line = String::new();
                    let mut reader = tokio::io::BufReader::new(reader.take(MAX_REQUEST_BYTES));
                    reader.read_line(&mut line).await.ok()?;
                    let change: Change = serde_json::from_str(&line).ok()?;
                    let result = change.apply(inbox.store()).await;
                    if let (Ok(count @ 1..), false) = (&result, matches!(change, Change::Purge(_)))
                    {
                        let count = counted(usize::try_from(*count).unwrap_or(usize::MAX), "event");
                        let hint =
                            if is_forwarding { "" } else { "; pass --forward-to URL to forward" };
                        let _ = events.send(to_event(format!("replayed {count}{hint}"))).await;
                    }
                    let result = result.map_err(|error| error.to_string());
                    let answer = Changed { process: process::id(), is_forwarding, result };
                    let answer = serde_json::to_string(&answer).ok()?;
                    writer.write_all(format!("{answer}\n").as_bytes()).await.ok()
                });
            }
        }
    }

    /// Asks the listener that uses a store for a change. Returns `None` if there is none.
    pub(crate) fn ask(store: &Path, change: &Change) -> Option<Changed> {
        let mut stream = UnixStream::connect(socket_of(store)).ok()?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).ok()?;
        let request = serde_json::to_string(change).ok()?;
        stream.write_all(format!("{request}\n").as_bytes()).ok()?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }
}

#[cfg(not(unix))]
mod other {
    use std::path::Path;

    use super::{Change, Changed};

    /// Other platforms have no such sockets: their listeners are stopped for changes.
    pub(crate) fn ask(_: &Path, _: &Change) -> Option<Changed> {
        None
    }
}

#[cfg(not(unix))]
pub(crate) use other::ask;
#[cfg(unix)]
pub(crate) use unix::Control;
#[cfg(unix)]
pub(crate) use unix::ask;
