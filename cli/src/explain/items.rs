//! The requests of a step with `forEach`, as far as its list is known before the first answer.

use drift_api::secrets::secret_texts::REDACTED;
use drift_language::cel::Variables;
use drift_language::{ForEach, HttpStep, MAX_ITEMS};
use serde_json::Value;

/// Returns the lines of each request, which `lines_of` gives. `shown` are the masked variables, `real` decide how many
/// items there are.
pub(super) fn of_items(
    step: &HttpStep,
    for_each: &ForEach,
    [shown, real]: [&Variables<'_>; 2],
    lines_of: impl Fn(&Variables<'_>) -> Vec<String>,
) -> Vec<Vec<String>> {
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
        Err(error) => return line(format!("{method} … for each item: {error}")),
        Ok(_) => {}
    }
    let one = |item: &Value| lines_of(&Variables { item: Some(item), ..*shown });
    match for_each.items(shown) {
        Ok(items) if !for_each.names_secret() => items.iter().map(one).collect(),
        _ => line(format!("{method} … for each item of a list that is {REDACTED}")),
    }
}

/// Adds the name of a step to the first line of a request.
pub(super) fn named(name: &str, mut lines: Vec<String>) -> Vec<String> {
    lines.iter_mut().take(1).for_each(|first| first.insert_str(0, name));
    lines
}
