//! Kills of receivers and workers, and restarts of the server, spread over the deliveries.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::processes::Processes;
use crate::sender::Sender;
use crate::store::StoreServer;

/// One in so many kills is followed by a restart of the server.
const KILLS_PER_RESTART: usize = 5;

/// Kills processes until the number is reached. Returns the numbers of kills and restarts, and the
/// server.
pub(crate) async fn run(
    kills: usize,
    processes: &Arc<Processes>,
    mut server: StoreServer,
    sender: &Sender,
) -> (usize, usize, StoreServer) {
    let (mut killed, mut restarts) = (0, 0);
    let mut random = fastrand::Rng::with_seed(11);
    while killed < kills {
        let due = sender.deliveries() * (killed + 1) / (kills + 1);
        if sender.answered() < due {
            sleep(Duration::from_millis(20)).await;
            continue;
        }
        let number = random.usize(..);
        let processes = Arc::clone(processes);
        let is_receiver = killed.is_multiple_of(2);
        // Starting a process blocks this thread.
        let killing = tokio::task::spawn_blocking(move || match is_receiver {
            true => processes.kill_receiver(number),
            false => processes.kill_worker(number),
        });
        killing.await.unwrap();
        killed += 1;
        if killed % KILLS_PER_RESTART == KILLS_PER_RESTART / 2 {
            let restarting = tokio::task::spawn_blocking(move || {
                let is_restarted = server.restart();
                (server, is_restarted)
            });
            let (restarted, is_restarted) = restarting.await.unwrap();
            server = restarted;
            restarts += usize::from(is_restarted);
        }
    }
    (killed, restarts, server)
}
