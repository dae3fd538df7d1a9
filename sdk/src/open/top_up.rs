//! Waiting for a payer.

use std::time::Duration;

use super::Client;
use crate::call::clock;
use crate::contract::TopUpStatus;
use crate::error::{Error, Kind, Result};
use crate::types::{TopUp, TopUpId};
use crate::wait::{Trouble, WaitOptions};

/// Payers take their time; there is no hint of the service here.
const BETWEEN_LOOKS: Duration = Duration::from_secs(3);

impl Client {
    /// Waits until a top-up is paid.
    ///
    /// # Errors
    ///
    /// Where it ended `failed` or `expired` ([`top_up_status`](Error::top_up_status)), where it
    /// could not be read ([`is_poll_unreachable`](Error::is_poll_unreachable)), and at the
    /// deadline ([`is_wait_deadline`](Error::is_wait_deadline)).
    pub async fn top_up_wait(&self, id: &TopUpId, options: WaitOptions) -> Result<TopUp> {
        let deadline = options.deadline.map(clock::after);
        let mut trouble = Trouble::default();
        let paid = async {
            loop {
                clock::sleep_until(self.core.pace.poll_slot(clock::now())).await;
                let pause = match self.top_ups_get(id).with_retries(0).send().await {
                    Ok(top_up) if top_up.status == TopUpStatus::Paid => return Ok(top_up),
                    Ok(top_up) if top_up.status.is_terminal() => {
                        return Err(Error::new(Kind::TopUpEnded {
                            status: top_up.status.to_string(),
                        }));
                    }
                    Ok(_) => {
                        trouble.over();
                        BETWEEN_LOOKS
                    }
                    Err(error) => {
                        let draw = self.core.entropy.fraction();
                        let pause = trouble.pause(&error, clock::now(), &options, draw);
                        pause.ok_or_else(|| error.while_polling())?
                    }
                };
                clock::sleep(pause).await;
            }
        };
        match clock::before(deadline, paid).await {
            Some(outcome) => outcome,
            None => Err(Error::new(Kind::WaitDeadline {
                after: options.deadline.unwrap_or_default(),
            })),
        }
    }
}
