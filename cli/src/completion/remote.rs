//! Candidates from the service, within the time that a person waits, and their cache.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use svc_sdk::{Developer, Open};

use crate::args::{Global, SurfaceChoice};
use crate::clock;
use crate::completion::Value;
use crate::config::state_dir;
use crate::error::Result;
use crate::input::write_private;
use crate::session::{Access, Session};
#[cfg(feature = "mcp")]
use crate::session::{McpAccess, missing_key};

const NETWORK_TIMEOUT: Duration = Duration::from_millis(300);
/// The time limit of a completion, including the time to read the key from a keyring.
const TIMEOUT: Duration = Duration::from_millis(600);

/// The kind of a Format that has an id, but no handle and slug.
pub(super) const ONLY_ID: &str = "only_id";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Models,
    Formats,
    Actions,
    #[cfg(feature = "mcp")]
    Tools,
}

impl List {
    const fn name(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Formats => "formats",
            Self::Actions => "actions",
            #[cfg(feature = "mcp")]
            Self::Tools => "tools",
        }
    }
}

/// Returns a list of the service, or nothing if it does not arrive in time.
pub(super) fn fetch(global: &Global, list: List) -> Vec<Value> {
    let global = Global { retries: Some(0), ..global.clone() };
    in_time(move || fetch_here(global, list)).unwrap_or_default()
}

/// Gives up if a keyring, a name server or a lock of the journal takes too long.
pub(super) fn in_time<T: Send + 'static>(
    find: impl FnOnce() -> Option<T> + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    // The thread ends with the process.
    thread::spawn(move || sender.send(find()));
    receiver.recv_timeout(TIMEOUT).ok().flatten()
}

fn fetch_here(global: Global, list: List) -> Option<Vec<Value>> {
    let session = Session::without_logging(global).ok()?;
    let source = ListSource::of(&session, list).ok()?;
    let cache = match session.is_sandbox() {
        true => None,
        false => Some(Cache::new(
            &state_dir(session.environment()).ok()?,
            list.name(),
            source.identity(),
        )),
    };
    if let Some(values) = cache.as_ref().and_then(Cache::fresh_values) {
        return Some(values);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let fetched = runtime
        .block_on(async { tokio::time::timeout(NETWORK_TIMEOUT, source.fetch(list)).await.ok()? });
    runtime.shutdown_background();
    match (fetched, cache) {
        (Some(values), Some(cache)) => {
            cache.store(&values);
            Some(values)
        }
        (Some(values), None) => Some(values),
        (None, cache) => cache?.stored_values(),
    }
}

/// Where a list comes from. The clients send a stored key only to the host it belongs to.
enum ListSource {
    Open(Access<Open>),
    Developer(Access<Developer>),
    #[cfg(feature = "mcp")]
    Mcp(Box<McpAccess>),
}

impl ListSource {
    fn of(session: &Session, list: List) -> Result<Self> {
        let surface = match list {
            List::Models => session.surface(None)?,
            List::Formats | List::Actions => SurfaceChoice::Developer,
            #[cfg(feature = "mcp")]
            List::Tools => {
                let url = session.mcp_url(None)?;
                let found = session.find_key(SurfaceChoice::Developer, &url)?;
                let key = found.ok_or_else(|| missing_key(SurfaceChoice::Developer))?.key;
                return Ok(Self::Mcp(Box::new(session.mcp_with(url, key))));
            }
        };
        // The catalog needs no key; without one the other lists are refused.
        let url = session.base_url(surface)?;
        let key = session.find_key(surface, &url)?.map(|found| found.key);
        match surface {
            SurfaceChoice::Open => session.access_with(url, key.as_ref()).map(Self::Open),
            SurfaceChoice::Developer => session.access_with(url, key.as_ref()).map(Self::Developer),
        }
    }

    fn identity(&self) -> [&str; 2] {
        match self {
            Self::Open(access) => [&access.base_url, &access.key_fingerprint],
            Self::Developer(access) => [&access.base_url, &access.key_fingerprint],
            #[cfg(feature = "mcp")]
            Self::Mcp(access) => [&access.url, &access.key_fingerprint],
        }
    }

    async fn fetch(self, list: List) -> Option<Vec<Value>> {
        match (self, list) {
            (Self::Open(access), _) => {
                let models = access.client.models();
                let (images, videos) =
                    tokio::try_join!(models.list_images(), models.list_videos()).ok()?;
                let images = images.items.into_iter().map(|model| (model, "image"));
                let videos = videos.items.into_iter().map(|model| (model, "video"));
                let models = images.chain(videos);
                Some(models.map(|(it, kind)| candidate(it.id, it.name, kind)).collect())
            }
            (Self::Developer(access), List::Models) => {
                let catalog = access.client.catalog().get().await.ok()?;
                let models = catalog.models.into_iter();
                let kind = |kind: Option<String>| kind.unwrap_or_default();
                Some(models.map(|it| candidate(it.id, it.name, &kind(it.model_type))).collect())
            }
            (Self::Developer(access), List::Actions) => {
                let actions = access.client.actions().list().await.ok()?;
                let actions = actions.items.into_iter();
                Some(actions.map(|it| candidate(it.id.to_string(), it.name, "")).collect())
            }
            (Self::Developer(access), _) => {
                let formats = access.client.formats().list().await.ok()?;
                Some(formats.items.into_iter().flat_map(format_values).collect())
            }
            #[cfg(feature = "mcp")]
            (Self::Mcp(access), _) => {
                let tools = access.connect().await.ok()?.tools().await.ok()?;
                let candidates =
                    tools.iter().map(|it| candidate(it.name.clone(), it.title.clone(), ""));
                Some(candidates.collect())
            }
        }
    }
}

fn candidate(value: String, help: Option<String>, kind: &str) -> Value {
    Value { value, help: help.unwrap_or_default(), kind: kind.to_owned() }
}

fn format_values(format: svc_sdk::types::Format) -> Vec<Value> {
    let id = format.id.to_string();
    match (format.handle, format.slug) {
        (Some(handle), Some(slug)) => {
            let address = format!("{handle}/{slug}");
            vec![candidate(address, format.name.clone(), ""), candidate(id, format.name, "")]
        }
        _ => vec![candidate(id, format.name, ONLY_ID)],
    }
}

const FRESH_FOR: Duration = Duration::from_secs(60);

pub(super) struct Cache {
    path: PathBuf,
}

impl Cache {
    pub(super) fn new(state_dir: &Path, list: &str, identity: [&str; 2]) -> Self {
        let hash = Sha256::digest(identity.join("\n"));
        let short: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { path: state_dir.join("completions").join(format!("{list}-{short}.json")) }
    }

    pub(super) fn fresh_values(&self) -> Option<Vec<Value>> {
        let modified = fs::metadata(&self.path).ok()?.modified().ok()?;
        let age = clock::elapsed(clock::now(), Timestamp::try_from(modified).ok()?);
        (age < FRESH_FOR).then(|| self.stored_values())?
    }

    pub(super) fn stored_values(&self) -> Option<Vec<Value>> {
        serde_json::from_slice(&fs::read(&self.path).ok()?).ok()
    }

    /// Stores the list. Without it the next completion asks the service again.
    pub(super) fn store(&self, values: &[Value]) {
        if let Ok(text) = serde_json::to_vec(values) {
            let _ = write_private(&self.path, &text);
        }
    }
}
