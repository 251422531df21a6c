//! `kubectl drift poll`, and with `--wait` the verdict that answers the request.

use std::io::Write as _;
use std::time::Duration;

use drift_api::condition::{ConditionStatus, PollRequest};
use drift_api::names::POLLER_LEASE;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::printable::printable;
use drift_api::timing::moment::Moment;
use drift_api::unwritten::Unwritten;
use drift_kube::client::ResolvedKind;
use drift_kube::process::clock;
use drift_kube::program::settings::{parse_lease_name, parse_namespace};
use tokio::time::sleep;

use super::annotations::ObjectRequest;
use super::reported::{MeantObject, read_with_report};
use super::{RequestSettings, set};
use crate::cluster::{SHIPPED_NAMESPACE, block_on, read_object};
use crate::ending::{CommandError, ExitStatus};
use crate::kinds::names::ServedKind;
use crate::kinds::resolved;
use crate::targets::known::LeaseNotes;
use crate::targets::session::Session;

/// Pause between two reads of an object. Most polls take longer, and a person does not notice it.
const READ_EVERY: Duration = Duration::from_millis(500);

/// Time after a request in which a poll and its write are tried: a poll's default `timeout` (10 s), and some for the write
/// and the Lease. A refusal on the Lease ends the wait after that, also for a target with a longer `timeout`.
const POLL_TAKES: Duration = Duration::from_secs(15);

/// Shown if no verdict came.
const NO_ANSWER: &str = "no answer to the requested poll within the timeout";

/// Shown if the poller's Lease does not say why.
const SILENCE: &str =
    "check that drift-poller runs and that a target selects the object, and look for Events WriteRefused of it";

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift poll proxy/web -n team-a
  kubectl drift poll proxies web cache -n team-a
  kubectl drift poll proxy/web -n team-a --wait      print the verdict of this poll

Sets the annotation driftpoller.dev/poll-requested-at. Exit codes: 0 done, or in sync with --wait; 1 drifted, with --wait;
2 unknown, or no answer within --timeout; 3 bad usage";

/// The objects to poll.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PollSettings {
    #[command(flatten)]
    objects: RequestSettings,
    /// Wait for the requested poll, and print its verdict in one line for each object
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    /// Longest time to wait
    #[arg(long, requires = "wait", default_value = "2m", value_name = "DURATION", value_parser = humantime::parse_duration)]
    timeout: Duration,
    /// With --wait, the namespace of the poller's Lease, which says why no verdict comes
    #[arg(long, requires = "wait", default_value = SHIPPED_NAMESPACE, value_name = "NAMESPACE", value_parser = parse_namespace)]
    targets_namespace: String,
    /// With --wait, the poller's Lease
    #[arg(long, requires = "wait", value_name = "NAME", default_value = POLLER_LEASE, value_parser = parse_lease_name)]
    poller_lease: String,
}

/// A request that was set on an object.
struct Asked<'o> {
    kind: &'o ServedKind,
    object: &'o LeanObject,
    request: PollRequest,
}

