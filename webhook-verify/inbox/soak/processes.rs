//! The processes of the soak: receivers and workers.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use svc_webhook_inbox::tower::ReceiveService;
use svc_webhook_inbox::{Inbox, Worker};
use svc_webhook_verify::{KeySet, Verifier, WebhookReceiver};

use crate::store::StoreKind;

/// The number of receivers, and of workers.
pub(crate) const COUNT: usize = 3;
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
    let file = Arc::new(Mutex::new(file.unwrap()));
    Worker::new(inbox, move |event| {
        let file = Arc::clone(&file);
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

/// The running receivers and workers.
pub(crate) struct Processes {
    kind: StoreKind,
    address: String,
    folder: PathBuf,
    receivers: Vec<Child>,
    /// The ports of the receivers, which senders read.
    ports: Arc<[AtomicU16; COUNT]>,
    /// All workers, killed ones included. The effects of each are in a file with its number.
    workers: Vec<Child>,
    /// The numbers of the running workers.
    running: Vec<usize>,
}

impl Processes {
    pub(crate) fn start(kind: StoreKind, address: &str, folder: &Path) -> Self {
        let mut processes = Self {
            kind,
            address: address.to_owned(),
            folder: folder.to_owned(),
            receivers: Vec::new(),
            ports: Arc::default(),
            workers: Vec::new(),
            running: (0..COUNT).collect(),
        };
        for index in 0..COUNT {
            let receiver = processes.start_receiver(index);
            processes.receivers.push(receiver);
            processes.start_worker();
        }
        processes
    }

    pub(crate) fn ports(&self) -> Arc<[AtomicU16; COUNT]> {
        Arc::clone(&self.ports)
    }

    /// Returns the numbers of the workers that have handled each event.
    pub(crate) fn effects(&self) -> HashMap<String, Vec<usize>> {
        let mut effects: HashMap<String, Vec<usize>> = HashMap::new();
        for number in 0..self.workers.len() {
            for id in fs::read_to_string(self.effects_of(number)).unwrap_or_default().lines() {
                effects.entry(id.to_owned()).or_default().push(number);
            }
        }
        effects
    }

    pub(crate) fn is_killed_worker(&self, number: usize) -> bool {
        !self.running.contains(&number)
    }

    /// Kills a receiver (SIGKILL) and starts another one.
    pub(crate) fn kill_receiver(&mut self, number: usize) {
        let index = number % COUNT;
        let started = self.start_receiver(index);
        kill(&mut std::mem::replace(&mut self.receivers[index], started));
    }

    /// Kills a worker (SIGKILL) and starts another one.
    pub(crate) fn kill_worker(&mut self, number: usize) {
        let index = number % COUNT;
        let killed = std::mem::replace(&mut self.running[index], self.workers.len());
        self.start_worker();
        kill(&mut self.workers[killed]);
    }

    fn start_receiver(&self, index: usize) -> Child {
        let mut child = self.command("receiver").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        self.ports[index].store(line.trim().parse().unwrap(), Ordering::Relaxed);
        child
    }

    fn start_worker(&mut self) {
        let effects = self.effects_of(self.workers.len());
        self.workers.push(self.command("worker").arg(effects).spawn().unwrap());
    }

    fn effects_of(&self, worker: usize) -> PathBuf {
        self.folder.join(format!("effects-{worker}"))
    }

    fn command(&self, role: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([role, self.kind.name, &self.address]);
        command
    }
}

fn kill(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.receivers.iter_mut().chain(&mut self.workers).for_each(kill);
    }
}
