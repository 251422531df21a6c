//! `drift-poller run` as a process: its exit codes, without a cluster.

#![allow(clippy::unwrap_used)]

use std::io::Read as _;
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_drift-poller");

#[test]
fn a_name_that_no_lease_has_is_bad_usage() {
    for arguments in [&["run", "--lease-name", ""][..], &["run", "--namespace", ""], &["run", "--lease-name", "Drift"]]
    {
        let ended = Command::new(PROGRAM).args(arguments).env("KUBECONFIG", "missing").output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.code() == Some(3) && ended.stdout.is_empty(), "{arguments:?}: {said}");
        assert!(said.contains("the name of a "), "{arguments:?}: {said}");
    }
}

#[test]
fn a_signal_ends_run_though_nobody_reads_its_logs() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let text = "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n\
                contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\ncurrent-context: c\n";
    std::fs::write(&kubeconfig, text).unwrap();
    // The command passes a signal on, and kills a process that does not end.
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "20", PROGRAM, "run", "--namespace", "x", "--admin-address", "127.0.0.1:0"]);
    let mut child = command.env("KUBECONFIG", kubeconfig).stderr(Stdio::piped()).spawn().unwrap();
    // The program is running now.
    let read = child.stderr.take().unwrap().read(&mut [0]).unwrap();
    assert_eq!(read, 1);
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
