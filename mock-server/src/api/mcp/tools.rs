//! The tools: what each does, and what a model is told of it.

use serde_json::{Value, json};
use svc_sdk::contract::Operation;

use super::schemas;
use super::tool_action::ToolAction;

/// A tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    pub(super) action: ToolAction,
}

/// All of them, in the order in which they are listed.
#[rustfmt::skip]
pub(super) static TOOLS: [Tool; 12] = [
    Tool { name: "image_generate", title: "Generate images", action: ToolAction::Submit(Operation::Image1Generate),
        description: "Submits an image job and answers at once with its job_id. Costs money." },
    Tool { name: "video_generate", title: "Generate a video", action: ToolAction::Submit(Operation::Video1Generate),
        description: "Submits a video job and answers at once with its job_id. Costs money." },
    Tool { name: "music_generate", title: "Generate music", action: ToolAction::Submit(Operation::Music1Generate),
        description: "Submits a music job and answers at once with its job_id. Costs money." },
    Tool { name: "jobs_status", title: "Job status", action: ToolAction::ReadJob(Operation::JobsStatus),
        description: "Tells whether a job has ended, and when to ask again." },
    Tool { name: "jobs_result", title: "Job result", action: ToolAction::ReadJob(Operation::JobsResult),
        description: "Gives what a job that has ended made, with the URLs of its files." },
    Tool { name: "format_run", title: "Run a Format", action: ToolAction::RunFormat,
        description: "Starts a run of a Format, a saved agent recipe, and answers at once with its run_id. Costs money." },
    Tool { name: "agent_completion", title: "Run the agent", action: ToolAction::Complete,
        description: "Starts the agent on an instruction, with nothing saved, and answers at once with the run_id. Costs money, up to generation_spend_cap_usd." },
    Tool { name: "run_status", title: "Run status", action: ToolAction::RunStatus,
        description: "Tells whether a run has ended, and when to ask again." },
    Tool { name: "run_result", title: "Run result", action: ToolAction::RunResult,
        description: "Gives the receipt of a run that has ended: its output, its files, what it spent." },
    Tool { name: "formats_list", title: "List Formats", action: ToolAction::Read(Operation::FormatsList, Some("formats")),
        description: "Lists the Formats that the key sees." },
    Tool { name: "models_list", title: "List models", action: ToolAction::Read(Operation::Catalog, None),
        description: "Gives the catalog: models, what they cost, what they take." },
    Tool { name: "balance", title: "Balance", action: ToolAction::Read(Operation::Balance, None),
        description: "Tells what the workspace has left to spend." },
];

impl Tool {
    /// Whether it makes something that costs.
    pub(super) const fn is_paid(&self) -> bool {
        matches!(
            self.action,
            ToolAction::Submit(_) | ToolAction::RunFormat | ToolAction::Complete
        )
    }

    /// The tool as it is listed.
    pub(super) fn view(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema(),
            "outputSchema": schemas::output(self.action),
            "annotations": {
                "title": self.title,
                "readOnlyHint": !self.is_paid(),
                "destructiveHint": false,
                // A paid call made twice without a key is paid for twice.
                "idempotentHint": !self.is_paid(),
                "openWorldHint": self.is_paid(),
            },
        })
    }

    /// What it takes.
    pub(super) fn input_schema(&self) -> Value {
        schemas::input(self.action, self.is_paid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_the_protocol_allows_and_come_once() {
        for (place, tool) in TOOLS.iter().enumerate() {
            let plain = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(tool.name.chars().all(plain), "{}", tool.name);
            let first = TOOLS.iter().position(|other| other.name == tool.name);
            assert_eq!(first, Some(place), "{}", tool.name);
        }
    }

    #[test]
    fn a_tool_that_costs_says_so_and_takes_a_limit_and_a_key() {
        for tool in &TOOLS {
            let view = tool.view();
            let properties = &view["inputSchema"]["properties"];
            let paid = tool.is_paid();
            assert_eq!(tool.description.contains("Costs money"), paid);
            assert_eq!(view["annotations"]["readOnlyHint"], !paid);
            for name in ["max_spend_usd", "idempotency_key"] {
                assert_eq!(properties.get(name).is_some(), paid, "{} {name}", tool.name);
            }
            assert_eq!(view["inputSchema"]["type"], "object");
            assert_eq!(view["inputSchema"]["additionalProperties"], false);
            assert_eq!(view["outputSchema"]["type"], "object");
        }
    }
}