/// Requests a poll of each object, and waits for the verdicts with `--wait`.
///
/// # Errors
/// When there is no such kind or object, or the API server does not answer.
pub(crate) fn run(settings: &PollSettings) -> Result<ExitStatus, CommandError> {
    if !settings.wait {
        return super::run(&settings.objects, &ObjectRequest::Poll);
    }
    settings.objects.named()?;
    block_on(async {
        let PollSettings { objects, targets_namespace, poller_lease, .. } = settings;
        let session = Session::at(&objects.cluster, targets_namespace, poller_lease).await?;
        let objects = objects.find(&session.client).await?;
        if objects.is_empty() {
            writeln!(anstream::stderr(), "error: no object is selected, so there is no verdict to wait for")?;
            return Ok(ExitStatus::Unknown);
        }
        let (mut asked, mut statuses) = (Vec::new(), Vec::new());
        for MeantObject { kind, object, .. } in &objects {
            match ask(&session.client, kind, object).await {
                Ok(one) => asked.push(one),
                Err(error) => statuses.push(fail(kind, object, &error)?),
            }
        }
        let now = clock::now();
        let wait = Wait { session: &session, end: now + settings.timeout, doubted_from: now + POLL_TAKES };
        for one in &asked {
            statuses.push(match one.wait(&wait).await {
                Ok(Some((status, verdict))) => {
                    writeln!(anstream::stdout(), "{} {}: {verdict}", one.kind.kind, one.object.id)?;
                    status
                }
                Ok(None) => fail(one.kind, one.object, &format!("{NO_ANSWER}: {SILENCE}"))?,
                Err(error) => fail(one.kind, one.object, &error)?,
            });
        }
        let worst = [ExitStatus::Drifted, ExitStatus::Unknown].into_iter().find(|status| statuses.contains(status));
        Ok(worst.unwrap_or(ExitStatus::Success))
    })
}

fn fail(kind: &ServedKind, object: &LeanObject, error: &str) -> Result<ExitStatus, CommandError> {
    writeln!(anstream::stderr(), "error: {} {}: {error}", kind.kind, object.id)?;
    Ok(ExitStatus::Unknown)
}

async fn ask<'o>(client: &kube::Client, kind: &'o ServedKind, object: &'o LeanObject) -> Result<Asked<'o>, String> {
    let now = clock::wall().to_string();
    let setting = ObjectRequest::Poll.setting(object, &now).map_err(|error| error.to_string())?;
    set(client, (kind, object), &setting).await.map_err(|error| error.to_string())?;
    Ok(Asked { kind, object, request: PollRequest::of(&now) })
}

/// The cause of a verdict that is not written, by the poller's Lease.
fn unwritten(notes: &LeaseNotes, object: &ObjectId) -> Option<String> {
    let is_named = |unwritten: &&Unwritten| unwritten.uids.contains(&object.uid);
    let unwritten = notes.unwritten.values().find(is_named)?;
    Some(format!("{} ({}): see the Events of the object", unwritten.word.sentence(), unwritten.word))
}

/// The wait for all verdicts.
struct Wait<'w> {
    session: &'w Session<'w>,
    end: Moment,
    /// The time from which the poller's Lease may end the wait.
    doubted_from: Moment,
}

impl Wait<'_> {
    async fn unwritten(&self, object: &ObjectId) -> Option<String> {
        unwritten(&self.session.notes().await, object)
    }
}

