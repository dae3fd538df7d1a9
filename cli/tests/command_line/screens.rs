//! Snapshots of what a terminal shows, which scripts compare. `INSTA_UPDATE=always cargo test -p svc-cli
//! screens` stores them anew.

/// What differs from run to run, and what stands for it. Ids keep their length, so that lines are
/// wrapped as before.
const FILTERS: [(&str, &str); 10] = [
    (r"\b(job|art|req|run|evt)_[0-9a-z]{20}\b", "${1}_00000000000000000000"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"\d+ (ms|trusted certificates)", "1 $1"),
    (r"[⠀-⣿] ", "⠿ "),
    (r"(?m)  \d+s(  |$)", "  0s$1"),
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "00000000-0000-0000-0000-000000000000",
    ),
    // On a terminal of 40 columns.
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{2}\n[0-9a-f]{2}-[0-9a-f]{12}",
        "00000000-0000-0000-00\n00-000000000000",
    ),
    (r",(\s)(next poll in \d+ s|polling)", ",${1}next poll in 1 s"),
    (r"(/[^ ]+)+/svc\.toml|/tmp/\.tmp[^ /]+|/var/folders/[^ ]+", "HOME"),
    (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
];

/// Compares a text with the stored one.
pub(crate) fn assert_screen(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    for (pattern, replacement) in FILTERS {
        settings.add_filter(pattern, replacement);
    }
    settings.bind(|| insta::assert_snapshot!(name, text));
}
