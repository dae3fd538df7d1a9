//! The part of a shell that the examples use: `curl`, `jq -r PATH`, pipes, variables and `$(…)`.

use std::collections::BTreeMap;

use serde_json::Value;
use svc_tests::{Host, Mock};

const URL_VARIABLES: [(&str, Host); 4] = [
    ("SVC_BASE_URL", Host::Open),
    ("SVC_DEVELOPER_BASE_URL", Host::Developer),
    ("SVC_MEDIA_URL", Host::Media),
    ("SVC_CONTROL_URL", Host::Control),
];

/// A shell whose `curl` sends requests to a mock.
#[derive(Debug)]
pub(super) struct Shell {
    mock: Mock,
    variables: BTreeMap<String, String>,
}

impl Shell {
    pub(super) fn new(mock: Mock) -> Self {
        let mut variables: BTreeMap<String, String> = URL_VARIABLES
            .map(|(name, host)| (name.to_owned(), mock.base_url(host).to_owned()))
            .into();
        for (name, key) in
            [("SVC_OPEN_API_KEY", "svc_open_demo"), ("SVC_DEVELOPER_API_KEY", "svc_dev_demo")]
        {
            variables.insert(name.to_owned(), key.to_owned());
        }
        Self { mock, variables }
    }

    /// Runs commands and returns the last response.
    pub(super) async fn run(&mut self, commands: &str) -> Value {
        let mut response = Value::Null;
        for command in split_commands(commands) {
            let assignment = command.split_once("=$(").filter(|(name, _)| {
                name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
            });
            match assignment {
                Some((name, pipeline)) => {
                    let pipeline = pipeline.strip_suffix(')').expect("the end of `$(`");
                    let output = self.run_pipeline(pipeline).await;
                    self.variables.insert(name.to_owned(), output);
                }
                None => {
                    let output = self.run_pipeline(&command).await;
                    response = serde_json::from_str(&output).expect("a response of JSON");
                }
            }
        }
        response
    }

    async fn run_pipeline(&self, pipeline: &str) -> String {
        let mut output = String::new();
        for words in split_pipeline(pipeline, |name| self.variable(name)) {
            output = match words.split_first() {
                Some((program, arguments)) if program == "curl" => {
                    self.curl(&CurlRequest::parse(arguments), output).await
                }
                Some((program, [flag, path])) if program == "jq" && flag == "-r" => {
                    let input: Value = serde_json::from_str(&output).expect("JSON for jq");
                    let pointer = path.replace('.', "/");
                    let value = input.pointer(&pointer).and_then(Value::as_str);
                    value.expect("a string").to_owned()
                }
                _ => panic!("unexpected command {words:?}"),
            };
        }
        output
    }

    fn variable(&self, name: &str) -> String {
        let value = self.variables.get(name);
        value.unwrap_or_else(|| panic!("${name} is not set")).clone()
    }

    async fn curl(&self, request: &CurlRequest, input: String) -> String {
        let hosts = URL_VARIABLES.into_iter();
        let mut hosts = hosts.filter_map(|(_, host)| {
            let path = request.url.strip_prefix(self.mock.base_url(host))?;
            Some((host, path))
        });
        let (host, path) = hosts.next().expect("the URL of a host of the mock");
        let mut client = self.mock.client(host);
        for (name, value) in &request.headers {
            client = client.header(name, value);
        }
        let json = match request.json.as_deref() {
            Some("@-") => Some(input),
            json => json.map(str::to_owned),
        };
        let content_type = json.is_some().then_some("application/json");
        let body = json.unwrap_or_default().into();
        let response = client.send(&request.method, path, content_type, body).await;
        response.text()
    }
}

/// Returns the method and the URL of each request that commands send, with unexpanded variables.
pub(super) fn sends(commands: &str) -> Vec<(String, String)> {
    let pipelines = split_commands(commands).into_iter().flat_map(|command| {
        let pipeline = match command.split_once("=$(") {
            Some((_, pipeline)) if command.ends_with(')') => pipeline.trim_end_matches(')'),
            _ => &command,
        };
        split_pipeline(pipeline, |name| format!("${name}"))
    });
    let curls = pipelines.filter(|words| words[0] == "curl");
    curls
        .map(|words| {
            let request = CurlRequest::parse(&words[1..]);
            (request.method, request.url)
        })
        .collect()
}

/// The arguments of `curl`.
#[derive(Debug, Default)]
struct CurlRequest {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    json: Option<String>,
}

impl CurlRequest {
    fn parse(arguments: &[String]) -> Self {
        let mut request = Self::default();
        let mut arguments = arguments.iter().cloned();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().expect("the value of an option");
            match argument.as_str() {
                "-X" => request.method = value(),
                "--json" => request.json = Some(value()),
                "-H" => {
                    let header = value();
                    let (name, value) = header.split_once(": ").expect("a header");
                    request.headers.push((name.to_owned(), value.to_owned()));
                }
                url => request.url = url.to_owned(),
            }
        }
        if request.method.is_empty() {
            let method = if request.json.is_some() { "POST" } else { "GET" };
            request.method = method.to_owned();
        }
        request
    }
}

/// Splits a script at the ends of lines that are not in quotes or escaped.
fn split_commands(script: &str) -> Vec<String> {
    let mut commands = vec![String::new()];
    let mut quote = None;
    let mut previous = '\n';
    for character in script.replace("\\\n", " ").chars() {
        match (quote, character) {
            (None, '\n') => {
                commands.push(String::new());
                previous = character;
                continue;
            }
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), close) if open == close && previous != '\\' => quote = None,
            _ => {}
        }
        previous = character;
        commands.last_mut().expect("a command").push(character);
    }
    commands.retain(|command| !command.trim().is_empty());
    commands
}

/// Splits a pipeline into its commands, each as words, and expands variables.
fn split_pipeline(pipeline: &str, variable: impl Fn(&str) -> String) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut characters = pipeline.chars().peekable();
    let mut quote = None;
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, ' ' | '\n') => commands.last_mut().expect("a command").extend(word.take()),
            (None, '|') => {
                commands.last_mut().expect("a command").extend(word.take());
                commands.push(Vec::new());
            }
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some(open), close) if open == close => quote = None,
            (Some('"') | None, '\\') => {
                word.get_or_insert_default().extend(characters.next());
            }
            (Some('"') | None, '$') => {
                let mut name = String::new();
                while let Some(next) =
                    characters.next_if(|next| next.is_ascii_alphanumeric() || *next == '_')
                {
                    name.push(next);
                }
                word.get_or_insert_default().push_str(&variable(&name));
            }
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    commands.last_mut().expect("a command").extend(word);
    commands
}
