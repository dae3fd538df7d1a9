//! The flags that set the fields of a request.

use clap::{ArgMatches, Command};

/// Returns the command that was given, and its path, such as `svc job get`.
pub(crate) fn given_command<'a>(
    command: &'a Command,
    matches: &ArgMatches,
) -> (&'a Command, String) {
    let mut path = command.get_name().to_owned();
    let (mut command, mut matches) = (command, matches);
    while let Some((name, sub_matches)) = matches.subcommand()
        && let Some(sub) = command.find_subcommand(name)
    {
        path = format!("{path} {name}");
        (command, matches) = (sub, sub_matches);
    }
    (command, path)
}

/// Returns the flag of a command that sets a field, such as `--avatar-handle` for `avatar_handle`,
/// `--prompt` for `input.prompt` and `--image-url[1]` for `image_url[1]`.
pub(crate) fn flag_of_field(command: &Command, field: &str) -> Option<String> {
    let (path, index) = match field.find('[') {
        Some(at) => field.split_at(at),
        None => (field, ""),
    };
    // `--input` is a file with the whole body, and not the field of that name.
    if path == "input" {
        return None;
    }
    let nested = path.rsplit('.').next().unwrap_or(path);
    let arg = [path.replace('.', "_"), nested.to_owned()]
        .iter()
        .map(|name| name.replace('_', "-"))
        .find_map(|name| {
            command.get_arguments().find(|arg| {
                let names = arg.get_long_and_visible_aliases().unwrap_or_default();
                !arg.is_global_set() && names.contains(&name.as_str())
            })
        })?;
    Some(format!("--{}{index}", arg.get_long()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::full_command_line;

    #[test]
    fn fields_have_flags() {
        let root = full_command_line();
        let flag = |words: &str, field: &str| {
            let names = words.split(' ');
            let command = names.fold(&root, |command, name| {
                command.find_subcommand(name).unwrap()
            });
            flag_of_field(command, field)
        };
        let rows = [
            ("avatar generate", "avatar_handle", Some("--avatar-handle")),
            ("avatar generate", "input.prompt", Some("--prompt")),
            ("avatar generate", "input", None),
            (
                "avatar talking-video",
                "scene.image_url",
                Some("--scene-image-url"),
            ),
            ("video generate", "input.duration", Some("--duration")),
            (
                "video generate",
                "reference_image_urls[1]",
                Some("--reference-image-urls[1]"),
            ),
            ("format run", "generation_spend_cap_usd", Some("--cap")),
            ("format run", "previous_run_id", Some("--continue")),
            ("video generate", "seed", None),
            ("video generate", "output", None),
        ];
        for (words, field, expected) in rows {
            assert_eq!(flag(words, field).as_deref(), expected, "{words}: {field}");
        }
    }
}
