//! Errors of the command-line parser: as failures, and with advice on commands and options that do not exist,
//! such as what another program calls it, and what it is called here.

use std::borrow::Cow;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error, ValueEnum};

use crate::args::Color;
use crate::error::{Failure, KeptFlags, SuggestedCommand};
use crate::text::{nearest, shell_quote};

pub(crate) fn usage_failure(error: &Error) -> Failure {
    let text = plain_number_error(&error.to_string());
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return missing_subcommand(&text);
    }
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let mut blocks = text.split("\n\n").map(join_lines);
    let message = blocks.next().unwrap_or_default();
    blocks
        .filter_map(|block| block.strip_prefix("tip: ").map(str::to_owned))
        .fold(Failure::usage(message), Failure::hint)
}

/// Returns the failure for a group of commands without a subcommand, given its help.
fn missing_subcommand(help: &str) -> Failure {
    let usage = help.lines().find_map(|line| line.strip_prefix("Usage: "));
    let command = usage.and_then(|usage| usage.split(['[', '<']).next());
    let command = command.unwrap_or("svc").trim();
    Failure::usage(format!("'{command}' requires a subcommand but one was not provided"))
        .hint(format!("list the subcommands with: {command} --help"))
}

pub(crate) fn plain_number_error(text: &str) -> String {
    [
        ("invalid digit found in string", "expected a whole number"),
        ("cannot parse integer from empty string", "expected a whole number"),
        ("invalid float literal", "expected a number"),
        ("cannot parse float from empty string", "expected a number"),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn join_lines(block: &str) -> String {
    let lines: Vec<&str> = block.lines().map(str::trim).collect();
    lines.join(" ").trim().to_owned()
}

pub(crate) fn requests_json(arguments: &[String]) -> bool {
    let format = last_value(arguments, &["--output=", "-o=", "-o"], &["--output", "-o"]);
    matches!(format.as_deref(), Some("json" | "jsonl"))
}

pub(crate) fn requested_color(arguments: &[String]) -> Color {
    let color = last_value(arguments, &["--color="], &["--color"]);
    let color = color.and_then(|color| Color::from_str(&color, false).ok());
    color.unwrap_or_default()
}

fn kept_flags(arguments: &[String]) -> KeptFlags {
    let mut words = arguments.iter().take_while(|word| *word != "--");
    KeptFlags {
        profile: last_value(arguments, &["--profile="], &["--profile"]),
        is_sandbox: words.any(|word| word == "--sandbox"),
    }
}

/// Looks for the flag alone, since the arguments could not be parsed.
fn last_value(arguments: &[String], prefixes: &[&str], names: &[&str]) -> Option<String> {
    let mut words = arguments.iter().take_while(|word| *word != "--").peekable();
    let mut last = None;
    while let Some(word) = words.next() {
        let value = match names.contains(&word.as_str()) {
            true => words.peek().map(|word| (*word).clone()),
            false => {
                prefixes.iter().find_map(|prefix| word.strip_prefix(prefix)).map(str::to_owned)
            }
        };
        last = value.or(last);
    }
    last
}

/// Words of other programs, and what is meant by them. Its first lines say how the others are read.
const WORDS: &str = include_str!("words.txt");

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
            error.remove(ContextKind::SuggestedSubcommand);
            error.remove(ContextKind::Suggested);
            Mistyped::new(root, arguments, &word).tip_for_command()
        }
        ErrorKind::UnknownArgument => {
            let Some(word) = context(ContextKind::InvalidArg) else { return error };
            let mistyped = Mistyped::new(root, arguments, &word);
            let tip = mistyped.tip_for_argument();
            let similar = mistyped.similar_option().filter(|_| tip.is_none());
            let suggested = context(ContextKind::SuggestedArg);
            if similar != suggested {
                error.remove(ContextKind::SuggestedArg);
                if let Some(option) = similar {
                    error.insert(ContextKind::SuggestedArg, ContextValue::String(option));
                }
                // The usage shows the option that was suggested.
                let usage = ContextValue::StyledStr(mistyped.command.clone().render_usage());
                error.insert(ContextKind::Usage, usage);
            }
            if !mistyped.may_be_text() {
                // The parser would advise to pass the option as a value, which no argument is meant for.
                error.remove(ContextKind::Suggested);
            }
            tip
        }
        ErrorKind::MissingRequiredArgument if given_group(root, arguments).1 == "svc usage" => {
            Some("net spend is that of a period, such as: --since 30d".to_owned())
        }
        ErrorKind::InvalidValue => {
            let argument = context(ContextKind::InvalidArg).unwrap_or_default();
            let value = context(ContextKind::InvalidValue);
            value.filter(|_| argument.starts_with("--output")).and_then(|value| match &*value {
                "csv" | "tsv" => Some(format!(
                    "for {}, write: -o jsonl --jq '[.id,.status] | @{value}'",
                    value.to_uppercase()
                )),
                file if file.contains('.') => {
                    Some(format!("to save the result as a file, write: --download {file}"))
                }
                _ => None,
            })
        }
        _ => None,
    };
    if let Some(tip) = tip {
        let tips = vec![StyledStr::from(tip)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Also returns the path of the command, and the number of arguments through it.
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

/// Rejects an option as the text of `--prompt` or `--instruction`, and says how to send one.
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
        if options_of(command.get_arguments()).any(|option| option == *text) {
            let why = format!(
                "{flag} needs a text, and `{text}` is an option; to send it as text, write: {flag}={text}\n"
            );
            return Err(Error::raw(ErrorKind::InvalidValue, why));
        }
    }
    Ok(())
}

