//! The options of clients, calls, waits and downloads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::call::{Call, clock};
use crate::surface::ClientSurface;
use crate::transport::scripted::{Script, ScriptedTransport, builder};
use crate::{ApiKey, Client, KeyProvider, KeyProviderError, RetryPolicy};

pub(super) fn client<S: ClientSurface>(
    script: &Arc<Script>,
    options: &Options<'_>,
    asked: &Arc<AtomicUsize>,
) -> Client<S> {
    let mut builder = builder(ScriptedTransport(Arc::clone(script)));
    if let Some(key) = options.get("key") {
        builder = builder.api_key(ApiKey::new(key).unwrap());
    }
    if let Some(keys) = options.get("provider") {
        builder = builder.key_provider(provider(keys, Arc::clone(asked)));
    }
    if let Some(limit) = options.get("in-flight") {
        builder = builder.max_in_flight(limit.parse().unwrap());
    }
    if options.get("retry").is_some() {
        builder = builder.retry(RetryPolicy::none());
    }
    if let Some(timeout) = options.seconds("attempt-timeout") {
        builder = builder.attempt_timeout(timeout);
    }
    builder.build().unwrap()
}

/// Returns a provider of the keys in their order, of which the last is repeated, and counts how many were
/// asked for. `!reason` is a failure.
fn provider(keys: &str, asked: Arc<AtomicUsize>) -> impl KeyProvider + use<> {
    let keys: Vec<_> = keys.split(',').map(str::to_owned).collect();
    move || {
        let index = asked.fetch_add(1, Ordering::SeqCst).min(keys.len() - 1);
        let key = keys[index].clone();
        async move {
            clock::sleep(Duration::from_secs(1)).await;
            match key.strip_prefix('!') {
                Some(reason) => Err(KeyProviderError::from(reason)),
                None => Ok(ApiKey::new(key)?),
            }
        }
    }
}

/// The options of a call, a wait or a download.
pub(super) struct Options<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Options<'a> {
    pub(super) fn new(options: impl Iterator<Item = (&'a str, &'a str)>, names: &[&str]) -> Self {
        Self(options.inspect(|(name, _)| assert!(names.contains(name), "option {name}")).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(known, _)| *known == name)?;
        Some(value)
    }

    pub(super) fn seconds(&self, name: &str) -> Option<Duration> {
        match self.get(name)? {
            "none" => None,
            "max" => Some(Duration::MAX),
            seconds => Some(Duration::from_secs_f64(seconds.parse().unwrap())),
        }
    }

    pub(super) fn apply_to<T>(&self, mut call: Call<T>) -> Call<T> {
        if let Some(timeout) = self.seconds("timeout") {
            call = call.timeout(timeout);
        }
        match self.get("retries") {
            Some(retries) => call.max_retries(retries.parse().unwrap()),
            None => call,
        }
    }
}
