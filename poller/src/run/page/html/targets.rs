//! The table of targets.

use maud::{Markup, html};

use super::words::{interval, name, span};
use crate::engine::object::overview::Shown;
use crate::run::page::content::{Content, TargetLine, link};

/// The section of targets.
pub(super) fn targets(content: &Content) -> Markup {
    html! {
        section data-key="targets" {
            h2 { "Targets" }
            @if content.targets.is_empty() { p.empty { "No target is active." } }
            @else {
                table.stacked {
                    thead { tr {
                        th { "Target" } th.number { "Drifted" } th.number { "Unknown" } th.number { "In sync" }
                        th { "Kind" } th.number { "Interval" } th.number { "Overdue" } th { "Mode" } th { "Verdicts" }
                    } }
                    tbody { @for line in &content.targets { (target(line)) } }
                }
            }
        }
    }
}

fn target(line: &TargetLine) -> Markup {
    let counts = line.overview.as_ref().map(|overview| overview.counts);
    let count = |title: &'static str, shown: Shown, number: Option<usize>| {
        html! { td.number.short data-name=(title) { @match number {
            Some(0) => { "0" }
            Some(number) => { a class=(shown.as_str()) href=(link(Some(&line.name), shown)) { (number) } }
            None => { "–" }
        } } }
    };
    let overdue = line.overview.as_ref().map(|overview| overview.lateness);
    html! {
        tr data-key={ "target " (line.name) } {
            td data-name="Target" { a href=(link(Some(&line.name), Shown::All)) { (name(&line.name)) } }
            (count("Drifted", Shown::Drifted, counts.map(|counts| counts.drifted)))
            (count("Unknown", Shown::Unknown, counts.map(|counts| counts.unknown)))
            (count("In sync", Shown::InSync, counts.map(|counts| counts.in_sync)))
            td.short data-name="Kind" title=(line.api_version) { (name(&line.kind)) }
            td.number.short data-name="Interval" { (interval(line.interval)) }
            td.number.short data-name="Overdue" title="The delay of the poll that has waited the longest" {
                (overdue.map_or_else(|| "–".to_owned(), span))
            }
            td.short data-name="Mode" { (line.mode) }
            td.short data-name="Verdicts" {
                @if line.attestation.is_some() { "current" } @else { span.unknown { "not current" } }
            }
        }
        @for why in &line.held {
            tr.held data-key={ "held " (line.name) " " (why.word) } {
                td colspan="9" { strong { "No corrections: " } (why.sentence) }
            }
        }
        @for why in line.listed() {
            tr.held data-key={ "held " (line.name) " " (why.word) } {
                td colspan="9" { strong { "Held: " } (why.sentence) }
            }
        }
    }
}
