//! Examples of the commands for webhooks, MCP and development.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    (
        "svc webhook listen",
        &[
            "svc webhook listen --port 9000 --forward-to http://127.0.0.1:3000/hooks",
            "# Keep events over restarts",
            "svc webhook listen --port 9000 --forward-to http://127.0.0.1:3000/hooks --store events.jsonl",
        ],
    ),
    (
        "svc webhook inbox list",
        &[
            "svc webhook inbox list --store events.jsonl",
            "svc webhook inbox list --store events.jsonl --state dead --jq '.[].id'",
        ],
    ),
    (
        "svc webhook inbox show",
        &[
            "svc webhook inbox show 42 --store events.jsonl",
            "# The raw body, byte for byte",
            "svc webhook inbox show 42 --store events.jsonl --body",
        ],
    ),
    (
        "svc webhook inbox replay",
        &[
            "svc webhook inbox replay 42 43 --store events.jsonl",
            "svc webhook inbox replay --dead --store events.jsonl",
            "# After a bug in the target",
            "svc webhook inbox replay --since 2026-01-05T10:00:00Z --store events.jsonl",
        ],
    ),
    (
        "svc webhook inbox purge",
        &[
            "svc webhook inbox purge --store events.jsonl",
            "svc webhook inbox purge --older-than 30d --store events.jsonl",
        ],
    ),
    (
        "svc webhook verify",
        &[
            "svc webhook verify --timestamp 1767225600 --signature svc-v1=abc body.json",
            "svc webhook verify --timestamp 1767225600 --signature svc-v1=abc --tolerance 0 body.json",
        ],
    ),
    (
        "svc webhook sign",
        &[
            "svc webhook sign body.json",
            "svc webhook sign --secret-file secret.txt body.json",
        ],
    ),
    (
        "svc webhook trigger",
        &[
            "svc webhook trigger job.completed --to http://127.0.0.1:9000",
            "svc webhook trigger job.failed --to http://127.0.0.1:9000 --job-id job_123",
        ],
    ),
    (
        "svc webhook test",
        &[
            "svc webhook test https://hooks.example.com/svc",
            "svc webhook test https://hooks.example.com/svc --jq .status_code",
        ],
    ),
    (
        "svc webhook secret show",
        &[
            "svc webhook secret show",
            "svc webhook secret show --jq .secret",
        ],
    ),
    (
        "svc webhook secret rotate",
        &[
            "svc webhook secret rotate",
            "svc webhook secret rotate --yes --jq .rotation",
        ],
    ),
    (
        "svc mcp tools",
        &["svc mcp tools", "svc mcp tools --jq '.[].name'"],
    ),
    (
        "svc mcp call",
        &[
            "svc mcp call image_generate --arg prompt=\"a red fox\" --arg max_spend_usd=0.05",
            "svc mcp call jobs_status --arg job_id=job_123",
        ],
    ),
    (
        "svc mcp serve",
        &[
            "svc mcp serve --max-spend-usd 0.50 --max-total-usd 5",
            "svc mcp serve --max-spend-usd 0.50 --sandbox",
        ],
    ),
    (
        "svc api",
        &[
            "svc api get /v1/jobs --query status=failed",
            "svc api post /v1/open/estimate --body @estimate.json",
        ],
    ),
    (
        "svc schema fetch",
        &[
            "svc schema fetch openapi.json",
            "svc schema fetch --reference --jq '.paths | keys'",
        ],
    ),
    (
        "svc schema check",
        &[
            "svc schema check",
            "svc schema check --against openapi.json",
        ],
    ),
    (
        "svc operations",
        &[
            "svc operations",
            "svc operations --jq '.[] | select(.retry == \"key\") | .cli'",
        ],
    ),
    (
        "svc mock serve",
        &[
            "svc mock serve",
            "# On free ports, with a clock that runs 60 times as fast",
            "svc mock serve --port-base 0 --speed 60",
            "# In another terminal: the next submit of an image fails with 503",
            "curl 127.0.0.1:4013/faults -d '{\"operation\": \"image_generate\", \"kind\": \"status_503\"}'",
        ],
    ),
    (
        "svc mock exec",
        &[
            "svc mock exec -- cargo test",
            "svc mock exec --seed 7 --balance-usd 5 -- npm test",
            "svc mock exec --speed 60 -- svc video generate \"a fox\" --yes",
        ],
    ),
    ("svc health", &["svc health", "svc health --jq .status"]),
];
