//! A store in files.

mod compaction;
mod disk;
mod folder;
mod index;
mod line;
mod log;
mod operations;
mod owners;
mod single_file;
mod state;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use self::disk::{Disk, SystemDisk};
use self::folder::Folder;
use self::operations::Session;
use self::owners::Ownership;
use self::state::{LogAccess, Place, StoreOperation};
use super::lock;
use super::store::{
    Begun, BudgetTotals, Change, IntentId, IntentPage, ListFilter, NewIntent, OwnerCalls, Store,
    StoreError, StoreFuture, StoredIntent, SubmissionKey,
};
use crate::call::clock;
use crate::debug_fields::debug_fields;

const PAUSE: Duration = Duration::from_millis(50);

/// A [`Store`] in files, for one or more processes of a machine.
///
/// All processes append to one log. What several tasks want to write at the same time is written
/// and flushed to the disk together, so that many tasks are hardly slower than one. Intents that have
/// ended move to an archive, which is not read at the start.
///
/// Its clones are the same owner, which is gone when the last one is dropped or the process ends.
/// Other processes see that by a lock, so the folder has to be on a file system with locks.
///
/// ```no_run
/// use svc_sdk::journal::FileStore;
///
/// # async fn run() -> Result<(), svc_sdk::journal::StoreError> {
/// let store = FileStore::create("/var/lib/shop/svc").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FileStore(Arc<OpenStore>);

/// The clones of a store.
struct OpenStore(Arc<SharedLog>);

/// What the clones and the running task have in common.
struct SharedLog {
    calls: OwnerCalls,
    queue: Mutex<JobQueue>,
    state: Mutex<LogAccess>,
}

#[derive(Default)]
struct JobQueue {
    jobs: Vec<StoreOperation>,
    /// Whether a task is running that does the jobs.
    is_running: bool,
}

impl FileStore {
    /// Opens the store in a folder.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder does not exist or is not a store: a folder that is missing, such
    /// as one of a volume that is not mounted, would hide what has been paid for. [`create`](Self::create)
    /// makes one.
    pub async fn open(folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let folder = Folder::new(Arc::new(SystemDisk), folder.into());
        blocking(move || Self::in_folder(folder)).await
    }

    /// Opens the store in a folder, and creates it if it does not exist.
    ///
    /// The folder can be read by its owner only.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be created or opened.
    pub async fn create(folder: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let folder = Folder::new(Arc::new(SystemDisk), folder.into());
        blocking(move || {
            folder.create()?;
            Self::in_folder(folder)
        })
        .await
    }

    /// Opens a store in a file, which is created if it does not exist. Only one process can open it at
    /// a time.
    ///
    /// # Errors
    ///
    /// Returns an error if another process has opened the file ([`StoreError::is_locked`]), if it is
    /// not a store, or if it cannot be read or written.
    pub async fn single_file(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        blocking(move || Self::in_single_file(Arc::new(SystemDisk), path)).await
    }

    /// Opens the store in a file to read it, also while another process has it open.
    ///
    /// # Errors
    ///
    /// Returns an error if the file does not exist, is not a store, or cannot be read.
    pub async fn read_only(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        blocking(move || {
            let disk: Arc<dyn Disk> = Arc::new(SystemDisk);
            let log = single_file::open_to_read(Arc::clone(&disk), &path)?;
            let ownership = Ownership::exclusive(disk)?;
            Ok(Self::new(LogAccess::new(Place::SingleFile(path), log, ownership)))
        })
        .await
    }

    /// Adds notes of the program, each a JSON value, to a store in a [single
    /// file](Self::single_file). They are on the disk when the future ends.
    ///
    /// # Errors
    ///
    /// Returns an error if one is not JSON, or if the file cannot be written.
    pub async fn add_notes(&self, notes: Vec<String>) -> Result<(), StoreError> {
        self.run(move |session| session.add_notes(&notes)).await
    }

