//! Entry point of the drift controller. It parses the command line and calls the library.

use std::process::ExitCode;

use dlmalloc::GlobalDlmalloc;
use drift_controller::app::run;
use drift_kube::client::install_crypto;
use drift_kube::program::settings::parse_command_line;

/// musl's own allocator asks the kernel for most blocks of some KiB, and gives them back after each burst of polls.
#[global_allocator]
static ALLOCATOR: GlobalDlmalloc = GlobalDlmalloc;

fn main() -> anyhow::Result<ExitCode> {
    install_crypto();
    match parse_command_line() {
        Ok(command_line) => run(command_line),
        Err(exit) => Ok(exit),
    }
}