impl Asked<'_> {
    /// Waits for the verdict, and returns it with its exit status; `None` if none comes in time. A write that the API server
    /// does not take ends the wait.
    async fn wait(&self, wait: &Wait<'_>) -> Result<Option<(ExitStatus, String)>, String> {
        let Wait { session, end, doubted_from } = *wait;
        let kind = resolved(self.kind);
        loop {
            // A call that fails may succeed later: the API server may restart.
            let read = self.read(&session.client, &kind).await;
            if let Ok(seen) = &read
                && let Some(answer) = self.answer(seen)?
            {
                return Ok(Some(answer));
            }
            let now = clock::now();
            if now >= doubted_from.min(end)
                && let Some(cause) = wait.unwritten(&self.object.id).await
            {
                return Err(format!("no answer to the requested poll: {cause}"));
            }
            if now >= end {
                return read.map(|_| None).map_err(|error| format!("{NO_ANSWER}: {error}"));
            }
            sleep(READ_EVERY).await;
        }
    }

    /// Reads the object, and again with the conditions of its report: the target may change their place meanwhile. Empty
    /// if it is gone.
    ///
    /// # Errors
    /// A sentence, if the object, or the report of one without a verdict, cannot be read.
    async fn read(&self, client: &kube::Client, kind: &ResolvedKind) -> Result<Vec<LeanObject>, String> {
        let place = (self.object.id.namespace.as_deref().unwrap_or_default(), &*self.object.id.name);
        let whole = read_object(client, kind, place).await.map_err(|error| error.to_string())?;
        let Some(object) = whole.map(|whole| LeanObject::prune(&whole, &FieldPaths::default())) else {
            return Ok(Vec::new());
        };
        // Another object, and a deletion, end the wait without a verdict.
        let is_waiting = object.id.uid == self.object.id.uid && !object.deleting && self.verdict(&object).is_none();
        let reported = match is_waiting && kind.namespaced {
            true => read_with_report(client, kind, &object).await,
            false => Ok(None),
        };
        match reported {
            Ok(reported) => Ok([object].into_iter().chain(reported).collect()),
            // A user may lack the right on reports that nothing needs.
            Err(_) if object.conditions.observed().is_some() => Ok(vec![object]),
            Err(unread) => Err(unread),
        }
    }

    /// Returns the verdict that answers the request, from the object or its report.
    ///
    /// # Errors
    /// If no answer can follow.
    fn answer(&self, seen: &[LeanObject]) -> Result<Option<(ExitStatus, String)>, String> {
        let Some(object) = seen.first().filter(|object| object.id.uid == self.object.id.uid) else {
            return Err("it was deleted meanwhile".to_owned());
        };
        if object.deleting {
            return Err("it is being deleted, so it is not polled".to_owned());
        }
        Ok(seen.iter().find_map(|object| self.verdict(object)))
    }

    /// Returns the verdict with these conditions, if it answers the request.
    fn verdict(&self, object: &LeanObject) -> Option<(ExitStatus, String)> {
        let condition = object.conditions.observed()?;
        let is_present = object.generation.is_none() || condition.observed_generation == object.generation;
        let polled = condition.message.tag().and_then(|tag| tag.polled);
        // A later request, of another person, is answered by a later poll.
        let is_later = object.poll_requested().is_some() && object.is_poll_answered();
        if !is_present || !(polled.as_ref() == Some(&self.request) || is_later) {
            return None;
        }
        let status = match condition.status {
            ConditionStatus::False => ExitStatus::Success,
            ConditionStatus::True => ExitStatus::Drifted,
            ConditionStatus::Unknown => ExitStatus::Unknown,
        };
        let verdict = format!("{} {}: {}", condition.status.as_str(), condition.reason, condition.message.sentence());
        Some((status, printable(&verdict)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::names::POLL_REQUESTED_ANNOTATION;
    use drift_api::object::report::{SeenReport, report_fields};
    use serde_json::{Value, json};

    fn object(request: &str, status: &str, message: &str) -> Value {
        let reason = match status {
            "False" => "InSync",
            "True" => "FieldsDiffer",
            _ => "PollTimedOut",
        };
        json!({"metadata": {"uid": "u", "name": "web", "generation": 2, "annotations": {POLL_REQUESTED_ANNOTATION: request}},
            "status": {"conditions": [{"type": "driftObserved", "status": status, "reason": reason, "message": message,
                "observedGeneration": 2}]}})
    }

    fn lean(object: &Value) -> LeanObject {
        LeanObject::prune(object, &FieldPaths::default())
    }

    fn answer(object: Option<&Value>) -> Result<Option<(ExitStatus, String)>, String> {
        let asked = lean(&json!({"metadata": {"uid": "u", "name": "web"}}));
        let kind = ServedKind::default();
        let asked = Asked { kind: &kind, object: &asked, request: PollRequest::of("T1") };
        asked.answer(&object.map(lean).into_iter().collect::<Vec<_>>())
    }

    #[test]
    fn only_a_verdict_after_the_request_answers_it() {
        let mut edited = object("T1", "False", "ok [polled T1]");
        edited["metadata"]["generation"] = json!(3);
        let mut removed = object("T1", "False", "ok [polled T1] [correction 1]");
        removed["metadata"]["annotations"] = json!({});
        for (object, expected) in [
            (object("T1", "False", "ok [polled T1]"), Some((ExitStatus::Success, "False InSync: ok"))),
            (
                object("T1", "True", "bad [polled T1] [correction 1]"),
                Some((ExitStatus::Drifted, "True FieldsDiffer: bad")),
            ),
            (object("T1", "Unknown", "late [polled T1]"), Some((ExitStatus::Unknown, "Unknown PollTimedOut: late"))),
            (object("T2", "False", "ok [polled T1]"), Some((ExitStatus::Success, "False InSync: ok"))),
            (object("T2", "False", "ok [polled T2]"), Some((ExitStatus::Success, "False InSync: ok"))),
            (removed, Some((ExitStatus::Success, "False InSync: ok"))),
            (object("T1", "False", "ok [correction 1]"), None),
            (object("T1", "False", "ok [polled T0] [correction 1]"), None),
            (edited, None),
            (json!({"metadata": {"uid": "u"}}), None),
        ] {
            let expected = expected.map(|(status, verdict)| (status, verdict.to_owned()));
            assert_eq!(answer(Some(&object)), Ok(expected), "{object}");
        }
    }

    /// The target changes between `conditions: Object` and `Report` after the request.
    #[test]
    fn the_answer_counts_wherever_it_stands() {
        let asked = lean(&json!({"metadata": {"uid": "u", "name": "web"}}));
        let kind = ServedKind::default();
        let asked = Asked { kind: &kind, object: &asked, request: PollRequest::of("T1") };
        let of_report = |message: &str| {
            let report = json!({"metadata": {"name": "r", "uid": "ru", "resourceVersion": "7"}, "object": {"uid": "u"},
                "status": {"conditions": [{"type": "driftObserved", "status": "False", "reason": "InSync",
                    "message": format!("{message} [polled T1] [desired 2f0effaa9ac007e4, generation 2]")}]}});
            SeenReport::of(LeanObject::prune(&report, &report_fields()))
        };
        let answered = Some((ExitStatus::Success, "False InSync: ok".to_owned()));
        let (old, none) = (object("T1", "True", "bad [polled T0]"), object("T1", "True", "bad"));
        for stale in [&old, &none] {
            let seen = [lean(stale), lean(stale).with_report(of_report("ok"))];
            assert_eq!(asked.answer(&seen), Ok(answered.clone()), "in the report");
        }
        let seen = [lean(&object("T1", "False", "ok [polled T1]")), lean(&old).with_report(SeenReport::absent(None))];
        assert_eq!(asked.answer(&seen), Ok(answered), "on the object");
        assert_eq!(asked.answer(&[lean(&old), lean(&old)]), Ok(None));
    }

    #[test]
    fn a_refused_write_is_named_as_the_cause() {
        use drift_api::unwritten::UnwrittenWord;
        let asked = lean(&json!({"metadata": {"uid": "u", "name": "web"}}));
        let notes = |uid: &str| {
            let unwritten = Unwritten { word: UnwrittenWord::WriteRefused, count: 1, uids: [uid.into()].into() };
            LeaseNotes { unwritten: [("t".to_owned(), unwritten)].into(), ..LeaseNotes::default() }
        };
        let refused = super::unwritten(&notes("u"), &asked.id);
        let expected = "the API server does not take the poller's verdict (WriteRefused): see the Events of the object";
        assert_eq!(refused.as_deref(), Some(expected));
        assert_eq!(super::unwritten(&notes("other"), &asked.id), None);
    }

    #[test]
    fn an_object_that_goes_ends_the_wait() {
        let deleting = json!({"metadata": {"uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        for gone in [None, Some(json!({"metadata": {"uid": "other"}})), Some(deleting)] {
            assert!(answer(gone.as_ref()).is_err(), "{gone:?}");
        }
    }
}
