//! Balance top-ups and their checkouts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::TopUpStatus;
use svc_sdk::types::Usd;

use super::Time;
use super::serde_list::serialize_as_list;

/// The time after which a pending top-up expires.
const PAYMENT_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);

/// A top-up of a workspace's balance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopUp {
    pub(crate) id: String,
    pub(crate) workspace: String,
    pub(crate) status: TopUpStatus,
    pub(crate) cents: u32,
    /// The unguessable part of the checkout URL.
    pub(crate) token: String,
    pub(crate) success_url: Option<String>,
    pub(crate) cancel_url: Option<String>,
    pub(crate) created_at: Time,
}

impl TopUp {
    pub(crate) fn amount(&self) -> Usd {
        Usd::from_cents(i64::from(self.cents)).unwrap_or_default()
    }

    /// Returns the URL that the payer is redirected to when the top-up is settled.
    pub(crate) fn redirect_url(&self) -> Option<&str> {
        match self.status {
            TopUpStatus::Paid => self.success_url.as_deref(),
            TopUpStatus::Failed | TopUpStatus::Expired => self.cancel_url.as_deref(),
            _ => None,
        }
    }
}

/// All top-ups, indexed by id and by checkout token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TopUps {
    by_id: BTreeMap<String, TopUp>,
    by_token: BTreeMap<String, String>,
    /// The pending top-ups in the order in which they expire.
    expiring: BTreeSet<(Time, String)>,
    /// The top-ups in the order in which they were created.
    by_age: BTreeSet<(Time, String)>,
}

impl TopUps {
    pub(crate) fn add(&mut self, top_up: TopUp) {
        self.by_token
            .insert(top_up.token.clone(), top_up.id.clone());
        if top_up.status == TopUpStatus::Pending {
            self.expiring.insert(expiry(&top_up));
        }
        self.by_age.insert((top_up.created_at, top_up.id.clone()));
        self.by_id.insert(top_up.id.clone(), top_up);
    }

    pub(crate) fn get(&self, id: &str) -> Option<&TopUp> {
        self.by_id.get(id)
    }

    pub(crate) fn by_token(&self, token: &str) -> Option<&TopUp> {
        self.get(self.by_token.get(token)?)
    }

    pub(crate) fn settle(&mut self, id: &str, status: TopUpStatus) {
        if let Some(top_up) = self.by_id.get_mut(id) {
            self.expiring.remove(&expiry(top_up));
            top_up.status = status;
        }
    }

    /// Returns the time at which the next pending top-up expires.
    pub(crate) fn next_expiry(&self) -> Option<Time> {
        self.expiring.first().map(|(at, _)| *at)
    }

    /// Expires the pending top-ups that are due.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some((at, id)) = self.expiring.pop_first() {
            if at > now {
                self.expiring.insert((at, id));
                return;
            }
            self.settle(&id, TopUpStatus::Expired);
        }
    }

    /// Removes the top-ups that were created up to a time and are settled.
    pub(crate) fn remove_settled_until(&mut self, until: Time) {
        while let Some((created_at, id)) = self.by_age.first().filter(|(at, _)| *at <= until) {
            let is_pending = self
                .get(id)
                .is_some_and(|top_up| top_up.status == TopUpStatus::Pending);
            if is_pending {
                return;
            }
            let key = (*created_at, id.clone());
            if let Some(top_up) = self.by_id.remove(id) {
                self.by_token.remove(&top_up.token);
            }
            self.by_age.remove(&key);
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &TopUp> {
        self.by_id.values()
    }
}

fn expiry(top_up: &TopUp) -> (Time, String) {
    (top_up.created_at.after(PAYMENT_PERIOD), top_up.id.clone())
}

serialize_as_list!(TopUps, TopUp);

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(id: &str, created_at: Time) -> TopUp {
        TopUp {
            id: id.to_owned(),
            workspace: "ws_demo".to_owned(),
            status: TopUpStatus::Pending,
            cents: 2_000,
            token: format!("token_{id}"),
            success_url: Some("https://shop.example/thanks".to_owned()),
            cancel_url: Some("https://shop.example/basket".to_owned()),
            created_at,
        }
    }

    #[test]
    fn only_pending_top_ups_expire() {
        let mut top_ups = TopUps::default();
        let later = Time::default().after(Duration::from_secs(1));
        for (id, created_at) in [
            ("top_1", later),
            ("top_2", Time::default()),
            ("top_3", later),
        ] {
            top_ups.add(pending(id, created_at));
        }
        top_ups.settle("top_3", TopUpStatus::Paid);
        let due = Time::default().after(PAYMENT_PERIOD);
        assert_eq!(top_ups.next_expiry(), Some(due));
        top_ups.expire(due);
        assert_eq!(top_ups.next_expiry(), Some(later.after(PAYMENT_PERIOD)));
        let statuses =
            |top_ups: &TopUps| top_ups.all().map(|t| t.status.clone()).collect::<Vec<_>>();
        use TopUpStatus::{Expired, Paid, Pending};
        assert_eq!(statuses(&top_ups), [Pending, Expired, Paid]);
        top_ups.remove_settled_until(later);
        assert_eq!(statuses(&top_ups), [Pending, Paid]);
        top_ups.expire(later.after(PAYMENT_PERIOD));
        assert_eq!(statuses(&top_ups), [Expired, Paid]);
        assert_eq!(top_ups.next_expiry(), None);
        top_ups.remove_settled_until(later);
        assert_eq!(top_ups, TopUps::default());
    }

    #[test]
    fn the_redirect_url_depends_on_the_status() {
        let mut top_up = pending("top_1", Time::default());
        assert_eq!(top_up.amount().to_string(), "20.0000");
        assert_eq!(top_up.redirect_url(), None);
        for (status, url) in [
            (TopUpStatus::Paid, "https://shop.example/thanks"),
            (TopUpStatus::Failed, "https://shop.example/basket"),
            (TopUpStatus::Expired, "https://shop.example/basket"),
        ] {
            top_up.status = status;
            assert_eq!(top_up.redirect_url(), Some(url));
        }
    }
}
