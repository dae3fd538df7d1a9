//! Payments: paid requests on their way through the journal.
//!
//! The intent is on disk before the request is sent, and it stays open until the outcome has been
//! reported. If the program is interrupted in between, the same command resumes. The submit commands,
//! `svc top-up create` and the tools of `svc mcp` share this module.

use serde_json::{Map, Value};
use svc_sdk::contract::{ErrorCode, Operation, RetryClass};
use svc_sdk::handle::{self, Handle};
use svc_sdk::journal::{IntentId, UndecidedReason};
use svc_sdk::types::{IdempotencyKey, Usd};
use svc_sdk::{Call, Client, ClientSurface, Error};

use crate::args::{JournalArgs, SurfaceChoice};
use crate::clock;
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::journal::{
    Entry, LABEL, Orphan, RequestHash, SOURCE, Submissions, label, notes, prompt_of,
};
use crate::output::Printer;
use crate::request::SubmitRequest;
use crate::resource::{Outcome, ResourceId};
use crate::session::{Access, Session, surface_choice};
use crate::text::sanitize;

/// A paid request, as the journal records it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PaidRequest<'a> {
    pub(crate) surface: SurfaceChoice,
    pub(crate) base_url: &'a str,
    pub(crate) key_fingerprint: &'a str,
    pub(crate) request: &'a SubmitRequest,
    pub(crate) chosen_key: Option<&'a IdempotencyKey>,
    pub(crate) max_price: Option<Usd>,
    /// Whether the service guarantees that requests with the same key are charged once.
    pub(crate) is_idempotent: bool,
    pub(crate) source: Option<&'a Value>,
    pub(crate) keeps_labels: bool,
}

impl<'a> PaidRequest<'a> {
    pub(crate) fn new<S: ClientSurface>(access: &'a Access<S>, request: &'a SubmitRequest) -> Self {
        Self {
            surface: surface_choice::<S>(),
            base_url: &access.base_url,
            key_fingerprint: &access.key_fingerprint,
            request,
            chosen_key: None,
            max_price: None,
            is_idempotent: request.operation.retry() == RetryClass::Key,
            source: None,
            keeps_labels: access.keeps_labels,
        }
    }

    fn hash(&self) -> RequestHash {
        self.hash_at(self.base_url, self.key_fingerprint)
    }

    /// Returns the hash that the request has at another URL, with another API key.
    fn hash_at(&self, base_url: &str, key_fingerprint: &str) -> RequestHash {
        RequestHash::new(
            base_url,
            key_fingerprint,
            self.request.operation,
            &self.request.segments,
            &Value::Object(self.request.body.clone()),
            self.chosen_key,
        )
    }

    /// Returns what the journal notes of it before it is sent.
    fn notes(&self, price: Option<Usd>) -> Map<String, Value> {
        let (surface, summary) = (self.surface.as_str(), summary(self.request));
        let mut notes = notes(surface, self.base_url, &summary, price, self.max_price);
        let label = prompt_of(&self.request.body).filter(|_| self.keeps_labels).and_then(label);
        notes.extend(label.map(|label| (LABEL.to_owned(), label.into())));
        notes.extend(self.source.map(|source| (SOURCE.to_owned(), source.clone())));
        notes
    }
}

/// Returns the call that submits a request, with the given key or a new one.
pub(crate) fn prepare<R: handle::Resource>(
    client: &Client<R::Surface>,
    request: &SubmitRequest,
    key: Option<IdempotencyKey>,
) -> Result<(Call<Handle<R>>, IdempotencyKey)> {
    let body = Value::Object(request.body.clone());
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    let mut submit = client.submit_json::<R>(request.operation, &segments, &body);
    if let Some(key) = key {
        submit = submit.idempotency_key(key);
    }
    let request = submit.request();
    let request = request.map_err(|error| Failure::usage(error.to_string()))?;
    match request.idempotency_key.clone() {
        Some(key) => Ok((submit, key)),
        None => Err(Failure::usage("the request has no idempotency key")),
    }
}

