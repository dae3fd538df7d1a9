//! Real servers, started by a test in a temporary folder and stopped at its end.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use std::{env, fs};

use tempfile::TempDir;

/// A PostgreSQL server that listens on a Unix socket.
pub(crate) struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    process: Child,
    schemas: AtomicU32,
}

/// A Redis server that listens on a Unix socket.
pub(crate) struct Redis {
    folder: TempDir,
    process: Child,
    prefixes: AtomicU32,
}

impl Postgres {
    /// Starts a server, or says what to install.
    pub(crate) fn start() -> Option<Self> {
        let Some(programs) = postgres_programs() else {
            not_tested("PostgreSQL", "postgresql");
            return None;
        };
        let folder = shared_folder();
        let data = folder.path().join("data");
        if is_root() {
            let status = Command::new("install")
                .args(["-d", "-o", "postgres"])
                .arg(&data)
                .status();
            assert!(status.unwrap().success());
        }
        let mut initdb = as_postgres(programs.join("initdb"));
        initdb
            .arg("-D")
            .arg(&data)
            .args(["-A", "trust", "-U", "postgres", "--no-sync"]);
        assert!(initdb.stdout(Stdio::null()).status().unwrap().success());
        let process = run_postgres(&programs, folder.path());
        let server = Self {
            programs,
            folder,
            process,
            schemas: AtomicU32::new(0),
        };
        server.wait_until_ready();
        Some(server)
    }

    /// Kills the server as a power failure would, and starts it again.
    pub(crate) fn crash_and_restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // The processes of the connections end when they notice; until then they hold the data.
        self.process = run_postgres(&self.programs, self.folder.path());
        self.wait_until_ready();
    }

    fn wait_until_ready(&self) {
        wait_for("PostgreSQL", || {
            let mut ready = Command::new(self.programs.join("pg_isready"));
            ready.arg("-h").arg(self.folder.path()).arg("-q");
            ready.status().is_ok_and(|status| status.success())
        });
    }

    pub(crate) fn address(&self) -> String {
        format!(
            "host={} user=postgres dbname=postgres",
            self.folder.path().display()
        )
    }

    /// Returns an address whose tables are in a schema of its own.
    pub(crate) async fn new_schema(&self) -> String {
        let number = self.schemas.fetch_add(1, Ordering::Relaxed);
        let address = self.address();
        let (client, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls)
            .await
            .unwrap();
        let connection = tokio::spawn(connection);
        client
            .batch_execute(&format!("CREATE SCHEMA test_{number}"))
            .await
            .unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        format!("{address} options='-c search_path=test_{number}'")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Redis {
    /// Starts a server whose writes survive a crash, or says what to install.
    pub(crate) fn start() -> Option<Self> {
        if !is_installed("redis-server") {
            not_tested("Redis", "redis-server");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let process = run_redis(folder.path());
        let server = Self {
            folder,
            process,
            prefixes: AtomicU32::new(0),
        };
        server.wait_until_ready();
        Some(server)
    }

    /// Kills the server as a power failure would, and starts it again.
    pub(crate) fn crash_and_restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.process = run_redis(self.folder.path());
        self.wait_until_ready();
    }

    fn wait_until_ready(&self) {
        let socket = self.folder.path().join("socket");
        wait_for("Redis", || {
            let ping = Command::new("redis-cli")
                .arg("-s")
                .arg(&socket)
                .arg("ping")
                .output();
            ping.is_ok_and(|output| output.stdout.starts_with(b"PONG"))
        });
    }

    pub(crate) fn address(&self) -> String {
        format!(
            "redis+unix://{}",
            self.folder.path().join("socket").display()
        )
    }

    pub(crate) fn new_prefix(&self) -> String {
        format!("test-{}:", self.prefixes.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run_postgres(programs: &Path, folder: &Path) -> Child {
    let mut command = as_postgres(programs.join("postgres"));
    command
        .arg("-D")
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder);
    command.args(["-c", "listen_addresses=", "-c", "max_connections=200"]);
    let log = fs::File::create(folder.join("log")).unwrap();
    command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

fn run_redis(folder: &Path) -> Child {
    let mut command = Command::new("redis-server");
    command.args([
        "--port",
        "0",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
        "--save",
        "",
    ]);
    command
        .arg("--unixsocket")
        .arg(folder.join("socket"))
        .arg("--dir")
        .arg(folder);
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// Returns a command that runs as the user `postgres` if this process is root, which PostgreSQL
/// refuses to run as.
fn as_postgres(program: impl AsRef<OsStr>) -> Command {
    if is_root() {
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid=postgres",
            "--regid=postgres",
            "--clear-groups",
            "--",
        ]);
        command.arg(program);
        command
    } else {
        Command::new(program)
    }
}

/// Creates a temporary folder in which another user may create sockets.
fn shared_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.trim_ascii() == b"0"
}

/// Returns the folder of the newest installed version's programs.
fn postgres_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let newest = versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .max();
    newest.filter(|folder| folder.join("initdb").exists())
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).exists())
}

#[allow(clippy::print_stderr, reason = "tells the person who runs the tests")]
fn not_tested(server: &str, package: &str) {
    eprintln!("NOT TESTED: {server} is not installed (Debian's package: {package})");
}

fn wait_for(server: &str, is_ready: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_ready() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{server} did not start");
}
