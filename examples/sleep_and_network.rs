//! Waits through a sleep of the computer and a change of the network: what a program sets, and what it
//! sees.
//!
//! Nothing has to be detected by the program. A wait that the computer slept through polls as soon as
//! it wakes, on new connections, and the time limits of calls do not count the sleep. To see it, run
//! the example against a mock with a long job, and suspend the computer.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::time::Duration;

use svc_sdk::observe::{AttemptEnd, Observer};
use svc_sdk::types::VideoGenerate;
use svc_sdk::{Error, ErrorKind, Result, open};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let client = open::ClientBuilder::from_env()?
        // A network that is gone shows itself here: a request on a dead connection gets no response.
        .attempt_timeout(Duration::from_secs(20))
        .connect_timeout(Duration::from_secs(5))
        // With retries, until a VPN is up again.
        .timeout(Duration::from_secs(120))
        .observer(LostConnections)
        .build()?;

    let body = VideoGenerate::new("auto").prompt("a red fox in snow");
    let job = client.videos().generate(body).await?;
    // The id is enough to wait again, from any process.
    println!("submitted {}", job.id());
    loop {
        // The limit of the wait does not count sleep: a night does not end it.
        let wait = job.wait().timeout(Duration::from_secs(30 * 60));
        match wait.await {
            Ok(result) => {
                println!("{} files", result.artifacts().len());
                return Ok(());
            }
            Err(error) if is_worth_another_wait(&error) => println!("waiting again: {error}"),
            Err(error) => return Err(error),
        }
    }
}

/// Returns whether the job is still running as far as is known: the network was away for longer than
/// the wait accepts.
fn is_worth_another_wait(error: &Error) -> bool {
    error.kind() == ErrorKind::PollFailed && error.is_unreachable()
}

/// Prints the attempts that got no response, after which the client opens new connections.
struct LostConnections;

impl Observer for LostConnections {
    fn on_attempt_end(&self, attempt: &AttemptEnd<'_>) {
        if let (Some(error), None) = (attempt.error, attempt.status()) {
            println!("attempt {}: {error}", attempt.attempt);
        }
    }
}
