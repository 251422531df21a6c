//! The requests of a step with `forEach`, as far as its list is known before the first answer.

use drift_language::cel::Variables;
use drift_language::{ForEach, HttpStep, MAX_ITEMS};
use drift_poller::engine::judgement::description::REDACTED;
use serde_json::Value;

use super::requests::http_lines;

/// Returns the lines of each request. `shown` are the masked variables, `real` decide how many items there are.
pub(super) fn of_items(step: &HttpStep, for_each: &ForEach, [shown, real]: [&Variables<'_>; 2]) -> Vec<Vec<String>> {
    let method = &step.request.method;
    let line = |text: String| vec![vec![text]];
    match for_each.items(real) {
        Ok(items) if items.is_empty() => return line("skipped, since its list is empty".to_owned()),
        Ok(items) if items.len() > MAX_ITEMS => {
            return line(format!("refused, since its list has {} items and at most {MAX_ITEMS} are sent", items.len()));
        }
        Err(_) if for_each.needs_answers() => {
            return line(format!("{method} … for each item: the list follows from the answers before it"));
        }
        _ => {}
    }
    let one = |item: &Value| {
        let request = step.request.render(&Variables { item: Some(item), ..*shown });
        request.map_or_else(|error| vec![format!("{method} …: {error}")], |request| http_lines(&request))
    };
    match for_each.items(shown) {
        Ok(items) if !for_each.names_secret() => items.iter().map(one).collect(),
        _ => line(format!("{method} … for each item of a list that is {REDACTED}")),
    }
}
