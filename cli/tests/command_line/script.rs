//! Scripts of commands, in `scripts/*.txt`, in the language of the crate `svc_test_script` (conditions, variables, `for`). Each begins with a line `== what it shows`, and has a home
//! folder and a mock of its own; `SCRIPT=part of that line` runs some of them only.
//!
//! `$ WORDS => EXIT CONDITIONS` runs `svc` as a user of the open surface would, `dev$` one of the developer
//! surface, `both$` one of both, `bare$` one without configuration, `offered$` one with the variables that
//! the mock prints. `NAME=VALUE` before it sets a variable of its environment, and `env NAME=VALUE` one for
//! all lines below. Conditions may stand in the indented
//! lines below. `"text"` is in standard error, `>"text"` in standard output; `!"text"` and `!>"text"` are
//! not. `.path` is a field of standard output, which is JSON or lines of JSON, `err.path` one of the
//! error in the last line of standard error, `out` and `err` are the texts, `lines` and `errors` the
//! numbers of lines of output and of JSON errors; a word is the error's code.
//!
//! `start$ WORDS` (or `start dev$`) starts a command, `signal NAME` (INT is Ctrl-C) and `kill` stop it, and
//! `end => EXIT CONDITIONS` waits for its end. `until LOOK-UP => CONDITIONS` waits for something to hold.
//!
//! `listen$ WORDS => CONDITIONS` starts a command whose first line of output has the conditions; `printed` are
//! the lines after it, and `few-files` before it limits the files that it can open. `signal`, `kill`, `end` and `printed`
//! mean the newest command that runs. `until` takes a command too. `complete$ WORDS` is what a shell gets to complete the last
//! word, and `save NAME` writes the last output to a file.
//!
//! `hint => EXIT CONDITIONS` runs the command that the errors of the last one named, as a user of both surfaces.
//!
//! `terminal$ WORDS` starts one on a terminal, of 80 columns with `80` before it, and of 16 rows with `80x16`: `see TEXT` waits for its screen, `type TEXT` types, `enter
//! TEXT` types a line, `ask PROMPT ANSWER` answers its next question, `hidden` waits until it hides what is typed, `resize 40x16` changes its size, `terminate` sends SIGTERM, and
//! `restored` is after its end. `snapshot NAME` compares the screen with the stored one, with `color` after it also the
//! colors, and `screen` is a look-up. `tools$ mcp serve …` starts a server of tools until `close`; `call TOOL
//! ARGUMENTS` and `request METHOD PARAMS` are look-ups with the exit code 1 for an error.
//!
//! A look-up has the conditions of an output without an exit code: `jobs`, `charges`, `ledger`,
//! `requests [OPERATION]`, `faults` of the mock; `history`, `open` (its open entries); `ls FOLDER`,
//! `cat FILE`, `tree` (all files, and what stands for their contents), `mode FILE`; and `sent SERVER [TEXT]`, the requests to a
//! server, or those with a text. `deliver URL BODY [OPTIONS] => STATUS` sends a webhook, whose body is a text
//! with a byte for each character or `@FILE`; `deliveries.rs` has its options. A server is made by `serve NAME "200 OK" BODY [PORT]`,
//! or with its answers as indented lines `METHOD PATH "200 OK" BODY` (or `hang`: none), of which the first is taken whose
//! method (or `*`) and part of a path, or the method of a JSON-RPC message, fit; `<NAME>` is its URL, `<NAME-host>` and `HOST` in a body its host, and
//! `REQUEST-ID` in a body the id of the message.
//!
//! The other steps: `submit VARIABLE PROMPT` (an image, whose job's id the variable is), `mock plan=free balance=1 speed=50 clock=manual jobs=10` (another mock), `fault
//! OPERATION KIND [TIMES [RETRY-AFTER]]` (`error:CODE` is a kind), `delay OPERATION MILLISECONDS [TIMES]`, `no-faults`, `advance SECONDS`, `end-job
//! ID STATUS`, `settle TOP-UP STATUS`, `pay TOP-UP`, `file NAME` with its lines below (`3x LINE` is three
//! lines, with `#` their numbers from 0), `program NAME` (an executable one), `write NAME "text"`,
//! `replace NAME "text" "text"` in it, `remove NAME`, `exists NAME`, `missing NAME`, `stdin "text"` for the next command, `sleep
//! MILLISECONDS`, `port NAME` (a free one), `connect URL COUNT [TEXT]` (opens connections, which send a text and stay open until
//! `disconnect`), `lock FILE` (until `unlock`), and `earlier-version [CREATED-AT]`: the newest entry of the history is left open, in
//! the file of an earlier version.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use svc_mock_server::Setup;
use svc_sdk::contract::Plan;
use svc_test_script::{Steps, Variables, at, check, parse, scripts_of, split, substitute};

