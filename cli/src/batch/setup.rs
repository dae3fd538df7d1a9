//! What happens before a batch runs: clients, checks and the confirmation prompt.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::SignedDuration;
use svc_sdk::contract::{Operation, RateLimitBucket};
use svc_sdk::journal::SpendLimit;
use svc_sdk::observe::{AttemptEnd, Observer};
use svc_sdk::types::Usd;
use svc_sdk::{ClientSurface, Open, RateLimit, RawResponse, RetryPolicy};

use super::journal::{ACCOUNT, BUDGET, Journal, Note, Quota, Status};
use super::manifest::{Manifest, Models};
use super::options::BatchOptions;
use super::plan::{Item, NextStep, Plan};
use super::quote::Quote;
use super::requests::{Clients, lock};
use crate::args::SurfaceChoice;
use crate::clock;
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::request::pricing::{NOTHING_CHARGED, before_submit};
use crate::session::{Access, Session, surface_choice};
use crate::text::{counted, nearest, sanitize};

/// The times that a request is sent again, unless `--retries` sets another number.
const MAX_RETRIES: u32 = 6;

/// Returns a client of a surface, if the batch needs one.
pub(super) fn access<S: ClientSurface>(
    session: &Session,
    plan: &Plan,
    options: &BatchOptions,
    journal: &Journal,
    writes: &ObservedWrites,
) -> Result<Option<Arc<Access<S>>>> {
    let surface = surface_choice::<S>();
    let is_needed = |item: &Item| item.surface == surface && item.next_step != NextStep::Done;
    if !plan.items.iter().any(is_needed) {
        return Ok(None);
    }
    let access = session.access_by::<S>(|builder| {
        let mut builder = builder.journal(journal.submissions.clone()).observer(writes.clone());
        if session.global.retries.is_none() {
            builder = builder.retry(RetryPolicy::default().max_retries(MAX_RETRIES));
        }
        if let Some(limit) = options.max_spend {
            // What was submitted without a limit is not in the budget.
            let left = match plan.is_overcharged {
                true => Usd::ZERO,
                false => limit.checked_sub(plan.outside_budget).unwrap_or_default(),
            };
            builder = builder.spend_limit(SpendLimit::new(BUDGET, left.max(Usd::ZERO)));
        }
        if let Some(quota) = plan.quotas.get(&surface)
            && let Ok(reset_after) =
                Duration::try_from(quota.resets_at.duration_since(clock::now()))
        {
            let known = RateLimit::new(quota.limit, quota.remaining, reset_after);
            builder = builder.known_write_limit(known);
        }
        builder
    })?;
    Ok(Some(Arc::new(Access { client: access.client.with_account(ACCOUNT), ..access })))
}

#[derive(Clone, Debug, Default)]
pub(super) struct ObservedWrites(Arc<Mutex<Vec<Quota>>>);

impl ObservedWrites {
    pub(super) fn take(&self) -> Vec<Note> {
        let quotas = std::mem::take(&mut *lock(&self.0));
        quotas.into_iter().map(Note::Quota).collect()
    }
}

impl Observer for ObservedWrites {
    fn on_attempt_end(&self, attempt: &AttemptEnd<'_>) {
        // Only once half of it is used does the next process have to know.
        let reported = attempt.response.and_then(RawResponse::rate_limit);
        let Some(limit) = reported.filter(|it| it.remaining <= it.limit / 2) else { return };
        let Some(operation) = attempt.request.operation else { return };
        let reset_after = SignedDuration::try_from(limit.reset_after).unwrap_or_default();
        if operation.rate_limit_bucket() == RateLimitBucket::Write
            && let Ok(resets_at) = clock::now().checked_add(reset_after)
        {
            let mut quotas = lock(&self.0);
            quotas.retain(|quota| quota.operation != operation.name());
            quotas.push(Quota {
                operation: operation.name().to_owned(),
                limit: limit.limit,
                remaining: limit.remaining,
                resets_at,
            });
        }
    }
}

pub(super) fn check_account(plan: &Plan, clients: &Clients) -> Result {
    for item in plan.items.iter().filter(|item| item.next_step == NextStep::Wait) {
        let attempt = item.record.attempt.as_ref();
        if let (Some(attempt), Some((base_url, _))) =
            (attempt, clients.url_and_fingerprint(item.surface))
            && attempt.base_url != base_url
        {
            let flag = item.surface.names().url_flag;
            return Err(Failure::usage(format!(
                "the batch was submitted to {}, but {base_url} is configured",
                attempt.base_url
            ))
            .hint(format!(
                "set {flag} {}, or start over, and pay again, with another --journal FILE",
                attempt.base_url
            )));
        }
    }
    Ok(())
}

pub(super) fn asks(session: &Session, plan: &Plan, options: &BatchOptions) -> bool {
    let can_ask = session.printer.can_prompt() && !session.is_sandbox();
    plan.to_submit() > 0 && !options.yes && can_ask
}

pub(super) async fn confirm(
    session: &Session,
    manifest: &Manifest,
    plan: &Plan,
    options: &BatchOptions,
) -> Result {
    if !asks(session, plan, options) {
        return Ok(());
    }
    let quote = Quote::new(session, manifest, plan).await?;
    quote.warn_about_missing_prices(session);
    match quote.question(plan, options.max_spend) {
        Some(question) => session.confirm(&question, NOTHING_CHARGED).await,
        None => Ok(()),
    }
}

