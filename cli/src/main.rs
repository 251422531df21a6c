//! The program `kubectl-drift`: reads its command line and hands over to the library.

use std::process::ExitCode;

use drift_kube::client::install_crypto;
use kubectl_drift::{read_command_line, run};

fn main() -> anyhow::Result<ExitCode> {
    install_crypto();
    match read_command_line() {
        Ok(command_line) => run(command_line),
        Err(exit) => Ok(exit),
    }
}
