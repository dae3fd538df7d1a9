//! Examples of the commands for jobs, runs, queues, batches and the history.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    (
        "svc job list",
        &[
            "svc job list --status processing --limit 10",
            "svc job list --all -o jsonl",
            "svc job list --type video_generation --jq '.[].id'",
        ],
    ),
    (
        "svc job get",
        &["svc job get job_123", "svc job get job_123 --jq .status"],
    ),
    (
        "svc job status",
        &[
            "svc job status job_123",
            "svc job status job_123 --jq .terminal",
        ],
    ),
    (
        "svc job result",
        &[
            "svc job result job_123",
            "svc job result job_123 --jq '.artifacts[].url'",
        ],
    ),
    (
        "svc job cancel",
        &[
            "svc job cancel job_123",
            "svc job cancel job_123 --surface developer",
        ],
    ),
    (
        "svc job events",
        &["svc job events job_123", "svc job events job_123 -o jsonl"],
    ),
    (
        "svc job redeliver",
        &[
            "svc job redeliver job_123",
            "svc job redeliver job_123 --jq .webhook_delivery",
        ],
    ),
    (
        "svc job wait",
        &[
            "svc job wait --last",
            "svc job wait job_123 job_456 --timeout 5m --download out",
        ],
    ),
    (
        "svc job download",
        &[
            "svc job download job_123",
            "svc job download job_123 job_456 --dir out",
        ],
    ),
    (
        "svc job watch",
        &["svc job watch", "svc job watch job_123 job_456 -o jsonl"],
    ),
    (
        "svc run get",
        &[
            "svc run get run_123",
            "svc run get run_123 --kind agent --jq .usage",
        ],
    ),
    (
        "svc run status",
        &[
            "svc run status run_123",
            "svc run status run_123 --kind format --jq .terminal",
        ],
    ),
    (
        "svc run result",
        &[
            "svc run result run_123",
            "svc run result run_123 --jq .output",
        ],
    ),
    (
        "svc run events",
        &["svc run events run_123", "svc run events run_123 -o jsonl"],
    ),
    (
        "svc run cancel",
        &[
            "svc run cancel run_123",
            "svc run cancel run_123 --kind action",
        ],
    ),
    (
        "svc run wait",
        &[
            "svc run wait run_123 --download out",
            "svc run wait run_123 run_456 --timeout 30m --receipt",
        ],
    ),
    (
        "svc run download",
        &[
            "svc run download run_123",
            "svc run download run_123 run_456 --dir out",
        ],
    ),
    (
        "svc run redeliver",
        &[
            "svc run redeliver run_123",
            "svc run redeliver run_123 --jq .webhook_delivery",
        ],
    ),
    (
        "svc queue get",
        &[
            "svc queue get frq_123",
            "svc queue get frq_123 --jq .counts",
        ],
    ),
    (
        "svc queue wait",
        &[
            "svc queue wait frq_123 --download out",
            "svc queue wait --last --timeout 1h",
        ],
    ),
    (
        "svc batch run",
        &[
            "svc batch run prompts.jsonl --max-spend 5 --download out",
            "# Columns are fields of the body; run it again to resume it",
            "svc batch run prompts.csv --operation image_generate --concurrency 8 --yes",
        ],
    ),
    (
        "svc batch status",
        &[
            "svc batch status prompts.jsonl",
            "svc batch status prompts.jsonl --jq .by_status",
        ],
    ),
    (
        "svc history",
        &[
            "svc history --limit 10 --refresh",
            "# Requests whose outcome is not known: they may have been charged",
            "svc history --open",
        ],
    ),
];
