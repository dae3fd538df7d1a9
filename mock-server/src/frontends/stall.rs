//! A pause in the middle of a response body, for the fault `stall`.

use std::time::Duration;

use bytes::Bytes;
use tokio::select;
use tokio::sync::mpsc;
use tokio::time::sleep;

/// Removes the second half from a body, which is received after a pause.
pub(super) fn stall(bytes: &mut Bytes, pause: Duration) -> mpsc::Receiver<Bytes> {
    let rest = bytes.split_off(bytes.len() / 2);
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        select! {
            () = sleep(pause) => drop(sender.send(rest).await),
            // The client is gone.
            () = sender.closed() => {}
        }
    });
    receiver
}
