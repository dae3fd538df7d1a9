//! Downloads from servers that fail, change the file, and ignore ranges, and downloads that crash.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::{IF_RANGE, RANGE};
use proptest::prelude::*;

use super::DownloadedFile;
use super::disk::crash;
use super::tests::{files_in, image_result};
use crate::surface::Open;
use crate::transport::scripted::{Step, json};
use crate::transport::{ResponseFuture, Transport};

/// The number of different versions of the file.
const VERSIONS: u8 = 3;

/// Returns a version of the file. No two versions have a byte in common.
fn content(version: u8) -> Vec<u8> {
    let first = version * 80;
    (first..first + 20 + 7 * version).collect()
}

/// What a server knows of the file's version.
#[derive(Clone, Copy, Debug)]
enum Etag {
    Strong,
    Weak,
    Missing,
}

/// What a server says of the file's total length.
#[derive(Clone, Copy, Debug)]
enum Total {
    Known,
    /// `*` in the `Content-Range`.
    Unknown,
}

/// How a server answers one request.
#[derive(Clone, Debug)]
enum ServerAnswer {
    /// The whole file, or the rest if it was requested.
    File(Etag),
    /// The whole file, whatever was requested.
    WholeFile(Etag),
    /// At most some bytes of the rest, even if no range was requested.
    Piece(Etag, Total, usize),
    /// A range that begins where it was not requested to, and may have another version.
    OtherRange(Etag, usize),
    /// The range of the current version, whatever `If-Range` says.
    RangeOfAnyVersion(Etag),
    /// A range without a `Content-Range`.
    UnnamedRange(Etag),
    NotSatisfiable,
    Status(u16),
    ConnectionRefused,
    ConnectionReset,
    NoResponse,
}

/// An answer, the version of the file from then on, and the bytes before the connection is lost.
#[derive(Clone, Debug)]
struct Turn {
    answer: ServerAnswer,
    version: u8,
    cut: Option<usize>,
}

fn turn() -> impl Strategy<Value = Turn> {
    let etag = || {
        prop_oneof![
            6 => Just(Etag::Strong),
            1 => Just(Etag::Weak),
            1 => Just(Etag::Missing),
        ]
    };
    let total = prop_oneof![3 => Just(Total::Known), 1 => Just(Total::Unknown)];
    let answer = prop_oneof![
        6 => etag().prop_map(ServerAnswer::File),
        2 => etag().prop_map(ServerAnswer::WholeFile),
        4 => (etag(), total, 1..20_usize)
            .prop_map(|(etag, total, bytes)| ServerAnswer::Piece(etag, total, bytes)),
        2 => (etag(), 0..20_usize).prop_map(|(etag, start)| ServerAnswer::OtherRange(etag, start)),
        2 => etag().prop_map(ServerAnswer::RangeOfAnyVersion),
        1 => etag().prop_map(ServerAnswer::UnnamedRange),
        1 => Just(ServerAnswer::NotSatisfiable),
        2 => prop_oneof![Just(503), Just(429), Just(500), Just(404), Just(204)]
            .prop_map(ServerAnswer::Status),
        1 => Just(ServerAnswer::ConnectionRefused),
        1 => Just(ServerAnswer::ConnectionReset),
        1 => Just(ServerAnswer::NoResponse),
    ];
    // Versions change rarely, so that most downloads are resumed.
    let version = prop_oneof![6 => Just(0), 1 => 1..VERSIONS];
    let cut = proptest::option::weighted(0.6, 0..30_usize);
    (answer, version, cut).prop_map(|(answer, version, cut)| Turn { answer, version, cut })
}

/// A server of one artifact, which answers correctly when its turns are used up.
struct Server(Mutex<VecDeque<Turn>>);

impl Server {
    fn answer(&self, request: &http::Request<Bytes>) -> Step {
        let turn = self.0.lock().unwrap().pop_front();
        let turn = turn.unwrap_or(Turn {
            answer: ServerAnswer::File(Etag::Strong),
            version: 0,
            cut: None,
        });
        let file = content(turn.version);
        let header = |name| request.headers().get(name)?.to_str().ok();
        let requested: Option<usize> = header(RANGE).map(|range| {
            let range = range.strip_prefix("bytes=").unwrap();
            range.strip_suffix('-').unwrap().parse().unwrap()
        });
        let is_current = header(IF_RANGE) == Some(&format!("\"v{}\"", turn.version));
        let rest = requested.filter(|start| is_current && *start < file.len());
        let whole = |etag| response(200, etag, turn.version, &file);
        let range = |etag, start: usize, end: usize, total: &str| {
            let content_range = format!("bytes {start}-{}/{total}", end - 1);
            response(206, etag, turn.version, &file[start..end])
                .header("content-range", content_range)
        };
        let length = file.len().to_string();
        let step = match turn.answer {
            ServerAnswer::File(etag) => match rest {
                Some(start) => range(etag, start, file.len(), &length),
                None => whole(etag),
            },
            ServerAnswer::WholeFile(etag) => whole(etag),
            ServerAnswer::Piece(etag, total, bytes) => {
                let start = rest.unwrap_or(0);
                let total = match total {
                    Total::Known => &length,
                    Total::Unknown => "*",
                };
                range(etag, start, file.len().min(start + bytes), total)
            }
            ServerAnswer::OtherRange(etag, start) => range(etag, start, file.len(), &length),
            ServerAnswer::RangeOfAnyVersion(etag) => {
                let start = requested.filter(|start| *start < file.len()).unwrap_or(0);
                range(etag, start, file.len(), &length)
            }
            ServerAnswer::UnnamedRange(etag) => {
                response(206, etag, turn.version, &file[rest.unwrap_or(0)..])
            }
            ServerAnswer::NotSatisfiable => {
                json(416, "").header("content-range", format!("bytes */{length}"))
            }
            ServerAnswer::Status(status) => json(status, "{}"),
            ServerAnswer::ConnectionRefused => Step::ConnectionRefused,
            ServerAnswer::ConnectionReset => Step::ConnectionReset,
            ServerAnswer::NoResponse => Step::NoResponse,
        };
        match (&step, turn.cut) {
            (Step::Response(_, _, body), Some(bytes)) => {
                let bytes = bytes.min(body.len());
                step.truncated_after(bytes)
            }
            _ => step,
        }
    }
}