/// Describes a request without its texts.
fn summary(request: &SubmitRequest) -> String {
    let mut parts = vec![request.noun.to_owned()];
    let name = request.operation.name();
    if request.operation == Operation::Mcp
        || name.starts_with("formats_")
        || name.starts_with("actions_")
    {
        parts.push(request.segments.join("/"));
    }
    for name in ["model", "duration", "resolution", "aspect_ratio", "num_images"] {
        match request.body.get(name) {
            Some(Value::String(text)) => parts.push(format!("{name} {text}")),
            Some(Value::Number(number)) => parts.push(format!("{name} {number}")),
            _ => {}
        }
    }
    parts.join(", ")
}

#[derive(Debug)]
pub(crate) struct Payment<'a> {
    paid: PaidRequest<'a>,
    hash: RequestHash,
    journal: Option<Submissions>,
    orphan: Option<Orphan>,
    /// What can be done if the outcome is unknown, and the request cannot be sent again.
    hints: Vec<Suggestion>,
}

impl<'a> Payment<'a> {
    /// With `is_new`, what a process that is gone has left open is abandoned.
    pub(crate) async fn new(
        paid: PaidRequest<'a>,
        journal: Option<Submissions>,
        is_new: bool,
        hints: Vec<Suggestion>,
    ) -> Result<Self> {
        let (hash, account) = (paid.hash(), paid.key_fingerprint);
        let orphan = match &journal {
            Some(journal) => {
                if is_new {
                    journal.abandon(&hash, account).await?;
                }
                journal.orphan(&hash, account, paid.is_idempotent).await?
            }
            None => None,
        };
        let payment = Self { paid, hash, journal, orphan, hints };
        if let Some(orphan) = &payment.orphan
            && let Some(reason) = orphan.undecided.filter(|_| orphan.entry.resource.is_none())
        {
            return Err(payment.with_hints(payment.undecided(orphan, reason)));
        }
        Ok(payment)
    }

    /// Warns of an equal request to another URL, which may have been carried out there.
    pub(crate) async fn warn_of_other_url(&self, session: &Session) -> Result {
        let Some(journal) = self.journal.as_ref().filter(|_| self.is_new()) else { return Ok(()) };
        let is_same = |entry: &Entry| {
            let hash = self.paid.hash_at(&entry.base_url, &entry.key_fingerprint);
            entry.base_url != self.paid.base_url && hash == entry.request_hash
        };
        let Some(entry) = journal.unknown_entries().await?.into_iter().find(is_same) else {
            return Ok(());
        };
        let age = clock::format_duration(clock::elapsed(clock::now(), entry.created_at));
        let key = entry.idempotency_key.as_str();
        session.printer.warn(&format!(
            "the same request was sent to {} {age} ago, and its outcome is unknown: this one is \
             another request (if that one was not carried out: {})",
            sanitize(&entry.base_url),
            session.command(&["history", "--settle", key, "--not-run"]),
        ));
        Ok(())
    }

    pub(crate) fn is_new(&self) -> bool {
        self.orphan.is_none()
    }

    pub(crate) fn submitted(&self) -> Option<&Entry> {
        let entry = self.orphan.as_ref().map(|orphan| &orphan.entry);
        entry.filter(|entry| entry.resource.is_some())
    }

    /// Says whether what an earlier run left open is resumed, or sent again with its key and charged once.
    pub(crate) fn announce(&self, printer: &Printer) {
        let Some(orphan) = &self.orphan else { return };
        let age = clock::format_duration(orphan.age());
        printer.note(&match &orphan.entry.resource {
            Some(id) => format!(
                "Resuming {} (submitted {age} ago by the same command; pass --new to submit a new {})",
                sanitize(id.id()),
                id.noun(),
            ),
            None => format!(
                "Resending with the same idempotency key (the same command was interrupted {age} ago)…"
            ),
        });
    }

    /// Makes a call with a new key a part of the journal. Returns it with the key that it is sent with.
    pub(crate) fn record<R: handle::Resource>(
        &self,
        call: Call<Handle<R>>,
        key: IdempotencyKey,
        price: Option<Usd>,
    ) -> (Call<Handle<R>>, IdempotencyKey) {
        let call = match &self.journal {
            Some(journal) => journal.submission(call, &self.hash, self.paid.notes(price)),
            None => call,
        };
        (call, self.key(key))
    }

