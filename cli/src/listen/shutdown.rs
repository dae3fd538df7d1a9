//! The signal that ends a listener.

use tokio::sync::watch;

/// Waits until it is to end.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Who would have told is gone only when all is over.
    let _ = stop.wait_for(|stop| *stop).await;
}
