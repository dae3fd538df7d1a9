//! The timeline of a job or run: its states, and the charges and webhooks that it led to.

use std::sync::Arc;

use maud::{Markup, Render, html};
use serde_json::Value;

use super::parts::{parse_time, time};
use super::values::{id_of, is_terminal, text};
use crate::engine::Time;
use crate::engine::ledger::{EntryKind, LedgerEntry, Subject};
use crate::engine::webhooks::log::DeliveryRecord;
use crate::simulator::Simulator;

/// The width of the drawing, in its own units.
const WIDTH: f64 = 1_000.0;
/// The width of its first part, which is true to scale.
const SCALED_WIDTH: f64 = 820.0;
/// The maximum number of ledger entries among which those of a job are looked for.
const MAX_ENTRIES: usize = 100_000;

/// The states of a job or run in time, and what happened to it.
#[derive(Debug)]
pub(super) struct TimelineChart {
    phases: Vec<Phase>,
    steps: Vec<Step>,
    created: Time,
    /// The time up to which phases are past.
    until: Time,
    /// The end of the last phase.
    end: Time,
    is_endless: bool,
    now: Time,
}

/// A span in one state.
#[derive(Debug)]
struct Phase {
    class: &'static str,
    from: Time,
    to: Time,
}

#[derive(Debug)]
struct Step {
    at: Time,
    /// The class, which the drawing and the list have in common.
    class: &'static str,
    name: String,
    details: String,
}

impl TimelineChart {
    /// Returns the timeline of a job or run that the control API shows.
    pub(super) fn read(simulator: &Simulator, item: &Value) -> Option<Self> {
        let parse = |path| parse_time(text(item, path));
        let created = parse("/timeline/created_at")?;
        let updated = parse("/updated_at")?;
        let now = simulator.now();
        let status = text(item, "/status");
        let is_terminal = is_terminal(item);
        let planned_end = parse("/timeline/ends_at");
        let end = if is_terminal { updated } else { planned_end.unwrap_or(now).max(now) };
        let until = if is_terminal { updated } else { now };
        let mut states: Vec<_> = [
            ("Submitted", "waiting", Some(created)),
            ("Started", "started", parse("/timeline/starts_at")),
            ("Generating", "generating", parse("/timeline/generation_starts_at")),
        ]
        .into_iter()
        .filter_map(|(name, class, at)| Some((name, class, at?)))
        // What has ended early never reaches its later states.
        .filter(|(.., at)| !is_terminal || *at <= until)
        .collect();
        states.sort_by_key(|(.., at)| *at);
        let ends = states.iter().skip(1).map(|(.., at)| *at).chain([end]);
        let mut phases: Vec<_> = states
            .iter()
            .zip(ends)
            .map(|((_, class, from), to)| Phase { class, from: *from, to })
            .collect();
        let mut steps: Vec<_> =
            states.iter().map(|(name, class, at)| Step::new(*at, class, *name, "")).collect();
        if is_terminal {
            let class = match status {
                "completed" => "good",
                "failed" => "bad",
                _ => "canceled",
            };
            if let Some(last) = phases.last_mut() {
                last.class = class;
            }
            steps.push(Step::new(updated, class, capitalized(status), ""));
        } else if let Some(at) = planned_end {
            steps.push(Step::new(at, "end", "Ends", ""));
        }
        steps.extend(charges(simulator, item, created));
        let attempts = simulator.state.delivery_log.newest_first();
        let id = id_of(item);
        let attempts = attempts.filter(|attempt| attempt.subject_id.as_deref() == Some(id));
        steps.extend(attempts.map(Step::of_attempt));
        if let Some(at) = parse("/webhook_delivery/next_attempt_at") {
            let details = if at > now { "next attempt" } else { "attempt under way" };
            steps.push(Step::new(at, "webhook", "Webhook", details));
        }
        steps.sort_by_key(|step| step.at);
        let is_endless = planned_end.is_none() && !is_terminal;
        Some(Self { phases, steps, created, until, end, is_endless, now })
    }