    /// Makes a call of a paid tool a part of the journal, unless there is none.
    #[cfg(feature = "mcp")]
    pub(crate) fn record_tool<'c>(
        &self,
        client: &'c svc_mcp::McpClient,
        tool: &str,
        arguments: Value,
    ) -> Option<svc_mcp::ToolCall<'c>> {
        let journal = self.journal.as_ref()?;
        let call = client.submit(tool, arguments);
        Some(journal.tool_submission(call, &self.hash, self.paid.notes(None)))
    }

    /// Returns the key of what is left open, or else the new one.
    pub(crate) fn key(&self, new: IdempotencyKey) -> IdempotencyKey {
        let orphan = self.orphan.as_ref();
        orphan.map_or(new, |orphan| orphan.entry.idempotency_key.clone())
    }

    /// Sends the request. `failed` says what cannot be done without it.
    pub(crate) async fn send<T>(
        &self,
        session: &Session,
        sending: impl Future<Output = Result<T>>,
        key: &IdempotencyKey,
        failed: impl Into<String>,
    ) -> Result<T> {
        let failure = match session.send(sending).await {
            Ok(sent) => return Ok(sent),
            Err(failure) => failure.context(failed).with_idempotency_key(key.as_str()),
        };
        if failure.exit() != Exit::Ambiguous {
            return Err(failure);
        }
        if !self.can_repeat().await {
            return Err(self.with_hints(failure));
        }
        Err(match &self.journal {
            Some(_) => failure.hint(
                "run the same command again on this machine: it uses the same idempotency key",
            ),
            None => failure.hint(format!(
                "run the same command with --idempotency-key {key}: the same key is charged once"
            )),
        })
    }

    /// Returns whether the same request would be sent again with the same key, or is still under way.
    pub(crate) async fn can_repeat(&self) -> bool {
        match &self.journal {
            Some(journal) if self.paid.is_idempotent => {
                let account = self.paid.key_fingerprint;
                let orphan = journal.orphan(&self.hash, account, true).await;
                !orphan.is_ok_and(|it| it.is_some_and(|orphan| orphan.undecided.is_some()))
            }
            _ => self.paid.is_idempotent,
        }
    }

    pub(crate) async fn close(
        &self,
        printer: &Printer,
        intent: Option<&IntentId>,
        outcome: Option<Outcome>,
    ) {
        if let (Some(journal), Some(intent), Some(outcome)) = (&self.journal, intent, outcome)
            && let Err(failure) = journal.close(intent, outcome).await
        {
            printer.warn(&format!(
                "cannot write to the journal: {}; the same command will resume this {}",
                failure.headline(),
                self.paid.request.noun
            ));
        }
    }

    /// Returns the failure of the request. One that says nothing of an earlier attempt says so.
    pub(crate) fn failure(&self, error: Error) -> Failure {
        let is_unsettled = error.has_unsettled_attempt();
        let is_conflict = error.code() == Some(&ErrorCode::IdempotencyConflict);
        let failure = match &self.journal {
            Some(journal) => journal.failure(error),
            None => Failure::from(error),
        };
        let failure = ambiguous_if_key_in_use(failure);
        match failure.exit() {
            Exit::Ambiguous => failure,
            // The key belongs to another request, which says nothing of the earlier attempt.
            _ if is_unsettled && is_conflict => {
                failure.with_unsettled_attempt().with_exit(Exit::Ambiguous)
            }
            _ if is_unsettled => failure.with_unsettled_attempt(),
            // The body is not what has to be corrected.
            _ if is_conflict => {
                failure.without_hints().with_exit(Exit::Usage).hint(match self.paid.chosen_key {
                    Some(_) => "choose another key; nothing was charged",
                    None => "run the same command again: it uses another key; nothing was charged",
                })
            }
            _ => failure,
        }
    }

    /// Returns the failure of a request that an earlier run left open, and that cannot be sent again.
    fn undecided(&self, orphan: &Orphan, reason: UndecidedReason) -> Failure {
        let since = clock::format_duration(orphan.age());
        let (what, why) = match reason {
            UndecidedReason::AcceptedWithoutId => {
                ("run", "the service accepted it with a response that has no readable id")
            }
            UndecidedReason::NewerVersion => {
                ("run", "a newer version of svc has written its journal")
            }
            UndecidedReason::Closed => (
                "interrupted",
                "its journal entry was closed before the service's receipt was recorded",
            ),
            _ if self.paid.is_idempotent => ("interrupted", "its idempotency key has expired"),
            _ => ("interrupted", "the operation does not support idempotency keys"),
        };
        Failure::new(
            Exit::Ambiguous,
            format!(
                "the same command was {what} {since} ago and its outcome is unknown: {why}, so \
                resending it could charge twice"
            ),
        )
        .context("not submitted")
        .with_idempotency_key(orphan.entry.idempotency_key.as_str())
    }

    fn with_hints(&self, failure: Failure) -> Failure {
        let failure = self.hints.iter().cloned().fold(failure, Failure::hint);
        let Some(key) = failure.idempotency_key().filter(|_| self.journal.is_some()) else {
            return failure;
        };
        let settle = ["history", "--settle", key];
        let hint = Suggestion::from("or record what you found, and run the command again: ")
            .svc([&settle[..], &["--ran", "ID"]].concat())
            .then(", or ")
            .svc([&settle[..], &["--not-run"]].concat());
        failure.hint(hint)
    }
}