use crate::deliveries::deliver;
#[cfg(feature = "mcp")]
use crate::mcp::McpSession;
#[cfg(unix)]
use crate::pty::{TALL, Terminal, markup};
#[cfg(unix)]
use crate::screens::assert_screen;
use crate::test_env::{
    CommandOutput, FakeServer, Respond, RunningProcess, TestEnv, ago, send_signal, sleep, start,
    wait_until,
};

/// Generates a test per file of scripts.
macro_rules! scripts {
    ($($(#[$attribute:meta])* $name:ident),+ $(,)?) => {
        $(
            $(#[$attribute])*
            #[test]
            fn $name() {
                run_file(stringify!($name));
            }
        )+
    };
}

scripts! {
    accounts, batch, batch_journal, batch_messages, bulk, completion, developer, doctor, environment, errors, files,
    format, inbox, incomplete_answers, init,
    #[cfg(feature = "jq")]
    jq,
    listen, lists, logs,
    #[cfg(feature = "mcp")]
    mcp,
    #[cfg(unix)]
    mock_exec,
    output,
    #[cfg(all(unix, feature = "preview"))]
    preview,
    run, sandbox,
    #[cfg(feature = "jq")]
    schema,
    #[cfg(feature = "sqlite")]
    shared_store,
    #[cfg(unix)]
    screens,
    // Elsewhere the keyring of the platform would be used.
    #[cfg(target_os = "linux")]
    screens_of_the_first_run,
    submits,
    #[cfg(unix)]
    terminal,
    transfers, typing, unexpected_answers, unknown_outcomes, usage, waiting, webhook,
}

fn run_file(name: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command_line/scripts");
    let text = fs::read_to_string(format!("{folder}/{name}.txt")).unwrap();
    let scripts = scripts_of(&text);
    let mut failed = Vec::new();
    // They mostly wait, so that some run together.
    for together in scripts.chunks(4) {
        thread::scope(|scope| {
            let spawn = |(title, script)| (title, scope.spawn(move || run_script(script)));
            let running: Vec<_> = together.iter().copied().map(spawn).collect();
            let ended = running.into_iter().map(|(title, thread)| (title, thread.join()));
            failed.extend(ended.filter(|(_, end)| end.is_err()).map(|(title, _)| title));
        });
    }
    assert!(failed.is_empty(), "{name}: {failed:#?}");
}

fn run_script(script: &str) {
    let first = script.lines().find_map(|line| line.strip_prefix("mock "));
    let env = TestEnv::with(first.map_or_else(|| setup(""), setup));
    let mut variables = Variables::new();
    for (name, value) in [
        ("mock", env.mock.base_url()),
        ("developer", env.mock.developer_base_url()),
        ("mcp", env.mock.mcp_url()),
        ("control", env.mock.control_url()),
        ("home", env.path("").to_str().unwrap().trim_end_matches('/')),
        ("svc", env!("CARGO_BIN_EXE_svc")),
    ] {
        variables.insert(name.to_owned(), value.to_owned());
    }
    let commands = Commands {
        env: &env,
        variables: RefCell::default(),
        servers: RefCell::default(),
        running: RefCell::default(),
        connections: RefCell::default(),
        locked: RefCell::default(),
        stdin: Cell::default(),
        last: RefCell::default(),
        #[cfg(unix)]
        terminal: RefCell::default(),
        #[cfg(unix)]
        answered: Cell::default(),
        #[cfg(feature = "mcp")]
        session: RefCell::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(svc_test_script::run_script(&commands, variables, script));
}

fn setup(options: &str) -> Setup {
    let mut setup = Setup::default().speed("50".parse().unwrap());
    let mut plan = Plan::Free;
    for option in options.split_whitespace() {
        setup = match option.split_once('=').unwrap() {
            ("plan", name) => {
                plan = name.parse().unwrap();
                setup.plan(plan.clone())
            }
            ("jobs", count) => setup.concurrent_jobs(plan.clone(), count.parse().unwrap()),
            ("balance", amount) => setup.balance(amount.parse().unwrap()),
            ("speed", speed) => setup.speed(speed.parse().unwrap()),
            ("clock", "manual") => setup.clock_manual(),
            ("epoch", seconds_ago) => setup.epoch(ago(Duration::from_secs(number(seconds_ago)))),
            _ => panic!("no option of the mock: {option}"),
        };
    }
    setup
}

/// How a command is started that does not end at once.
const HOW: [&str; 4] = ["start", "listen", "terminal", "tools"];
const FEW_FILES: &str = "few-files";

/// The JSON of the lines that a command has printed after its first one.
type Printed = Arc<Mutex<Vec<Value>>>;

struct Commands<'e> {
    env: &'e TestEnv,
    variables: RefCell<BTreeMap<String, String>>,
    servers: RefCell<BTreeMap<String, FakeServer>>,
    /// The commands that were started, with what those of `listen$` have printed after their first lines.
    running: RefCell<Vec<(RunningProcess, Printed)>>,
    connections: RefCell<Vec<TcpStream>>,
    locked: RefCell<Vec<fs::File>>,
    stdin: Cell<Option<String>>,
    #[cfg(unix)]
    terminal: RefCell<Option<Terminal>>,
    /// How much of the terminal's output was answered.
    #[cfg(unix)]
    answered: Cell<usize>,
    #[cfg(feature = "mcp")]
    session: RefCell<Option<McpSession>>,
    last: RefCell<Option<CommandOutput>>,
}

impl Steps for Commands<'_> {
    async fn run(&self, step: &str, block: &[String], variables: &mut Variables) -> Option<String> {
        let (words, conditions) = step.split_once(" => ").unwrap_or((step, ""));
        let all: Vec<&str> = std::iter::once(conditions)
            .chain(block.iter().map(String::as_str))
            .flat_map(|line| split(line, ' '))
            .collect();
        if let Some(words) = words.strip_prefix("until ") {
            wait_until(step, || {
                let output = match words.split_once("$ ") {
                    Some((before, command)) => self.output(&mut self.command(before, command)),
                    None => self.look_up(&split(words, ' ')).unwrap_or_else(|| panic!("{step}")),
                };
                difference(step, &output, &all, &mut variables.clone()).is_none()
            });
            return None;
        }
        if let Some((variables_and_surface, command)) = words.split_once("$ ") {
            let mut command = self.command(variables_and_surface, command);
            let how = variables_and_surface.split(' ').find(|word| HOW.contains(word));
            match how {
                Some("listen") => {
                    let first = self.listen(&mut command);
                    return difference(step, &first, &all, variables);
                }
                Some("start") => {
                    self.running.borrow_mut().push((start(&mut command), Printed::default()));
                    return None;
                }
                #[cfg(unix)]
                Some("terminal") => {
                    let mut words = variables_and_surface.split(' ');
                    self.start_on_terminal(command, words.find_map(size_of));
                    return None;
                }
                #[cfg(feature = "mcp")]
                Some("tools") => {
                    *self.session.borrow_mut() = Some(McpSession::start(command));
                    return None;
                }
                _ => {}
            }
            let output = self.output(&mut command);
            return difference(step, self.last.borrow_mut().insert(output), &all, variables);
        }
        let parts = split(words, ' ');
        if let ["hint"] = parts[..] {
            let errors = self.last.take().expect("a command").err;
            let (_, command) = errors.rsplit_once("svc ").expect("a command in the errors");
            let output = self.output(&mut self.command("both", command.trim()));
            return difference(step, self.last.borrow_mut().insert(output), &all, variables);
        }
        if let ["end"] = parts[..] {
            return difference(step, &self.end(), &all, variables);
        }
        if let Some(output) = self.look_up(&parts) {
            return difference(step, &output, &all, variables);
        }
        self.act(step, &parts, block, variables);
        None
    }
}

impl Commands<'_> {
    /// Creates a command from what stands before `$ `, variables and a surface, and its words.
    fn command(&self, before: &str, words: &str) -> Command {
        let mut before = shell_words::split(before).unwrap();
        let has_few_files = before.iter().any(|word| word == FEW_FILES);
        let is_how = |word: &str| word == FEW_FILES || HOW.contains(&word);
        before.retain(|word| !is_how(word) && size_of(word).is_none());
        let is_completion = before.last().is_some_and(|word| word == "complete");
        if is_completion {
            *before.last_mut().unwrap() = "both".to_owned();
        }
        let completed = if is_completion { format!("-- svc {words}") } else { words.to_owned() };
        let words = completed.as_str();
        let surface = before.pop_if(|word| !word.contains('=')).unwrap_or_default();
        let mut command = match surface.as_str() {
            "" => self.env.open_surface(words),
            "dev" => self.env.developer_surface(words),
            "both" => self.env.both_surfaces(words),
            "bare" => self.env.unconfigured(words),
            "offered" => {
                let mut command = self.env.unconfigured(words);
                command.envs(self.env.mock.environment());
                command
            }
            other => panic!("no surface is called {other}"),
        };
        if is_completion {
            let last = shell_words::split(words).unwrap().len() - 2;
            command.env("COMPLETE", "bash").env("_CLAP_IFS", "\n");
            command.env("_CLAP_COMPLETE_INDEX", last.to_string());
        }
        let variables = before.iter().map(|word| word.split_once('=').unwrap());
        command.envs(&*self.variables.borrow()).envs(variables);
        if has_few_files { with_few_files(&command) } else { command }
    }

    fn listen(&self, command: &mut Command) -> CommandOutput {
        let mut process = start(command);
        let mut stdout = BufReader::new(process.0.stdout.take().unwrap());
        let mut out = String::new();
        stdout.read_line(&mut out).unwrap();
        if out.is_empty() {
            return process.end();
        }
        let printed = Printed::default();
        let received = Arc::clone(&printed);
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap();
                received.lock().unwrap().push(line);
            }
        });
        self.running.borrow_mut().push((process, printed));
        CommandOutput::text(out)
    }

    fn output(&self, command: &mut Command) -> CommandOutput {
        let Some(text) = self.stdin.take() else { return CommandOutput::of(command) };
        let mut running = start(command.stdin(Stdio::piped()));
        let mut stdin = running.0.stdin.take().unwrap();
        // A command may end before it has read everything.
        let _ = stdin.write_all(text.as_bytes());
        drop(stdin);
        running.end()
    }

    fn look_up(&self, words: &[&str]) -> Option<CommandOutput> {
        let mock = &self.env.mock;
        let found = match words {
            ["jobs"] => json!(mock.jobs()),
            ["charges"] => json!(self.env.charge_count()),
            ["ledger"] => mock.ledger()["data"].clone(),
            ["requests"] => json!(mock.requests(0)),
            ["requests", operation] => {
                let requests = mock.requests(0).into_iter();
                requests.filter(|request| request["operation"] == *operation).collect()
            }
            ["faults"] => json!(mock.faults()),
            ["history"] => json!(self.env.history("--all")),
            ["open"] => json!(self.env.open_intents()),
            ["ls", folder] => {
                let files = fs::read_dir(self.env.path(folder)).into_iter().flatten();
                let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
                let mut names: Vec<_> = names.collect();
                names.sort();
                json!(names)
            }
            ["cat", name] => {
                let bytes = fs::read(self.env.path(name)).unwrap_or_default();
                return Some(CommandOutput::text(String::from_utf8_lossy(&bytes)));
            }
            #[cfg(feature = "mcp")]
            ["call", tool, arguments] => {
                let params = json!({"name": tool, "arguments": parse(arguments)});
                return self.session.borrow_mut().as_mut()?.output("tools/call", params).into();
            }
            #[cfg(feature = "mcp")]
            ["request", method, params] => {
                return self.session.borrow_mut().as_mut()?.output(method, parse(params)).into();
            }
            #[cfg(unix)]
            ["mode", name] => {
                use std::os::unix::fs::PermissionsExt;

                let metadata = fs::metadata(self.env.path(name)).unwrap();
                json!(format!("{:o}", metadata.permissions().mode() & 0o777))
            }
            #[cfg(unix)]
            ["screen"] => {
                return Some(CommandOutput::text(self.terminal.borrow().as_ref()?.screen()));
            }
            ["printed"] => {
                let running = self.running.borrow();
                let (_, printed) = running.last().expect("a command that was started");
                json!(*printed.lock().unwrap())
            }
            ["deliver", url, body, options @ ..] => {
                let body = match body.strip_prefix('@') {
                    Some(name) => fs::read(self.env.path(name)).unwrap(),
                    None => text_of(body).chars().map(|c| u8::try_from(c).unwrap()).collect(),
                };
                let options: Vec<_> = options.iter().map(|option| option_of(option)).collect();
                return Some(deliver(url, &body, &options));
            }
            ["tree"] => json!(tree(&self.env.path(""))),
            ["sent", server, text @ ..] => {
                let mut sent = self.servers.borrow()[*server].sent();
                let is_it =
                    |sent: &Value| text.iter().all(|it| sent["head"].to_string().contains(it));
                sent.as_array_mut().unwrap().retain(is_it);
                sent
            }
            _ => return None,
        };
        Some(CommandOutput::text(found))
    }

    fn act(&self, step: &str, words: &[&str], block: &[String], variables: &mut Variables) {
        let mock = &self.env.mock;
        match words {
            ["mock", ..] => {}
            ["env", pair] => {
                let (name, value) = pair.split_once('=').unwrap();
                self.variables.borrow_mut().insert(name.to_owned(), value.to_owned());
            }
            ["submit", variable, prompt] => {
                variables.insert((*variable).to_owned(), self.env.submit_image(&text_of(prompt)));
            }
            ["stdin", text] => self.stdin.set(Some(text_of(text))),
            ["signal", name] => {
                send_signal(&self.running.borrow().last().expect("a command").0, name);
            }
            ["kill"] => drop(self.running.borrow_mut().pop().expect("a command that was started")),
            ["port", name] => {
                let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
                variables.insert((*name).to_owned(), free.port().to_string());
            }
            ["connect", url, count, text @ ..] => {
                let address = url.strip_prefix("http://").unwrap();
                self.connections.borrow_mut().extend((0..number(count)).map(|_| {
                    let mut stream = TcpStream::connect(address).unwrap();
                    text.iter().for_each(|it| stream.write_all(text_of(it).as_bytes()).unwrap());
                    stream
                }));
            }
            ["disconnect"] => self.connections.borrow_mut().clear(),
            ["lock", name] => {
                let file = fs::File::options().append(true).open(self.env.path(name)).unwrap();
                file.lock().unwrap();
                self.locked.borrow_mut().push(file);
            }
            ["unlock"] => self.locked.borrow_mut().clear(),
            #[cfg(feature = "mcp")]
            ["close"] => self.session.take().expect("a server of tools").close(),
            #[cfg(unix)]
            [
                "see" | "type" | "enter" | "hidden" | "restored" | "terminate" | "ask" | "resize"
                | "snapshot",
                ..,
            ] => self.act_on_terminal(words),
            ["sleep", milliseconds] => sleep(Duration::from_millis(number(milliseconds))),
            ["fault", operation, kind, more @ ..] => {
                let more: Vec<_> = more.iter().map(|word| number(word)).collect();
                let (kind, code) = kind.split_once(':').unwrap_or((kind, ""));
                let pauses = ["error", "status_503", "status_429"].contains(&kind);
                self.add_fault(json!({
                    "operation": operation,
                    "kind": kind,
                    "code": (!code.is_empty()).then_some(code),
                    "times": more.first().unwrap_or(&1),
                    "retry_after_seconds": pauses.then(|| more.get(1).unwrap_or(&0)),
                }));
            }
            ["delay", operation, milliseconds, times @ ..] => {
                let times = times.first().map_or(1, |times| number(times));
                let delay = number(milliseconds);
                self.add_fault(json!({
                    "operation": operation, "kind": "delay", "delay_ms": delay, "times": times,
                }));
            }
            ["no-faults"] => mock.clear_faults(),
            ["advance", seconds] => {
                mock.advance(Duration::from_secs(number(seconds))).unwrap();
            }
            ["end-job", id, status] => {
                drop(mock.end_job(id, status.parse().unwrap(), None).unwrap());
            }
            ["settle", id, status] => drop(mock.settle_top_up(id, (*status).into()).unwrap()),
            ["pay", id] => drop(mock.pay_top_up(id).unwrap()),
            ["file", name] => self.write(name, &lines_of(block)),
            ["write", name, text] => self.write(name, &text_of(text)),
            ["save", name] => self.write(name, &self.last.borrow().as_ref().unwrap().out),
            #[cfg(unix)]
            ["program", name] => {
                use std::os::unix::fs::PermissionsExt;

                self.write(name, &lines_of(block));
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(self.env.path(name), mode).unwrap();
            }
            ["replace", name, from, to] => {
                let text = fs::read_to_string(self.env.path(name)).unwrap();
                self.write(name, &text.replace(&text_of(from), &text_of(to)));
            }
            ["remove", name] => {
                let path = self.env.path(name);
                if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
                    .unwrap();
            }
            ["exists", name] => assert!(self.env.path(name).exists(), "{step}"),
            ["missing", name] => assert!(!self.env.path(name).exists(), "{step}"),
            ["serve", name, answer @ ..] => {
                let server = match answer {
                    ["hang"] => FakeServer::silent(),
                    [status, body] => FakeServer::start("127.0.0.1:0", always(status, body)),
                    [status, body, port] => {
                        FakeServer::start(&format!("127.0.0.1:{port}"), always(status, body))
                    }
                    _ => FakeServer::start("127.0.0.1:0", by_rules(block)),
                };
                let host = server.url.replace("http://", "");
                variables.insert(format!("{name}-host"), host);
                variables.insert((*name).to_owned(), server.url.clone());
                self.servers.borrow_mut().insert((*name).to_owned(), server);
            }
            ["answer", server, status, body] => {
                self.servers.borrow()[*server].answer(always(status, body));
            }
            ["earlier-version", created_at @ ..] => {
                let mut entry = self.env.history("--all").remove(0);
                if let [created_at] = created_at {
                    entry["created_at"] = (*created_at).into();
                }
                self.env.leave_to_an_earlier_version(entry);
            }
            _ => panic!("no such step: {step}"),
        }
    }

    fn add_fault(&self, fault: Value) {
        self.env.mock.add_fault(serde_json::from_value(fault).unwrap()).unwrap();
    }

    fn end(&self) -> CommandOutput {
        #[cfg(unix)]
        if self.running.borrow().is_empty()
            && let Some(terminal) = self.terminal.borrow_mut().as_mut()
        {
            return terminal.end();
        }
        self.running.borrow_mut().pop().expect("a command that was started").0.end()
    }

    #[cfg(unix)]
    fn start_on_terminal(&self, command: Command, size: Option<(u16, u16)>) {
        self.answered.set(0);
        let (columns, rows) = size.unwrap_or((200, TALL));
        *self.terminal.borrow_mut() = Some(Terminal::start(command, rows, columns));
    }

    #[cfg(unix)]
    fn act_on_terminal(&self, words: &[&str]) {
        let mut terminal = self.terminal.borrow_mut();
        let terminal = terminal.as_mut().expect("a command on a terminal");
        match words {
            ["see", text] => terminal.wait_for(&text_of(text)),
            ["type", text] => terminal.type_text(&text_of(text)),
            ["enter", line] => terminal.type_text(&format!("{}\n", text_of(line))),
            ["hidden"] => terminal.wait_for_hidden_input(),
            ["restored"] => assert!(terminal.is_restored()),
            ["terminate"] => terminal.terminate(),
            ["resize", size] => {
                let (columns, rows) = size_of(size).expect("a size");
                terminal.resize(rows, columns);
            }
            ["snapshot", name] => assert_screen(name, &terminal.screen()),
            ["snapshot", name, "color"] => {
                assert_screen(&format!("{name}_color"), &markup(&terminal.styled_lines()));
            }
            ["ask", prompt, answer] => {
                let prompt = text_of(prompt);
                // A prompt is written again when it is answered.
                let seen = self.answered.get();
                self.answered.set(seen + terminal.wait_for_output(&prompt, seen));
                if prompt.starts_with("API key") {
                    terminal.wait_for_hidden_input();
                }
                terminal.type_text(&format!("{}\n", text_of(answer)));
            }
            _ => panic!("no such step: {words:?}"),
        }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.env.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Returns a command that can open 40 files.
fn with_few_files(command: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\""]).arg(command.get_program());
    limited.args(command.get_args()).env_clear().stdin(Stdio::null());
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.current_dir(command.get_current_dir().unwrap());
    limited
}