    /// Returns the place of a time up to the end in the drawing.
    fn x(&self, at: Time) -> f64 {
        let span = |at: Time| at.since(self.created).as_secs_f64();
        let width =
            if self.steps.iter().any(|step| step.at > self.end) { SCALED_WIDTH } else { WIDTH };
        (span(at) / span(self.end).max(0.001) * width).min(width)
    }
}

/// Returns what a job or run was charged and refunded.
fn charges(simulator: &Simulator, item: &Value, created: Time) -> Vec<Step> {
    let id = id_of(item);
    let entries =
        simulator.state.ledger.newest_first(text(item, "/workspace"), None).map(|(_, entry)| entry);
    let entries = entries.take(MAX_ENTRIES).take_while(|entry| entry.created_at >= created);
    let own = entries.filter(|entry| match &entry.subject {
        Subject::Job(subject) | Subject::Run(subject) => **subject == *id,
        Subject::TopUp(_) => false,
    });
    let mut steps: Vec<_> = own.map(Step::of_entry).collect();
    // Entries of the same time stay in their order.
    steps.reverse();
    steps
}

impl Step {
    fn new(
        at: Time,
        class: &'static str,
        name: impl Into<String>,
        details: impl Into<String>,
    ) -> Self {
        Self { at, class, name: name.into(), details: details.into() }
    }

    fn of_entry(entry: &LedgerEntry) -> Self {
        let name = match entry.kind {
            EntryKind::Reservation => "Reserved",
            EntryKind::Capture => "Charged",
            EntryKind::Refund => "Refunded",
            EntryKind::TopUp => "Paid in",
        };
        Self::new(entry.created_at, "charge", name, format!("{} USD", entry.amount))
    }

    fn of_attempt(attempt: &Arc<DeliveryRecord>) -> Self {
        let is_delivered = attempt.status.is_some_and(|status| (200..300).contains(&status));
        let class = if is_delivered { "webhook good" } else { "webhook bad" };
        let error = attempt.error.as_deref().unwrap_or_default();
        let status = attempt.status.map(|status| status.to_string()).unwrap_or_default();
        Self::new(attempt.at, class, "Webhook", format!("{status} {error}").trim())
    }
}

impl Render for TimelineChart {
    fn render(&self) -> Markup {
        let (scaled, late): (Vec<_>, Vec<_>) =
            self.steps.iter().partition(|step| step.at <= self.end);
        let spacing = (WIDTH - SCALED_WIDTH) / (late.len() + 1) as f64;
        let late =
            (1..).zip(late).map(|(place, step)| (SCALED_WIDTH + spacing * f64::from(place), step));
        let places = scaled.into_iter().map(|step| (self.x(step.at), step)).chain(late);
        html! {
            section.timeline aria-labelledby="timeline-title" {
                h3 #timeline-title { "Timeline" }
                svg viewBox="-8 0 1016 28" preserveAspectRatio="none" aria-hidden="true" {
                    rect.track x="0" y="11" width=(WIDTH) height="6" {}
                    @for phase in &self.phases {
                        @let (from, to) = (self.x(phase.from), self.x(phase.to.min(self.until)));
                        @if to > from { rect.(phase.class) x=(from) y="11" width=(to - from) height="6" {} }
                    }
                    @for (x, step) in places {
                        // Webhooks are above the line, charges below it.
                        @let (y, height) = match step.class {
                            "charge" => (17, 9),
                            class if class.starts_with("webhook") => (2, 9),
                            _ => (6, 16),
                        };
                        rect class={ "mark " (step.class) @if step.at > self.now { " planned" } } x=(x - 3.0) y=(y) width="6" height=(height) {}
                    }
                }
                ol {
                    @for step in &self.steps {
                        li class={ (step.class) @if step.at > self.now { " planned" } } {
                            (time(&step.at.to_string())) " "
                            span.muted { "+" (format!("{:.1}", step.at.since(self.created).as_secs_f64())) " s" } " "
                            strong { (step.name) }
                            @if !step.details.is_empty() { " " (step.details) }
                            @if step.at > self.now { span.muted { " planned" } }
                        }
                    }
                    @if self.is_endless { li.planned { strong { "Never ends" } span.muted { " as its prompt says" } } }
                }
            }
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