/// A command line with a word that was not expected.
struct Mistyped<'a> {
    /// The group of commands, or the command, before the word.
    command: &'a Command,
    /// Its path, such as `svc job`.
    path: String,
    word: &'a str,
    /// The value of the word, or the argument after it.
    value: Option<&'a str>,
    /// The arguments after the command.
    rest: &'a [String],
    flags: KeptFlags,
}

impl<'a> Mistyped<'a> {
    fn new(root: &'a Command, arguments: &'a [String], word: &'a str) -> Self {
        let value_of = |argument: &'a String| argument.strip_prefix(word)?.strip_prefix('=');
        let is_short = word.starts_with('-') && !word.starts_with("--");
        let place = arguments.iter().position(|it| {
            it == word || value_of(it).is_some() || is_short && it.starts_with(word)
        });
        let (before, after) = arguments.split_at(place.unwrap_or(arguments.len()));
        let (command, path, count) = given_group(root, before);
        let next = after.get(1).map(String::as_str).filter(|next| !next.starts_with('-'));
        let value = after.first().and_then(value_of).or(next);
        let rest = arguments.get(count..).unwrap_or_default();
        Self { command, path, word, value, rest, flags: kept_flags(arguments) }
    }

    fn group(&self) -> &str {
        self.path.strip_prefix("svc").unwrap_or_default().trim_start()
    }

    fn tip_for_command(&self) -> Option<String> {
        let word = self.word.to_lowercase();
        if word == "upload" {
            return Some(TAKES_URLS.to_owned());
        }
        if let Some(tip) = self.known_command() {
            return tip;
        }
        let group = self.group();
        let is_amount = || word.trim_start_matches('$').starts_with(|it: char| it.is_ascii_digit());
        let command = match group {
            "batch" if word.contains('.') => Some("batch run {FILE}"),
            "top-up" if is_amount() => Some("top-up create {DOLLARS}"),
            _ => None,
        };
        if let Some(command) = command {
            return Some(self.did_you_mean(command, Some(self.word)));
        }
        let verbs = lines_of("verbs").filter(|(words, _)| has_word(words, &word));
        let mut verbs = verbs.flat_map(|(_, verbs)| verbs.split(' '));
        let verb = verbs.find_map(|verb| self.command.find_subcommand(verb));
        let shown = || self.command.get_subcommands().filter(|it| !it.is_hide_set());
        if let Some(verb) = verb.map(Command::get_name) {
            return Some(self.did_you_mean(&format!("{group} {verb}"), None));
        }
        // Of similar names only the nearest, with what follows.
        if let Some(name) = nearest(&word, shown().map(Command::get_name)) {
            let words = group.split(' ').filter(|it| !it.is_empty()).chain([name]);
            let after = self.rest.iter().skip_while(|it| *it != self.word).skip(1);
            let command = SuggestedCommand::new(words.chain(after.map(String::as_str)));
            return Some(format!("did you mean: {}", command.with_flags(&self.flags)));
        }
        // The word may be a command of a group in this group.
        let nested = shown().filter_map(|it| Some((it, it.find_subcommand(&word)?)));
        let nested: Vec<_> = nested
            .filter(|(_, verb)| !verb.is_hide_set())
            .map(|(it, verb)| format!("{group} {} {}", it.get_name(), verb.get_name()))
            .collect();
        if !nested.is_empty() && nested.len() <= MAX_NESTED {
            return Some(self.did_you_mean(&nested.join(", "), None));
        }
        self.as_text()
    }

