//! Examples of the commands that set up this program.

use super::Examples;

pub(super) const EXAMPLES: &[Examples] = &[
    (
        "svc init",
        &[
            "svc init",
            "svc init --profile work",
            "# Without a terminal; other URLs and keys are taken from the environment",
            "svc init --base-url https://api.example.com --open-key-file key.txt",
        ],
    ),
    (
        "svc auth login",
        &[
            "svc auth login --base-url https://api.example.com",
            "svc auth login --surface developer --key-file key.txt",
        ],
    ),
    (
        "svc auth status",
        &["svc auth status", "svc auth status --profile work"],
    ),
    (
        "svc auth logout",
        &["svc auth logout", "svc auth logout --surface developer"],
    ),
    (
        "svc config show",
        &["svc config show", "svc config show --origin"],
    ),
    (
        "svc config path",
        &["svc config path", "svc config path --profile work"],
    ),
    (
        "svc config get",
        &[
            "svc config get base_url",
            "svc config get mcp_url --profile work",
        ],
    ),
    (
        "svc config set",
        &[
            "svc config set base_url https://api.example.com",
            "svc config set developer_base_url https://dev.example.com --profile work",
        ],
    ),
    (
        "svc config unset",
        &[
            "svc config unset mcp_url",
            "svc config unset base_url --profile work",
        ],
    ),
    (
        "svc doctor",
        &[
            "svc doctor",
            "svc doctor --profile work",
            "svc doctor --jq '.[] | select(.status == \"failed\")'",
        ],
    ),
    (
        "svc completions",
        &[
            "# In ~/.bashrc: source <(svc completions bash)",
            "svc completions bash",
            "svc completions zsh",
        ],
    ),
    (
        "svc man",
        &["svc man ~/.local/share/man/man1", "svc man man"],
    ),
];
