//! Logs: text where a person watches, JSON where a collector does, always to stderr.
//!
//! Standard output belongs to what a command was asked for.

pub mod admin;
pub mod connections;
pub mod document_counts;
pub mod health;
pub mod metrics;
pub mod questions;

use std::io::{IsTerminal, stderr};

use anstream::{AutoStream, ColorChoice};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::util::TryInitError;

/// Silent unless the filter names them. The first logs whole answers that it cannot parse, Secrets included, and an error for
/// each try to connect, which those who tried report themselves and once; the second logs statements, in which secrets stand.
const CLIENT_LOGS: [&str; 2] = ["kube_client::client", "tokio_postgres"];

/// In which form logs are written.
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

/// Why logs cannot be written as asked.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The level is neither a word nor a filter.
    #[error("--log-level {text:?} is neither error, warn, info, debug, trace nor a filter: {problem}")]
    BadFilter {
        /// The given text.
        text: String,
        /// The mistake.
        problem: String,
    },
    /// Something in this process writes logs already.
    #[error("logs are set up already")]
    AlreadySet(#[from] TryInitError),
}

/// Begins to write logs; once for each process.
///
/// # Errors
/// When the level cannot be read, or logs are set up already.
pub fn start(level: &str, format: LogFormat) -> Result<(), TelemetryError> {
    let builder = tracing_subscriber::fmt().with_env_filter(filter(level)?).with_writer(stderr);
    // That a line could not be written would be said on standard error too, where that ends the task which logs.
    let builder = builder.log_internal_errors(false);
    // On a terminal, and never where NO_COLOR asks for none.
    let colours = AutoStream::choice(&stderr()) != ColorChoice::Never;
    match format {
        LogFormat::Json => builder.json().flatten_event(true).finish().try_init()?,
        LogFormat::Auto if !stderr().is_terminal() => builder.json().flatten_event(true).finish().try_init()?,
        LogFormat::Auto | LogFormat::Text => builder.with_ansi(colours).finish().try_init()?,
    }
    Ok(())
}

fn filter(level: &str) -> Result<EnvFilter, TelemetryError> {
    let bad = |problem: String| TelemetryError::BadFilter { text: level.to_owned(), problem };
    // A filter would take it for the name of a module, and silence all others.
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
    use super::*;

    #[test]
    fn the_client_stays_silent_about_answers_unless_it_is_named() {
        let silent = filter("debug").unwrap().to_string();
        assert!(silent.contains("kube_client::client=off") && silent.contains("tokio_postgres=off"), "{silent}");
        let named = filter("info,kube_client::client=debug").unwrap().to_string();
        assert!(!named.contains("kube_client::client=off"), "{named}");
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
