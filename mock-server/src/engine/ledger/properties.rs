//! Properties of the ledger under any sequence of entries.

use proptest::prelude::*;

use super::{Account, EntryKind, Ledger, Subject, Time, Usd};

const KINDS: [EntryKind; 4] =
    [EntryKind::Reservation, EntryKind::Capture, EntryKind::Refund, EntryKind::TopUp];

/// Generates amounts, also negative ones, and ones that overflow a balance.
fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => 0..1_000_i64,
        1 => -1_000..0_i64,
        1 => i64::MAX - 2_000..=i64::MAX,
        1 => any::<i64>(),
    ]
}

/// Returns the balances after an entry, computed without overflow; `None` if it must be rejected.
fn expected(
    available: i128,
    reserved: i128,
    kind: EntryKind,
    amount: i128,
) -> Option<(i128, i128)> {
    let (available, reserved) = match kind {
        EntryKind::Reservation => (available - amount, reserved + amount),
        EntryKind::Capture => (available, reserved - amount),
        EntryKind::Refund => (available + amount, reserved - amount),
        EntryKind::TopUp => (available + amount, reserved),
    };
    let total = available + reserved;
    let is_valid = amount >= 0 && available >= 0 && reserved >= 0 && total <= i128::from(i64::MAX);
    is_valid.then_some((available, reserved))
}

fn balances(account: &Account) -> (i128, i128) {
    let wide = |amount: Usd| i128::from(amount.as_micros());
    (wide(account.available), wide(account.reserved))
}

proptest! {
    #[test]
    fn entries_are_booked_completely_or_not_at_all(
        openings in [0..3_000_i64, 0..i64::MAX],
        entries in proptest::collection::vec((0..2_usize, 0..KINDS.len(), amount()), 0..60),
    ) {
        let workspaces = ["ws_a", "ws_b"];
        let mut ledger = Ledger::default();
        for (workspace, opening) in workspaces.into_iter().zip(openings) {
            ledger.open(workspace, Usd::from_micros(opening));
        }
        let mut booked = Vec::new();
        for (number, (workspace, kind, amount)) in entries.into_iter().enumerate() {
            let (workspace, kind) = (workspaces[workspace], KINDS[kind]);
            let before = ledger.clone();
            let account = before.account(workspace).unwrap();
            let (available, reserved) = balances(account);
            let expected = expected(available, reserved, kind, amount.into());
            let id = format!("ent_{number}");
            let amount = Usd::from_micros(amount);
            let subject = Subject::Job("job_1".into());
            let result = ledger.book(workspace, id.clone(), kind, amount, subject, Time::default());
            match expected {
                Some(expected) => {
                    prop_assert_eq!(result, Ok(()));
                    prop_assert_eq!(balances(ledger.account(workspace).unwrap()), expected);
                    booked.push((workspace.to_owned(), id));
                }
                None => {
                    prop_assert_eq!(result.map_err(|it| it.available), Err(account.available));
                    prop_assert_eq!(&ledger, &before);
                }
            }
            prop_assert_eq!(ledger.audit(), Ok(()));
        }
        let all: Vec<_> = ledger
            .entries_from(0)
            .map(|(_, entry)| (entry.workspace.to_string(), entry.id.to_string()))
            .collect();
        prop_assert_eq!(&all, &booked);
        for workspace in workspaces {
            check_pages(&ledger, workspace)?;
        }
    }
}

/// Checks that pages of entries, newest first, have every entry of the workspace once.
fn check_pages(ledger: &Ledger, workspace: &str) -> Result<(), TestCaseError> {
    let account = ledger.account(workspace).unwrap();
    let mut expected: Vec<_> = account.entries.iter().copied().collect();
    expected.reverse();
    let (mut before, mut seen) = (None, Vec::new());
    while let Some((seq, _)) = ledger.newest_first(workspace, before).next() {
        prop_assert!(ledger.has(workspace, seq));
        before = Some(seq);
        seen.push(seq);
    }
    prop_assert_eq!(seen, expected);
    let other = if workspace == "ws_a" { "ws_b" } else { "ws_a" };
    let is_shared = account.entries.iter().any(|seq| ledger.has(other, *seq));
    prop_assert!(!is_shared);
    Ok(())
}
