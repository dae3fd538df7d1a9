//! Real servers, started by a test in a temporary folder and stopped at its end.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use std::{env, fs};

use tempfile::TempDir;

/// What a server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerKind {
    /// PostgreSQL, on a Unix socket.
    Postgres,
    /// Redis, on a Unix socket, so that its writes survive a crash.
    Redis,
    /// NATS with JetStream, on a port of this machine.
    Nats,
}

/// A server with its data in a folder.
pub(crate) struct Server {
    kind: ServerKind,
    folder: ServerFolder,
    process: Child,
    /// The port of NATS.
    port: u16,
    names: AtomicU32,
}

impl Server {
    /// Starts a server, or says what to install.
    pub(crate) fn start(kind: ServerKind) -> Option<Self> {
        Self::start_in(kind, ServerFolder::new())
    }

    /// Starts a server with its data in a folder, or says what to install.
    pub(crate) fn start_in(kind: ServerKind, folder: ServerFolder) -> Option<Self> {
        let (is_there, package) = match kind {
            ServerKind::Postgres => (postgres_programs().is_some(), "postgresql"),
            ServerKind::Redis => (is_installed("redis-server"), "redis-server"),
            ServerKind::Nats => (is_installed("nats-server"), "nats-server"),
        };
        if !is_there {
            not_tested(&format!("{kind:?}"), &format!("Debian's package {package}"));
            return None;
        }
        match kind {
            ServerKind::Postgres => init_postgres(folder.path()),
            ServerKind::Redis => {}
            ServerKind::Nats => fs::create_dir_all(folder.path().join("ports")).unwrap(),
        }
        let process = run(kind, folder.path(), None);
        let mut server = Self { kind, folder, process, port: 0, names: AtomicU32::new(0) };
        if kind == ServerKind::Nats {
            wait_for(kind, || {
                server.port = nats_port(server.folder.path()).unwrap_or_default();
                server.port != 0
            });
        }
        server.wait_until_ready();
        Some(server)
    }

