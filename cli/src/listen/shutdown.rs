//! The stop signal of a listener.

use tokio::sync::watch;

/// Waits for the stop signal.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // The sender is dropped only when the listener has ended.
    let _ = stop.wait_for(|stop| *stop).await;
}
