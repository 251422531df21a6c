//! Entry point of the drift controller. It parses the command line and calls the library.

use std::process::ExitCode;

use drift_controller::app::run;
use drift_kube::client::install_crypto;
use drift_kube::program::settings::parse_command_line;

fn main() -> anyhow::Result<ExitCode> {
    install_crypto();
    match parse_command_line() {
        Ok(command_line) => run(command_line),
        Err(exit) => Ok(exit),
    }
}
