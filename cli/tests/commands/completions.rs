//! `kubectl drift completions`, in a real shell, and what kubectl asks of the program.

use std::os::unix::fs::symlink;
use std::process::Command;

use super::{ended, run_in};

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-drift");

/// What the program prints when it is called `kubectl_complete-drift`.
fn answered(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubectl_complete-drift");
    symlink(PROGRAM, &path).unwrap();
    let (code, printed, said) = ended(Command::new(path).args(arguments).output().unwrap());
    assert_eq!((code, said.as_str()), (0, ""), "{arguments:?}");
    printed
}

/// What bash offers for the last of the words, after it read the script.
fn offered_by_bash(script: &str, words: &[&str]) -> String {
    let [program, .., begun] = words else { panic!("{words:?}") };
    let before = words[words.len() - 2];
    let (words, place) = (words.join(" "), words.len() - 1);
    let ask = format!(
        "{script}\nCOMP_WORDS=({words}); COMP_CWORD={place}; {} {program} '{begun}' '{before}'; echo \"${{COMPREPLY[*]}}\"",
        script.split("complete -F ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap(),
    );
    let (code, printed, said) = ended(Command::new("bash").args(["--norc", "-c", &ask]).output().unwrap());
    assert_eq!((code, said.as_str()), (0, ""));
    printed.trim_end().to_owned()
}

#[test]
fn bash_completes_commands_flags_and_words() {
    let (_, script, _) = ended(run_in(std::path::Path::new("."), &["completions", "bash"], ""));
    for (words, expected) in [
        (&["kubectl-drift", "ex"][..], "explain"),
        (&["kubectl-drift", "unsu"], "unsuspend"),
        (&["kubectl-drift", "get", "--dri"], "--drifted"),
        (&["kubectl-drift", "check", "--output", "s"], "sarif"),
    ] {
        assert_eq!(offered_by_bash(&script, words), expected, "{words:?}");
    }
}

#[test]
fn every_shell_hears_of_every_command() {
    for (shell, begins) in [("bash", "_kubectl__drift() {"), ("zsh", "#compdef kubectl-drift"), ("fish", "# Print ")] {
        let (code, script, said) = ended(run_in(std::path::Path::new("."), &["completions", shell], ""));
        assert_eq!((code, said.as_str()), (0, ""), "{shell}");
        assert!(script.starts_with(begins), "{shell}: {script}");
        for command in ["check", "draft", "explain", "get", "pause", "rbac", "schema", "unsuspend"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn kubectl_is_told_what_may_follow() {
    let all = answered(&[""]);
    assert!(all.starts_with("check\tCheck target documents") && all.ends_with("\n:4\n"), "{all}");
    assert_eq!(answered(&["get", "-o", "j"]).lines().last(), Some(":4"));
    assert_eq!(answered(&["check", "targets/"]), ":0\n", "files");
}
