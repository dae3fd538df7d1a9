//! Examples of the commands for models, prices and the account.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    (
        "svc model list",
        &[
            "svc model list --type video",
            "svc model list --jq '.[].id'",
        ],
    ),
    (
        "svc model get",
        &[
            "svc model get video-f",
            "svc model get image-i --type image --jq .capabilities",
        ],
    ),
    (
        "svc model run",
        &[
            "svc model run image-1.0 \"a red fox\" --owner studio --download out",
            "svc model run video-1.0 \"a red fox\" --owner studio --duration 5 --no-wait",
        ],
    ),
    (
        "svc pricing list",
        &["svc pricing list", "svc pricing list -o jsonl"],
    ),
    (
        "svc pricing get",
        &[
            "svc pricing get video-f",
            "svc pricing get video-f --jq .pricing.rates",
        ],
    ),
    (
        "svc estimate",
        &[
            "svc estimate \"a red fox\" --model video-f --duration 5 --resolution 720p",
            "svc estimate \"a red fox\" --model image-i --num-images 4 --jq .price_usd",
        ],
    ),
    (
        "svc catalog",
        &["svc catalog", "svc catalog --jq '.models[].id'"],
    ),
    (
        "svc bgm list",
        &["svc bgm list", "svc bgm list --jq '.[].title'"],
    ),
    (
        "svc bgm categories",
        &["svc bgm categories", "svc bgm categories --jq '.[].id'"],
    ),
    (
        "svc bgm pick",
        &[
            "svc bgm pick --mood calm",
            "svc bgm pick --category ambient --jq .url",
        ],
    ),
    (
        "svc trending search",
        &[
            "svc trending search cats",
            "svc trending search \"street food\" --limit 5",
        ],
    ),
    ("svc me", &["svc me", "svc me --jq .generation_limits"]),
    (
        "svc balance",
        &["svc balance", "svc balance --jq .available_usd"],
    ),
    (
        "svc usage",
        &["svc usage", "svc usage --chart", "svc usage --entries"],
    ),
    (
        "svc top-up create",
        &[
            "svc top-up create --amount-usd-cents 2000",
            "svc top-up create --amount-usd-cents 2000 --jq .checkout_url",
        ],
    ),
    (
        "svc top-up get",
        &[
            "svc top-up get top_123",
            "svc top-up get top_123 --jq .status",
        ],
    ),
    (
        "svc top-up wait",
        &[
            "svc top-up wait top_123",
            "svc top-up wait top_123 --timeout 5m",
        ],
    ),
];
