//! The metric registry of a program, and its text form.
//!
//! Every part registers its metrics at the start. After that the registry is only read.

use std::fmt;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// The content type of the text form.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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

/// Returns the text that a scraper reads.
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
