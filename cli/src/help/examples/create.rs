//! Examples of the commands that generate.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    (
        "svc image generate",
        &[
            "svc image generate \"a red fox in snow\" --model image-i --download out",
            "# Four square images, for at most 5 cents, without a question",
            "svc image generate @prompt.txt --model image-i --num-images 4 --max-price 0.05 --yes",
            "# Print only the URLs",
            "svc image generate \"a red fox\" --model image-i --yes --jq '.artifacts[].url'",
        ],
    ),
    (
        "svc video generate",
        &[
            "svc video generate \"a red fox in snow\" --download out",
            "# From a still image; prints the job's id and does not wait",
            "svc video generate \"it turns around\" --image-url https://example.com/fox.png --no-wait",
            "# Show the request and its price, and submit nothing",
            "svc video generate @prompt.txt --model video-f --duration 5 --resolution 720p --dry-run",
        ],
    ),
    (
        "svc music generate",
        &[
            "svc music generate \"calm piano\" --duration 30 --download out",
            "svc music generate @prompt.txt --webhook-url https://hooks.example.com/svc --no-wait",
        ],
    ),
    (
        "svc avatar generate",
        &[
            "svc avatar generate \"a friendly chef\" --avatar-handle chef",
            "svc avatar generate --avatar-handle me --image-url https://example.com/me.png",
        ],
    ),
    (
        "svc avatar talking-video",
        &[
            "svc avatar talking-video --avatar-handle ada --script \"Good morning!\" --download out",
            "svc avatar talking-video --avatar-handle ada --script @script.txt --quality max",
        ],
    ),
    (
        "svc avatar list",
        &[
            "svc avatar list",
            "svc avatar list --any --jq '.[].avatar_handle'",
        ],
    ),
    (
        "svc avatar get",
        &[
            "svc avatar get ava_ada",
            "svc avatar get ava_ada --any --jq .image_url",
        ],
    ),
    (
        "svc avatar search",
        &[
            "svc avatar search chef",
            "svc avatar search \"news anchor\" --limit 5",
        ],
    ),
    (
        "svc avatar-video list",
        &[
            "svc avatar-video list",
            "svc avatar-video list --jq '.[].id'",
        ],
    ),
    (
        "svc avatar-video get",
        &[
            "svc avatar-video get avv_123",
            "svc avatar-video get avv_123 --jq .status",
        ],
    ),
    (
        "svc preview create",
        &[
            "svc preview create --avatar-handle ada --script \"Good morning!\"",
            "svc preview create --avatar-handle ada --script @script.txt --no-wait",
        ],
    ),
    (
        "svc preview get",
        &[
            "svc preview get pre_123",
            "svc preview get pre_123 --jq .status",
        ],
    ),
    (
        "svc preview regenerate",
        &[
            "svc preview regenerate pre_123",
            "svc preview regenerate pre_123 --no-wait",
        ],
    ),
    (
        "svc preview generate-video",
        &[
            "svc preview generate-video pre_123 --download out",
            "svc preview generate-video pre_123 --yes --no-wait",
        ],
    ),
    (
        "svc caption create",
        &[
            "svc caption create --video-url https://example.com/talk.mp4 --language en --download out",
            "svc caption create --video-url https://example.com/talk.mp4 --no-wait",
        ],
    ),
    (
        "svc caption get",
        &[
            "svc caption get cap_123",
            "svc caption get cap_123 --jq '.artifacts[].url'",
        ],
    ),
];
