//! Logs, health, metrics and the admin port of both programs.
//!
//! Logs are text on a terminal and JSON elsewhere. They go to stderr, because stdout belongs to the output of commands.

pub mod admin;
pub mod connections;
pub mod document_counts;
pub mod health;
pub mod metrics;
mod process_metrics;
pub mod questions;
pub mod text_format;

use std::io::{IsTerminal, stderr};

use anstream::{AutoStream, ColorChoice};
use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::util::TryInitError;

/// Modules that stay silent unless the filter names them. The first logs whole answers that it cannot parse, including Secrets,
/// and an error for each failed connection, which its callers report once. The second logs statements, which contain secrets.
const CLIENT_LOGS: [&str; 2] = ["kube_client::client", "tokio_postgres"];

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// One line of text for each event.
    Text,
    /// One JSON object for each event.
    Json,
}

/// The reason why logs cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The level is neither a level nor a filter.
    #[error("--log-level {text:?} is neither error, warn, info, debug, trace nor a filter: {problem}")]
    BadFilter {
        /// The given text.
        text: String,
        /// The error of the parser.
        problem: String,
    },
    /// This process has a logger already.
    #[error("logs are set up already")]
    AlreadySet(#[from] TryInitError),
}

/// Sets up the logs of this process, once.
///
/// # Errors
/// When the level cannot be read, or logs are set up already.
pub fn start(level: &str, format: LogFormat) -> Result<(), TelemetryError> {
    let filter = filter(level)?;
    match format {
        LogFormat::Json => json_lines(filter, stderr).try_init()?,
        LogFormat::Auto if !stderr().is_terminal() => json_lines(filter, stderr).try_init()?,
        LogFormat::Auto | LogFormat::Text => {
            let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
            // Colours on a terminal, unless NO_COLOR is set.
            let colours = AutoStream::choice(&stderr()) != ColorChoice::Never;
            builder.log_internal_errors(false).with_ansi(colours).finish().try_init()?;
        }
    }
    Ok(())
}

/// One JSON object for each event. Its field `target` is the poll target, so the Rust module, which tracing calls target, is
/// left out.
fn json_lines<W>(filter: EnvFilter, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // An error while logging would go to stderr too, where it panics in the task that logs.
    builder.log_internal_errors(false).json().flatten_event(true).with_target(false).finish()
}

fn filter(level: &str) -> Result<EnvFilter, TelemetryError> {
    let bad = |problem: String| TelemetryError::BadFilter { text: level.to_owned(), problem };
    // A filter would read a wrong level as the name of a module, and silence all others.
    let is_word = level.chars().all(|letter| letter.is_ascii_alphabetic());
    if is_word && let Err(error) = level.parse::<LevelFilter>() {
        return Err(bad(error.to_string()));
    }
    let silent = CLIENT_LOGS.iter().filter(|logs| !level.contains(*logs)).map(|logs| format!(",{logs}=off"));
    let directives = format!("{level}{}", silent.collect::<String>());
    EnvFilter::builder().parse(&directives).map_err(|error| bad(error.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_client_stays_silent_about_answers_unless_it_is_named() {
        let silent = filter("debug").unwrap().to_string();
        assert!(silent.contains("kube_client::client=off") && silent.contains("tokio_postgres=off"), "{silent}");
        let named = filter("info,kube_client::client=debug").unwrap().to_string();
        assert!(!named.contains("kube_client::client=off"), "{named}");
    }

    #[test]
    fn the_field_target_is_the_poll_target() {
        let lines = Lines::default();
        let subscriber = json_lines(filter("info").unwrap(), lines.clone());
        tracing::subscriber::with_default(subscriber, || {
            let (target, namespace) = ("flags", None::<&str>);
            tracing::info!(target, kind = "Flag", namespace, name = "web", "wrote driftObserved");
            tracing::info!("leading");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let names = |line: &Value| line.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&lines[0]), ["kind", "level", "message", "name", "target", "timestamp"]);
        assert_eq!((&lines[0]["target"], text.matches("\"target\"").count()), (&json!("flags"), 1));
        assert_eq!(names(&lines[1]), ["level", "message", "timestamp"]);
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'w> MakeWriter<'w> for Lines {
        type Writer = Self;

        fn make_writer(&'w self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn an_unknown_level_is_named_in_the_error() {
        for level in ["drift=loud", "warning", "foo"] {
            let text = filter(level).unwrap_err().to_string();
            assert!(text.contains(level), "{text}");
        }
        assert!(["warn", "ERROR", "off", "drift_poller=debug", ""].iter().all(|level| filter(level).is_ok()));
    }
}
