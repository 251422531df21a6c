//! A real MariaDB server on loopback, and its administration over its socket by its own client program.
//!
//! The server refuses to run as root. If the tests run as root, it runs as the user `nobody`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use drift_e2e::process::{Launch, Process, ports};
use drift_e2e::wait::{self, Seen};
use tokio::process::Command;

use crate::installed::{self, program};

const PACKAGE: &str = "mariadb-server";
/// The client's message about a wrong password.
const DENIED: &str = "ERROR 1045 ";
/// The server's user if the tests run as root: `nobody` (Debian's number), who owns nothing else.
const NOBODY: u32 = 65534;

/// A server with its own data folder.
pub(crate) struct MariaDb {
    /// The user `nobody` cannot read other folders, but can read this one.
    scratch: PathBuf,
    logs: PathBuf,
    port: u16,
    process: Process,
}

impl MariaDb {
    /// Starts an empty server with more arguments. The error says what to install.
    pub(crate) async fn start(logs: &Path, arguments: &[&str]) -> Result<Self> {
        let port = ports::free_port()?;
        let scratch = std::env::temp_dir().join(format!("drift-mariadb-{}-{port}", std::process::id()));
        fs::create_dir_all(&scratch)?;
        if is_root() {
            std::os::unix::fs::chown(&scratch, Some(NOBODY), Some(NOBODY))?;
        }
        let install = command("mariadb-install-db")?.arguments(folders(&scratch));
        let install = install.arguments(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        installed::run(install.in_folder(&scratch), logs).await?;
        let process = launch(&scratch, port, logs, arguments)?;
        let mut server = Self { scratch, logs: logs.to_path_buf(), port, process };
        server.wait_until_it_serves().await?;
        Ok(server)
    }

    /// Returns its listen address.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the path of its unix socket.
    pub(crate) fn socket(&self) -> String {
        self.scratch.join("socket").display().to_string()
    }

    /// Stops it as its administrator does.
    pub(crate) async fn stop(&mut self) -> Result<()> {
        self.process.stop().await.map(drop)
    }

    /// Starts it again.
    pub(crate) async fn start_again(&mut self) -> Result<()> {
        self.process = launch(&self.scratch, self.port, &self.logs, &[])?;
        self.wait_until_it_serves().await
    }

    async fn wait_until_it_serves(&mut self) -> Result<()> {
        wait::until("MariaDB to serve".to_owned(), wait::DEADLINE, async || {
            if let Some(obituary) = self.process.obituary()? {
                return Ok(Seen::Hopeless(obituary));
            }
            self.administrate("SELECT 1").await.map(|_| Seen::Met(()))
        })
        .await
    }

    /// Runs one statement as the administrator. Returns one text for each row, with its values joined by `|`.
    pub(crate) async fn administrate(&self, statement: &str) -> Result<Vec<String>> {
        let answer = ask(&[format!("--socket={}", self.socket()), "--user=root".to_owned()], "", statement).await?;
        let rows = answer.map_err(|error| anyhow::anyhow!("{statement}: {error}"))?;
        Ok(rows.lines().map(|row| row.replace('\t', "|")).collect())
    }

    /// Runs statements as the administrator.
    pub(crate) async fn prepare(&self, statements: &[&str]) -> Result<()> {
        for statement in statements {
            self.administrate(statement).await?;
        }
        Ok(())
    }

    /// Returns true if a user can log in with this password. Any other reason for a rejection is an error.
    pub(crate) async fn lets_in(&self, user: &str, password: &str) -> Result<bool> {
        let login = ["--protocol=tcp", "--host=127.0.0.1"].map(str::to_owned);
        let login = [&login[..], &[format!("--port={}", self.port), format!("--user={user}")]].concat();
        match ask(&login, password, "SELECT 1").await? {
            Ok(_) => Ok(true),
            Err(error) if error.starts_with(DENIED) => Ok(false),
            Err(error) => bail!("{error}"),
        }
    }
}

/// Runs one statement by the client program. Returns the rows, or else the error's text.
async fn ask(login: &[String], password: &str, statement: &str) -> Result<Result<String, String>> {
    let mut client = Command::new(program("mariadb", PACKAGE)?);
    client.arg("--no-defaults").args(login).env("MYSQL_PWD", password);
    // A function's body has the usual delimiter.
    client.args(["--delimiter=//end", "--batch", "--raw", "--skip-column-names", "--default-character-set=utf8mb4"]);
    let output = client.args(["--execute", statement]).kill_on_drop(true).output().await?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Ok(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Servers that share a folder for temporary tables would use each other's.
fn folders(scratch: &Path) -> [String; 2] {
    [format!("--datadir={}", scratch.join("data").display()), format!("--tmpdir={}", scratch.display())]
}

/// Returns a launch of a server program, as a permitted user.
fn command(name: &str) -> Result<Launch> {
    let path = program(name, PACKAGE)?;
    if !is_root() {
        return Ok(Launch::new(name, path).argument("--no-defaults"));
    }
    let launch = Launch::new(name, "setpriv").arguments([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")]);
    Ok(launch.argument("--clear-groups").argument("--").argument(path).argument("--no-defaults"))
}

fn launch(scratch: &Path, port: u16, logs: &Path, arguments: &[&str]) -> Result<Process> {
    let socket = format!("--socket={}", scratch.join("socket").display());
    let launch = command("mariadbd")?.arguments(folders(scratch)).argument(socket);
    let launch = launch.arguments(["--bind-address=127.0.0.1".to_owned(), format!("--port={port}")]);
    let launch = launch.arguments(["--innodb-flush-log-at-trx-commit=0", "--performance-schema=off"]);
    launch.arguments(arguments).in_folder(scratch).start(logs)
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // The run folder keeps the log, and the data is not needed. Errors are ignored.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}