    fn tip_for_argument(&self) -> Option<String> {
        let (path, word) = (&self.path, self.word);
        if let Some(tip) = self.known_command() {
            return tip;
        }
        self.known_option().or_else(|| self.quoted()).or_else(|| match path.as_str() {
            "svc mcp call" if word.contains('=') => {
                Some(format!("did you mean: --arg {}", shell_quote(word)))
            }
            "svc mock exec" => Some(format!("did you mean: {path} -- {}", self.rest.join(" "))),
            "svc format bulk" if !word.starts_with('-') => {
                let file = shell_quote(word);
                Some(format!("the file with the items is passed with: --input {file}"))
            }
            // A verb after a command that needs none.
            _ if ["show", "get", "list", "ls"].contains(&word) => {
                Some(format!("did you mean: {path}{}", self.flags))
            }
            _ => None,
        })
    }

    /// Returns the tip for a word of the table, which for some words is none.
    fn known_command(&self) -> Option<Option<String>> {
        let (group, word) = (self.group(), self.word.to_lowercase());
        let meant = lines_of("commands").find_map(|(words, meant)| {
            let (groups, words) = words.split_once(": ").unwrap_or(("", words));
            let is_it = groups.split('|').any(|it| it == group) && has_word(words, &word);
            is_it.then_some(meant)
        })?;
        let (commands, note) = meant.split_once("; ").unwrap_or((meant, ""));
        Some(match (commands, note) {
            ("", "") => None,
            ("", note) => Some(note.to_owned()),
            (commands, "") => Some(self.did_you_mean(commands, self.value)),
            (commands, note) => {
                Some(format!("{} ({note})", self.did_you_mean(commands, self.value)))
            }
        })
    }

    fn known_option(&self) -> Option<String> {
        let options = self.shown_options();
        let value = self.value.map(shell_quote);
        let mut tips = lines_of("options").filter(|(words, _)| has_word(words, self.word));
        tips.find_map(|(_, tip)| match tip.split_once("svc ") {
            Some((text, command)) => Some(format!("{text}{}", self.suggested(command, None))),
            None if !tip.starts_with('-') => Some(tip.to_owned()),
            None => {
                let option = tip.split([' ', ',']).next().unwrap_or_default();
                let is_known = options.iter().any(|it| it == option);
                is_known.then(|| format!("did you mean: {}", fill(tip, value.as_deref())))
            }
        })
    }

    fn shown_options(&self) -> Vec<String> {
        let arguments = self.command.get_arguments();
        options_of(arguments.filter(|arg| !arg.is_hide_set())).collect()
    }

    fn did_you_mean(&self, commands: &str, value: Option<&str>) -> String {
        let commands = commands.split(", ").map(|words| self.suggested(words, value).to_string());
        format!("did you mean: {}", commands.collect::<Vec<_>>().join(", "))
    }

    fn suggested(&self, words: &str, value: Option<&str>) -> SuggestedCommand {
        let words = words.trim_start().split(' ').map(|word| fill(word, value));
        SuggestedCommand::new(words).with_flags(&self.flags)
    }

    /// Returns the option that is nearly the word, or begins with it, or begins it.
    fn similar_option(&self) -> Option<String> {
        let options = self.shown_options();
        let names = || options.iter().filter_map(|it| it.strip_prefix("--"));
        let begins = |long: &str, short: &str| {
            long.strip_prefix(short).is_some_and(|rest| rest.starts_with('-'))
        };
        let word = self.word.strip_prefix("--")?;
        let similar = nearest(word, names());
        let similar = similar.or_else(|| names().find(|it| begins(it, word) || begins(word, it)));
        similar.map(|name| format!("--{name}"))
    }

