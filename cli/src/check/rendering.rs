//! The report as text for people, as JSON, and as GitHub workflow commands.
//!
//! Text for people always has colours; the stream that prints it removes them where no terminal shows them.

use std::borrow::Cow;
use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use drift_api::secrets::secret_lines::redacted;
use drift_language::Folded;
use serde_json::{Value, json};

use crate::check::document::{Remark, Severity};
use crate::check::report::{Good, Rate, Report, Waited, requests_of, total_rates};

/// Every remark, with the line it is about.
pub(super) fn people(report: &Report) -> String {
    folded(report).iter().map(|remark| format!("{}\n\n", of_remark(remark))).collect()
}

/// The remarks, and behind them those about missing targets, equal ones of one ConfigMap once.
fn folded(report: &Report) -> Vec<Cow<'_, Remark>> {
    let others = report.remarks.iter().filter(|remark| remark.missing.is_none()).map(Cow::Borrowed);
    let missing = Folded::all(report.remarks.iter().filter_map(|remark| remark.missing.as_ref()));
    let missing = missing.iter().filter_map(|folded| {
        let is_first = |remark: &&Remark| remark.missing.as_ref() == folded.problems().first().copied();
        let first = report.remarks.iter().find(is_first)?;
        Some(Cow::Owned(Remark { message: folded.to_string(), ..first.clone() }))
    });
    others.chain(missing).collect()
}

/// The kinds whose fields are not checked, in one line.
pub(super) fn note(report: &Report) -> String {
    let kinds: Vec<_> = report.undefined.iter().map(String::as_str).collect();
    match &*kinds {
        [] => String::new(),
        [kind] => format!("note: fields of {kind} are not checked: pass its CRD with -f\n"),
        kinds => format!("note: fields of {} are not checked: pass their CRDs with -f\n", kinds.join(", ")),
    }
}

fn of_remark(remark: &Remark) -> String {
    let level = match remark.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(remark.message.as_str());
    let group = match remark.place {
        Some((line, column)) => {
            let (text, column) = redacted(&remark.line, column);
            let span = AnnotationKind::Primary.span(word_at(&text, column));
            let snippet = Snippet::source(text).line_start(line).path(remark.source.as_str());
            title.element(snippet.annotation(span))
        }
        None => title.element(Origin::path(remark.source.as_str())),
    };
    Renderer::styled().render(&[group])
}

/// The bytes of the word at a column; of one letter where there is none.
fn word_at(line: &str, column: usize) -> std::ops::Range<usize> {
    let start = line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(start, _)| start);
    let rest = &line[start..];
    let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
    let first = rest.chars().next().map_or(0, char::len_utf8);
    start..start + length.max(first)
}

