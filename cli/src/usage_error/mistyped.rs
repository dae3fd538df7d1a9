//! Advice on commands and options that do not exist: what another program calls it, and what it is
//! called here.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use super::last_value;
use crate::text::shell_quote;

const COMMANDS: &[(&str, &[&str])] = &[
    ("login signin", &["auth login"]),
    ("logout signout", &["auth logout"]),
    ("whoami account workspace", &["me"]),
    (
        "generate create make submit",
        &["video generate", "image generate", "music generate", "avatar generate"],
    ),
    ("get show describe", &["job get", "run get"]),
    ("status", &["job get", "run get"]),
    ("list ls jobs images videos", &["job list"]),
    ("runs", &["history", "agent runs"]),
    ("models", &["model list"]),
    ("formats", &["format list"]),
    ("actions", &["action list"]),
    ("price prices", &["pricing list"]),
    ("cost costs spend spending bill billing", &["usage"]),
    ("credits funds wallet", &["balance"]),
    ("topup pay", &["top-up create"]),
    ("cancel stop kill rm delete", &["job cancel", "run cancel"]),
    ("wait", &["job wait", "run wait"]),
    ("watch follow tail", &["job watch"]),
    ("download fetch", &["job download", "run download"]),
    ("listen receive", &["webhook listen"]),
    ("trigger", &["webhook trigger"]),
    ("replay", &["webhook replay"]),
    ("serve server sandbox", &["mock serve"]),
    ("setup configure", &["init"]),
    ("log logs", &["history"]),
    ("queues", &["queue get"]),
];

const VERBS: &[(&str, &str)] = &[
    ("ls", "list"),
    ("list ls", "runs status show get"),
    ("describe view info inspect status show get", "get show status list"),
    ("rm remove delete stop kill abort", "cancel logout delete unset purge"),
    ("new create add make submit start", "generate create run serve listen set login"),
    ("generate", "run"),
    ("follow tail", "watch wait"),
    ("fetch save", "download get"),
    ("retry resume continue", "run"),
    ("receive serve start", "listen serve"),
    ("events deliveries list ls", "inbox"),
];

const OPTIONS: &[(&str, &str)] = &[
    ("--json", "for JSON, write: -o json"),
    ("--jsonl", "for a JSON document per line, write: -o jsonl"),
    ("--format", "the output format is set with: -o table|json|jsonl"),
    ("--out", "files are downloaded with: --download DIR"),
    ("--output-dir", "files are downloaded with: --download DIR"),
    ("--save", "files are downloaded with: --download DIR"),
    ("--count", "the number of images is set with: --num-images N"),
    ("--size", "the size is set with: --resolution or --aspect-ratio"),
    ("--wait", "commands that submit wait by default; --no-wait does not"),
    ("--async", "to return at once, write: --no-wait"),
    ("--budget", "the price is limited with: --max-price USD"),
    ("--force", "to skip the confirmation prompt, write: --yes"),
];

const MAX_NESTED: usize = 3;

/// What is said of files that should be sent.
const TAKES_URLS: &str = "the service takes public URLs only, and no files: put the file where it has a \
                          public HTTPS URL, and pass that, for example with --image-url URL";