    /// Returns whether the word can be the text that the command takes, or an option of a subcommand.
    fn may_be_text(&self) -> bool {
        let is_first = self.rest.first().is_some_and(|first| first == self.word);
        self.command.has_subcommands() || is_first && text_position(self.command).is_some()
    }

    /// Returns the command with its text in quotes, if one without them was given.
    fn quoted(&self) -> Option<String> {
        let Self { path, rest, flags, .. } = self;
        let position = text_position(self.command)?;
        if self.word.starts_with('-') {
            let is_text = !self.word.starts_with("--");
            let text = rest.iter().find(|it| is_text && it.starts_with(self.word))?;
            let text = in_quotes(text);
            return Some(format!("to pass text that begins with a dash, write: --prompt {text}"));
        }
        let words = rest.iter().skip_while(|it| it.starts_with('-'));
        let words: Vec<_> =
            words.take_while(|it| !it.starts_with('-')).map(String::as_str).collect();
        let (before, text) = words.split_at_checked(position)?;
        let before: String = before.iter().map(|it| format!(" {}", shell_quote(it))).collect();
        let text = text.join(" ");
        Some(format!("put the text in quotes: {path}{before} {}{flags}", in_quotes(&text)))
    }

    /// Returns the command that takes the words after a group as its text, if they can be that.
    fn as_text(&self) -> Option<String> {
        let verbs = ["generate", "run"].iter().filter_map(|it| self.command.find_subcommand(it));
        let verb = verbs.map(|it| (it.get_name(), text_position(it))).next();
        let (verb, _) = verb.filter(|(_, position)| *position == Some(0))?;
        let words = self.rest.iter().take_while(|it| !it.starts_with('-'));
        let words: Vec<_> = words.map(String::as_str).collect();
        let text = words.join(" ");
        let is_verb = lines_of("verbs").any(|(words, _)| has_word(words, self.word));
        let is_text = !is_verb && !text.is_empty() && !text.contains(['.', '/', '_', '=']);
        let (path, flags) = (&self.path, &self.flags);
        is_text.then(|| format!("did you mean: {path} {verb} {}{flags}", in_quotes(&text)))
    }
}

/// Returns the number of arguments before the text that a command takes.
fn text_position(command: &Command) -> Option<usize> {
    let is_text = |arg: &Arg| {
        let id = arg.get_id().as_str();
        matches!(id, "prompt_argument" | "instruction_argument")
    };
    command.get_positionals().position(is_text)
}

fn options_of<'a>(arguments: impl Iterator<Item = &'a Arg>) -> impl Iterator<Item = String> {
    arguments.flat_map(|arg| {
        let long = arg.get_long_and_visible_aliases().unwrap_or_default().into_iter();
        let short = arg.get_short().map(|it| format!("-{it}"));
        long.map(|it| format!("--{it}")).chain(short)
    })
}

/// Returns a text in quotes for a shell: double ones, if that keeps it.
fn in_quotes(text: &str) -> Cow<'_, str> {
    match text.contains(['"', '$', '`', '\\', '!']) {
        true => shell_quote(text),
        false => Cow::Owned(format!("\"{text}\"")),
    }
}

fn lines_of(section: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = WORDS.split("\n\n").filter_map(|text| text.strip_prefix('[')?.split_once("]\n"));
    let lines = sections.filter(move |(name, _)| *name == section).flat_map(|(_, it)| it.lines());
    lines
        .filter_map(|line| line.split_once(" =>"))
        .map(|(words, meant)| (words, meant.trim_start()))
}

fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|it| it == word)
}

/// Replaces `{NAME}` in a text by a value, or else by `NAME`.
fn fill(text: &str, value: Option<&str>) -> String {
    let parts = text.split_once('{').and_then(|(before, rest)| {
        let (name, after) = rest.split_once('}')?;
        Some((before, name, after))
    });
    match parts {
        Some((before, name, after)) => [before, value.unwrap_or(name), after].concat(),
        None => text.to_owned(),
    }
}
