//! The two text formats of metrics, and the one that a scraper asks for.
//!
//! The registry writes OpenMetrics. The older text format differs only in comments: a counter and an info metric have
//! their suffix in them too, and there is neither a unit nor an end mark.

use std::fmt::Write as _;

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// The format of Prometheus, version 0.0.4. Every scraper reads it, and `promtool` only this one.
    Prometheus,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl TextFormat {
    /// Returns the format that a request with this header `Accept` prefers. The text of Prometheus is the default.
    #[must_use]
    pub fn accepted(accept: Option<&str>) -> Self {
        let (mut open, mut text) = (0.0, 0.0);
        for range in accept.into_iter().flat_map(|accept| accept.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok()).unwrap_or(1.0);
            match media.as_str() {
                "application/openmetrics-text" => open = quality.max(open),
                "text/plain" => text = quality.max(text),
                _ => {}
            }
        }
        if open > text { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// Returns the value of the header `Content-Type`.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// Returns the text of a registry in this format.
    #[must_use]
    pub fn convert(self, open_metrics: String) -> String {
        match self {
            Self::OpenMetrics => open_metrics,
            Self::Prometheus => to_prometheus(&open_metrics),
        }
    }
}

/// Converts the text that the registry writes: the comment HELP stands before TYPE, and there are no exemplars.
fn to_prometheus(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ').map(|(_, help)| help);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|typed| typed.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
            // Writing to a text does not fail.
            if let Some(help) = help.take() {
                _ = writeln!(text, "# HELP {name}{suffix} {help}");
            }
            _ = writeln!(text, "# TYPE {name}{suffix} {kind}");
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::metrics::info::Info;
    use prometheus_client::registry::{Registry, Unit};

    #[test]
    fn a_scraper_gets_the_format_that_it_prefers() {
        let table = [
            (None, TextFormat::Prometheus),
            (Some(""), TextFormat::Prometheus),
            (Some("*/*"), TextFormat::Prometheus),
            (Some("text/html,*/*;q=0.8"), TextFormat::Prometheus),
            (Some("text/plain"), TextFormat::Prometheus),
            (Some("application/openmetrics-text"), TextFormat::OpenMetrics),
            (Some("Application/OpenMetrics-Text; version=1.0.0"), TextFormat::OpenMetrics),
            (Some("application/openmetrics-text;q=0"), TextFormat::Prometheus),
            // Prometheus 2.42, with its default and with the text preferred.
            (
                Some(
                    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                     text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                ),
                TextFormat::OpenMetrics,
            ),
            (Some("text/plain;version=0.0.4;q=0.6,application/openmetrics-text;q=0.5"), TextFormat::Prometheus),
            // Prometheus 3.
            (
                Some(
                    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                     application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,*/*;q=0.2",
                ),
                TextFormat::OpenMetrics,
            ),
        ];
        for (accept, expected) in table {
            assert_eq!(TextFormat::accepted(accept), expected, "{accept:?}");
        }
    }

    #[test]
    fn both_formats_have_the_same_samples() {
        let mut registry = Registry::default();
        registry.register("polls", "Polls", Counter::<u64>::default());
        registry.register("objects", "Objects", Gauge::<i64>::default());
        registry.register_with_unit("poll", "Time", Unit::Seconds, Histogram::new([1.0]));
        registry.register("build", "Version", Info::new(vec![("version", "1")]));
        let mut open = String::new();
        encode(&mut open, &registry).unwrap();
        let text = TextFormat::Prometheus.convert(open.clone());
        let expected = "# HELP polls_total Polls.\n# TYPE polls_total counter\npolls_total 0\n\
                        # HELP objects Objects.\n# TYPE objects gauge\nobjects 0\n\
                        # HELP poll_seconds Time.\n# TYPE poll_seconds histogram\npoll_seconds_sum 0.0\n\
                        poll_seconds_count 0\npoll_seconds_bucket{le=\"1.0\"} 0\npoll_seconds_bucket{le=\"+Inf\"} 0\n\
                        # HELP build_info Version.\n# TYPE build_info gauge\nbuild_info{version=\"1\"} 1\n";
        assert_eq!(text, expected);
        let samples = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(samples(&open), samples(&text));
        assert_eq!(TextFormat::OpenMetrics.convert(open.clone()), open);
    }
}
