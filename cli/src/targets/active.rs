//! The object of a command that writes to it by its target.

use std::sync::Arc;

use drift_api::object::LeanObject;
use drift_language::Target;

use super::known::{LiveTargets, other_text};
use super::{FoundObject, find_object};
use crate::cluster::{PlaceSettings, TargetsSettings, warn};
use crate::ending::CommandError;
use crate::kinds::named_objects::one_object;
use crate::targets::session::Session;

/// An object and its target, whose present text is active.
pub(crate) struct ActiveObject {
    /// The client of the cluster.
    pub(crate) client: kube::Client,
    /// The target that selects the object.
    pub(crate) target: Arc<Target>,
    /// The object as it was read.
    pub(crate) object: LeanObject,
}

impl ActiveObject {
    /// Finds the object that the words of a command line name.
    ///
    /// # Errors
    /// If the words name no object, there is no such object or target, or the target's present text is not active.
    pub(crate) async fn find(
        words: &[String],
        place: &PlaceSettings,
        settings: &TargetsSettings,
    ) -> Result<Self, CommandError> {
        let (kind, name) = one_object(words).map_err(CommandError::BadUsage)?;
        let session = Session::open(settings).await?;
        let live = session.live_targets().await?;
        let place = (place.namespace(&session.client), name);
        let (target, object) = active_object(&session, &live, kind, place).await?;
        Ok(Self { client: session.client, target, object })
    }
}

/// Finds an object of a kind, by namespace and name, and its target.
///
/// # Errors
/// As [`ActiveObject::find`].
pub(crate) async fn active_object(
    session: &Session<'_>,
    live: &LiveTargets,
    kind: &str,
    place: (&str, &str),
) -> Result<(Arc<Target>, LeanObject), CommandError> {
    let FoundObject { target, object, .. } = find_object(&session.client, live, kind, place).await?;
    let target = target.into_text().map_err(CommandError::CannotTell)?;
    ensure_active(session, &target).await?;
    Ok((target, object))
}

/// Fails if the poller uses another text of the target: identity and requests follow from the text.
async fn ensure_active(session: &Session<'_>, target: &Arc<Target>) -> Result<(), CommandError> {
    let notes = session.notes().await;
    if let Some(why) = &notes.unread {
        return warn(&format!("{why}: whether the text of target {} is active could not be looked at", target.name));
    }
    match other_text(session.home, target, &notes) {
        None => Ok(()),
        Some(sentence) => Err(CommandError::CannotTell(format!(
            "{sentence}, so nothing is written by it; wait until it is active, or mend it (check --from-cluster says what is wrong)"
        ))),
    }
}
