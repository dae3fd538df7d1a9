//! The store on the disk of the operating system.

use std::ops::RangeInclusive;
use std::path::Path;

use futures_util::FutureExt;
use futures_util::future::join_all;

use super::simulated_disk::{Faults, SimulatedDisk};
use super::*;
use crate::journal::store::{Owner, Phase, StoredIntent};
use crate::journal::testing::{StoreSource, intent, run_concurrent_calls, run_random_operations};

impl StoreSource for tempfile::TempDir {
    type Store = FileStore;

    async fn open(&self) -> FileStore {
        FileStore::create(self.path()).await.unwrap()
    }

    async fn close(&self, store: FileStore) {
        drop(store);
    }
}

fn new_intent(number: u32) -> NewIntent {
    intent(number, &format!("order-{number}"))
}

async fn end(store: &FileStore, number: u32, phase: Phase) {
    let change =
        Change { record: r#"{"number":1}"#.to_owned(), phase: Some(phase), ..Change::default() };
    store.append(&new_intent(number).id, &change).await.unwrap();
}

async fn get(store: &FileStore, number: u32) -> Option<StoredIntent> {
    let submission = new_intent(number).submission().unwrap();
    store.get(&submission).await.unwrap().pop()
}

/// Claims an intent, and returns whether the store has it then.
async fn claim(store: &FileStore, id: &IntentId) -> bool {
    let intent = store.claim(id).await.unwrap();
    intent.unwrap().owner == Owner::This
}

async fn begin(store: &FileStore, number: u32) {
    let begun = store.begin(&new_intent(number)).await.unwrap();
    assert!(matches!(begun, Begun::Written(_)));
}

async fn begin_and_end(store: &FileStore, numbers: RangeInclusive<u32>, phase: Phase) {
    for number in numbers {
        begin(store, number).await;
        end(store, number, phase).await;
    }
}

fn first_log(folder: &Path) -> PathBuf {
    folder.join("log-00000001.jsonl")
}

/// Replaces a text in a file that occurs once.
fn replace(path: &Path, old: &str, new: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(text.matches(old).count(), 1, "{text}");
    std::fs::write(path, text.replace(old, new)).unwrap();
}

fn append(path: &Path, text: &str) {
    let before = std::fs::read_to_string(path).unwrap_or_default();
    std::fs::write(path, before + text).unwrap();
}

#[tokio::test]
async fn agrees_with_the_model() {
    for seed in 0..8 {
        run_random_operations(&tempfile::tempdir().unwrap(), seed).await;
    }
}

#[tokio::test]
async fn decides_between_concurrent_calls() {
    run_concurrent_calls(&tempfile::tempdir().unwrap()).await;
}

#[tokio::test]
async fn opens_only_what_was_created() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    for _ in 0..2 {
        let error = FileStore::open(&path).await.unwrap_err();
        let expected = format!("{} does not exist or is not a journal", path.display());
        assert_eq!(error.to_string(), expected);
        std::fs::create_dir_all(&path).unwrap();
    }
    FileStore::create(&path).await.unwrap();
    FileStore::open(&path).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn files_can_be_read_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let _store = FileStore::create(&path).await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&path.join("owners")), 0o700);
    assert_eq!(mode(&path.join("lock")), 0o600);
    assert_eq!(mode(&first_log(&path)), 0o600);
}

#[tokio::test]
async fn ignores_a_line_that_was_not_written_completely() {
    for torn in
        ["{\"v\":1,\"number\":2,\"id\":\"00", "{\"v\":1,\"number\":2,\"id\":\"00\"\n\u{0}\n"]
    {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.open().await;
        begin(&store, 1).await;
        append(&first_log(folder.path()), torn);
        let store = folder.open().await;
        begin(&store, 2).await;
        let store = folder.open().await;
        assert_eq!(get(&store, 1).await.unwrap().records, []);
        assert_eq!(get(&store, 2).await.unwrap().records, []);
    }
}

#[tokio::test]
async fn a_record_of_another_version_makes_its_intent_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.open().await;
    begin_and_end(&store, 1..=1, Phase::Released).await;
    drop(store);
    let id = new_intent(1).id;
    let line = format!("{{\"v\":2,\"number\":1,\"id\":\"{id}\",\"revived\":true}}\n");
    append(&first_log(folder.path()), &line);
    let store = folder.open().await;
    let intent = get(&store, 1).await.unwrap();
    assert_eq!(intent.phase, Phase::Open);
    assert_eq!(intent.records.last().unwrap().record, line.trim_end());
}

