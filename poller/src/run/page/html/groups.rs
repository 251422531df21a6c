//! The groups of equal objects: cards of the first drifted ones, and a line that unfolds for the others.

use maud::{Markup, html};

use super::objects::{HasTarget, card, table};
use super::words::{age, prose, value};
use crate::engine::object::overview::{Group, GroupKey, Rank};
use crate::run::page::content::{Content, Link, ShownObject, TargetLine};

/// The sections of groups by verdict.
pub(super) fn groups(content: &Content, groups: &[&Group]) -> Markup {
    let sections = [
        (Rank::Drifted, "Drifted"),
        (Rank::Unknown, "Unknown"),
        (Rank::Deleting, "Deleting"),
        (Rank::InSync, "In sync"),
    ];
    html! {
        @for (rank, title) in sections {
            @let of_rank: Vec<(&Group, &TargetLine)> = groups
                .iter()
                .filter(|group| group.key.rank == rank)
                .filter_map(|group| Some((*group, content.line(&group.target)?)))
                .collect();
            @if !of_rank.is_empty() {
                section data-key=(rank.as_str()) {
                    h2 { (title) }
                    @if rank == Rank::Drifted { (drifted(content, &of_rank)) }
                    @else { @for (group, line) in &of_rank { (fold(content, group, line)) } }
                }
            }
        }
    }
}

/// The cards of drifted objects. Groups of one object share a grid, so that no half of the screen stays empty.
fn drifted(content: &Content, groups: &[(&Group, &TargetLine)]) -> Markup {
    let is_alone = |(group, _): &(&Group, &TargetLine)| group.count == 1;
    html! {
        @for run in groups.chunk_by(|one, other| is_alone(one) && is_alone(other)) {
            @match run {
                [(group, line)] if group.count > 1 => { (cards(content, group, line)) }
                run => {
                    div.cards {
                        @for (group, line) in run { @for row in &group.rows { (card(content, ShownObject { target: line, row })) } }
                    }
                }
            }
        }
    }
}

fn cards(content: &Content, group: &Group, line: &TargetLine) -> Markup {
    let more = group.count - group.rows.len();
    html! {
        section.group data-key={ "group " (group.key.id(&group.target)) } {
            h3 { (summary(content, group, line)) }
            div.cards { @for row in &group.rows { (card(content, ShownObject { target: line, row })) } }
            @if more > 0 { p { (all(group)) } }
        }
    }
}

fn fold(content: &Content, group: &Group, line: &TargetLine) -> Markup {
    let rows: Vec<ShownObject<'_>> = group.rows.iter().map(|row| ShownObject { target: line, row }).collect();
    html! {
        details class=(group.key.rank.as_str()) data-key={ "group " (group.key.id(&group.target)) } {
            summary { (summary(content, group, line)) }
            (table(content, &rows, HasTarget::No))
            @if group.count > rows.len() { p { (all(group)) } }
        }
    }
}

/// The link to all objects of a group.
fn all(group: &Group) -> Markup {
    let link = Link::new().target(Some(&group.target)).group(group.key.id(&group.target));
    html! { a href=(link) { "Show all " (group.count) " objects of " (group.target) } }
}

/// What the objects of a group share: `15 objects of phone: FieldsDiffer, /value, held by BreakerOpen`.
fn summary(content: &Content, group: &Group, line: &TargetLine) -> Markup {
    let GroupKey { rank, reason, cause, held, marks } = &group.key;
    let class = if *rank == Rank::Deleting { "soft" } else { rank.as_str() };
    let marks: Vec<&str> = marks.iter().copied().filter(|mark| !reason.starts_with(mark)).collect();
    html! {
        strong class=(class) {
            @if group.count == 1 { @for row in group.rows.iter().take(1) { (line.kind) " " (row.id) } }
            @else { (group.count) " objects" }
        }
        " of " span.word { (group.target) } ": " strong { (reason) }
        @if !cause.is_empty() {
            ", " @if *rank == Rank::Drifted { code { (value(cause)) } @if group.count > 1 { " differs" } } @else { (prose(cause)) }
        }
        @if !held.is_empty() { ", held by " strong { (held.join(", ")) } }
        @if !marks.is_empty() { ", " strong { (marks.join(", ")) } }
        @if let Some(since) = group.since.as_deref().filter(|_| *rank != Rank::InSync) {
            span.soft { " for " (age(since, content.now)) }
        }
    }
}
