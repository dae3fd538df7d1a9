//! What the start-up of `svc` is compared with: nothing but clap and 128 subcommands.

use clap::{Arg, Command};

fn main() {
    let mut command = Command::new("bare").version("0.1.0").subcommand_required(true);
    for number in 0..128 {
        // Without its feature `string`, clap takes static names only.
        let name: &'static str = format!("command-{number}").leak();
        let mut subcommand = Command::new(name).about("Do something");
        for option in ["name", "limit", "cursor", "status", "output"] {
            subcommand = subcommand.arg(Arg::new(option).long(option).help("Set something"));
        }
        command = command.subcommand(subcommand);
    }
    command.get_matches();
}