/// Marks a failure as ambiguous if its key is in use: another request with that key is in flight.
pub(crate) fn ambiguous_if_key_in_use(failure: Failure) -> Failure {
    match failure.code() {
        Some(code) if code == ErrorCode::IdempotencyKeyInUse.as_str() => {
            failure.with_exit(Exit::Ambiguous)
        }
        _ => failure,
    }
}

/// Only the journal knows the keys that the caller chose where the service documents none.
pub(crate) async fn submitted_with_key(
    session: &Session,
    paid: &PaidRequest<'_>,
    args: JournalArgs,
) -> Result<Option<ResourceId>> {
    let Some(key) = paid.chosen_key else { return Ok(None) };
    if paid.is_idempotent || session.is_sandbox() {
        return Ok(None);
    }
    check_flags(args, key)?;
    session.printer.note(
        "note: the service does not document keys here; only this machine's journal protects",
    );
    let hash = paid.hash();
    let mut entries = session.submitted().await?;
    entries.retain(|entry| {
        let was_carried_out = !matches!(
            entry.outcome,
            Some(Outcome::Refused | Outcome::NotSent | Outcome::Abandoned)
        );
        entry.idempotency_key == *key
            && entry.base_url == paid.base_url
            && entry.key_fingerprint == paid.key_fingerprint
            && was_carried_out
    });
    if !entries.is_empty() && entries.iter().all(|entry| entry.request_hash != hash) {
        let why = format!("the idempotency key {key} was used for another request");
        return Err(Failure::usage(why).context("not submitted").hint("choose another key"));
    }
    // One whose outcome was not reported is resumed.
    let found = entries.into_iter().find(|entry| entry.outcome.is_some());
    let Some(entry) = found else { return Ok(None) };
    let Some(id) = entry.resource else { return Ok(None) };
    let age = clock::format_duration(clock::elapsed(clock::now(), entry.created_at));
    session.printer.note(&format!(
        "Found {} {} (submitted {age} ago with this idempotency key); nothing was sent",
        id.noun(),
        sanitize(id.id())
    ));
    Ok(Some(id))
}

fn check_flags(args: JournalArgs, key: &IdempotencyKey) -> Result {
    let flag = match (args.new, args.no_journal) {
        (true, _) => "--new",
        (_, true) => "--no-journal",
        _ => return Ok(()),
    };
    let why = format!(
        "{flag} and --idempotency-key {key} cannot be used together: the service does not document \
         keys here, so that only the journal of this machine recognizes it"
    );
    Err(Failure::usage(why).context("not submitted"))
}
