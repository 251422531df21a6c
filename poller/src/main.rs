//! Entry point of the drift poller. It parses the command line and calls the library.

use std::process::ExitCode;

use drift_kube::client::install_crypto;
use drift_kube::program::settings::parse_command_line;
use drift_poller::app::run;

/// musl's own allocator maps and unmaps most blocks of 4 KiB and more.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> anyhow::Result<ExitCode> {
    install_crypto();
    match parse_command_line() {
        Ok(command_line) => run(command_line),
        Err(exit) => Ok(exit),
    }
}