/// Returns an option of a delivery, whose value may be in quotes.
fn option_of(word: &str) -> String {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    format!("{name}={}", text_of(value))
}

fn always(status: &str, body: &str) -> Respond {
    let answer = (text_of(status), text_of(body));
    Box::new(move |_| answer.clone())
}

/// Answers with the first line whose method and part of a path fit.
fn by_rules(lines: &[String]) -> Respond {
    let rules: Vec<[String; 4]> = lines
        .iter()
        .map(|line| match split(line, ' ')[..] {
            [method, path, status, body] => {
                [method.to_owned(), path.to_owned(), text_of(status), text_of(body)]
            }
            _ => panic!("no answer of a server: {line}"),
        })
        .collect();
    Box::new(move |request| {
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let calls = |name: &str| request.contains(&format!("\"method\":\"{name}"));
        let fits = |rule: &&[String; 4]| {
            (rule[0] == "*" || rule[0] == method) && (path.contains(&rule[1]) || calls(&rule[1]))
        };
        let found = rules.iter().find(fits).map(|[_, _, status, body]| (status, body));
        let (status, body) = found.unwrap_or_else(|| panic!("no answer to {method} {path}"));
        let host = request.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("host").then(|| value.trim().to_owned())
        });
        let message = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let message: Value = serde_json::from_str(message).unwrap_or_default();
        let body = body.replace("REQUEST-ID", &message["id"].to_string());
        (status.clone(), body.replace("HOST", &host.unwrap_or_default()))
    })
}

