//! The page as HTML: every value is escaped by the macro that writes it.

use std::time::Duration;

use drift_api::condition::ConditionStatus;
use maud::{DOCTYPE, Markup, html};

use super::content::{Content, TargetLine};
use crate::engine::object::deletion::{DELETING, NO_VERDICT};
use crate::engine::object::overview::{ObjectRow, RowCondition, Shown};

/// The whole page.
#[must_use]
pub(super) fn page(content: &Content) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "drift" }
                link rel="stylesheet" href="page.css";
                script src="page.js" defer {}
            }
            body {
                header { h1 { "drift" } (asking(content)) }
                main { (notices(content)) (targets(content)) (objects(content)) }
            }
        }
    };
    markup.into_string()
}

fn asking(content: &Content) -> Markup {
    let asked = &content.question;
    html! {
        form method="get" action="." {
            select name="target" aria-label="Target" {
                option value="" { "all targets" }
                @for line in &content.targets {
                    option value=(line.name) selected[asked.target.as_ref() == Some(&line.name)] { (line.name) }
                }
            }
            select name="shown" aria-label="Verdict" {
                @for (shown, text) in [(Shown::All, "all objects"), (Shown::Drifted, "drifted"), (Shown::Unknown, "cannot tell")] {
                    option value=(shown.as_str()) selected[asked.shown == shown] { (text) }
                }
            }
            input type="search" name="search" value=(asked.search) placeholder="namespace/name" aria-label="Search";
            button { "Show" }
        }
    }
}

fn notices(content: &Content) -> Markup {
    html! {
        @if let Some(command) = &content.leader_elsewhere {
            p.notice { "This replica stands by and polls nothing. The Lease names the one that does: " code { (command) } }
        }
        @for problem in &content.problems { p.notice { "Not active: " (problem) } }
    }
}

fn targets(content: &Content) -> Markup {
    html! {
        h2 { "Targets" }
        @if content.targets.is_empty() { p.soft { "No target is active." } }
        @else {
            table {
                thead { tr {
                    th { "Target" } th { "Kind" } th.number { "Drifted" } th.number { "Cannot tell" } th.number { "In sync" }
                    th { "Every" } th { "Late" } th { "Mode" } th { "Attested" }
                } }
                tbody { @for line in &content.targets { (target(line)) } }
            }
        }
    }
}

fn target(line: &TargetLine) -> Markup {
    let counts = line.overview.as_ref().map(|overview| overview.counts);
    let count = |name: &'static str, class: &'static str, number: Option<usize>| {
        html! { td.number data-name=(name) { @match number {
            Some(0) => { "0" }
            Some(number) => { span class=(class) { (number) } }
            None => { "–" }
        } } }
    };
    html! { tr {
        td data-name="Target" { a href={ "?target=" (line.name) } { (line.name) } }
        td data-name="Kind" { (line.kind) }
        (count("Drifted", "drifted", counts.map(|counts| counts.drifted)))
        (count("Cannot tell", "unknown", counts.map(|counts| counts.unknown)))
        (count("In sync", "good", counts.map(|counts| counts.in_sync)))
        td data-name="Every" { (span(line.interval)) }
        td data-name="Late" { (line.overview.as_ref().map_or_else(|| "–".to_owned(), |overview| span(overview.lateness))) }
        td data-name="Mode" { (line.mode) }
        td data-name="Attested" { @if line.attested { "yes" } @else { span.unknown { "no" } } }
    } }
}

fn objects(content: &Content) -> Markup {
    let (rows, matching) = (content.rows(), content.matching());
    html! {
        h2 { "Objects " span.soft { (rows.len()) " of " (matching) } }
        @if matching > 0 {
            table {
                thead { tr { th { "Object" } th { "Drift" } th { "Since" } th { "Correction" } th.number { "Next poll" } } }
                tbody { @for (target, row) in rows { (object(target, row)) } }
            }
        }
    }
}

fn object(target: &str, row: &ObjectRow) -> Markup {
    html! { tr {
        td.text data-name="Object" { (row.object) br; span.soft { (target) @for mark in &row.marks { ", " (mark) } } }
        td.text data-name="Drift" { @match &row.verdict {
            Some(verdict) => { span class=(class(verdict)) { (verdict.reason) } br; (verdict.text) }
            None if row.deleting => { span.soft { (DELETING) } br; (NO_VERDICT) }
            None => { span.unknown { "no verdict yet" } }
        } }
        td data-name="Since" { (row.verdict.as_ref().map_or("", |verdict| &verdict.since)) }
        td.text data-name="Correction" { @if let Some(note) = &row.correction { (note.reason) br; span.soft { (note.text) } } }
        td.number data-name="Next poll" { @match row.next_poll {
            Some(next) => { (span(next)) }
            None => { span.soft { "–" } }
        } }
    } }
}

const fn class(verdict: &RowCondition) -> &'static str {
    match verdict.status {
        ConditionStatus::True => "drifted",
        ConditionStatus::False => "good",
        ConditionStatus::Unknown => "unknown",
    }
}

/// In whole seconds: people read no fractions.
fn span(time: Duration) -> String {
    humantime::format_duration(Duration::from_secs(time.as_secs())).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::object::overview::{TargetOverview, VerdictCounts};
    use crate::run::page::content::parse;

    #[test]
    fn what_others_wrote_is_text_and_no_markup() {
        let hostile = "<script>alert(1)</script>\"'&";
        let condition = RowCondition {
            status: ConditionStatus::True,
            reason: hostile.to_owned(),
            text: hostile.to_owned(),
            since: hostile.to_owned(),
        };
        let row = ObjectRow {
            object: hostile.to_owned(),
            verdict: Some(condition.clone()),
            deleting: false,
            correction: Some(condition),
            marks: vec!["paused"],
            next_poll: Some(Duration::from_millis(61_500)),
        };
        let counts = VerdictCounts { drifted: 1, ..VerdictCounts::default() };
        let overview = TargetOverview { counts, matching: 1, rows: vec![row], ..TargetOverview::default() };
        let line = TargetLine {
            name: "proxies".to_owned(),
            kind: hostile.to_owned(),
            interval: Duration::from_secs(30),
            mode: "Correct",
            attested: true,
            overview: Some(overview),
        };
        let question = parse("target=proxies&search=%3Cscript%3E&shown=drifted");
        let text = page(&Content {
            question,
            leader_elsewhere: None,
            problems: vec![hostile.to_owned()],
            targets: vec![line],
        });
        assert!(!text.contains("<script>"), "{text}");
        assert_eq!(text.matches("&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&amp;").count(), 8, "{text}");
        assert!(
            text.contains("value=\"&lt;script&gt;\"") && text.contains("1 of 1") && text.contains("1m 1s"),
            "{text}"
        );
        assert!(text.contains(r#"<option value="proxies" selected>"#) && !text.contains("stands by"), "{text}");
    }
}
