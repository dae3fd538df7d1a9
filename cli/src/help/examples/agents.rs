//! Examples of the commands for Actions, Formats and the agent.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    (
        "svc action list",
        &[
            "svc action list",
            "svc action list --status active --trigger-type api_call",
        ],
    ),
    (
        "svc action get",
        &[
            "svc action get act_daily",
            "svc action get act_daily --jq .triggers",
        ],
    ),
    (
        "svc action runs",
        &[
            "svc action runs act_daily",
            "svc action runs act_daily --jq '.[].status'",
        ],
    ),
    (
        "svc action run",
        &[
            "svc action run act_daily",
            "svc action run act_daily \"only today's news\" --param 'input={\"city\": \"Lisbon\"}'",
        ],
    ),
    (
        "svc action run-get",
        &[
            "svc action run-get act_daily run_123",
            "svc action run-get act_daily run_123 --jq .output",
        ],
    ),
    (
        "svc format list",
        &[
            "svc format list",
            "svc format list --limit 10 --jq '.[].id'",
        ],
    ),
    (
        "svc format get",
        &[
            "svc format get demo/product-shot",
            "svc format get demo/product-shot --jq .generation_spend_cap_usd_micros",
        ],
    ),
    (
        "svc format runs",
        &[
            "svc format runs demo/product-shot",
            "svc format runs demo/product-shot --limit 5",
        ],
    ),
    (
        "svc format run",
        &[
            "svc format run demo/product-shot \"a red shoe\" --cap 2 --download out",
            "svc format run demo/product-shot @brief.txt --attach https://example.com/shoe.png",
            "# Print the output as data of a given shape",
            "svc format run demo/product-shot \"a red shoe\" --output-schema shot.json --jq .title",
        ],
    ),
    (
        "svc format bulk",
        &[
            "svc format bulk demo/product-shot --input shoes.csv --concurrency 16 --cap 0.50",
            "svc format bulk demo/product-shot --param 'items=[{\"instruction\": \"a red shoe\"}]'",
        ],
    ),
    (
        "svc agent run",
        &[
            "svc agent run \"Make a 10 s teaser for a bakery\" --cap 2 --download out",
            "svc agent run @brief.txt --cap 5 --no-wait",
        ],
    ),
    (
        "svc agent runs",
        &[
            "svc agent runs",
            "svc agent runs --limit 5 --jq '.[].status'",
        ],
    ),
];
