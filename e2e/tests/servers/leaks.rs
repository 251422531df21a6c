//! Searches everything that the programs show for secrets.

use anyhow::{Result, ensure};
use drift_e2e::programs::Program;
use drift_e2e::world::World;
use serde_json::json;

use crate::page::Subject;

/// Fails if a secret occurs in the object, an Event, a log, a metric, or the status page.
pub(crate) async fn ensure_shown_nowhere(
    world: &World,
    programs: &[&Program],
    subject: &Subject,
    secrets: &[&str],
) -> Result<()> {
    let objects = json!([subject.get().await?, world.events().await?]).to_string();
    let mut places = vec![("an object or Event".to_owned(), objects)];
    for program in programs {
        places.push(("a log".to_owned(), program.log_text()?));
        // The controller has no status page, and answers an empty 404.
        for path in ["/metrics", "/"] {
            places.push((format!("the page {path}"), program.page(path).await?.1));
        }
    }
    ensure!(places.iter().filter(|(_, text)| text.len() > 100).count() > 3, "too little to search");
    for (place, text) in places {
        let shown = secrets.iter().find(|secret| text.contains(**secret));
        ensure!(shown.is_none(), "{shown:?} in {place}: {text}");
    }
    Ok(())
}
