//! Balance top-ups and their checkouts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_sdk::contract::TopUpStatus;
use svc_sdk::types::Usd;

use super::Time;
use super::serde_list::serialize_as_list;

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
}

impl TopUps {
    pub(crate) fn add(&mut self, top_up: TopUp) {
        self.by_token
            .insert(top_up.token.clone(), top_up.id.clone());
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
            top_up.status = status;
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &TopUp> {
        self.by_id.values()
    }
}

serialize_as_list!(TopUps, TopUp);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_redirect_url_depends_on_the_status() {
        let mut top_up = TopUp {
            id: "top_1".to_owned(),
            workspace: "ws_demo".to_owned(),
            status: TopUpStatus::Pending,
            cents: 2_000,
            token: "t".to_owned(),
            success_url: Some("https://shop.example/thanks".to_owned()),
            cancel_url: Some("https://shop.example/basket".to_owned()),
            created_at: Time::default(),
        };
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
