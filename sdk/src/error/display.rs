//! How an error reads: one line, which the service cannot forge.

use std::fmt;

use super::{Error, Kind, Subject};

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        self.write(&mut line)?;
        f.write_str(&one_line(&line))
    }
}

impl Error {
    /// What it says, with the service's text as it came.
    fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
        if let Some(operation) = self.inner.operation {
            write!(f, "{operation}: ")?;
        }
        match self.kind() {
            Kind::Configuration(reason) => f.write_str(reason),
            Kind::Invalid(field) => write!(f, "{field}"),
            Kind::Transport(error) => write!(f, "{error}"),
            Kind::Api { status, body, .. } => {
                write!(f, "{} ({status} {})", brief(&body.message), body.code)
            }
            Kind::NoEnvelope {
                status, snippet, ..
            } => {
                write!(
                    f,
                    "answered {status} without an error of the service: {}",
                    quoted(snippet)
                )
            }
            Kind::Unreadable { status, snippet } => {
                write!(
                    f,
                    "answered {status} with a body that is no JSON: {}",
                    quoted(snippet)
                )
            }
            Kind::Decode {
                status,
                path,
                reason,
                snippet,
            } => {
                write!(
                    f,
                    "answered {status} with a body of another shape, at {path}: {reason}: {}",
                    quoted(snippet)
                )
            }
            Kind::BudgetSpent { retry_after } => {
                write!(
                    f,
                    "the key's requests of this minute are used up; wait {} s",
                    retry_after.as_secs() + 1
                )
            }
            Kind::Deadline { after, .. } => write!(f, "no answer within {} s", after.as_secs_f32()),
            Kind::JobEnded { status, body } => {
                match self.job_id() {
                    Some(id) => write!(f, "job {id} ended {status}")?,
                    None => write!(f, "the job ended {status}")?,
                }
                match body {
                    Some(body) => write!(f, ": {} ({})", brief(&body.message), body.code),
                    None => Ok(()),
                }
            }
            Kind::RunEnded { receipt } => {
                match self.run_id() {
                    Some(id) => write!(f, "run {id} ended {}", receipt.status)?,
                    None => write!(f, "the run ended {}", receipt.status)?,
                }
                match &receipt.error {
                    Some(body) => write!(f, ": {} ({})", brief(&body.message), body.code),
                    None => Ok(()),
                }
            }
            Kind::GoesOn { status } => {
                let what = self.subject_name();
                write!(
                    f,
                    "there is no result yet: the {what} is {status}; ask again later"
                )
            }
            Kind::Schema(error) => write!(f, "{error}"),
            Kind::WaitDeadline { after } => {
                let what = self.subject_name();
                write!(
                    f,
                    "gave up waiting after {} s; the {what} goes on",
                    after.as_secs()
                )
            }
            Kind::PollUnreachable { .. } => {
                let what = self.subject_name();
                write!(f, "could not ask how the {what} stands; it may well go on")
            }
            Kind::TopUpEnded { status } => {
                write!(f, "the top-up ended {status}; nothing was charged")
            }
            Kind::Download { url, reason, .. } => {
                write!(f, "could not download {url}: {reason}")
            }
            Kind::File { path, .. } => write!(f, "could not write {}", path.display()),
        }
    }
}

impl Error {
    fn subject_name(&self) -> &'static str {
        match &self.inner.subject {
            Some(Subject::Run(..)) => "run",
            Some(Subject::Queue(_)) => "queue",
            Some(Subject::Job(..)) | None => "job",
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("operation", &self.inner.operation)
            .field("request_id", &self.inner.request_id)
            .field("idempotency_key", &self.inner.idempotency_key)
            .field("subject", &self.inner.subject)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            Kind::Transport(error) => std::error::Error::source(error),
            Kind::Deadline {
                last: Some(last), ..
            } => Some(last.as_ref()),
            Kind::PollUnreachable { source } => Some(source.as_ref()),
            Kind::Download {
                source: Some(source),
                ..
            } => Some(source.as_ref()),
            Kind::File { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Text on one line, so that the service can neither forge lines of a log nor turn one around.
fn one_line(text: &str) -> String {
    let is_hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|c| if is_hostile(c) { ' ' } else { c })
        .collect()
}

/// As much of a message as a person reads; the whole is in the error's body.
fn brief(message: &str) -> std::borrow::Cow<'_, str> {
    match message.char_indices().nth(1_000) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()).into(),
        None => message.into(),
    }
}

fn quoted(snippet: &str) -> String {
    if snippet.is_empty() {
        "(empty)".to_owned()
    } else {
        format!("{:?}", snippet.chars().take(80).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::api;
    use super::*;

    #[test]
    fn an_errors_line_cannot_be_forged_by_the_service() {
        let error = api(
            400,
            serde_json::json!({"code": "invalid_request", "message": "bad\nERROR all is lost\u{1b}[2J"}),
        );
        assert_eq!(
            error.to_string(),
            "bad ERROR all is lost [2J (400 invalid_request)"
        );
    }

    #[test]
    fn no_part_of_an_errors_line_can_be_forged() {
        let hostile = "x\nERROR\u{1b}[2J\u{202e}\u{2028}";
        let body = serde_json::json!({"code": hostile, "message": "m".repeat(1_000_000)});
        let ended = Error::new(Kind::JobEnded {
            status: hostile.into(),
            body: None,
        });
        let download = Error::new(Kind::Download {
            url: hostile.into(),
            reason: "no".into(),
            source: None,
        });
        let top_up = Error::new(Kind::TopUpEnded {
            status: hostile.into(),
        });
        for error in [
            api(400, body.clone()),
            api(400, serde_json::json!({"code": hostile})),
            ended.with_job(&hostile.into(), None),
            download,
            top_up,
        ] {
            let line = error.to_string();
            assert!(
                !line.contains(['\n', '\u{1b}', '\u{202e}', '\u{2028}']),
                "{line:?}"
            );
            assert!(line.len() < 2_000);
        }
    }
}
