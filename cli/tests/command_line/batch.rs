//! `svc batch`: what scripts cannot say.

use std::fs::{self, File};

use crate::test_env::TestEnv;

#[test]
fn an_earlier_version_that_runs_keeps_its_journal() {
    let env = TestEnv::new();
    let journal = "{\"batch\":{\"version\":1,\"total\":1,\"at\":\"2026-01-01T00:00:00Z\"}}\n";
    let path = env.path("m.csv.journal.jsonl");
    fs::write(&path, journal).unwrap();
    fs::write(env.path("m.csv"), "model,prompt\nimage-i,x\n").unwrap();
    let file = File::options().append(true).open(&path).unwrap();
    file.lock().unwrap();
    let run = env.run("batch run m.csv").assert_exit(2);
    run.assert_stderr("another process is running this batch");
    assert_eq!(fs::read_to_string(&path).unwrap(), journal);
}