#[tokio::test]
async fn a_damaged_line_makes_its_intent_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.open().await;
    begin(&store, 1).await;
    begin(&store, 2).await;
    drop(store);
    replace(
        &first_log(folder.path()),
        "\"submission\":\"order-1\",\"generation\":1",
        "\"submission\":\"order-1\",\"gen\u{0}",
    );
    let store = folder.open().await;
    let intent = get(&store, 1).await.unwrap();
    assert_eq!((intent.id, intent.phase), (new_intent(1).id, Phase::Open));
    assert_eq!(intent.records.len(), 1);
    let taken = store.begin(&NewIntent { id: new_intent(3).id, ..new_intent(1) }).await;
    assert_eq!(taken.unwrap(), Begun::GenerationTaken);
}

#[tokio::test]
async fn a_damaged_line_outlives_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.open().await;
    for number in 1..=8 {
        begin(&store, number).await;
    }
    drop(store);
    replace(&first_log(folder.path()), "\"order-1\",", "\"order-1\"\u{0}");
    let store = folder.open().await;
    for number in 2..=8 {
        assert!(claim(&store, &new_intent(number).id).await);
        end(&store, number, Phase::Released).await;
    }
    drop(store);
    assert!(!first_log(folder.path()).exists());
    let store = folder.open().await;
    assert_eq!(get(&store, 1).await.unwrap().phase, Phase::Open);
}

#[tokio::test]
async fn refuses_a_log_of_another_version() {
    let folder = tempfile::tempdir().unwrap();
    drop(folder.open().await);
    let path = first_log(folder.path());
    replace(&path, "\"v\":1", "\"v\":2");
    let error = FileStore::open(folder.path()).await.unwrap_err();
    let expected = format!("{} was written by a newer version of this program", path.display());
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn ended_intents_move_to_the_archive_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.open().await;
    begin_and_end(&store, 1..=20, Phase::Acknowledged).await;
    drop(store);
    assert!(!first_log(folder.path()).exists());
    let store = folder.open().await;
    end(&store, 1, Phase::Acknowledged).await;
    let store = folder.open().await;
    assert_eq!(get(&store, 1).await.unwrap().records.len(), 2);
    let filter = ListFilter { include_closed: true, limit: 100, ..ListFilter::default() };
    let listed = store.list(&filter).await.unwrap().intents;
    let expected = (1..=20).map(|number| new_intent(number).id);
    assert!(listed.into_iter().map(|intent| intent.id).eq(expected));
}

#[tokio::test]
async fn does_not_read_the_archive_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.open().await;
    begin_and_end(&store, 1..=4, Phase::Released).await;
    drop(store);
    std::fs::remove_file(folder.path().join("archive-00000002.jsonl")).unwrap();
    let store = folder.open().await;
    begin(&store, 5).await;
    let lost = new_intent(4).submission().unwrap();
    assert!(store.get(&lost).await.is_err());
}

#[tokio::test]
async fn notices_that_the_folder_was_removed_and_restored() {
    let folder = tempfile::tempdir().unwrap();
    let (path, moved) = (folder.path().join("journal"), folder.path().join("moved"));
    let store = FileStore::create(&path).await.unwrap();
    begin(&store, 1).await;
    std::fs::rename(&path, &moved).unwrap();
    assert!(store.begin(&new_intent(2)).await.is_err());
    std::fs::rename(&moved, &path).unwrap();
    begin(&store, 2).await;
    assert!(get(&FileStore::open(&path).await.unwrap(), 1).await.is_some());
}

#[tokio::test]
async fn a_running_owner_is_one_in_a_folder_that_was_restored() {
    let folder = tempfile::tempdir().unwrap();
    let owners = folder.path().join("owners");
    let store = folder.open().await;
    begin(&store, 1).await;
    // A backup may lack the owner's file and its folder, or have a copy of the file.
    for is_copy in [false, true] {
        let names: Vec<_> = std::fs::read_dir(&owners).unwrap().collect();
        std::fs::remove_dir_all(&owners).unwrap();
        if is_copy {
            std::fs::create_dir(&owners).unwrap();
            for name in names {
                std::fs::write(owners.join(name.unwrap().file_name()), "").unwrap();
            }
        }
        begin(&store, 2 + u32::from(is_copy)).await;
        let other = folder.open().await;
        assert_eq!(get(&other, 1).await.unwrap().owner, Owner::Other, "copy: {is_copy}");
    }
    let other = folder.open().await;
    drop(store);
    assert_eq!(get(&other, 1).await.unwrap().owner, Owner::Gone);
}

#[test]
fn works_after_its_runtime_was_shut_down() {
    let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (runtime(), runtime());
    let store = first.block_on(folder.open());
    let handle = first.handle().clone();
    drop(first);
    {
        let _context = handle.enter();
        let error = second.block_on(async {
            let _context = handle.enter();
            store.begin(&new_intent(1)).await
        });
        assert_eq!(error.unwrap_err().to_string(), "the runtime has been shut down");
    }
    second.block_on(begin(&store, 2));
}

