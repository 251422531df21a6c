//! What commands do with where they print to: a reader that goes, a terminal, and one that wants no colours.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use super::folder;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-drift");

#[test]
fn a_reader_that_goes_ends_a_command_quietly() {
    let folder = folder("", "");
    let commands: [&[&str]; 4] =
        [&["schema"], &["completions", "bash"], &["check", "targets"], &["check", "-o", "sarif", "targets"]];
    for arguments in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(folder.path()).stdout(writer).stderr(Stdio::piped());
        let ended = command.output().unwrap();
        assert_eq!((ended.status.code(), ended.stderr.len()), (Some(2), 0), "{arguments:?}: {ended:?}");
    }
}

/// What a command that finds a mistake shows on a terminal.
fn shown_on_terminal(folder: &Path, refusal: Option<&str>) -> String {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let terminal = ioctl_tiocgptpeer(&screen, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["check", "targets"]).current_dir(folder).env("TERM", "xterm").env_remove("NO_COLOR");
    for name in ["CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    refusal.into_iter().for_each(|word| _ = command.env("NO_COLOR", word));
    let ended = command.stdout(Stdio::null()).stderr(terminal).status().unwrap();
    // The last hold on the terminal, which a read would wait for.
    drop(command);
    assert_eq!(ended.code(), Some(3));
    let (mut screen, mut shown) = (File::from(screen), Vec::new());
    // A terminal that nobody holds any more ends with an error.
    let _ = screen.read_to_end(&mut shown);
    String::from_utf8(shown).unwrap()
}

#[test]
fn colours_are_for_terminals_and_can_be_refused() {
    let folder = folder("identity:", "identitie:");
    let coloured = shown_on_terminal(folder.path(), None);
    assert!(coloured.contains("\u{1b}[") && coloured.contains("did you mean `identity`?"), "{coloured}");
    let plain = shown_on_terminal(folder.path(), Some("1"));
    assert!(!plain.contains('\u{1b}') && plain.contains("did you mean `identity`?"), "{plain}");
}
