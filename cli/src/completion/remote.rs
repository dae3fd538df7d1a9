//! Candidates from the service, within the time that a person waits, and their cache.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use svc_sdk::{ApiKey, Developer, Open};

use crate::args::{Global, SurfaceChoice};
use crate::clock;
use crate::completion::Value;
use crate::input::write_private;
use crate::journal::key_fingerprint;
use crate::session::Session;

const NETWORK_TIMEOUT: Duration = Duration::from_millis(300);
/// The time limit of a completion, including the time to read the key from a keyring.
const TIMEOUT: Duration = Duration::from_millis(600);

/// The kind of a Format that has an id, but no handle and slug.
pub(super) const ONLY_ID: &str = "only_id";

#[derive(Clone, Copy, Debug)]
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
    let surface = match list {
        List::Models => session.surface(None).ok()?,
        _ => SurfaceChoice::Developer,
    };
    let url = match list {
        #[cfg(feature = "mcp")]
        List::Tools => session.mcp_url(None),
        _ => session.base_url(surface),
    };
    let url = url.ok()?;
    // A stored key is found for its own host only. The catalog needs none; without one the other lists are
    // refused.
    let key = session.find_key(surface, &url).ok()?.map(|found| found.key);
    #[cfg(feature = "mcp")]
    if matches!(list, List::Tools) && key.is_none() {
        return None;
    }
    let state_dir = session.state_dir().ok()?;
    let cache = state_dir.map(|state_dir| cache_file(&state_dir, list, &url, key.as_ref()));
    if let Some(values) = cache.as_deref().and_then(fresh_values) {
        return Some(values);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let read = read(&session, list, surface, url, key.as_ref());
    let fetched =
        runtime.block_on(async { tokio::time::timeout(NETWORK_TIMEOUT, read).await.ok()? });
    runtime.shutdown_background();
    match (&fetched, cache) {
        (None, cache) => return stored_values(&cache?),
        (Some(values), Some(cache)) => {
            // Without it the next completion asks the service again.
            let _ = write_private(&cache, &serde_json::to_vec(values).ok()?);
        }
        (Some(_), None) => {}
    }
    fetched
}

async fn read(
    session: &Session,
    list: List,
    surface: SurfaceChoice,
    url: String,
    key: Option<&ApiKey>,
) -> Option<Vec<Value>> {
    if surface == SurfaceChoice::Open {
        let client = session.access_with::<Open>(url, key).ok()?.client;
        let models = client.models();
        let (images, videos) = tokio::try_join!(models.list_images(), models.list_videos()).ok()?;
        let images = images.items.into_iter().map(|model| (model, "image"));
        let videos = videos.items.into_iter().map(|model| (model, "video"));
        return Some(
            images.chain(videos).map(|(it, kind)| Value::new(it.id, it.name, kind)).collect(),
        );
    }
    let client = session.access_with::<Developer>(url, key).ok()?.client;
    Some(match list {
        List::Models => {
            let models = client.catalog().get().await.ok()?.models.into_iter();
            let kind = |kind: Option<String>| kind.unwrap_or_default();
            models.map(|it| Value::new(it.id, it.name, &kind(it.model_type))).collect()
        }
        List::Formats => {
            let formats = client.formats().list().await.ok()?.items.into_iter();
            formats.flat_map(format_values).collect()
        }
        List::Actions => {
            let actions = client.actions().list().await.ok()?.items.into_iter();
            actions.map(|it| Value::new(it.id.to_string(), it.name, "")).collect()
        }
        #[cfg(feature = "mcp")]
        List::Tools => {
            let client = svc_mcp::McpClient::with_client(&client).await.ok()?;
            let tools = client.tools().await.ok()?;
            tools.iter().map(|it| Value::new(&*it.name, it.title.clone(), "")).collect()
        }
    })
}

fn format_values(format: svc_sdk::types::Format) -> Vec<Value> {
    let id = format.id.to_string();
    match (format.handle, format.slug) {
        (Some(handle), Some(slug)) => {
            let address = format!("{handle}/{slug}");
            vec![Value::new(address, format.name.clone(), ""), Value::new(id, format.name, "")]
        }
        _ => vec![Value::new(id, format.name, ONLY_ID)],
    }
}

const FRESH_FOR: Duration = Duration::from_secs(60);

fn cache_file(state_dir: &Path, list: List, url: &str, key: Option<&ApiKey>) -> PathBuf {
    let fingerprint = key.map(key_fingerprint).unwrap_or_default();
    let hash = Sha256::digest(format!("{url}\n{fingerprint}"));
    let short: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    state_dir.join("completions").join(format!("{}-{short}.json", list.name()))
}

fn fresh_values(cache: &Path) -> Option<Vec<Value>> {
    let modified = fs::metadata(cache).ok()?.modified().ok()?;
    let age = clock::elapsed(clock::now(), Timestamp::try_from(modified).ok()?);
    (age < FRESH_FOR).then(|| stored_values(cache))?
}

fn stored_values(cache: &Path) -> Option<Vec<Value>> {
    serde_json::from_slice(&fs::read(cache).ok()?).ok()
}
