//! The table of targets.

use maud::{Markup, html};

use super::words::{interval, name, prose, span};
use crate::engine::object::overview::Shown;
use crate::engine::object::overview::order::Trouble;
use crate::run::page::content::{Content, Link, TargetLine};

/// What "Overdue" means.
const OVERDUE: &str = "The delay of the poll that has waited the longest";
/// What "Verdicts" means.
const VERDICTS: &str = "Current: the poller's Lease lists the target, and the controller may act on its verdicts";

/// The most targets without trouble that stand below the others unfolded.
const MOST_UNFOLDED: usize = 5;

/// The section of targets, the worst first. Many targets without trouble are folded.
pub(super) fn targets(content: &Content) -> Markup {
    let lines = content.ranked();
    let healthy = lines.iter().position(|line| line.trouble() == Trouble::None).unwrap_or(lines.len());
    let is_folded = healthy > 0 && lines.len() - healthy > MOST_UNFOLDED;
    let (shown, folded) = lines.split_at(if is_folded { healthy } else { lines.len() });
    html! {
        section data-key="targets" {
            h2 { "Targets" }
            @if content.targets.is_empty() { p.empty { "No target is active." } }
            @if !shown.is_empty() { (table(shown)) }
            @if !folded.is_empty() {
                details.in-sync data-key="healthy" { summary { (folded.len()) " targets without trouble" } (table(folded)) }
            }
        }
    }
}

fn table(lines: &[&TargetLine]) -> Markup {
    html! {
        table.stacked {
            thead { tr {
                th { "Target" } th.number { "Drifted" } th.number { "Unknown" } th.number { "In sync" }
                th { "Kind" } th.number { "Interval" } th.number title=(OVERDUE) { "Overdue" } th { "Mode" }
                th title=(VERDICTS) { "Verdicts" }
            } }
            tbody { @for line in lines { (target(line)) } }
        }
    }
}

fn target(line: &TargetLine) -> Markup {
    let counts = line.overview.as_ref().map(|overview| overview.counts);
    let link = |shown: Shown| Link::new().target(Some(&line.name)).shown(shown);
    let count = |title: &'static str, shown: Shown, number: Option<usize>| {
        html! { td.number.short data-name=(title) { @match number {
            Some(0) => { "0" }
            Some(number) => { a class=(shown.as_str()) href=(link(shown)) { (number) } }
            None => { "–" }
        } } }
    };
    let overdue = line.overview.as_ref().map(|overview| overview.lateness);
    html! {
        tr data-key={ "target " (line.name) } {
            td data-name="Target" { a href=(link(Shown::All)) { (name(&line.name)) } }
            (count("Drifted", Shown::Drifted, counts.map(|counts| counts.drifted)))
            (count("Unknown", Shown::Unknown, counts.map(|counts| counts.unknown)))
            (count("In sync", Shown::InSync, counts.map(|counts| counts.in_sync)))
            td.short data-name="Kind" title=(line.api_version) { (name(&line.kind)) }
            td.number.short data-name="Interval" { (interval(line.interval)) }
            td.number.short data-name="Overdue" {
                span.drifted[line.is_late()] { (overdue.map_or_else(|| "–".to_owned(), span)) }
            }
            td.short data-name="Mode" { (line.mode) }
            td.short data-name="Verdicts" {
                @if line.attested { "current" } @else { span.unknown { "not current" } }
            }
        }
        @for (what, holds) in [("No corrections: ", &line.held), ("Held: ", &line.listed)] {
            @for hold in holds {
                tr.held data-key={ "held " (line.name) " " (hold.word) } {
                    td colspan="9" { strong { (what) } (prose(&hold.sentence)) }
                }
            }
        }
    }
}
