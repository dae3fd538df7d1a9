//! The rows of the table.

use serde::Serialize;

use crate::timing::Costs;

/// What is counted.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Nanoseconds,
    Milliseconds,
    Seconds,
    Bytes,
    Mebibytes,
    Allocations,
    Calls,
    PerSecond,
    Refusals,
    Crates,
}

impl Unit {
    fn format(self, value: f64) -> String {
        match self {
            Self::Nanoseconds if value >= 10_000.0 => format!("{:.1} µs", value / 1000.0),
            Self::Nanoseconds => format!("{value:.0} ns"),
            Self::Milliseconds => format!("{value:.2} ms"),
            Self::Seconds => format!("{value:.2} s"),
            Self::Bytes => format!("{value:.0} B"),
            Self::Mebibytes => format!("{value:.1} MiB"),
            Self::Allocations => format!("{value:.0} allocations"),
            Self::Calls => format!("{value:.2} calls"),
            Self::PerSecond => format!("{value:.0} /s"),
            Self::Refusals => format!("{value:.0} × 429"),
            Self::Crates => format!("{value:.0} crates"),
        }
    }
}

/// One measurement, beside that of a peer if there is one.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    work: String,
    unit: Unit,
    own: f64,
    peer: Option<Peer>,
    goal: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Peer {
    name: String,
    value: f64,
    /// This project's value for each of the peer's.
    ratio: f64,
}

impl Row {
    pub(crate) fn new(work: impl Into<String>, unit: Unit, own: f64) -> Self {
        Self { work: work.into(), unit, own, peer: None, goal: None }
    }

    /// Returns the row of two contenders that took turns.
    pub(crate) fn compared(
        work: impl Into<String>,
        unit: Unit,
        peer: &str,
        costs: &Costs<2>,
    ) -> Self {
        let [own, other] = costs.medians();
        Self::new(work, unit, own).beside(peer, other, costs.ratio(1))
    }

    /// Adds the measurement of a peer, and the ratio to it.
    pub(crate) fn beside(mut self, name: impl Into<String>, value: f64, ratio: f64) -> Self {
        let name = name.into();
        self.peer = Some(Peer { name, value, ratio });
        self
    }

    /// Adds what the measurement should be.
    pub(crate) fn goal(mut self, goal: &'static str) -> Self {
        self.goal = Some(goal);
        self
    }

    pub(crate) fn print_json(&self) {
        if let Ok(json) = serde_json::to_string(self) {
            println!("{json}");
        }
    }

    fn cells(&self) -> [String; 5] {
        let (peer, compared) = match (&self.peer, self.unit) {
            (None, _) => (String::new(), String::new()),
            (Some(peer), Unit::Allocations) => (
                format!("{}: {}", peer.name, self.unit.format(peer.value)),
                format!("{:+.0}", self.own - peer.value),
            ),
            (Some(peer), _) => (
                format!("{}: {}", peer.name, self.unit.format(peer.value)),
                format!("{:.2}x", peer.ratio),
            ),
        };
        let own = self.unit.format(self.own);
        let goal = self.goal.unwrap_or_default().to_owned();
        [self.work.clone(), own, peer, compared, goal]
    }
}

/// Prints the rows as a Markdown table with aligned columns.
pub(crate) fn print_table(rows: &[Row]) {
    let head = ["work", "svc", "peer", "compared", "goal"].map(str::to_owned);
    let cells: Vec<_> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let widths: [usize; 5] = std::array::from_fn(|column| {
        let width = |row: &[String; 5]| row.get(column).map_or(0, |cell| cell.chars().count());
        cells.iter().map(width).max().unwrap_or_default()
    });
    for (index, row) in cells.iter().enumerate() {
        let padded: Vec<_> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        println!("| {} |", padded.join(" | "));
        if index == 0 {
            let rules: Vec<_> = widths.iter().map(|width| "-".repeat(*width)).collect();
            println!("|-{}-|", rules.join("-|-"));
        }
    }
}
