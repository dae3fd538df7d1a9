//! Real servers, started by a test in a temporary folder and stopped at its end.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use std::{env, fs};

use crate::server_folder::ServerFolder;

/// A PostgreSQL server that listens on a Unix socket.
pub(crate) struct Postgres {
    programs: PathBuf,
    folder: ServerFolder,
    process: Child,
    schemas: AtomicU32,
}

/// A Redis server that listens on a Unix socket.
pub(crate) struct Redis {
    folder: ServerFolder,
    process: Child,
    prefixes: AtomicU32,
}

/// A NATS server with JetStream that listens on a port of this machine.
pub(crate) struct Nats {
    folder: ServerFolder,
    process: Child,
    port: u16,
    streams: AtomicU32,
}

impl Postgres {
    /// Starts a server, or says what to install.
    pub(crate) fn start() -> Option<Self> {
        Self::start_in(ServerFolder::new())
    }

    /// Starts a server with its data in a folder, or says what to install.
    pub(crate) fn start_in(folder: ServerFolder) -> Option<Self> {
        let Some(programs) = postgres_programs() else {
            not_tested("PostgreSQL", "Debian's package postgresql");
            return None;
        };
        let data = folder.path().join("data");
        if is_root() {
            let status = Command::new("install").args(["-d", "-o", "postgres"]).arg(&data).status();
            assert!(status.unwrap().success());
        }
        let mut initdb = as_postgres(programs.join("initdb"));
        initdb
            .arg("-D")
            .arg(&data)
            .args(["-A", "trust", "-U", "postgres", "--no-sync"])
            .arg("--wal-segsize=1");
        assert!(initdb.stdout(Stdio::null()).status().unwrap().success());
        let process = run_postgres(&programs, folder.path());
        let mut server = Self { programs, folder, process, schemas: AtomicU32::new(0) };
        server.wait_until_ready();
        Some(server)
    }

    pub(crate) fn folder(&self) -> &ServerFolder {
        &self.folder
    }

    /// Kills the server as a power failure would, and starts it again.
    pub(crate) fn crash_and_restart(&mut self) {
        let _ = self.process.kill();
        self.process.wait().unwrap();
        self.process = run_postgres(&self.programs, self.folder.path());
        self.wait_until_ready();
    }

    /// Waits until the server answers. Starts it again if it ended: the processes of the
    /// connections to a killed server hold its data until they notice, and a new one refuses to
    /// start until then.
    fn wait_until_ready(&mut self) {
        let (programs, folder, process) = (&self.programs, self.folder.path(), &mut self.process);
        wait_for("PostgreSQL", || {
            if process.try_wait().unwrap().is_some() {
                *process = run_postgres(programs, folder);
            }
            let mut ready = Command::new(programs.join("pg_isready"));
            ready.arg("-h").arg(folder).arg("-q");
            ready.status().is_ok_and(|status| status.success())
        });
    }

    pub(crate) fn address(&self) -> String {
        format!("host={} user=postgres dbname=postgres", self.folder.path().display())
    }

    /// Returns an address whose tables are in a schema of its own.
    pub(crate) async fn new_schema(&self) -> String {
        let number = self.schemas.fetch_add(1, Ordering::Relaxed);
        let address = self.address();
        let (client, connection) =
            tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(&format!("CREATE SCHEMA test_{number}")).await.unwrap();
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
        Self::start_in(ServerFolder::new())
    }

    /// Starts a server with its data in a folder, or says what to install.
    pub(crate) fn start_in(folder: ServerFolder) -> Option<Self> {
        if !is_installed("redis-server") {
            not_tested("Redis", "Debian's package redis-server");
            return None;
        }
        let process = run_redis(folder.path());
        let server = Self { folder, process, prefixes: AtomicU32::new(0) };
        server.wait_until_ready();
        Some(server)
    }

    pub(crate) fn folder(&self) -> &ServerFolder {
        &self.folder
    }

    /// Kills the server as a power failure would, and starts it again.
    pub(crate) fn crash_and_restart(&mut self) {
        let _ = self.process.kill();
        self.process.wait().unwrap();
        self.process = run_redis(self.folder.path());
        self.wait_until_ready();
    }

