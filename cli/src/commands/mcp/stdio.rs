//! The messages of an MCP client on standard input, and the answers on standard output.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::ErrorCode;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdin, Stdout};
use tokio::sync::Mutex;

/// A transport with a JSON message on each line. Other than that of `rmcp`, it answers a line that is
/// not JSON, as the protocol demands.
pub(super) struct Stdio {
    input: BufReader<Stdin>,
    /// What is read of the next line. A dropped read goes on with it.
    line: Vec<u8>,
    output: Arc<Mutex<Stdout>>,
}

impl Stdio {
    pub(super) fn new() -> Self {
        Self {
            input: BufReader::new(tokio::io::stdin()),
            line: Vec::new(),
            output: Arc::new(Mutex::new(tokio::io::stdout())),
        }
    }

    /// Answers a message that is not a request. The answer is complete even if the read is dropped.
    fn reject(&self, id: &Value, code: ErrorCode, why: &str) {
        let error = json!({"code": code.0, "message": why});
        let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
        let output = Arc::clone(&self.output);
        tokio::spawn(async move { write(&output, &answer).await });
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move { write(&output, &message).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let length = self.input.read_until(b'\n', &mut self.line).await.ok()?;
            let line = std::mem::take(&mut self.line);
            if length == 0 && line.is_empty() {
                return None;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let message: Value = match serde_json::from_slice(&line) {
                Ok(message) => message,
                Err(error) => {
                    let why = format!("the message is not valid JSON: {error}");
                    self.reject(&Value::Null, ErrorCode::PARSE_ERROR, &why);
                    continue;
                }
            };
            let is_notification = message.get("method").is_some_and(Value::is_string);
            let id = message.get("id").cloned().or((!is_notification).then_some(Value::Null));
            match (serde_json::from_value(message), id) {
                (Ok(message), _) => return Some(message),
                (Err(_), Some(id)) => {
                    let why = "the message is not a JSON-RPC request; batches are not supported";
                    self.reject(&id, ErrorCode::INVALID_REQUEST, why);
                }
                // A notification has no answer.
                (Err(_), None) => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}

async fn write(output: &Mutex<Stdout>, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}
