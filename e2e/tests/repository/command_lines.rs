//! Every documented call of a program is a valid command line, including the examples in `--help`. Nothing is executed.

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use drift_e2e::pages::code;

use crate::documentation::pages;

/// The programs by the words that call them.
const PROGRAMS: [(&str, Program); 4] = [
    ("kubectl drift ", Program::Cli),
    ("kubectl-drift ", Program::Cli),
    ("drift-poller ", Program::Poller),
    ("drift-controller ", Program::Controller),
];

/// Looks like a call but is none: the name of a connection at a PostgreSQL server.
const NO_CALL: &str = "drift-poller hints";

#[derive(Clone, Copy)]
enum Program {
    Cli,
    Poller,
    Controller,
}

impl Program {
    /// Returns the error of a command line and its kind.
    fn refusal(self, words: &[String]) -> Option<(ErrorKind, String)> {
        let refused = match self {
            Self::Cli => kubectl_drift::CommandLine::try_parse_from(words).err(),
            Self::Poller => drift_poller::app::CommandLine::try_parse_from(words).err(),
            Self::Controller => drift_controller::app::CommandLine::try_parse_from(words).err(),
        };
        refused.filter(clap::Error::use_stderr).map(|error| (error.kind(), error.to_string()))
    }
}

/// The words of the first command in a text, as a shell takes them apart: up to a comment, a pipe or another command.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ' | '\n') => words.extend(word.take()),
            (None, '|' | ';' | '&' | '>' | ')') => break,
            (None, '#') if word.is_none() => break,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The calls of our programs in a line: at its beginning, and behind a pipe or a bracket.
fn calls(line: &str) -> Vec<(Program, Vec<String>)> {
    let commands = line.split_inclusive(['|', ';', '(']).map(|part| part.trim_start().trim_start_matches("$ "));
    let commands: Vec<&str> = commands.collect();
    let call = |command: &&str| {
        let (name, program) = PROGRAMS.iter().find(|(name, _)| command.starts_with(name))?;
        let name = name.trim_end();
        // An explanation follows the examples of `--help`.
        let command = command.split("   ").next().unwrap_or_default();
        Some((*program, words(&command.replacen(name, &name.replace(' ', "-"), 1))))
    };
    commands.iter().filter_map(call).collect()
}

#[test]
fn every_call_in_the_documentation_is_taken() {
    let mut count = 0;
    for (path, text) in pages() {
        for line in code(&text) {
            for (program, words) in calls(&line) {
                let refused = program.refusal(&words);
                assert!(refused.is_none(), "{}: {line}\n{refused:?}", path.display());
                count += 1;
            }
        }
    }
    assert!(count >= 15, "only {count} calls were found");
}

/// Returns the texts between single backticks in paragraphs.
fn inline(text: &str) -> Vec<String> {
    let paragraphs: String = text.split("```").step_by(2).collect();
    paragraphs.split('`').skip(1).step_by(2).map(|code| code.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn every_call_in_a_sentence_is_taken() {
    let mut count = 0;
    for (path, text) in pages() {
        let begins = |line: &&String| PROGRAMS.iter().any(|(name, _)| line.starts_with(name)) && *line != NO_CALL;
        for line in inline(&text).iter().filter(begins) {
            for (program, words) in calls(line) {
                let refused = program.refusal(&words);
                // A sentence may omit required arguments.
                let lacks = refused.as_ref().is_some_and(|(kind, _)| *kind == ErrorKind::MissingRequiredArgument);
                assert!(refused.is_none() || lacks, "{}: {line}\n{refused:?}", path.display());
                count += 1;
            }
        }
    }
    assert!(count >= 10, "only {count} calls were found");
}

#[test]
fn every_example_of_help_is_taken() {
    let commands = [
        kubectl_drift::CommandLine::command(),
        drift_poller::app::CommandLine::command(),
        drift_controller::app::CommandLine::command(),
    ];
    for subcommand in commands.iter().flat_map(clap::Command::get_subcommands) {
        let help = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
        let calls: Vec<_> = help.lines().skip(1).filter(|line| line.starts_with("  ")).flat_map(calls).collect();
        assert!(!calls.is_empty(), "{} has no example", subcommand.get_name());
        for (program, words) in calls {
            assert_eq!(program.refusal(&words), None, "{words:?}");
        }
    }
}

#[test]
fn words_are_those_of_a_shell() {
    let table = [
        ("get -A --drifted   # all", "get -A --drifted"),
        ("check 'a b' | jq .", "check a b"),
        ("schema > file", "schema"),
    ];
    for (text, expected) in table {
        assert_eq!(words(text).join(" "), expected);
    }
    assert_eq!(words("check 'a b'").len(), 2);
}
