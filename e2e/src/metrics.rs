//! Parses the two programs' metrics in the Prometheus text format.

use std::collections::BTreeMap;

/// The samples of one scrape.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    samples: Vec<Sample>,
}

/// One sample of a scrape.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The metric's name, including suffixes such as `_total` and `_bucket`.
    pub name: String,
    /// Labels by name.
    pub labels: BTreeMap<String, String>,
    /// The sample's value.
    pub value: f64,
}

impl Metrics {
    /// Parses a scrape. Skips comments and lines that are not samples.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self { samples: text.lines().filter_map(Sample::parse).collect() }
    }

    /// Returns the samples with this name and all of these labels.
    pub fn matching<'a>(&'a self, name: &'a str, labels: &'a [(&'a str, &'a str)]) -> impl Iterator<Item = &'a Sample> {
        let carries = move |sample: &&Sample| {
            labels.iter().all(|(key, value)| sample.labels.get(*key).is_some_and(|found| found == value))
        };
        self.samples.iter().filter(move |sample| sample.name == name).filter(carries)
    }

    /// Returns the sum of the matching samples, or 0 without any.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        // An empty float sum is -0, which would appear in figures.
        self.matching(name, labels).map(|sample| sample.value).fold(0.0, |sum, value| sum + value)
    }

    /// Returns true if the scrape contains a sample with this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.samples.iter().any(|sample| sample.name == name)
    }
}

impl Sample {
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let name_end = line.find(['{', ' '])?;
        let (name, rest) = line.split_at(name_end);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inside) => parse_labels(inside)?,
            None => (BTreeMap::new(), rest),
        };
        // A timestamp may follow the value.
        let value = rest.split_whitespace().next()?.parse().ok()?;
        Some(Self { name: name.to_owned(), labels, value })
    }
}

/// Parses labels up to the closing brace. Also returns the rest.
fn parse_labels(mut rest: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = parse_quoted(after)?;
        labels.insert(key.to_owned(), value);
        rest = after;
    }
}

/// Parses a label's value up to its closing quote and unescapes it. Also returns the rest.
fn parse_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_with_labels_escapes_and_timestamps() {
        let text = "# HELP x y\n# TYPE x counter\nx{a=\"1\",b=\"q\\\"}, \\\\\"} 3\nx{a=\"2\"} 4 1700000000\nplain 1.5\nbroken\n";
        let metrics = Metrics::parse(text);
        assert_eq!(metrics.sum("x", &[]), 7.0);
        assert_eq!(metrics.sum("x", &[("a", "2")]), 4.0);
        assert_eq!(metrics.sum("x", &[("b", "q\"}, \\")]), 3.0);
        assert_eq!(metrics.sum("plain", &[]), 1.5);
        assert!(!metrics.has("broken"));
        assert_eq!(metrics.sum("broken", &[]).to_string(), "0");
    }
}
