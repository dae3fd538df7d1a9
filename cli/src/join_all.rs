//! Several futures at once, on one thread.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Drives all of them to their ends; the ends come back in their order.
pub(crate) async fn join_all<F: Future>(futures: Vec<Pin<Box<F>>>) -> Vec<F::Output> {
    let mut slots: Vec<_> = futures.into_iter().map(Slot::Running).collect();
    poll_fn(|context| {
        let mut all = true;
        for slot in &mut slots {
            if let Slot::Running(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(end) => *slot = Slot::Ended(end),
                    Poll::Pending => all = false,
                }
            }
        }
        if all { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let ended = |slot| match slot {
        Slot::Ended(end) => Some(end),
        Slot::Running(_) => None,
    };
    slots.into_iter().filter_map(ended).collect()
}

enum Slot<F: Future> {
    Running(Pin<Box<F>>),
    Ended(F::Output),
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_ends_come_back_in_order_after_the_longest() {
        let sleeps = [30, 10, 20].map(|seconds| {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                seconds
            })
        });
        assert_eq!(join_all(sleeps.into()).await, [30, 10, 20]);
    }
}
