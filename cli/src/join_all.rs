//! Concurrent futures on one task.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Runs all futures concurrently and returns their outputs in order.
pub(crate) async fn join_all<F: Future>(futures: Vec<Pin<Box<F>>>) -> Vec<F::Output> {
    let mut slots: Vec<_> = futures.into_iter().map(Slot::Running).collect();
    poll_fn(|context| {
        let mut is_done = true;
        for slot in &mut slots {
            if let Slot::Running(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(output) => *slot = Slot::Done(output),
                    Poll::Pending => is_done = false,
                }
            }
        }
        if is_done {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    let output = |slot| match slot {
        Slot::Done(output) => Some(output),
        Slot::Running(_) => None,
    };
    slots.into_iter().filter_map(output).collect()
}

enum Slot<F: Future> {
    Running(Pin<Box<F>>),
    Done(F::Output),
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn outputs_are_returned_in_the_order_of_the_futures() {
        let sleeps = [30, 10, 20].map(|seconds| {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                seconds
            })
        });
        assert_eq!(join_all(sleeps.into()).await, [30, 10, 20]);
    }
}
