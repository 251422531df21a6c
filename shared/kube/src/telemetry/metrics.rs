//! The registry of a program's metrics, and its text form.
//!
//! Every part registers its own when it starts; after that the registry is only read.

use std::fmt;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// The content type of the text form.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The prefix of every metric's name, in both programs.
pub const PREFIX: &str = "drift";

/// An empty registry; names get the prefix, and the label `program` tells whose they are.
#[must_use]
pub fn registry(program: &'static str) -> Registry {
    Registry::with_prefix_and_labels(PREFIX, std::iter::once(("program".into(), program.into())))
}

/// The text that a scraper reads.
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
    fn every_metric_says_whose_it_is() {
        let mut registry = registry("poller");
        registry.register("polls", "Polls begun", Counter::<u64>::default());
        assert!(text(&registry).unwrap().contains("drift_polls_total{program=\"poller\"} 0"));
    }
}