    pub(crate) fn folder(&self) -> &ServerFolder {
        &self.folder
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn kind(&self) -> ServerKind {
        self.kind
    }

    /// Kills the server as a power failure would, and starts it again.
    pub(crate) fn crash_and_restart(&mut self) {
        self.stop();
        self.process = run(self.kind, self.folder.path(), Some(self.port));
        self.wait_until_ready();
    }

    /// Waits until the server answers. Starts it again if it ended: the processes of the
    /// connections to a killed PostgreSQL hold its data until they notice, and a new one refuses to
    /// start until then; the port of NATS may be taken.
    fn wait_until_ready(&mut self) {
        let (kind, port, folder, process) =
            (self.kind, self.port, self.folder.path(), &mut self.process);
        wait_for(kind, || {
            if process.try_wait().unwrap().is_some() {
                *process = run(kind, folder, Some(port));
            }
            match kind {
                ServerKind::Postgres => {
                    let mut ready = Command::new(postgres_program("pg_isready"));
                    ready.arg("-h").arg(folder).arg("-q");
                    ready.status().is_ok_and(|status| status.success())
                }
                ServerKind::Redis => {
                    let mut ping = Command::new("redis-cli");
                    let ping = ping.arg("-s").arg(folder.join("socket")).arg("ping").output();
                    ping.is_ok_and(|output| output.stdout.starts_with(b"PONG"))
                }
                ServerKind::Nats => std::net::TcpStream::connect(("127.0.0.1", port)).is_ok(),
            }
        });
    }

    /// Returns the address of the server, whose sockets are in a folder: its own, or that of a proxy.
    pub(crate) fn address_in(&self, folder: &Path) -> String {
        match self.kind {
            ServerKind::Postgres => {
                format!("host={} user=postgres dbname=postgres", folder.display())
            }
            ServerKind::Redis => format!("redis+unix://{}", folder.join("socket").display()),
            ServerKind::Nats => format!("nats://127.0.0.1:{}", self.port),
        }
    }

    pub(crate) fn address(&self) -> String {
        self.address_in(self.folder.path())
    }

    /// Returns a name that no other store on the server has.
    pub(crate) fn new_name(&self) -> String {
        format!("test_{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts the program of a server. Without a port, NATS takes a free one.
fn run(kind: ServerKind, folder: &Path, port: Option<u16>) -> Child {
    let mut command = match kind {
        ServerKind::Postgres => {
            let mut command = as_postgres(postgres_program("postgres"));
            command.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
            command.args(["-c", "listen_addresses=", "-c", "max_connections=200"]);
            command
        }
        ServerKind::Redis => {
            let mut command = Command::new("redis-server");
            command.args(["--port", "0", "--appendonly", "yes", "--appendfsync", "always"]);
            command.args(["--save", "", "--unixsocket"]).arg(folder.join("socket"));
            command.arg("--dir").arg(folder);
            command
        }
        ServerKind::Nats => {
            let path = env::var("PATH").unwrap_or_default();
            let port = port.map_or(-1, i32::from).to_string();
            let mut command = Command::new("nats-server");
            command.env("PATH", format!("{path}:/usr/sbin"));
            command.args(["-a", "127.0.0.1", "-p", &port, "-js", "-sd"]).arg(folder.join("data"));
            command.arg("--ports_file_dir").arg(folder.join("ports"));
            command
        }
    };
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn init_postgres(folder: &Path) {
    let data = folder.join("data");
    if is_root() {
        let status = Command::new("install").args(["-d", "-o", "postgres"]).arg(&data).status();
        assert!(status.unwrap().success());
    }
    let mut initdb = as_postgres(postgres_program("initdb"));
    initdb.arg("-D").arg(&data).args(["-A", "trust", "-U", "postgres", "--no-sync"]);
    initdb.arg("--wal-segsize=1");
    assert!(initdb.stdout(Stdio::null()).status().unwrap().success());
}

/// Returns the port that NATS has written to a file: `{"nats":["nats://127.0.0.1:40123"], …}`.
fn nats_port(folder: &Path) -> Option<u16> {
    let file = fs::read_dir(folder.join("ports")).unwrap().flatten().next()?;
    let text = fs::read_to_string(file.path()).ok()?;
    text.split("nats://").nth(1)?.split('"').next()?.rsplit(':').next()?.parse().ok()
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

fn postgres_program(name: &str) -> PathBuf {
    postgres_programs().unwrap().join(name)
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

fn wait_for(server: ServerKind, mut is_ready: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_ready() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{server:?} did not start");
}

/// A temporary folder in which another user may create sockets.
pub(crate) struct ServerFolder {
    folder: TempDir,
    is_mounted: bool,
}

impl ServerFolder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        Self { folder, is_mounted: false }
    }

    /// Mounts a small disk, or says what is missing.
    pub(crate) fn on_small_disk(megabytes: u32) -> Option<Self> {
        let mut folder = Self::new();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=777"), "tmpfs"]);
        mount.arg(folder.path());
        folder.is_mounted = is_root() && mount.status().is_ok_and(|status| status.success());
        if !folder.is_mounted {
            not_tested("a full disk", "root and the right to mount");
        }
        folder.is_mounted.then_some(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills the disk.
    pub(crate) fn fill(&self) {
        let mut file = fs::File::create(self.path().join("filler")).unwrap();
        for size in [1 << 20, 1 << 10, 1] {
            let bytes = vec![0; size];
            while file.write_all(&bytes).is_ok() {}
        }
    }

    /// Makes room again.
    pub(crate) fn free(&self) {
        fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for ServerFolder {
    fn drop(&mut self) {
        if self.is_mounted {
            // Lazily, as the server is stopped after its folder is dropped.
            let _ = Command::new("umount").arg("-l").arg(self.path()).status();
        }
    }
}
