//! The alarms: one line each, with its count, a link and a command.

use maud::{Markup, html};

use super::objects::command;
use super::words::prose;
use crate::run::page::content::Content;
use crate::run::page::content::alarms::{Alarm, alarms as found};

/// The section of alarms. Without one, there is none.
pub(super) fn alarms(content: &Content) -> Markup {
    let alarms = found(content);
    html! {
        @if !alarms.is_empty() {
            section data-key="alarms" {
                h2 { "Alarms" }
                ul.alarms { @for alarm in &alarms { (line(alarm)) } }
                @if content.problems.len() > 1 { (problems(content)) }
            }
        }
    }
}

fn line(alarm: &Alarm) -> Markup {
    let Alarm { word, count, unit, text, link, command: next } = alarm;
    let plural = if *count == 1 { "" } else { "s" };
    html! {
        li data-key={ "alarm " (word) " " (unit) } {
            p {
                strong.drifted {
                    @match link {
                        Some(link) => { a href=(link) { (word) ": " (count) " " (unit) (plural) } }
                        None => { (word) ": " (count) " " (unit) (plural) }
                    }
                }
                " " span { (prose(text)) }
            }
            (command(next, &format!("for {word}")))
        }
    }
}

/// The documents that are not active, equal problems of one ConfigMap once.
fn problems(content: &Content) -> Markup {
    let mut seen = std::collections::BTreeSet::new();
    let distinct = content.problems.iter().filter(|problem| seen.insert(problem.as_str()));
    html! {
        details data-key="not-active" {
            summary { (content.problems.len()) " documents are not active" }
            ul { @for problem in distinct { li { (prose(problem)) } } }
        }
    }
}
