use std::collections::BTreeSet;

use clap::{CommandFactory, FromArgMatches};
use serde_json::{Map, Value};
use svc_openapi::{Servers, document};
use svc_sdk::contract::Idempotency;

use super::*;
use crate::cli::{Cli, command_line, full_command_line};

fn leaves(command: &Command, path: &str) -> Vec<String> {
    if !command.has_subcommands() {
        return vec![path.to_owned()];
    }
    let visible =
        command.get_subcommands().filter(|sub| !matches!(sub.get_name(), "help" | "version"));
    visible.flat_map(|sub| leaves(sub, &format!("{path} {}", sub.get_name()))).collect()
}

fn help_of(words: &str) -> String {
    let words = words.split(' ').chain(["--help"]);
    let error = command_line().try_get_matches_from(words).unwrap_err();
    assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp);
    error.render().to_string()
}

#[test]
fn every_command_has_two_or_three_examples_which_are_accepted() {
    for path in leaves(&full_command_line(), "svc") {
        let examples = examples().filter(|(command, _)| *command == path);
        let lines: Vec<_> = examples.flat_map(|(_, lines)| lines).collect();
        let help = help_of(&path);
        for line in &lines {
            assert!(help.contains(line), "{path}: {line}");
        }
        let commands = lines.iter().filter(|line| line.starts_with("svc "));
        assert!((2..=3).contains(&commands.clone().count()), "{path}: {lines:?}");
        for line in commands {
            assert!(line.starts_with(&path), "{path}: {line}");
            let parsed = command_line()
                .try_get_matches_from(shell_words::split(line).unwrap())
                .and_then(|matches| Cli::from_arg_matches(&matches));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
}

#[test]
fn the_help_of_a_key_says_what_the_service_does_with_it() {
    let paths = leaves(&full_command_line(), "svc");
    for operation in Operation::ALL.iter().filter(|it| it.idempotency() != Idempotency::NoKey) {
        let text = operation.idempotency().description();
        let paths = paths.iter().filter(|path| is_command_line_of(path, command_of(*operation)));
        let helps: Vec<_> = paths.map(|path| help_of(path)).collect();
        assert!(!helps.is_empty(), "{operation}");
        for help in helps {
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(help.contains("--idempotency-key <KEY>"), "{operation}: {help}");
            assert!(help.contains(text.trim_end_matches('.')), "{operation}: {help}");
        }
    }
}

#[test]
fn a_group_of_commands_has_its_description_and_examples() {
    for command in command_line().get_subcommands().filter(|it| !it.is_hide_set()) {
        let path = format!("svc {}", command.get_name());
        let help = help_of(&path);
        let about = command.get_about().unwrap().to_string();
        assert!(help.starts_with(&about), "{path}: {help}");
        assert!(
            help.contains(&format!("Examples:\n  {path} ")) || !help.contains("Commands:"),
            "{help}"
        );
    }
}

#[test]
fn every_visible_command_is_in_one_group() {
    let root = command_line();
    let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.split(' ')).collect();
    for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
        let times = grouped.iter().filter(|name| **name == command.get_name());
        assert_eq!(times.count(), 1, "{}", command.get_name());
    }
    let named = |names: &str| names.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut first: Vec<_> = named(DAILY);
    first.extend(MORE.iter().flat_map(|(_, names)| named(names)));
    for name in &first {
        assert!(grouped.contains(&name.as_str()), "{name}");
        assert_eq!(first.iter().filter(|other| *other == name).count(), 1, "{name}");
    }
    let help = topic_page(root, &["all".to_owned()]).render().to_string();
    for (title, _) in GROUPS {
        assert!(help.contains(&format!("\n{title}:\n")), "{help}");
    }
    assert!(!help.contains(['{', '}']), "{help}");
}

#[test]
fn options_of_every_command_are_listed_once() {
    let page = topic_page(command_line(), &["options".to_owned()]);
    let page = page.render().to_string();
    let help = help_of("svc video generate");
    let root = Cli::command();
    let global: Vec<_> = root.get_arguments().filter(|arg| arg.is_global_set()).collect();
    assert!(global.len() > 5);
    for option in global.iter().filter_map(|arg| arg.get_long()) {
        assert!(page.contains(&format!("--{option}")), "{page}");
        assert!(!help.contains(&format!("\n      --{option}")), "{help}");
    }
    assert!(help.contains("svc help options"), "{help}");
}

#[test]
fn options_stand_under_a_heading() {
    fn check(command: &Command, path: &str) {
        let own: Vec<_> = command
            .get_arguments()
            .filter(|arg| !arg.is_positional() && !arg.is_global_set())
            .collect();
        // A few options need no headings to be told apart.
        if own.len() > 6 && !path.starts_with("svc mock ") && path != "svc webhook listen" {
            let is_submit = own.iter().any(|arg| arg.get_id() == "max_price");
            for arg in own {
                // What most calls need comes first, without a heading.
                if is_submit && show_first(arg.clone()).get_help_heading().is_none() {
                    continue;
                }
                assert!(arg.get_help_heading().is_some(), "{path}: {}", arg.get_id());
            }
        }
        for sub in command.get_subcommands() {
            check(sub, &format!("{path} {}", sub.get_name()));
        }
    }
    check(&full_command_line(), "svc");
}

#[test]
fn required_inputs_are_marked() {
    for (path, input) in [
        ("svc job get", "<JOB_ID>...  Job ids (required)"),
        ("svc top-up create", "such as 20 or 20.50 (required)"),
        ("svc webhook verify", "x-svc-webhook-timestamp (required)"),
    ] {
        let help = help_of(path);
        assert!(help.contains(input), "{help}");
    }
}