    /// Calls a function with each note in a file, oldest first, also while another process has it open.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn read_notes(path: impl AsRef<Path>, visit: impl FnMut(&str)) -> Result<(), StoreError> {
        single_file::read_notes(&SystemDisk, path.as_ref(), visit)
    }

    /// Opens the store in a folder of a simulated disk, and creates it if it does not exist.
    #[cfg(test)]
    pub(super) fn on_simulated_disk(disk: &SimulatedDisk) -> Result<Self, StoreError> {
        let folder = Folder::new(Arc::new(disk.clone()), "/journal".into());
        folder.create()?;
        Self::in_folder(folder)
    }

    fn in_folder(folder: Folder) -> Result<Self, StoreError> {
        let _lock = folder.lock()?;
        let log = folder.refresh(None)?;
        let ownership = folder.create_owner()?;
        Ok(Self::new(LogAccess::new(Place::Folder(folder), log, ownership)))
    }

    fn in_single_file(disk: Arc<dyn Disk>, path: PathBuf) -> Result<Self, StoreError> {
        let ownership = Ownership::exclusive(Arc::clone(&disk))?;
        let log = single_file::open(disk, &path)?;
        Ok(Self::new(LogAccess::new(Place::SingleFile(path), log, ownership)))
    }

    fn new(state: LogAccess) -> Self {
        let shared = SharedLog {
            calls: OwnerCalls::default(),
            queue: Mutex::default(),
            state: Mutex::new(state),
        };
        Self(Arc::new(OpenStore(Arc::new(shared))))
    }

    /// Runs an operation together with those of other tasks.
    async fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut Session<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let runtime = Handle::try_current()
            .map_err(|error| StoreError::failed("a file store needs a tokio runtime", error))?;
        let (sender, receiver) = oneshot::channel();
        let job: StoreOperation = Box::new(move |session| {
            let result = session.map_err(Clone::clone).and_then(operation);
            Box::new(move |committed| {
                // The caller may have stopped waiting.
                let _ = sender.send(committed.map_err(Clone::clone).and(result));
            })
        });
        let shared = &self.0.0;
        let is_first = {
            let mut queue = lock(&shared.queue);
            queue.jobs.push(job);
            !std::mem::replace(&mut queue.is_running, true)
        };
        if is_first {
            let worker = Worker { shared: Arc::clone(shared), is_done: false };
            runtime.spawn_blocking(move || worker.run());
        }
        let answer = receiver.await;
        answer.map_err(|error| StoreError::failed("the runtime has been shut down", error))?
    }
}

/// Runs blocking work of the constructors.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StoreError::failed("cannot open the journal", error))?
}

/// The task that does the jobs until there are none.
struct Worker {
    shared: Arc<SharedLog>,
    is_done: bool,
}

impl Worker {
    fn run(mut self) {
        loop {
            let jobs = {
                let mut queue = lock(&self.shared.queue);
                if queue.jobs.is_empty() {
                    queue.is_running = false;
                    self.is_done = true;
                    return;
                }
                std::mem::take(&mut queue.jobs)
            };
            lock(&self.shared.state).run(jobs);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.is_done {
            // The runtime was shut down before the task has run.
            *lock(&self.shared.queue) = JobQueue::default();
        }
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        // The task may run on for a moment, but this owner is gone.
        lock(&self.0.state).close();
    }
}

debug_fields! { [] FileStore as "FileStore" {  } }

impl Store for FileStore {
    fn begin<'a>(&'a self, intent: &'a NewIntent) -> StoreFuture<'a, Begun> {
        let intent = intent.clone();
        Box::pin(self.run(move |session| session.begin(&intent)))
    }

    fn append<'a>(&'a self, id: &'a IntentId, change: &'a Change) -> StoreFuture<'a, ()> {
        let (id, change) = (id.clone(), change.clone());
        Box::pin(self.run(move |session| session.append(&id, &change)))
    }

    fn get<'a>(&'a self, submission: &'a SubmissionKey) -> StoreFuture<'a, Vec<StoredIntent>> {
        let submission = submission.clone();
        Box::pin(self.run(move |session| session.get(&submission)))
    }

    fn claim<'a>(&'a self, id: &'a IntentId) -> StoreFuture<'a, Option<StoredIntent>> {
        let id = id.clone();
        Box::pin(self.run(move |session| session.claim(&id)))
    }

    fn list<'a>(&'a self, filter: &'a ListFilter) -> StoreFuture<'a, IntentPage> {
        let filter = filter.clone();
        Box::pin(self.run(move |session| session.list(&filter)))
    }

    fn budget<'a>(&'a self, namespace: &'a str, name: &'a str) -> StoreFuture<'a, BudgetTotals> {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Box::pin(self.run(move |session| Ok(session.budget(&namespace, &name))))
    }

    fn purge(&self, older_than: SystemTime) -> StoreFuture<'_, u64> {
        Box::pin(self.run(move |session| session.purge(older_than)))
    }

    fn changed(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            clock::sleep(PAUSE).await;
            Ok(())
        })
    }

    fn owner_calls(&self) -> OwnerCalls {
        self.0.0.calls.clone()
    }
}

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod simulated_disk;
#[cfg(test)]
pub(super) use self::simulated_disk::SimulatedDisk;
#[cfg(test)]
mod tests;
