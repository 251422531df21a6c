//! The judge of documents that remembers the last good text of each.
//!
//! It joins the watch of the ConfigMaps, which knows no language, to the catalogue, which knows no watch.

use crate::config::watch::{Configuration, Judge};
use drift_target::Catalogue;

/// A judge with nothing to remember yet.
#[must_use]
pub fn last_good_judge() -> Judge {
    let mut catalogue = Catalogue::default();
    Box::new(move |documents| {
        catalogue = catalogue.update(documents);
        let problems = catalogue.problems().to_vec();
        let is_whole = |map: &&String| !problems.iter().any(|problem| problem.document.config_map == **map);
        let whole = documents.keys().filter(is_whole).cloned().collect();
        Configuration { targets: catalogue.targets().clone(), problems, whole, loaded: true }
    })
}
