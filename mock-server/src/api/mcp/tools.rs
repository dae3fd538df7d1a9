//! The list of tools, with their descriptions for models.

use serde_json::{Value, json};
use svc_sdk::contract::Operation;

use super::schemas::{self, ToolAction};

#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    pub(super) action: ToolAction,
}

/// All tools, in the order of the list.
#[rustfmt::skip]
pub(super) static TOOLS: [Tool; 12] = [
    Tool { name: "image_generate", title: "Generate images", action: ToolAction::Submit(Operation::Image1Generate),
        description: "Submits an image job and returns its job_id immediately. Costs money." },
    Tool { name: "video_generate", title: "Generate a video", action: ToolAction::Submit(Operation::Video1Generate),
        description: "Submits a video job and returns its job_id immediately. Costs money." },
    Tool { name: "music_generate", title: "Generate music", action: ToolAction::Submit(Operation::Music1Generate),
        description: "Submits a music job and returns its job_id immediately. Costs money." },
    Tool { name: "jobs_status", title: "Job status", action: ToolAction::ReadJob(Operation::JobsStatus),
        description: "Returns whether a job has ended, and when to poll again." },
    Tool { name: "jobs_result", title: "Job result", action: ToolAction::ReadJob(Operation::JobsResult),
        description: "Returns the result of a job that has ended, with the URLs of its files." },
    Tool { name: "format_run", title: "Run a Format", action: ToolAction::RunFormat,
        description: "Starts a run of a Format, a saved agent recipe, and returns its run_id immediately. Costs money." },
    Tool { name: "agent_completion", title: "Run the agent", action: ToolAction::Complete,
        description: "Runs the agent with an instruction, without a saved Format, and returns the run_id immediately. Costs money, up to generation_spend_cap_usd." },
    Tool { name: "run_status", title: "Run status", action: ToolAction::RunStatus,
        description: "Returns whether a run has ended, and when to poll again." },
    Tool { name: "run_result", title: "Run result", action: ToolAction::RunResult,
        description: "Returns the receipt of a run that has ended, with its output, files and spend." },
    Tool { name: "formats_list", title: "List Formats", action: ToolAction::Read(Operation::FormatsList, Some("formats")),
        description: "Lists the Formats that the API key can read." },
    Tool { name: "models_list", title: "List models", action: ToolAction::Read(Operation::Catalog, None),
        description: "Returns the catalog: models, prices and capabilities." },
    Tool { name: "balance", title: "Balance", action: ToolAction::Read(Operation::Balance, None),
        description: "Returns the balance of the workspace." },
];

impl Tool {
    pub(super) const fn is_paid(&self) -> bool {
        matches!(self.action, ToolAction::Submit(_) | ToolAction::RunFormat | ToolAction::Complete)
    }

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
                // A repeated call is charged again, unless its key is recognized.
                "idempotentHint": !self.is_paid(),
                "openWorldHint": self.is_paid(),
            },
        })
    }

    pub(super) fn input_schema(&self) -> Value {
        schemas::input(self.action, self.is_paid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_unique() {
        for (index, tool) in TOOLS.iter().enumerate() {
            let is_allowed = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(tool.name.chars().all(is_allowed), "{}", tool.name);
            let first = TOOLS.iter().position(|other| other.name == tool.name);
            assert_eq!(first, Some(index), "{}", tool.name);
        }
    }

    #[test]
    fn paid_tools_say_so_and_accept_a_spend_limit_and_a_key() {
        for tool in &TOOLS {
            let view = tool.view();
            let properties = &view["inputSchema"]["properties"];
            let paid = tool.is_paid();
            assert_eq!(tool.description.contains("Costs money"), paid);
            assert_eq!(view["annotations"]["readOnlyHint"], !paid);
            for name in ["max_spend_usd", "idempotency_key"] {
                assert_eq!(properties.get(name).is_some(), paid, "{} {name}", tool.name);
            }
            let key = properties["idempotency_key"]["description"].as_str().unwrap_or_default();
            let is_run = matches!(tool.name, "format_run" | "agent_completion");
            assert_eq!(key.contains("safe to repeat"), is_run, "{} {key}", tool.name);
            assert_eq!(view["inputSchema"]["type"], "object");
            assert_eq!(view["inputSchema"]["additionalProperties"], false);
            assert_eq!(view["outputSchema"]["type"], "object");
        }
    }
}
