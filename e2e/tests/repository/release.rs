//! `.ci/release` refuses a work tree or an output folder whose content would not match the commit, and a repository
//! without an address.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::root;

/// Runs a program in a folder and returns its exit code and its output.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// A repository with the script, and nothing that it could build.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".ci")).unwrap();
    fs::copy(root().join(".ci/release"), folder.path().join(".ci/release")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), "version = \"0.1.0\"\n").unwrap();
    let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let commit = [&author[..], &["commit", "--quiet", "--message", "a"]].concat();
    for arguments in [&["init", "--quiet"][..], &["add", "."], &commit] {
        assert_eq!(run(folder.path(), "git", arguments), (Some(0), String::new()));
    }
    folder
}

/// Runs the script. It stops at its unknown architecture if it refuses nothing before.
fn release(repository: &Path) -> (Option<i32>, String) {
    run(repository, ".ci/release", &["dist", "https://downloads.example", "none"])
}

#[test]
fn a_release_refuses_uncommitted_files_and_old_output() {
    let repository = repository();
    let unknown = (Some(3), "unknown architecture none: amd64 or arm64\n".to_owned());
    assert_eq!(release(repository.path()), unknown);
    fs::write(repository.path().join("dist/drift.yaml"), "").unwrap();
    let full = "dist is not empty: SHA256SUMS would list old files. Delete it, or name another folder\n";
    assert_eq!(release(repository.path()), (Some(3), full.to_owned()));
    fs::remove_file(repository.path().join("dist/drift.yaml")).unwrap();
    for (file, status) in [("new.rs", "??"), ("Cargo.toml", " M")] {
        fs::write(repository.path().join(file), "version = \"0.1.0\"\n# changed\n").unwrap();
        let dirty = format!(
            "these files differ from the commit that the release names. Commit or remove them:\n{status} {file}\n"
        );
        assert_eq!(release(repository.path()), (Some(3), dirty));
        if status == "??" {
            fs::remove_file(repository.path().join(file)).unwrap();
        }
    }
}

#[test]
fn a_release_refuses_a_repository_without_address() {
    let repository = repository();
    for (address, is_good) in [
        ("https://github.com/example/drift-poller", true),
        ("https://git.example:8443/a/b/", true),
        ("", true),
        ("github.com/example/drift-poller", false),
        ("https://github.com", false),
        ("https://git.example/a|b", false),
    ] {
        let mut script = Command::new(".ci/release");
        script.args(["dist", "https://downloads.example", "none"]).env("DRIFT_REPOSITORY", address);
        let printed = script.current_dir(repository.path()).output().unwrap().stderr;
        let expected =
            if is_good { "unknown architecture none".to_owned() } else { format!("DRIFT_REPOSITORY is {address}, ") };
        let printed = String::from_utf8(printed).unwrap();
        assert!(printed.starts_with(&expected), "{address}: {printed}");
    }
}