fn response(status: u16, etag: Etag, version: u8, body: &[u8]) -> Step {
    let step = Step::Response(status, Vec::new(), Bytes::copy_from_slice(body));
    match etag {
        Etag::Strong => step.header("etag", format!("\"v{version}\"")),
        Etag::Weak => step.header("etag", format!("W/\"v{version}\"")),
        Etag::Missing => step,
    }
}

impl Transport for Server {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let step = match request.uri().host() {
            Some("media.example") => self.answer(&request),
            _ => image_result(),
        };
        Box::pin(step.into_result())
    }
}

async fn download(server: &Arc<Server>, folder: &Path) -> crate::Result<Vec<DownloadedFile>> {
    let client = crate::Client::<Open>::builder()
        .base_url("https://api.example")
        .transport(Arc::clone(server) as Arc<dyn Transport>)
        .seed(1)
        .build()?;
    client.jobs().handle("job_1").download(folder).await
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The file is one version of the artifact, whatever earlier attempts and downloads left.
    #[test]
    fn a_file_is_one_version_of_the_artifact_or_an_error(turns in proptest::collection::vec(turn(), 0..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()?;
        runtime.block_on(async {
            let folder = tempfile::tempdir()?;
            let server = Arc::new(Server(Mutex::new(turns.into())));
            loop {
                let is_last = server.0.lock().unwrap().is_empty();
                let result = download(&server, folder.path()).await;
                prop_assert!(!is_last || result.is_ok(), "{:?}", result);
                if let Ok(files) = result {
                    let stored = std::fs::read(&files[0].path)?;
                    prop_assert_eq!(files[0].bytes, stored.len() as u64);
                    let is_version = (0..VERSIONS).any(|version| content(version) == stored);
                    prop_assert!(is_version, "{:?}", stored);
                    let names = files_in(folder.path());
                    prop_assert!(names.iter().all(|name| !name.starts_with('.')), "{:?}", names);
                }
                if is_last {
                    break;
                }
            }
            for name in files_in(folder.path()) {
                let stored = std::fs::read(folder.path().join(name))?;
                prop_assert!((0..VERSIONS).any(|version| content(version) == stored));
            }
            Ok(())
        })?;
    }
}

/// Downloads an artifact whose server answers with these versions of it, each cut off after some bytes.
async fn download_versions(
    folder: &Path,
    responses: &[(u8, Option<usize>)],
) -> crate::Result<Vec<DownloadedFile>> {
    let turn = |&(version, cut)| Turn { answer: ServerAnswer::File(Etag::Strong), version, cut };
    let server = Server(Mutex::new(responses.iter().map(turn).collect()));
    download(&Arc::new(server), folder).await
}

#[tokio::test(start_paused = true)]
async fn crash_at_any_time_leaves_no_mixed_file() {
    let responses = [(1, Some(5)), (1, Some(3)), (2, Some(7)), (2, Some(2)), (2, None)];
    for version in [0, 1, 2] {
        let mut crashes = 0;
        loop {
            let folder = tempfile::tempdir().unwrap();
            crash::after(crashes);
            let interrupted = download_versions(folder.path(), &responses).await;
            let is_complete = crash::reset().is_some_and(|steps| steps > 0);
            assert!(interrupted.is_ok() || !is_complete, "{interrupted:?} without a crash");

            // Version 2 may have been stored before the crash, and is not changed by another.
            let target = folder.path().join("art_1.png");
            let stored = std::fs::read(&target).ok();
            assert!(stored.as_ref().is_none_or(|stored| *stored == content(2)));

            let context = format!("version {version} after a crash at step {crashes}");
            let files = download_versions(folder.path(), &[(version, None)]).await;
            let file = &files.unwrap()[0];
            assert_eq!(std::fs::read(&file.path).unwrap(), content(version), "{context}");
            let names = files_in(folder.path());
            assert!(!names.iter().any(|name| name.starts_with('.')), "{context}");
            if let Some(stored) = &stored {
                assert_eq!(&std::fs::read(&target).unwrap(), stored, "{context}");
            }
            if stored.is_some() && version != 2 {
                assert_eq!(names, ["art_1-1.png", "art_1.png"], "{context}");
            } else {
                assert_eq!(names, ["art_1.png"], "{context}");
            }
            if is_complete {
                break;
            }
            crashes += 1;
        }
        assert!(crashes > 20, "{crashes}");
    }
}
