//! Candidates for the next word of a command line: commands, flags and their values. What only the cluster knows is in
//! `cluster_words`.

use clap::{Arg, Command};

/// Each with what it is behind a tab, where that is told; none where only the user knows what follows, or it is a file.
pub(super) fn candidates(command: &Command, words: &[String], begun: &str) -> Vec<String> {
    let (command, open) = follow(command, words);
    let offered = match open {
        Some(flag) => values(flag),
        None if begun.starts_with('-') => flags(command),
        None if command.has_subcommands() => commands(command),
        None => command.get_positionals().flat_map(values).collect(),
    };
    let fitting = offered.into_iter().filter(|(word, _)| word.starts_with(begun));
    fitting.map(|(word, told)| if told.is_empty() { word } else { format!("{word}\t{told}") }).collect()
}

/// A word, and what it is.
type Offered = (String, String);

/// The command that the words lead to, and the flag that still lacks its value.
pub(super) fn follow<'c>(command: &'c Command, words: &[String]) -> (&'c Command, Option<&'c Arg>) {
    words.iter().fold((command, None), |(command, open), word| match open {
        // It is the value.
        Some(_) => (command, None),
        None if word.starts_with('-') => (command, flag_without_value(command, word)),
        None => (command.find_subcommand(word).unwrap_or(command), None),
    })
}

fn flag_without_value<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let is_it = |argument: &&Arg| {
        let mut longs = argument.get_long().into_iter().chain(argument.get_all_aliases().unwrap_or_default());
        let long = longs.any(|long| word.strip_prefix("--") == Some(long));
        let mut shorts = argument.get_short().into_iter().chain(argument.get_all_short_aliases().unwrap_or_default());
        let short = shorts.any(|short| word == format!("-{short}"));
        (long || short) && argument.get_action().takes_values()
    };
    command.get_arguments().find(is_it)
}

fn values(argument: &Arg) -> Vec<Offered> {
    let possible = argument.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
    possible.map(|value| (value.get_name().to_owned(), told(value.get_help()))).collect()
}

fn flags(command: &Command) -> Vec<Offered> {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    shown.filter_map(|argument| Some((format!("--{}", argument.get_long()?), told(argument.get_help())))).collect()
}

fn commands(command: &Command) -> Vec<Offered> {
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    shown.map(|subcommand| (subcommand.get_name().to_owned(), told(subcommand.get_about()))).collect()
}

/// Its first line.
fn told(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(|text| text.to_string().lines().next().unwrap_or_default().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::CommandLine;
    use clap::CommandFactory as _;

    fn offered(words: &[&str], begun: &str) -> Vec<String> {
        let mut command = CommandLine::command();
        command.build();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let offered = candidates(&command, &words, begun);
        offered.iter().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn what_follows_is_what_the_command_line_takes() {
        let none: [&str; 0] = [];
        for (words, begun, expected) in [
            (&[][..], "po", &["poll"][..]),
            (&[], "un", &["unsuspend"]),
            (&["get"], "--dr", &["--drifted"]),
            (&["--log-level", "get", "get"], "--unk", &["--unknown"]),
            (&["get", "-o"], "", &["table", "wide", "json", "yaml", "name", "jsonpath="]),
            (&["get", "-A", "--output"], "w", &["wide"]),
            (&["completions"], "", &["bash", "zsh", "fish"]),
            // Files, or what only the cluster knows.
            (&["check"], "", &none),
            (&["explain", "-f"], "", &none),
        ] {
            assert_eq!(offered(words, begun), expected, "{words:?} {begun}");
        }
    }
}
