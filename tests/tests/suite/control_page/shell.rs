//! The part of a shell that the examples use: `curl`, `jq -r PATH`, pipes, variables and `$(…)`.

use std::collections::BTreeMap;

use serde_json::Value;
use svc_test_script::{parse, split, word};
use svc_tests::{Host, Mock};

const URL_VARIABLES: [(&str, Host); 4] = [
    ("SVC_BASE_URL", Host::Open),
    ("SVC_DEVELOPER_BASE_URL", Host::Developer),
    ("SVC_MEDIA_URL", Host::Media),
    ("SVC_CONTROL_URL", Host::Control),
];

/// Runs commands, whose `curl` sends requests to a mock, and returns the last response.
pub(super) async fn run(mock: &Mock, commands: &str) -> Value {
    let urls = URL_VARIABLES.map(|(name, host)| (name, mock.base_url(host)));
    let keys = [("SVC_OPEN_API_KEY", "svc_open_demo"), ("SVC_DEVELOPER_API_KEY", "svc_dev_demo")];
    let known = urls.into_iter().chain(keys);
    let mut variables: BTreeMap<_, _> =
        known.map(|(name, value)| (format!("${name}"), value.to_owned())).collect();
    let mut response = Value::Null;
    for Command { variable, programs } in commands_of(commands) {
        let mut output = String::new();
        for words in programs {
            let expanded = |word: String| {
                variables.iter().fold(word, |word, (name, value)| word.replace(name, value))
            };
            let words: Vec<_> = words.into_iter().map(expanded).collect();
            output = match words.split_first() {
                Some((program, arguments)) if program == "curl" => {
                    CurlRequest::parse(arguments).send(mock, output).await
                }
                Some((program, [flag, path])) if program == "jq" && flag == "-r" => {
                    let value = parse(&output).pointer(&path.replace('.', "/")).cloned();
                    word(&value.expect("a value"))
                }
                _ => panic!("unexpected command {words:?}"),
            };
        }
        match variable {
            Some(name) => drop(variables.insert(format!("${name}"), output)),
            None => response = parse(&output),
        }
    }
    response
}

/// Returns the method and the URL of each request that commands send, with unexpanded variables.
pub(super) fn sends(commands: &str) -> Vec<(String, String)> {
    let programs = commands_of(commands).into_iter().flat_map(|command| command.programs);
    let requests =
        programs.filter(|words| words[0] == "curl").map(|words| CurlRequest::parse(&words[1..]));
    requests.map(|request| (request.method, request.url)).collect()
}

/// The words of the programs of a pipeline, and the variable that its output is assigned to.
struct Command {
    variable: Option<String>,
    programs: Vec<Vec<String>>,
}

/// Splits a script into its commands, which begin with `curl` or an assignment at the start of a line.
fn commands_of(script: &str) -> Vec<Command> {
    let is_first = |line: &str| line.starts_with("curl ") || line.contains("=$(");
    let mut commands: Vec<String> = Vec::new();
    for line in script.replace("\\\n", " ").lines() {
        match commands.last_mut() {
            Some(command) if !is_first(line) => *command += line,
            _ => commands.push(line.to_owned()),
        }
    }
    let command = |text: &String| {
        let assignment = text.strip_suffix(')').and_then(|text| text.split_once("=$("));
        let (variable, pipeline) =
            assignment.map_or((None, &**text), |(name, it)| (Some(name), it));
        let programs = split(pipeline, '|').into_iter();
        let programs = programs.map(|it| split(it, ' ').into_iter().map(unquoted).collect());
        Command { variable: variable.map(str::to_owned), programs: programs.collect() }
    };
    commands.iter().map(command).collect()
}

/// Returns a word without its quotes.
fn unquoted(text: &str) -> String {
    if text.starts_with('"') { word(&parse(text)) } else { text.trim_matches('\'').to_owned() }
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
        let mut request = Self { method: "GET".to_owned(), ..Self::default() };
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
        if request.json.is_some() && request.method == "GET" {
            request.method = "POST".to_owned();
        }
        request
    }

    /// Sends the request, with the output of the program before it if it says so.
    async fn send(self, mock: &Mock, input: String) -> String {
        let host_of = |host: Host| Some((host, self.url.strip_prefix(mock.base_url(host))?));
        let (host, path) = Host::ALL.into_iter().find_map(host_of).expect("the URL of a host");
        let mut client = mock.client(host);
        for (name, value) in &self.headers {
            client = client.header(name, value);
        }
        let json = self.json.map(|json| if json == "@-" { input } else { json });
        let content_type = json.is_some().then_some("application/json");
        let body = json.unwrap_or_default().into();
        client.send(&self.method, path, content_type, body).await.text()
    }
}