/// Returns the files below a folder, and what stands for their contents.
fn tree(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(tree(&path));
        } else {
            let mut hasher = DefaultHasher::new();
            fs::read(&path).unwrap_or_default().hash(&mut hasher);
            files.push(format!("{}:{:x}", path.display(), hasher.finish()));
        }
    }
    files.sort();
    files
}

/// Returns the text of a file: lines, of which `3x LINE` stands for three, with their numbers for `#`.
fn lines_of(block: &[String]) -> String {
    let repeated = |line: &String| {
        let (count, rest) = line.split_once("x ")?;
        let count: u32 = count.parse().ok()?;
        Some((0..count).map(|number| rest.replace('#', &number.to_string()) + "\n").collect())
    };
    block.iter().map(|line| repeated(line).unwrap_or_else(|| format!("{line}\n"))).collect()
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("not a number: {word}"))
}

/// Returns the columns and the rows of a size: `80x16`, or `80` for a terminal on which nothing scrolls.
fn size_of(word: &str) -> Option<(u16, u16)> {
    let (columns, rows) = word.split_once('x').unwrap_or((word, "200"));
    Some((columns.parse().ok()?, rows.parse().ok()?))
}

/// Returns a text that may be in quotes.
fn text_of(word: &str) -> String {
    if word.starts_with('"') { svc_test_script::word(&parse(word)) } else { word.to_owned() }
}