#[test]
fn help_topics_are_commands() {
    let page = |topic: &[&str]| {
        let topic: Vec<String> = topic.iter().map(|word| (*word).to_owned()).collect();
        topic_page(command_line(), &topic).render().to_string()
    };
    assert_eq!(page(&["video", "generate"]), help_of("svc video generate"));
    assert_eq!(page(&[]), help_of("svc"));
    assert!(page(&["vidoe"]).contains("'video'"));
    let root = page(&[]);
    for (topic, text) in pages::TOPICS {
        assert_eq!(page(&[topic]), text);
        assert!(root.contains(&format!("svc help {topic} ")), "{root}");
    }
}

#[test]
fn command_path_matches_exactly() {
    assert!(is_command_line_of("svc job get", "svc job get JOB_ID"));
    assert!(is_command_line_of("svc model list", "svc model list --type image"));
    assert!(is_command_line_of("svc model run", "svc model run image-1.0"));
    assert!(is_command_line_of("svc estimate", "svc estimate"));
    assert!(is_command_line_of("svc mcp call", "svc mcp tools | svc mcp call TOOL"));
    assert!(!is_command_line_of("svc job", "svc job get JOB_ID"));
    assert!(!is_command_line_of("svc format run", "svc format runs FORMAT_ID"));
}

type BodyFields = Map<String, Value>;

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(target) => resolve(document, document.pointer(&target[1..]).unwrap()),
        None => schema,
    }
}

fn properties<'a>(document: &'a Value, schema: &'a Value) -> Option<&'a BodyFields> {
    resolve(document, schema)["properties"].as_object()
}

fn body_fields(document: &Value, operation: Operation) -> Option<&BodyFields> {
    let method = operation.method().as_str().to_lowercase();
    let request = &document["paths"][operation.path()][&method]["requestBody"];
    properties(document, &request["content"]["application/json"]["schema"])
}

fn command(root: &Command, operation: Operation) -> &Command {
    let words = command_of(operation).split(' ').skip(1);
    let mut command = root;
    for word in words {
        let Some(sub) = command.find_subcommand(word) else { break };
        command = sub;
    }
    command
}

#[test]
fn every_operation_has_a_command() {
    let root = full_command_line();
    let operations = Operation::ALL.iter().copied();
    for operation in operations.filter(|it| cfg!(feature = "mcp") || *it != Operation::Mcp) {
        assert!(!command(&root, operation).has_subcommands(), "{operation}");
    }
}

fn accepts(command: &Command, field: &str) -> bool {
    let flag = field.replace('_', "-");
    command.get_arguments().any(|arg| {
        let names = arg.get_long_and_visible_aliases().unwrap_or_default();
        let is_argument = arg.is_positional() && arg.get_id().as_str() == field;
        is_argument || names.contains(&flag.as_str())
    })
}

fn missing_flags(
    document: &Value,
    command: &Command,
    operation: Operation,
    fields: &BodyFields,
) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, schema) in fields {
        match name.as_str() {
            // `--input` is a file with the whole body, so the fields of this object have flags.
            // The one of a run has any fields, and is given with `--param`.
            "input" => {
                let nested = properties(document, schema);
                let nested =
                    nested.map(|fields| missing_flags(document, command, operation, fields));
                missing.extend(nested.unwrap_or_default());
            }
            // Another name of `image_url`.
            "photo" if accepts(command, "image_url") => {}
            // The items of a queue are given with `--input` or `--param`.
            "items" => {}
            name if accepts(command, name) => {}
            // They change no price.
            "metadata" | "mode" | "wait_timeout_seconds" | "webhook_url"
                if operation == Operation::OpenEstimate => {}
            name => missing.push(format!("{}: {name}", operation.name())),
        }
    }
    missing
}

#[test]
fn every_field_of_a_request_has_a_flag() {
    let document = document(&Servers::default());
    let root = full_command_line();
    let mut bodies = 0;
    let mut missing = Vec::new();
    for operation in Operation::ALL.iter().filter(|operation| **operation != Operation::Mcp) {
        if let Some(fields) = body_fields(&document, *operation) {
            let command = command(&root, *operation);
            missing.extend(missing_flags(&document, command, *operation, fields));
            bodies += usize::from(!fields.is_empty());
            for field in ["param", "input"].iter().filter(|_| !fields.is_empty()) {
                assert!(accepts(command, field), "{}: --{field}", operation.name());
            }
        }
    }
    assert!(bodies > 25, "{bodies} operations have fields");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn only_operations_with_a_prompt_have_the_flag() {
    let document = document(&Servers::default());
    let root = full_command_line();
    let has_prompt = |operation: Operation| {
        body_fields(&document, operation).is_some_and(|fields| {
            let input = fields.get("input").and_then(|input| properties(&document, input));
            fields.contains_key("prompt") || input.is_some_and(|it| it.contains_key("prompt"))
        })
    };
    let words = |operation: Operation| {
        let words = command_of(operation).split(' ');
        let words = words.take_while(|word| word.bytes().all(|b| b.is_ascii_lowercase()));
        words.collect::<Vec<_>>().join(" ")
    };
    let operations = Operation::ALL.iter().copied();
    let with_prompt: BTreeSet<String> = operations
        .clone()
        .filter(|operation| has_prompt(*operation))
        .map(words)
        .chain(["svc estimate".to_owned()])
        .collect();
    assert_eq!(with_prompt.len(), 6, "{with_prompt:?}");
    for operation in operations {
        let accepts_prompt = accepts(command(&root, operation), "prompt");
        let words = words(operation);
        assert_eq!(accepts_prompt, with_prompt.contains(&words), "{words}");
    }
}
