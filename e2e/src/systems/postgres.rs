//! A real PostgreSQL server on loopback, and its administration.
//!
//! The server refuses to run as root. If the tests run as root, it runs as the user `nobody`.

mod programs;

pub use programs::locate;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::net::TcpStream;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use crate::process::ports;
use crate::process::run_folder;
use crate::process::{Launch, Process};
use crate::wait::{self, Seen};

/// The administrator. Its password is the one in the documents.
const ADMINISTRATOR: &str = "postgres";
/// Password of the `ADMINISTRATOR`.
pub const PASSWORD: &str = "change-me";
/// The server's user if the tests run as root: `nobody` (Debian's number), who owns nothing else.
const NOBODY: &str = "65534";

/// A server with its own data folder.
pub struct Postgres {
    programs: PathBuf,
    data: PathBuf,
    logs: PathBuf,
    port: u16,
    process: Process,
}

impl Postgres {
    /// Starts an empty server. `settings` are lines of its postgresql.conf. The error says what to install.
    pub async fn start(logs: &Path, settings: &str) -> Result<Self> {
        let programs = programs::locate().await?;
        // The user `nobody` cannot read other folders, but can read this one.
        let scratch =
            std::env::temp_dir().join(format!("drift-postgres-{}-{}", std::process::id(), ports::free_port()?));
        fs::create_dir_all(&scratch)?;
        let password = scratch.join("password");
        fs::write(&password, PASSWORD)?;
        let data = scratch.join("data");
        if is_root() {
            for path in [&scratch, &password] {
                std::os::unix::fs::chown(path, Some(65534), Some(65534))?;
            }
        }
        let mut initdb = command("initdb", &programs);
        for argument in
            ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--username", ADMINISTRATOR]
        {
            initdb = initdb.argument(argument);
        }
        let initdb = initdb.argument("--pwfile").argument(&password).argument("--pgdata").argument(&data);
        run(initdb.in_folder(&scratch), logs).await?;
        let port = ports::free_port()?;
        let folder = scratch.display();
        let configuration = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{folder}'\nfsync = off\n{settings}\n"
        );
        fs::write(data.join("postgresql.auto.conf"), configuration)?;
        let process = launch(&programs, &data, &scratch, logs)?;
        let mut server = Self { programs, data, logs: logs.to_path_buf(), port, process };
        server.wait_until_it_serves().await?;
        Ok(server)
    }

    /// Returns its listen address.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Writes a file into its data folder, readable by the server only.
    pub fn put_file(&self, name: &str, text: &str) -> Result<()> {
        let path = self.data.join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        if is_root() {
            std::os::unix::fs::chown(&path, Some(65534), Some(65534))?;
        }
        Ok(())
    }

    /// Adds a line to its configuration for the next start.
    pub fn configure(&self, line: &str) -> Result<()> {
        let path = self.data.join("postgresql.auto.conf");
        fs::write(&path, format!("{}{line}\n", fs::read_to_string(&path)?))?;
        Ok(())
    }

    /// Stops it as its administrator does, regardless of connected clients.
    pub async fn stop(&mut self) -> Result<()> {
        let stop = command("pg_ctl", &self.programs).arguments(["stop", "--mode=fast", "--pgdata"]);
        run(stop.argument(&self.data).in_folder("/"), &self.logs).await?;
        ensure!(self.process.ended_within(wait::DEADLINE).await?.is_some(), "the server did not end");
        Ok(())
    }

    /// Starts it again.
    pub async fn start_again(&mut self) -> Result<()> {
        let scratch = self.data.parent().context("a data folder without a parent")?.to_path_buf();
        self.process = launch(&self.programs, &self.data, &scratch, &self.logs)?;
        self.wait_until_it_serves().await
    }

    async fn wait_until_it_serves(&mut self) -> Result<()> {
        wait::until("PostgreSQL to serve".to_owned(), wait::DEADLINE, async || {
            if let Some(obituary) = self.process.obituary()? {
                return Ok(Seen::Hopeless(obituary));
            }
            self.connect().await.map(|_| Seen::Met(()))
        })
        .await
    }

    /// Runs statements as the administrator. Returns one text for each row, with its values joined by `|`.
    pub async fn administrate(&self, statements: &str) -> Result<Vec<String>> {
        let client = self.connect().await?;
        let messages = client.simple_query(statements).await.with_context(|| statements.to_owned())?;
        let row = |message: &SimpleQueryMessage| {
            let SimpleQueryMessage::Row(row) = message else { return None };
            let values = (0..row.len()).map(|column| row.get(column).unwrap_or("NULL"));
            Some(values.collect::<Vec<_>>().join("|"))
        };
        Ok(messages.iter().filter_map(row).collect())
    }

    /// Returns true if a role can log in with this password. Any other reason for a rejection is an error.
    pub async fn lets_in(&self, role: &str, password: &str) -> Result<bool> {
        let Err(error) = connect(self.port, role, password).await else { return Ok(true) };
        let code = error.downcast_ref::<tokio_postgres::Error>().and_then(tokio_postgres::Error::code);
        if code == Some(&SqlState::INVALID_PASSWORD) { Ok(false) } else { Err(error) }
    }

    async fn connect(&self) -> Result<Client> {
        connect(self.port, ADMINISTRATOR, PASSWORD).await
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns a launch of a server program, as a permitted user.
fn command(name: &str, programs: &Path) -> Launch {
    let program = programs.join(name);
    if !is_root() {
        return Launch::new(name, program);
    }
    let launch =
        Launch::new(name, "setpriv").argument(format!("--reuid={NOBODY}")).argument(format!("--regid={NOBODY}"));
    launch.argument("--clear-groups").argument("--").argument(program)
}

fn launch(programs: &Path, data: &Path, scratch: &Path, logs: &Path) -> Result<Process> {
    command("postgres", programs).argument("-D").argument(data).in_folder(scratch).start(logs)
}

async fn run(launch: Launch, logs: &Path) -> Result<()> {
    let mut process = launch.start(logs)?;
    let exit = process.ended_within(Duration::from_secs(60)).await?;
    let tail = crate::process::log_tail(process.log(), 20);
    ensure!(exit.is_some_and(crate::process::Exit::success), "{}: {exit:?}\n{tail}", process.name());
    Ok(())
}

/// Connects as a role. The connection ends with its client.
async fn connect(port: u16, role: &str, password: &str) -> Result<Client> {
    let mut config = Config::new();
    config.user(role).password(password).dbname("postgres");
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let (client, connection) = config.connect_raw(stream, NoTls).await?;
    tokio::spawn(async move {
        // The client gets the connection's error.
        let _ = connection.await;
    });
    Ok(client)
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The run folder keeps the log, and the data is not needed. Errors are ignored.
        if let (Some(scratch), Ok(_)) = (self.data.parent(), run_folder::path()) {
            let _ = fs::remove_dir_all(scratch);
        }
    }
}