    fn wait_until_ready(&self) {
        let socket = self.folder.path().join("socket");
        wait_for("Redis", || {
            let ping = Command::new("redis-cli").arg("-s").arg(&socket).arg("ping").output();
            ping.is_ok_and(|output| output.stdout.starts_with(b"PONG"))
        });
    }

    pub(crate) fn address(&self) -> String {
        format!("redis+unix://{}", self.folder.path().join("socket").display())
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

impl Nats {
    /// Starts a server, or says what to install.
    pub(crate) fn start() -> Option<Self> {
        Self::start_in(ServerFolder::new())
    }

    /// Starts a server with its data in a folder, or says what to install.
    pub(crate) fn start_in(folder: ServerFolder) -> Option<Self> {
        if !is_installed("nats-server") {
            not_tested("NATS", "Debian's package nats-server");
            return None;
        }
        let ports = folder.path().join("ports");
        fs::create_dir_all(&ports).unwrap();
        let process = run_nats(folder.path(), -1);
        let mut port = None;
        wait_for("NATS", || {
            let file = fs::read_dir(&ports).unwrap().flatten().next();
            let text = file.and_then(|file| fs::read_to_string(file.path()).ok());
            // {"nats":["nats://127.0.0.1:40123"], …}
            let url = text.as_deref().and_then(|text| text.split("nats://").nth(1));
            let number = url.and_then(|url| url.split('"').next()?.rsplit(':').next());
            port = number.and_then(|number| number.parse().ok());
            port.is_some()
        });
        let mut server = Self { folder, process, port: port.unwrap(), streams: AtomicU32::new(0) };
        server.wait_until_ready();
        Some(server)
    }

    pub(crate) fn folder(&self) -> &ServerFolder {
        &self.folder
    }

    /// Kills the server, and starts it again.
    pub(crate) fn crash_and_restart(&mut self) {
        let _ = self.process.kill();
        self.process.wait().unwrap();
        self.process = run_nats(self.folder.path(), i32::from(self.port));
        self.wait_until_ready();
    }

    /// Waits until the server answers. Starts it again if it ended, as its port was taken.
    fn wait_until_ready(&mut self) {
        let (port, folder, process) = (self.port, self.folder.path(), &mut self.process);
        wait_for("NATS", || {
            if process.try_wait().unwrap().is_some() {
                *process = run_nats(folder, i32::from(port));
            }
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn new_stream(&self) -> String {
        format!("test-{}", self.streams.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn run_nats(folder: &Path, port: i32) -> Child {
    let path = env::var("PATH").unwrap_or_default();
    let mut command = Command::new("nats-server");
    command.env("PATH", format!("{path}:/usr/sbin"));
    command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js"]);
    command.arg("-sd").arg(folder.join("data"));
    command.arg("--ports_file_dir").arg(folder.join("ports"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn run_postgres(programs: &Path, folder: &Path) -> Child {
    let mut command = as_postgres(programs.join("postgres"));
    command.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
    command.args(["-c", "listen_addresses=", "-c", "max_connections=200"]);
    let log = fs::File::create(folder.join("log")).unwrap();
    command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

fn run_redis(folder: &Path) -> Child {
    let mut command = Command::new("redis-server");
    command.args(["--port", "0", "--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
    command.arg("--unixsocket").arg(folder.join("socket")).arg("--dir").arg(folder);
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// Returns a command that runs as the user `postgres` if this process is root, which PostgreSQL
/// refuses to run as.
fn as_postgres(program: impl AsRef<OsStr>) -> Command {
    if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]);
        command.arg(program);
        command
    } else {
        Command::new(program)
    }
}

pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.trim_ascii() == b"0"
}

/// Returns the folder of the newest installed version's programs.
fn postgres_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let newest = versions.flatten().map(|version| version.path().join("bin")).max();
    newest.filter(|folder| folder.join("initdb").exists())
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path);
    // Where Debian puts servers, which is not in the path of every user.
    folders.chain(["/usr/sbin".into()]).any(|folder| folder.join(program).exists())
}

#[allow(clippy::print_stderr, reason = "tells the person who runs the tests")]
pub(crate) fn not_tested(server: &str, package: &str) {
    eprintln!("NOT TESTED: {server} (needs {package})");
}

fn wait_for(server: &str, mut is_ready: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_ready() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{server} did not start");
}