/// Adds to a usage error what was probably meant, and removes suggestions that are far from it.
pub(crate) fn advise(mut error: Error, root: &Command, arguments: &[String]) -> Error {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let Some(word) = context(ContextKind::InvalidSubcommand) else { return error };
            let (group, path, _) = given_group(root, arguments);
            error.remove(ContextKind::SuggestedSubcommand);
            error.remove(ContextKind::Suggested);
            tip_for_command(group, &path, &word, arguments)
        }
        ErrorKind::UnknownArgument => {
            let Some(word) = context(ContextKind::InvalidArg) else { return error };
            let place = arguments.iter().position(|it| it.starts_with(&word));
            let before = arguments.get(..place.unwrap_or(arguments.len())).unwrap_or_default();
            let (command, path, count) = given_group(root, before);
            let rest = arguments.get(count..).unwrap_or_default();
            if !takes_text(command) && !command.has_subcommands() {
                // The parser would advise to pass the option as a value, which no argument is meant for.
                error.remove(ContextKind::Suggested);
            }
            let profile = profile_flag(arguments);
            let known = OPTIONS.iter().find(|(option, _)| *option == word);
            let known = known.map(|(_, tip)| (*tip).to_owned());
            // A verb after a command that needs none.
            let is_verb = ["show", "get", "list", "ls"].contains(&word.as_str());
            known
                .or_else(|| quoted(command, &path, &word, rest, &profile))
                .or_else(|| is_verb.then(|| format!("did you mean: {path}{profile}")))
                .or_else(|| {
                    let is_file = path == "svc format bulk" && !word.starts_with('-');
                    is_file.then(|| {
                        let file = shell_quote(&word);
                        format!("the file with the items is passed with: --input {file}")
                    })
                })
                .or_else(|| {
                    let is_exec = path == "svc mock exec";
                    is_exec.then(|| format!("did you mean: {path} -- {}", rest.join(" ")))
                })
        }
        ErrorKind::InvalidValue => {
            let argument = context(ContextKind::InvalidArg).unwrap_or_default();
            context(ContextKind::InvalidValue)
                .filter(|value| argument.starts_with("--output") && value.contains('.'))
                .map(|file| format!("to save the result as a file, write: --download {file}"))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        let tips = vec![StyledStr::from(tip)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Returns the group of commands, or the command, that the arguments begin with, its path, and the
/// number of arguments through it.
fn given_group<'a>(root: &'a Command, arguments: &[String]) -> (&'a Command, String, usize) {
    let (mut command, mut path, mut count) = (root, "svc".to_owned(), 0);
    for (index, word) in arguments.iter().enumerate() {
        if let Some(sub) = command.find_subcommand(word) {
            path = format!("{path} {}", sub.get_name());
            (command, count) = (sub, index + 1);
        }
    }
    (command, path, count)
}

/// Checks that `--prompt` and `--instruction` are not followed by an option, which would be the text.
///
/// # Errors
///
/// Returns a usage error that says how to send such a text.
pub(crate) fn check_text_options(
    root: impl Fn() -> Command,
    arguments: &[String],
) -> Result<(), Error> {
    let words = arguments.split(|word| word == "--").next().unwrap_or_default();
    for pair in words.windows(2) {
        let [flag, text] = pair else { continue };
        let takes_text = matches!(flag.as_str(), "--prompt" | "--instruction");
        if !takes_text || !text.starts_with('-') || text == "-" {
            continue;
        }
        let root = root();
        let (command, _, _) = given_group(&root, arguments);
        let is_option = |arg: &clap::Arg| {
            arg.get_long_and_visible_aliases()
                .unwrap_or_default()
                .iter()
                .any(|it| text == &format!("--{it}"))
                || arg.get_short().is_some_and(|it| text == &format!("-{it}"))
        };
        if command.get_arguments().any(is_option) {
            let why = format!(
                "{flag} needs a text, and `{text}` is an option; to send it as text, write: {flag}={text}\n"
            );
            return Err(Error::raw(ErrorKind::InvalidValue, why));
        }
    }
    Ok(())
}

fn tip_for_command(
    group: &Command,
    path: &str,
    word: &str,
    arguments: &[String],
) -> Option<String> {
    let word = word.to_lowercase();
    let means = |words: &str| words.split(' ').any(|it| it == word);
    if word == "upload" {
        return Some(TAKES_URLS.to_owned());
    }
    let profile = profile_flag(arguments);
    if path == "svc batch" && word.contains('.') {
        return Some(format!("did you mean: svc batch run {word}{profile}"));
    }
    let mut meant = Vec::new();
    if path == "svc" {
        let known = COMMANDS.iter().find(|(words, _)| means(words));
        meant.extend(
            known.into_iter().flat_map(|(_, commands)| *commands).map(|it| (*it).to_owned()),
        );
    }
    // The results of these are jobs, and the runs of this machine are in its history.
    let lists = ["list", "ls", "get", "show"].contains(&word.as_str());
    let made = ["svc image", "svc video", "svc music", "svc caption"].contains(&path);
    if lists && (made || path == "svc run" || path == "svc top-up") {
        let command = if made { "svc job list" } else { "svc history" };
        return Some(format!("did you mean: {command}{profile}"));
    }
    if meant.is_empty() {
        let verbs = VERBS.iter().filter(|(words, _)| means(words));
        let mut verbs = verbs.flat_map(|(_, verbs)| verbs.split(' '));
        meant.extend(
            verbs.find_map(|verb| group.find_subcommand(verb)).map(|it| it.get_name().to_owned()),
        );
    }
    if meant.is_empty() {
        // Of similar names only the nearest.
        let names = group.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name);
        let distances = names.map(|name| (strsim::damerau_levenshtein(name, &word), name));
        let is_near =
            |(distance, name): &(usize, &str)| *distance <= 2 && *distance * 2 < name.len();
        meant.extend(distances.filter(is_near).min().map(|(_, name)| name.to_owned()));
    }
    if meant.is_empty() {
        // A verb of the groups in this group.
        let groups = group.get_subcommands().filter(|it| !it.is_hide_set());
        let verbs = groups.filter_map(|it| Some((it, it.find_subcommand(&word)?)));
        let verbs: Vec<_> = verbs.filter(|(_, verb)| !verb.is_hide_set()).collect();
        if verbs.len() <= MAX_NESTED {
            meant.extend(
                verbs.iter().map(|(it, verb)| format!("{} {}", it.get_name(), verb.get_name())),
            );
        }
    }
    let meant: Vec<_> = meant.iter().map(|it| format!("{path} {it}{profile}")).collect();
    (!meant.is_empty()).then(|| format!("did you mean: {}", meant.join(", ")))
}

fn profile_flag(arguments: &[String]) -> String {
    let profile = last_value(arguments, &["--profile="], &["--profile"]);
    profile.map_or_else(String::new, |it| format!(" --profile {}", shell_quote(&it)))
}

fn takes_text(command: &Command) -> bool {
    let is_text = |id: &str| matches!(id, "prompt_argument" | "instruction_argument");
    command.get_positionals().any(|arg| is_text(arg.get_id().as_str()))
}

/// Returns the command with its prompt in quotes, if a prompt without them was given.
fn quoted(
    command: &Command,
    path: &str,
    word: &str,
    rest: &[String],
    profile: &str,
) -> Option<String> {
    if !takes_text(command) {
        return None;
    }
    if word.starts_with('-') {
        let is_prompt = !word.starts_with("--") && rest.iter().any(|it| it.starts_with(word));
        let text = rest.iter().find(|it| it.starts_with(word))?;
        return is_prompt
            .then(|| format!("to pass text that begins with a dash, write: --prompt \"{text}\""));
    }
    let words = rest.iter().skip_while(|it| it.starts_with('-'));
    let words: Vec<_> = words.take_while(|it| !it.starts_with('-')).map(String::as_str).collect();
    Some(format!("put the text in quotes: {path} \"{}\"{profile}", words.join(" ")))
}