#[tokio::test]
async fn tasks_that_wait_share_a_flush() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let folder = Folder::new(Arc::clone(&disk) as Arc<dyn Disk>, "/journal".into());
    folder.create().unwrap();
    let store = FileStore::in_folder(folder.clone()).unwrap();
    let flushes = disk.flushes();
    let lock = folder.lock().unwrap();
    let mut begins = join_all((1..=32).map(|number| begin(&store, number)));
    assert!((&mut begins).now_or_never().is_none());
    drop(lock);
    begins.await;
    // The first task may have begun to wait for the lock before the others were there.
    assert!(disk.flushes() - flushes <= 2);
}

#[tokio::test]
async fn a_single_file_has_one_owner_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("manifest.journal.jsonl");
    let store = FileStore::single_file(&path).await.unwrap();
    begin(&store, 1).await;
    let error = FileStore::single_file(&path).await.unwrap_err();
    assert!(error.is_locked());
    let process = std::process::id();
    let expected = format!("{} is locked by process {process}", path.display());
    assert_eq!(error.to_string(), expected);
    drop(store);
    let store = FileStore::single_file(&path).await.unwrap();
    assert_eq!(get(&store, 1).await.unwrap().owner, Owner::Gone);
    assert!(claim(&store, &new_intent(1).id).await);
    end(&store, 1, Phase::Ended).await;
    assert_eq!(store.purge(SystemTime::UNIX_EPOCH).await.unwrap(), 0);
    let later = clock::wall() + Duration::from_secs(60);
    assert_eq!(store.purge(later).await.unwrap(), 1);
    drop(store);
    let store = FileStore::single_file(&path).await.unwrap();
    assert_eq!(get(&store, 1).await, None);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_single_file_is_read_while_another_store_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("manifest.journal.jsonl");
    std::fs::write(&path, "{\"v\":1,\"jour").unwrap();
    let store = FileStore::single_file(&path).await.unwrap();
    begin(&store, 1).await;
    let notes = ["{\"total\":\n3}", "7"].map(str::to_owned);
    store.add_notes(notes.into()).await.unwrap();
    assert!(store.add_notes(vec!["{".to_owned()]).await.is_err());
    begin(&store, 2).await;

    let reader = FileStore::read_only(&path).await.unwrap();
    assert_eq!(get(&reader, 1).await.unwrap().owner, Owner::Gone);
    assert!(get(&reader, 2).await.is_some());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(reader.begin(&new_intent(3)).await.is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let mut notes = Vec::new();
    FileStore::read_notes(&path, |note| notes.push(note.to_owned())).unwrap();
    assert_eq!(notes, ["{\"total\": 3}", "7"]);
    drop(store);
    let store = FileStore::single_file(&path).await.unwrap();
    assert!(get(&store, 2).await.is_some());
    let missing = FileStore::read_only(folder.path().join("missing")).await;
    assert!(missing.is_err());
}

#[tokio::test]
async fn a_single_file_is_not_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    for text in ["id,prompt\n", "id", "{\"body\":{}}\n", "{\"body\":{}}"] {
        std::fs::write(&path, text).unwrap();
        let error = FileStore::single_file(&path).await.unwrap_err();
        assert_eq!(error.to_string(), format!("{} is not a journal", path.display()));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[tokio::test]
async fn a_single_file_is_not_written_after_a_failed_flush() {
    let disk = SimulatedDisk::new(1);
    let open = || FileStore::in_single_file(Arc::new(disk.clone()), "/manifest.jsonl".into());
    let store = open().unwrap();
    begin(&store, 1).await;
    let before = disk.content(Path::new("/manifest.jsonl"));
    disk.crash_after(u32::MAX / 2, Faults { sync: 1, full: 0 });
    assert!(store.begin(&new_intent(2)).await.is_err());
    disk.crash_after(u32::MAX / 2, Faults::default());
    assert!(store.begin(&new_intent(3)).await.is_err());
    assert_eq!(disk.content(Path::new("/manifest.jsonl")), before);
    drop(store);
    begin(&open().unwrap(), 3).await;
}

#[tokio::test]
async fn a_single_file_is_written_again_when_the_disk_is_not_full() {
    let disk = SimulatedDisk::new(1);
    let path = Path::new("/manifest.jsonl");
    let store = FileStore::in_single_file(Arc::new(disk.clone()), path.into()).unwrap();
    begin(&store, 1).await;
    let mut failed = 0;
    for number in 2..40 {
        disk.crash_after(u32::MAX / 2, Faults { sync: 0, full: 3 });
        let begun = store.begin(&new_intent(number)).await;
        disk.crash_after(u32::MAX / 2, Faults::default());
        if begun.is_err() {
            failed += 1;
            // If the file could not be truncated, it has to be opened again.
            if store.begin(&new_intent(number)).await.is_err() {
                break;
            }
        }
        assert!(get(&store, number).await.is_some());
    }
    assert!(failed > 0);
}
