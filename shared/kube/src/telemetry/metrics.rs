//! The metric registry of a program, and its text.
//!
//! Every part registers its metrics at the start. After that the registry is only read.

use std::fmt;

use prometheus_client::encoding::text::{encode, encode_eof, encode_registry};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::telemetry::process_metrics;
use crate::telemetry::text_format::TextFormat;

/// The prefix of every metric's name, in both programs.
pub const PREFIX: &str = "drift";

/// The version of the workspace, which all programs share.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The Git revision of the build. The Dockerfiles set it from the build argument REVISION.
const REVISION: &str = match option_env!("DRIFT_REVISION") {
    Some(revision) => revision,
    None => "unknown",
};

/// Returns a registry with the metric `drift_build_info`. Names get the prefix, and the label `program` names the program.
#[must_use]
pub fn registry(program: &'static str) -> Registry {
    let mut registry = Registry::with_prefix_and_labels(PREFIX, std::iter::once(("program".into(), program.into())));
    let build = Info::new(vec![("version", VERSION), ("revision", REVISION)]);
    registry.register("build", "Version and Git revision of the running program", build);
    registry
}

/// The metrics of a program and of its process.
#[derive(Debug)]
pub struct ShownMetrics {
    program: Registry,
    process: Registry,
}

impl ShownMetrics {
    /// Adds the metrics of the process to those of the program with this name.
    #[must_use]
    pub fn new(name: &'static str, program: Registry) -> Self {
        Self { program, process: process_metrics::registry(name) }
    }

    /// Returns the text that a scraper reads.
    ///
    /// # Errors
    /// When a metric cannot be written as text.
    pub fn text(&self, format: TextFormat) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.program)?;
        encode_registry(&mut text, &self.process)?;
        encode_eof(&mut text)?;
        Ok(format.convert(text))
    }
}

/// Returns the text of one registry in the OpenMetrics format.
///
/// # Errors
/// When a metric cannot be written as text.
pub fn text(registry: &Registry) -> Result<String, fmt::Error> {
    let mut text = String::new();
    encode(&mut text, registry)?;
    Ok(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use prometheus_client::metrics::counter::Counter;

    #[test]
    fn every_metric_names_its_program() {
        let mut registry = registry("poller");
        registry.register("polls", "Polls begun", Counter::<u64>::default());
        assert!(text(&registry).unwrap().contains("drift_polls_total{program=\"poller\"} 0"));
    }

    #[test]
    fn the_build_is_shown() {
        let text = text(&registry("poller")).unwrap();
        let build = format!("drift_build_info{{program=\"poller\",version=\"{VERSION}\",revision=\"{REVISION}\"}} 1");
        assert!(text.contains(&build), "{text}");
    }
}
