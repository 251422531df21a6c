//! The page as HTML. maud escapes every value that it writes.

mod objects;
mod targets;
#[cfg(test)]
mod tests;
mod words;

use maud::{DOCTYPE, Markup, html};

use super::content::{Content, Signal, link};
use crate::engine::object::overview::{MOST_ROWS, Shown};
use objects::objects;
use targets::targets;
use words::time;

/// The whole page.
#[must_use]
pub(super) fn page(content: &Content) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title(content)) }
                link rel="icon" type="image/svg+xml" href={ "icon-" (content.signal().as_str()) ".svg" };
                link rel="stylesheet" href="page.css";
                script src="page.js" defer {}
            }
            body {
                header { (headline(content)) (form(content)) (status(content)) }
                main { (notices(content)) (empty(content)) (objects(content, &targets(content))) }
            }
        }
    };
    markup.into_string()
}

/// The icon of the browser's tab. Shape and colour both tell the state.
#[must_use]
pub(super) fn icon(signal: Signal) -> String {
    let (colour, sign) = match signal {
        Signal::Drifted => ("#c62828", "M32 14v22M32 47v3"),
        Signal::Unknown => ("#b26a00", "M23 24a9 9 0 1 1 13 9q-4 2-4 7M32 48v3"),
        Signal::InSync => ("#1a7f37", "M18 33l10 10 18-21"),
        Signal::NoCounts => ("#6b7480", "M20 32h24"),
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\"><circle cx=\"32\" cy=\"32\" r=\"30\" fill=\"{colour}\"/>\
         <path d=\"{sign}\" fill=\"none\" stroke=\"#fff\" stroke-width=\"7\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/></svg>"
    )
}

fn title(content: &Content) -> String {
    let target = content.question.target.as_ref().map(|target| format!(" – {target}")).unwrap_or_default();
    format!("{}{target} – drift", content.headline())
}

/// The counts, each with a link to its objects.
fn headline(content: &Content) -> Markup {
    let target = content.question.target.as_deref();
    let count = |shown: Shown, number: usize, word: &str| {
        let class = if number > 0 { shown.as_str() } else { "soft" };
        html! { a class=(class) href=(link(target, shown)) { (number) " " (word) } }
    };
    html! {
        h1 {
            @match content.counts() {
                Some(counts) => {
                    (count(Shown::Drifted, counts.drifted, "drifted")) " · "
                    (count(Shown::Unknown, counts.unknown, "unknown")) " · "
                    (count(Shown::InSync, counts.in_sync, "in sync"))
                    @if counts.deleting > 0 { " · " span.soft { (counts.deleting) " deleting" } }
                }
                None => { span.soft { (content.headline()) } }
            }
        }
    }
}

fn form(content: &Content) -> Markup {
    let asked = &content.question;
    html! {
        form method="get" action="." role="search" {
            select name="target" aria-label="Target" {
                option value="" { "all targets" }
                @if let Some(unknown) = content.unknown_target() {
                    option value=(unknown) selected { (unknown) " (not active)" }
                }
                @for line in &content.targets {
                    option value=(line.name) selected[asked.target.as_ref() == Some(&line.name)] { (line.name) }
                }
            }
            select name="shown" aria-label="Verdict" {
                @for (shown, text) in Shown::ALL.into_iter().zip(["all verdicts", "drifted", "unknown", "in sync"]) {
                    option value=(shown.as_str()) selected[asked.shown == shown] { (text) }
                }
            }
            input type="search" name="search" value=(asked.search) placeholder="namespace/name" aria-label="Search"
                autocomplete="off" autocapitalize="none" spellcheck="false";
            button { "Show" }
        }
    }
}

/// The age of the page. The script shows here why it is not newer.
fn status(content: &Content) -> Markup {
    html! {
        p.status {
            strong { a href="." { "drift" } }
            " updated " (time(&content.now.to_string(), content.now, |_| content.now.strftime("%H:%M:%S UTC").to_string()))
        }
    }
}

fn notices(content: &Content) -> Markup {
    let silent = content.silent_targets();
    html! {
        @if let Some(command) = &content.leader_elsewhere {
            p.notice data-key="standby" {
                "This replica stands by and polls nothing. The Lease names the leader: " code { (command) }
            }
        }
        @for problem in &content.problems { p.notice { "Not active: " (problem) } }
        @if let Some(why) = &content.unread_holds { p.notice data-key="unread-holds" { (why) } }
        @if !silent.is_empty() {
            p.notice data-key="silent" {
                "No counts for " (silent.join(", ")) ". Either a target is busy, or its kind cannot be watched: see "
                a href="readyz" { "/readyz" } "."
            }
        }
        @if let Some(target) = content.unknown_target() {
            p.notice data-key="unknown-target" {
                "No active target is called " code { (target) } ". " a href="." { "Show all targets" }
            }
        }
    }
}

/// The line about objects that the lists lack.
fn empty(content: &Content) -> Markup {
    let (matching, asked) = (content.matching(), &content.question);
    let is_filtered = !asked.search.is_empty() || asked.shown != Shown::All || asked.target.is_some();
    html! {
        @if content.leader_elsewhere.is_some() || content.unknown_target().is_some() {}
        @else if matching == 0 && is_filtered {
            p.empty data-key="empty" {
                "Nothing matches"
                @if !asked.search.is_empty() { " " code { (asked.search) } }
                ". " a href="." { "Clear the filter" }
            }
        }
        @else if matching == 0 && !content.targets.is_empty() && content.silent_targets().is_empty() {
            p.empty data-key="empty" { "No target selects an object." }
        }
        @else if matching > MOST_ROWS {
            p.empty data-key="empty" {
                "The first " (MOST_ROWS) " of " (matching) " objects, the worst first. Choose a target or search to see others."
            }
        }
    }
}
