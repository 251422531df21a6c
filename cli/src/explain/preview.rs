//! The verdict, the requests and the holds that would follow for one object, as `plan` shows them: with values, and
//! without any.

use drift_api::condition::{ConditionStatus, ObservedReason, closed_text};
use drift_api::held_corrections::{Held, Hold};
use drift_api::object::LeanObject;
use drift_kube::process::clock;
use drift_language::Target;
use drift_poller::engine::judgement::credentials::Credentials;
use drift_poller::engine::judgement::drift::Subject;
use drift_poller::engine::judgement::observation::Observation;

use super::facts::{Facts, Leases, action};
use super::guards::is_of_verdict;
use super::holds::all_holds;
use super::masker::{differing, differing_names};
use super::polling::WayOut;
use super::steps::{outlines, steps};
use super::{Looked, look};

/// The outlook of one object.
#[derive(Debug)]
pub(crate) struct Preview {
    pub(crate) status: ConditionStatus,
    pub(crate) reason: ObservedReason,
    /// The message of the verdict, with values.
    message: String,
    /// The action of the correction; `None` if nothing is to be corrected.
    pub(crate) action: Option<&'static str>,
    /// The fields that differ, by name.
    pub(crate) names: Vec<String>,
    /// The same with masked values.
    differing: Vec<String>,
    /// The requests of the correction without values.
    outlines: Vec<String>,
    /// The same with masked values.
    steps: Vec<String>,
    held: Vec<Hold>,
}

/// Polls an object, or a trial of one, and returns what would follow. `is_deployed` is false for a target of a file.
pub(crate) async fn preview(
    way: &WayOut,
    (target, is_deployed): (&Target, bool),
    object: &LeanObject,
    leases: &Leases,
) -> Preview {
    let Looked { polled, verdict, published } = look(way, target, object).await;
    let facts = Facts { target, is_deployed, object: &published, verdict: &verdict };
    let (moved, view) = (object.conditions.moved_secrets(), object.view.open());
    let credentials = Credentials::of(target, way.outside.sender.secrets(), polled.sent.clone());
    let subject = Subject { object: &view, moved: &moved, credentials: Some(&credentials) };
    let (names, differing) = match &polled.observed {
        Ok(Observation::Present(value)) => (differing_names(target, subject, value), differing(target, subject, value)),
        _ => Default::default(),
    };
    let mut held = all_holds(facts, leases, clock::wall());
    // The poller writes its verdict on what is planned after the merge alone, and a target of a file is not active yet.
    held.retain(|hold| {
        let is_of_verdict = Held::parse(hold.word).is_some_and(is_of_verdict);
        !is_of_verdict && (is_deployed || !hold.word.is_empty())
    });
    Preview {
        status: verdict.status(),
        reason: verdict.reason,
        message: verdict.text.to_string(),
        action: facts.is_drifted().then(|| action(facts).as_str()),
        names,
        differing,
        outlines: outlines(facts),
        steps: steps(facts),
        held,
    }
}

impl Preview {
    /// The message of the verdict. Without values the usual one of its reason.
    pub(crate) fn message(&self, values: bool) -> &str {
        if values { &self.message } else { closed_text(self.reason) }
    }

    /// The fields that differ.
    pub(crate) fn fields(&self, values: bool) -> &[String] {
        if values { &self.differing } else { &self.names }
    }

    /// The requests of the correction.
    pub(crate) fn requests(&self, values: bool) -> &[String] {
        if values { &self.steps } else { &self.outlines }
    }

    /// The holds of the correction, each with its sentence. Without values the usual one of its word.
    pub(crate) fn held(&self, values: bool) -> impl Iterator<Item = Hold> {
        self.held.iter().map(move |hold| match Held::parse(hold.word) {
            Some(why) if !values => Hold { until: hold.until, ..Hold::from(why) },
            _ => hold.clone(),
        })
    }
}