fn difference(
    step: &str,
    output: &CommandOutput,
    conditions: &[&str],
    variables: &mut Variables,
) -> Option<String> {
    let mut wrong = String::new();
    for condition in conditions {
        let condition = &substitute(condition, variables);
        if let Some(difference) = difference_of(output, condition, variables) {
            wrong += &format!("\n  not {condition}, but {difference}");
        }
    }
    let CommandOutput { code, out, err } = output;
    (!wrong.is_empty())
        .then(|| format!("{step}{wrong}\nexit: {code:?}\nstdout: {out:.3000}\nstderr: {err:.3000}"))
}

fn difference_of(
    output: &CommandOutput,
    condition: &str,
    variables: &mut Variables,
) -> Option<String> {
    if let Ok(code) = condition.parse::<i32>() {
        return (output.code != Some(code)).then(|| format!("{:?}", output.code));
    }
    let (is_absent, rest) = condition.strip_prefix('!').map_or((false, condition), |it| (true, it));
    let (stream, text) =
        rest.strip_prefix('>').map_or((&output.err, rest), |text| (&output.out, text));
    if text.starts_with('"') {
        let is_there = stream.contains(&text_of(text));
        return (is_there == is_absent).then(|| "what is below".to_owned());
    }
    let error = || {
        let last = output.err.lines().last().unwrap_or_default();
        serde_json::from_str::<Value>(last).map_or(Value::Null, |mut line| line["error"].take())
    };
    if !condition.contains('=') && !is_absent {
        let code = error()["code"].take();
        return (code != condition).then(|| code.to_string());
    }
    check(condition, variables, |left| match left {
        "out" => Some(Value::from(output.out.as_str())),
        "err" => Some(Value::from(output.err.as_str())),
        "lines" => Some(json!(output.out.lines().count())),
        "errors" => Some(json!(output.err.lines().filter(|line| line.starts_with('{')).count())),
        _ => match left.strip_prefix("err.") {
            Some(path) => at(&error(), path),
            None => at(&json_of(&output.out), left.strip_prefix('.').unwrap_or(left)),
        },
    })
}

fn json_of(out: &str) -> Value {
    let lines = || out.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    serde_json::from_str(out).or_else(|_| lines().map(Value::from)).unwrap_or(Value::Null)
}