/// Warns of a manifest without items, and of columns that are sent although they may not be fields.
pub(super) fn warn(session: &Session, manifest: &Manifest, plan: &Plan, options: &BatchOptions) {
    let printer = &session.printer;
    if plan.items.is_empty() {
        printer.warn(&format!("{} has no items", options.manifest.display()));
    }
    for operation in &plan.submitted {
        for column in manifest.unknown_columns(operation) {
            printer.warn(&format!(
                "the column `{column}` is not a known field of {operation}: it is sent as it is \
                 (to leave it out: --ignore-column {column})"
            ));
        }
    }
}

pub(super) fn note_start(session: &Session, plan: &Plan, options: &BatchOptions) {
    let printer = &session.printer;
    let finished = plan.count(|item| item.next_step == NextStep::Done);
    let is_completed = |item: &Item| item.record.status() == Some(Status::Completed);
    let to_download = plan.count(|item| item.next_step == NextStep::Wait && is_completed(item));
    let in_flight = plan.count(|item| item.next_step == NextStep::Wait && !is_completed(item));
    let unknown = plan.count(|item| item.next_step == NextStep::Resolve);
    if finished + in_flight + to_download + unknown > 0 {
        let mut submitted = String::new();
        for (count, words) in [
            (in_flight, "in flight"),
            (to_download, "to download"),
            (unknown, "with an unknown outcome"),
        ] {
            if count > 0 {
                submitted.push_str(&format!(", {count} {words}"));
            }
        }
        printer.note(&format!(
            "Resuming {}: {finished} of {} finished{submitted}",
            options.manifest.display(),
            counted(plan.items.len(), "item")
        ));
    }
    if plan.missing > 0 {
        printer.warn(&format!(
            "the journal has {} that the manifest no longer has: the cost counts towards \
            --max-spend, but the results are not fetched",
            counted(plan.missing, "item")
        ));
    }
}

pub(super) fn watch_tip(session: &Session, plan: &Plan) -> Option<String> {
    let is_watched = |item: &&Item| item.next_step != NextStep::Done && !item.is_run;
    let watched: Vec<&Item> = plan.items.iter().filter(is_watched).collect();
    let is_shown = session.printer.shows_progress() && !session.is_sandbox() && !watched.is_empty();
    is_shown.then(|| {
        let words = ["job", "watch"];
        let watch = match watched.iter().any(|item| item.surface == SurfaceChoice::Open) {
            true => session.resume_command(SurfaceChoice::Open, &words),
            false => session.resume_command_on(SurfaceChoice::Developer, &words),
        };
        format!("Watch the jobs in another terminal with: {watch}")
    })
}

/// The catalog of models, read when it is needed for the first time.
pub(super) struct Catalog<'a> {
    session: &'a Session,
    models: Models,
    /// The operations of the models. `None` if the catalog cannot be read.
    kinds: Option<HashMap<String, Operation>>,
}

impl<'a> Catalog<'a> {
    pub(super) async fn set_operations(
        session: &'a Session,
        manifest: &mut Manifest,
    ) -> Result<Self> {
        let models = manifest.models()?;
        let mut catalog = Self { session, models, kinds: None };
        if !catalog.models.without_operation.is_empty() {
            let access = session.access::<Open>()?;
            catalog.kinds = Some(catalog.read(&access).await.map_err(unreadable)?);
            catalog.check_known(&catalog.models.without_operation)?;
            manifest.kinds = catalog.kinds.clone().unwrap_or_default();
        }
        Ok(catalog)
    }

    /// Checks that the models of images and videos exist, if anything is to be submitted.
    pub(super) async fn check_if(mut self, is_needed: bool) -> Result {
        if !is_needed || self.models.named.is_empty() {
            return Ok(());
        }
        if self.kinds.is_none() && self.models.without_operation.is_empty() {
            let access = self.session.access::<Open>()?;
            match self.read(&access).await {
                Ok(kinds) => self.kinds = Some(kinds),
                Err(failure) if failure.exit() == Exit::Interrupted => return Err(failure),
                Err(failure) => self.session.printer.warn(&format!(
                    "the models are not checked, because the catalog cannot be read: {}",
                    sanitize(&failure.headline())
                )),
            }
        }
        self.check_known(&self.models.named)
    }

    async fn read(&self, access: &Access<Open>) -> Result<HashMap<String, Operation>> {
        before_submit(self.session, async {
            let models = access.client.models();
            let (images, videos) = tokio::try_join!(models.list_images(), models.list_videos())?;
            let images = images.items.into_iter().map(|it| (it.id, Operation::ImageGenerate));
            let videos = videos.items.into_iter().map(|it| (it.id, Operation::VideoGenerate));
            Ok(images.chain(videos).collect())
        })
        .await
    }

    fn check_known(&self, models: &BTreeMap<String, String>) -> Result {
        let Some(kinds) = self.kinds.as_ref().filter(|it| !it.is_empty()) else { return Ok(()) };
        let unknown = models.iter().filter(|(model, _)| !kinds.contains_key(*model));
        let mut whys = unknown.map(|(model, place)| {
            let known = nearest(model, kinds.keys().map(String::as_str));
            let guess = known.map(|known| format!(": did you mean {known}?")).unwrap_or_default();
            format!("{place}the model `{model}` is not in the catalog{guess}")
        });
        let Some(first) = whys.next() else { return Ok(()) };
        let failure = whys.fold(Failure::usage(first), Failure::issue);
        Err(failure
            .hint(Suggestion::from("list the models with `").svc(["model", "list"]).then("`")))
    }
}

fn unreadable(failure: Failure) -> Failure {
    let failure = match failure.exit() {
        Exit::Interrupted => return failure,
        Exit::Overloaded => failure.hint(
            "or name the operation: --operation image_generate or --operation video_generate",
        ),
        _ => failure,
    };
    let what =
        "cannot read the catalog, which says what the models generate; nothing was submitted";
    failure.context(what)
}
