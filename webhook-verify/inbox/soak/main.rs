//! A soak of a store: receivers and workers are killed, and the server is restarted, while events
//! are delivered; then it is counted what became of each event.
//!
//! ```console
//! $ cargo run --release -p svc-webhook-inbox --example soak -- --store postgres --deliveries 100000 --kills 20
//! $ cargo run --release -p svc-webhook-inbox --example soak -- --store redis --benchmark 20000
//! ```

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test program"
)]

mod benchmark;
mod processes;
mod sender;
#[path = "../tests/inbox/servers.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod servers;
mod store;

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::block_in_place;
use tokio::time::sleep;

use crate::processes::Processes;
use crate::sender::Sender;
use crate::store::{StoreKind, StoreServer};

/// The share of deliveries that are sent twice, in percent.
const DUPLICATES: usize = 20;
/// One in so many kills is followed by a restart of the server.
const KILLS_PER_RESTART: usize = 5;

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_ok = match words[..] {
        ["receiver", kind, address] => {
            runtime.block_on(processes::receive(StoreKind::find(kind).unwrap(), address));
            true
        }
        ["worker", kind, address, effects] => {
            runtime.block_on(processes::work(StoreKind::find(kind).unwrap(), address, effects));
            true
        }
        _ => {
            let options = Options::parse(&words).unwrap_or_else(|message| {
                eprintln!("{message}\nusage: soak --store sqlite|postgres|redis|nats [--deliveries N] [--kills N] [--benchmark N]");
                std::process::exit(2);
            });
            match options.benchmark {
                Some(events) => runtime.block_on(benchmark::run(options.store, events)),
                None => runtime.block_on(soak(&options)),
            }
        }
    };
    std::process::exit(i32::from(!is_ok));
}

struct Options {
    store: StoreKind,
    deliveries: usize,
    kills: usize,
    benchmark: Option<usize>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let (mut store, mut deliveries, mut kills, mut benchmark) = (None, 2000, 4, None);
        for pair in words.chunks(2) {
            let [name, value] = pair else {
                return Err(format!("a value for {} is missing", pair[0]));
            };
            let number = || {
                let number = value.parse::<usize>();
                number.map_err(|_| format!("invalid {name} `{value}`: expected a number"))
            };
            match *name {
                "--store" => store = Some(StoreKind::find(value)?),
                "--deliveries" => deliveries = number()?,
                "--kills" => kills = number()?,
                "--benchmark" => benchmark = Some(number()?),
                _ => return Err(format!("unknown flag {name}")),
            }
        }
        Ok(Self { store: store.ok_or("--store is required")?, deliveries, kills, benchmark })
    }
}

/// Runs the soak. Returns whether every event was handled.
async fn soak(options: &Options) -> bool {
    let Some(mut server) = StoreServer::start(options.store) else { return true };
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let events = options.deliveries * 100 / (100 + DUPLICATES);
    let mut processes = Processes::start(options.store, &server.address(), folder.path());
    let sender = Sender::new(processes.ports(), events, options.deliveries);
    let sending = tokio::spawn(sender.clone().run());
    let restarts = kill(options, &mut processes, &mut server, &sender).await;
    sending.await.unwrap();
    let accepting = start.elapsed();

    // The events of killed workers are handled when their leases have expired.
    let mut effects = processes.effects();
    for _ in 0..600 {
        if effects.len() >= events {
            break;
        }
        sleep(Duration::from_millis(500)).await;
        effects = processes.effects();
    }
    let seconds = start.elapsed().as_secs_f64();
    let twice = || effects.values().filter(|workers| workers.len() > 1);
    // The acknowledgement was lost in a restart of the server, or there is a defect.
    let without_kill =
        twice().filter(|workers| workers.iter().all(|it| !processes.is_killed_worker(*it)));
    let ids = (0..events).map(|number| format!("job_{number}"));
    let lost: Vec<String> = ids.filter(|id| !effects.contains_key(id)).collect();
    let accepted_per_second = sender.answered() as f64 / accepting.as_secs_f64();
    let report = json!({
        "store": options.store.name,
        "deliveries": sender.answered(),
        "accepted": events,
        "handled": effects.len(),
        "handled_twice": twice().count(),
        "handled_twice_without_kill": without_kill.count(),
        "lost": lost.len(),
        "kills": options.kills,
        "restarts": restarts,
        "unanswered": sender.failed(),
        "seconds": (seconds * 10.0).round() / 10.0,
        "accepted_per_second": accepted_per_second.round(),
    });
    println!("{report}");
    for id in lost.iter().take(10) {
        eprintln!("lost: {id}");
    }
    lost.is_empty()
}

/// Kills receivers and workers in turn, spread over the deliveries, and restarts the server after some kills.
/// Returns the number of restarts.
async fn kill(
    options: &Options,
    processes: &mut Processes,
    server: &mut StoreServer,
    sender: &Sender,
) -> usize {
    let mut restarts = 0;
    let mut random = fastrand::Rng::with_seed(11);
    for killed in 1..=options.kills {
        while sender.answered() < options.deliveries * killed / (options.kills + 1) {
            sleep(Duration::from_millis(20)).await;
        }
        let number = random.usize(..);
        block_in_place(|| match killed % 2 {
            1 => processes.kill_receiver(number),
            _ => processes.kill_worker(number),
        });
        if killed % KILLS_PER_RESTART == KILLS_PER_RESTART / 2 {
            restarts += usize::from(block_in_place(|| server.restart()));
        }
    }
    restarts
}
