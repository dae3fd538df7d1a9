//! Balance top-ups and their checkouts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use svc_sdk::contract::TopUpStatus;
use svc_sdk::types::Usd;

use super::serde_list::serialize_as_list;
use super::{Hosts, Time};

/// The time after which a pending top-up expires.
const PAYMENT_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);

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

    /// Returns the top-up as the API shows it.
    pub(crate) fn view(&self, hosts: &Hosts) -> Value {
        json!({
            "id": self.id,
            "status": self.status,
            "checkout_url": format!("{}/checkout/{}", hosts.media, self.token),
            "amount_usd_cents": self.cents,
            "created_at": self.created_at.to_string(),
        })
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
    /// The top-ups in the order in which they were created, with their times and numbers.
    by_age: BTreeMap<(Time, u64), String>,
    count: u64,
}

impl TopUps {
    pub(crate) fn add(&mut self, top_up: TopUp) {
        self.by_token.insert(top_up.token.clone(), top_up.id.clone());
        if top_up.status == TopUpStatus::Pending {
            self.expiring.insert(expiry(&top_up));
        }
        self.by_age.insert((top_up.created_at, self.count), top_up.id.clone());
        self.count += 1;
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

    pub(crate) fn next_expiry(&self) -> Option<Time> {
        self.expiring.first().map(|(at, _)| *at)
    }

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
        while let Some(oldest) = self.by_age.first_entry().filter(|it| it.key().0 <= until) {
            let top_up = self.by_id.get(oldest.get());
            if top_up.is_some_and(|top_up| top_up.status == TopUpStatus::Pending) {
                return;
            }
            if let Some(top_up) = self.by_id.remove(&oldest.remove()) {
                self.by_token.remove(&top_up.token);
            }
        }
    }

    /// Returns all top-ups, oldest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &TopUp> {
        self.by_age.values().filter_map(|id| self.get(id))
    }
}

fn expiry(top_up: &TopUp) -> (Time, String) {
    (top_up.created_at.after(PAYMENT_PERIOD), top_up.id.clone())
}

serialize_as_list!(TopUps, TopUp);