/// The good targets, and the requests of their polls.
pub(super) fn summary(report: &Report) -> String {
    let mut text: String = report.targets.iter().map(|good| format!("{}\n", of_target(good))).collect();
    text.push_str(&together(report));
    let count = |severity| report.remarks.iter().filter(|remark| remark.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let good = report.targets.iter().filter(|good| !good.has_error).count();
    let counted = [(good, "good target"), (errors, "error"), (warnings, "warning")].map(|(count, word)| {
        let end = if count == 1 { "" } else { "s" };
        format!("{count} {word}{end}")
    });
    // Writing to a text does not fail.
    let _ = writeln!(text, "{}", counted.join(", "));
    text
}

fn of_target(good: &Good) -> String {
    let target = &good.target;
    let objects = format!("{}: {} of {}", target.name, target.objects.kind, target.objects.api_version);
    let interval = humantime::format_duration(target.interval);
    let polls: Vec<String> = match good.objects {
        Some(0) if good.waited.is_some() => vec!["no object yet".to_owned()],
        Some(0) => vec!["no object yet, so that no write of the condition could be tried".to_owned()],
        Some(count) => Rate::of(target, count).iter().map(of_rate).collect(),
        None => {
            let requests = requests_of(target).into_iter().map(|requests| {
                let end = if requests.count == 1 { "" } else { "s" };
                let whom = if requests.is_shared { "for all objects and a page" } else { "for each object" };
                format!("every {interval} {} request{end} to {} {whom}", requests.count, requests.host)
            });
            requests.collect()
        }
    };
    let untried = good.untried.iter().map(|why| format!("; no write of the condition was tried: {why}"));
    let waited = good.waited.iter().map(|waited| of_waited(good.objects, waited));
    format!("{objects}, {}{}{}", polls.join(" and "), untried.collect::<String>(), waited.collect::<String>())
}

/// `; 2 of 3 objects read (1 Suspended)`, and the Secrets that only the verdicts can show.
fn of_waited(objects: Option<u64>, waited: &Waited) -> String {
    let unread: Vec<_> = waited.unread.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let unread = if unread.is_empty() { String::new() } else { format!(" ({})", unread.join(", ")) };
    let read = objects.filter(|objects| *objects > 0);
    let read = read.map(|objects| format!("; {} of {objects} read{unread}", waited.read));
    let secrets: Vec<_> = waited.unread_secrets.iter().map(String::as_str).collect();
    let secrets = (!secrets.is_empty())
        .then(|| format!("; you may not get its Secrets, which were not looked at: {}", secrets.join(", ")));
    format!("{}{}", read.unwrap_or_default(), secrets.unwrap_or_default())
}

/// `600 objects / 30s = 20 requests/s to dns.example:443`.
fn of_rate(rate: &Rate) -> String {
    let (interval, end) = (humantime::format_duration(rate.interval), if rate.objects == 1 { "" } else { "s" });
    let shared = if rate.requests < rate.objects { " together" } else { "" };
    let per_second = short(rate.per_second());
    format!("{} object{end}{shared} / {interval} = {per_second} requests/s to {}", rate.objects, rate.host)
}

/// The request rates of hosts that several targets read.
fn together(report: &Report) -> String {
    let rates = report.targets.iter().filter_map(|good| Some(Rate::of(&good.target, good.objects?)));
    let rates: Vec<Rate> = rates.flatten().collect();
    let several = |host: &String| rates.iter().filter(|rate| rate.host == *host).count() > 1;
    let totals = total_rates(&rates).into_iter().filter(|(host, _)| several(host));
    totals.map(|(host, rate)| format!("together: {} requests/s to {host}\n", short(rate))).collect()
}

/// Two digits behind the point at most.
fn short(rate: f64) -> String {
    format!("{rate:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The same for programs.
pub(super) fn json(report: &Report) -> Value {
    let problem = |remark: &Remark| {
        json!({
            "severity": word(remark.severity), "file": remark.source, "message": remark.message,
            "line": remark.place.map(|(line, _)| line), "column": remark.place.map(|(_, column)| column),
        })
    };
    let target = |good: &Good| {
        let requests = requests_of(&good.target).into_iter();
        let requests = requests.map(
            |requests| json!({"host": requests.host, "count": requests.count, "forAllObjects": requests.is_shared}),
        );
        json!({
            "name": good.target.name, "file": good.source, "apiVersion": good.target.objects.api_version,
            "kind": good.target.objects.kind, "intervalSeconds": good.target.interval.as_secs(),
            "requests": requests.collect::<Vec<_>>(), "objects": good.objects,
            "untried": good.untried, "read": good.waited.as_ref().map(|waited| waited.read),
        })
    };
    let problems: Vec<_> = report.remarks.iter().map(problem).collect();
    let targets: Vec<_> = report.targets.iter().map(target).collect();
    json!({"problems": problems, "targets": targets})
}

/// The same as workflow commands of GitHub.
pub(super) fn annotations(report: &Report) -> String {
    let mut text = String::new();
    for remark in folded(report) {
        let place = remark.place.map(|(line, column)| format!(",line={line},col={column}")).unwrap_or_default();
        let (file, message) = (property(&remark.source), escaped(&remark.message));
        let _ = writeln!(text, "::{} file={file}{place},title=kubectl drift check::{message}", word(remark.severity));
    }
    text
}

/// For programs, that nothing could be checked, and why.
pub(super) fn failed_json(message: &str) -> Value {
    json!({"error": message, "problems": [], "targets": []})
}

/// The same for GitHub.
pub(super) fn failed_annotation(message: &str) -> String {
    format!("::error title=kubectl drift check::{}\n", escaped(message))
}

const fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// In the properties of a command, these end a value.
fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
