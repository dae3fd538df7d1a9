//! The processes of the soak: receivers and workers.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use svc_webhook_inbox::tower::ReceiveService;
use svc_webhook_inbox::{Inbox, Worker};
use svc_webhook_verify::{KeySet, Verifier, WebhookReceiver};

use crate::store::StoreKind;

/// The number of receivers, and of workers.
const COUNT: usize = 3;
pub(crate) const SECRET: &str = "whsec_soak";

/// Receives until the process is killed. Prints its port.
pub(crate) async fn receive(kind: StoreKind, address: &str) {
    let inbox = Inbox::from_arc(kind.open(address).await);
    let receiver = WebhookReceiver::new(Verifier::new(KeySet::new([SECRET]).unwrap()));
    let router =
        axum::Router::new().route_service("/webhooks", ReceiveService::new(inbox, receiver));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    axum::serve(listener, router).await.unwrap();
}

/// Handles events until the process is killed. The effect of an event is a line in a file.
pub(crate) async fn work(kind: StoreKind, address: &str, effects: &str) {
    let inbox = Inbox::from_arc(kind.open(address).await).lease_duration(Duration::from_secs(5));
    let file = OpenOptions::new().create(true).append(true).open(effects);
    let file = std::sync::Arc::new(Mutex::new(file.unwrap()));
    Worker::new(inbox, move |event| {
        let file = std::sync::Arc::clone(&file);
        async move {
            let parsed = event.parse()?;
            let id = parsed.job_id().unwrap_or_default().to_owned();
            // One write, so that a killed process leaves whole lines.
            file.lock().unwrap().write_all(format!("{id}\n").as_bytes())?;
            Ok(())
        }
    })
    .name(format!("{}", std::process::id()))
    .run_until(std::future::pending())
    .await;
}

/// The running receivers and workers. The place of a receiver is its port, that of a worker the file of
/// its effects.
pub(crate) struct Processes {
    kind: StoreKind,
    address: String,
    folder: PathBuf,
    receivers: Mutex<Vec<(Child, String)>>,
    workers: Mutex<Vec<(Child, String)>>,
    /// The files of all workers, killed ones included.
    effect_paths: Mutex<Vec<String>>,
    killed_workers: Mutex<Vec<String>>,
}

impl Processes {
    pub(crate) fn start(kind: StoreKind, address: &str, folder: &Path) -> Self {
        let processes = Self {
            kind,
            address: address.to_owned(),
            folder: folder.to_owned(),
            receivers: Mutex::default(),
            workers: Mutex::default(),
            effect_paths: Mutex::default(),
            killed_workers: Mutex::default(),
        };
        for _ in 0..COUNT {
            processes.receivers.lock().unwrap().push(processes.start_receiver());
            processes.workers.lock().unwrap().push(processes.start_worker());
        }
        processes
    }

    pub(crate) fn port(&self, number: usize) -> u16 {
        let receivers = self.receivers.lock().unwrap();
        receivers[number % receivers.len()].1.parse().unwrap()
    }

    /// Returns the workers that have handled each event.
    pub(crate) fn effects(&self) -> HashMap<String, Vec<String>> {
        let mut effects: HashMap<String, Vec<String>> = HashMap::new();
        for path in self.effect_paths.lock().unwrap().iter() {
            for id in fs::read_to_string(path).unwrap_or_default().lines() {
                effects.entry(id.to_owned()).or_default().push(path.clone());
            }
        }
        effects
    }

    pub(crate) fn killed_workers(&self) -> Vec<String> {
        self.killed_workers.lock().unwrap().clone()
    }

    /// Kills a receiver (SIGKILL) and starts another one.
    pub(crate) fn kill_receiver(&self, number: usize) {
        replace(&self.receivers, number, self.start_receiver());
    }

    /// Kills a worker (SIGKILL) and starts another one.
    pub(crate) fn kill_worker(&self, number: usize) {
        let path = replace(&self.workers, number, self.start_worker());
        self.killed_workers.lock().unwrap().push(path);
    }

    fn start_receiver(&self) -> (Child, String) {
        let mut child = self.command("receiver").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        (child, line.trim().to_owned())
    }

    fn start_worker(&self) -> (Child, String) {
        let mut paths = self.effect_paths.lock().unwrap();
        let path = self.folder.join(format!("effects-{}", paths.len())).display().to_string();
        paths.push(path.clone());
        let child = self.command("worker").arg(&path).spawn().unwrap();
        (child, path)
    }

    fn command(&self, role: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([role, self.kind.name, &self.address]);
        command
    }
}

/// Kills one of some processes, puts another one in its place, and returns the place of the killed one.
fn replace(
    processes: &Mutex<Vec<(Child, String)>>,
    number: usize,
    started: (Child, String),
) -> String {
    let mut processes = processes.lock().unwrap();
    let index = number % processes.len();
    let (mut killed, place) = std::mem::replace(&mut processes[index], started);
    killed.kill().unwrap();
    killed.wait().unwrap();
    place
}

impl Drop for Processes {
    fn drop(&mut self) {
        for processes in [&mut self.receivers, &mut self.workers] {
            for (child, _) in processes.get_mut().unwrap() {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}
