//! `drift-poller explain`: one poll of one object, now and from here, and what follows from it.
//!
//! The poll is the poller's own; nothing is written anywhere. What the answers mean is decided in the core.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use arc_swap::ArcSwap;
use drift_cluster::client::KubeconfigSettings;
use drift_cluster::process::clock;
use drift_cluster::resources::ResourceClient;
use drift_cluster::watch::read_secret;
use drift_model::condition::{Condition, ConditionStatus, ObservedReason, Standing, Verdict};
use drift_model::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_model::names::{CONTROLLER_LEASE, CREDENTIAL_POLLER, POLLER_LEASE, POLLER_MANAGER};
use drift_model::object::LeanObject;
use drift_outside::{Databases, HttpSender};
use drift_target::Target;

use crate::commands::check::read_good_targets;
use crate::commands::cluster::{
    PlaceSettings, TargetsSettings, block_on, connect, find_object, live_targets, read_lease,
};
use crate::commands::ending::{CANNOT_TELL, CommandError, DRIFTED};
use crate::core::description::printable;
use crate::core::explanation::{Facts, Leases, action, differing, holds, masked, request_lines};
use crate::core::finding::{Failure, Finding};
use crate::core::prepared::Prepared;
use crate::core::rendered::{Rendered, appraise, rule_error};
use crate::core::reply::{Observation, Subject, compare};
use crate::core::request::Request;
use crate::core::verdict::{Basis, reach_verdict};
use crate::outside::Outside;
use crate::shared_rate::SharedRate;
use crate::sources::{look_at_all, look_at_one, observe_entry};

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  drift-poller explain proxy/web -n team-a
  drift-poller explain proxy/web -n team-a -f target.yaml      a target that is not deployed yet; nothing is written

Exit codes: 0 in sync, 1 drifted, 2 cannot tell, 3 bad usage";

/// The widest word at the beginning of a paragraph, and what parts it from the text.
const INDENT: usize = 12;

/// Which object, and by which target.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainSettings {
    /// The object; its kind as for get
    #[arg(value_name = "KIND/NAME")]
    object: String,
    #[command(flatten)]
    place: PlaceSettings,
    #[command(flatten)]
    targets: TargetsSettings,
    /// A file with targets to try instead of those of the cluster
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// What one poll came to.
struct Polled {
    /// What was asked first; `None` where nothing had to be.
    request: Option<Request>,
    observation: Observation,
}

/// Polls and says what it means.
///
/// # Errors
/// When there is no such object or target, or nobody takes what is printed.
pub(crate) fn run(settings: &ExplainSettings) -> Result<ExitCode, CommandError> {
    block_on(explain(settings))
}

async fn explain(settings: &ExplainSettings) -> Result<ExitCode, CommandError> {
    let Some((kind, name)) = settings.object.split_once('/') else {
        return Err(CommandError::BadUsage(format!("write KIND/NAME, for example Proxy/{}", settings.object)));
    };
    let TargetsSettings { targets_namespace: home, cluster } = &settings.targets;
    let client = connect(cluster).await?;
    let targets = match &settings.file {
        Some(file) => read_good_targets(file)?,
        None => live_targets(&client, home).await?.0,
    };
    let place = (settings.place.namespace(&client), name);
    let (target, object) = find_object(&client, &targets, kind, place).await?;
    let mut rendered = appraise(&target, &object);
    // Who has the external resource is known to the poller, which knows all objects of all targets.
    let standing = object.conditions.observed().and_then(Standing::read);
    let taken = standing.as_ref().filter(|standing| standing.reason == ObservedReason::IdentityTaken);
    if taken.is_some_and(|standing| standing.is_of(object.generation, rendered.wish)) {
        rendered.bar_as_taken(&target);
    }
    let outside = Box::pin(outside((cluster, &client), home, &target)).await?;
    let polled = Box::pin(poll(&outside, &target, &object, &rendered)).await;
    let moved = object.conditions.moved_secrets();
    let view = object.view.open();
    let subject = Subject { object: &view, moved: &moved };
    let found = compare(&target, subject, polled.observation.clone());
    let verdict = judge(&object, &rendered, standing.as_ref(), &found.finding);
    let is_deployed = settings.file.is_none();
    let leases = Leases {
        poller: read_lease(&client, home, POLLER_LEASE).await,
        controller: read_lease(&client, home, CONTROLLER_LEASE).await,
    };
    let facts = Facts { target: &target, is_deployed, object: &object, verdict: &verdict };
    let mut paragraphs = of_poll(&target, &polled, subject);
    paragraphs.extend(of_verdict(facts, &leases));
    print(&target, &object, &paragraphs)?;
    Ok(match verdict.status() {
        ConditionStatus::False => ExitCode::SUCCESS,
        ConditionStatus::True => ExitCode::from(DRIFTED),
        ConditionStatus::Unknown => ExitCode::from(CANNOT_TELL),
    })
}

/// The way out, with the Secrets that reading needs.
async fn outside(
    (cluster, client): (&KubeconfigSettings, &kube::Client),
    namespace: &str,
    target: &Target,
) -> Result<Outside, CommandError> {
    let mut secrets: Vec<(String, LabelledSecret)> = Vec::new();
    for needed in target.needed_secrets().into_iter().filter(|needed| needed.user == CREDENTIAL_POLLER) {
        match read_secret(client, namespace, &needed.name).await {
            Ok(Some((label, secret))) if label.as_deref() == Some(CREDENTIAL_POLLER) => {
                secrets.push((needed.name, secret))
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("Secret {} cannot be read: {error}", needed.name),
        }
    }
    let secrets: Arc<ArcSwap<LabelledSecrets>> = Arc::new(ArcSwap::from_pointee(secrets.into_iter().collect()));
    let resources = cluster.configuration().await.and_then(ResourceClient::of);
    Ok(Outside {
        sender: HttpSender::new(secrets.clone(), POLLER_MANAGER),
        databases: Databases::new(secrets, POLLER_MANAGER),
        resources: resources.map_err(|error| CommandError::BadUsage(error.to_string()))?,
        gate: Arc::default(),
        troubles: Arc::default(),
    })
}

/// One poll, as the poller makes it.
async fn poll(outside: &Outside, target: &Target, object: &LeanObject, rendered: &Rendered) -> Polled {
    let unasked = |observation| Polled { request: None, observation };
    if let Some(barred) = &rendered.barred {
        return unasked(Observation::Failed(barred.clone()));
    }
    let prepared = Prepared::of(target, &object.view);
    let request = match prepared.first() {
        Ok(request) => request.clone(),
        Err(found) => {
            return unasked(match &found.finding {
                Finding::Failed(failure) => Observation::Failed(failure.clone()),
                _ => Observation::Absent,
            });
        }
    };
    let observed = observe(outside, target, object, (rendered, &prepared, &request)).await;
    Polled { request: Some(request), observation: observed.unwrap_or_else(Observation::Failed) }
}

async fn observe(
    outside: &Outside,
    target: &Target,
    object: &LeanObject,
    (rendered, prepared, request): (&Rendered, &Prepared, &Request),
) -> Result<Observation, Failure> {
    let (uid, view) = (&object.id.uid, &object.view.open());
    let Some(keys) = target.read.keys() else {
        let look = look_at_one(outside, target, (uid, prepared, view), (None, None)).await;
        return look.found.map_err(|postponed| postponed.cause)?.0;
    };
    let identity = rendered.identity.as_deref().unwrap_or_default();
    let key = keys.of_object(view, identity).map_err(|error| rule_error(&error))?;
    let rate = SharedRate::per_second(target.read.limits.per_second);
    let wanted = (vec![uid.clone()], HashSet::from([key.clone()]));
    let look = look_at_all(outside, target, wanted, (request.clone(), &rate)).await;
    let entries = look.found.map_err(|postponed| postponed.cause)?.0?;
    Ok(entries.observe(&key, |entry| observe_entry(target, view, entry)))
}

fn judge(object: &LeanObject, rendered: &Rendered, standing: Option<&Standing>, finding: &Finding) -> Verdict {
    let correction = object.conditions.correction();
    let basis = Basis { generation: object.generation, wish: rendered.wish, correction, moved: 0 };
    reach_verdict(finding, &basis, standing, false)
}

/// What begins each paragraph, and its lines.
type Paragraph = (&'static str, Vec<String>);

fn of_poll(target: &Target, polled: &Polled, subject: Subject<'_>) -> Vec<Paragraph> {
    let asked = polled.request.as_ref().map(|request| request_lines(target, request));
    let asked = asked.unwrap_or_else(|| vec!["nothing: that is not needed".to_owned()]);
    let observed = match &polled.observation {
        Observation::Present(value) => {
            format!("{:#}", masked(value, Some(target.compare.rules.root()))).lines().map(str::to_owned).collect()
        }
        Observation::Absent => vec!["the external resource is not there".to_owned()],
        // Nothing is remembered here that could be known already.
        Observation::AsBefore | Observation::Known(_) => vec!["as it was the last time".to_owned()],
        Observation::Failed(failure) => vec![format!("nothing that can be told: {}", failure.text)],
    };
    let mut paragraphs = vec![("asked", asked), ("observed", observed)];
    if let Observation::Present(value) = &polled.observation {
        let differing = differing(target, subject, value);
        if !differing.is_empty() {
            paragraphs.push(("differs", differing));
        }
    }
    paragraphs
}

fn of_verdict(facts: Facts<'_>, leases: &Leases) -> Vec<Paragraph> {
    let now = clock::wall();
    let condition = |condition: &Condition| {
        let Condition { kind, status, reason, message, .. } = condition;
        format!("{kind} {}/{reason}: {}", status.as_str(), printable(message))
    };
    let conditions = &facts.object.conditions;
    let stands: Vec<String> = conditions
        .observed()
        .into_iter()
        .chain(conditions.corrected())
        .map(|stands| format!("{} (since {})", condition(stands), stands.last_transition_time))
        .collect();
    let stands = if stands.is_empty() { vec!["nothing yet".to_owned()] } else { stands };
    let verdict = condition(&facts.verdict.to_condition(None, &now.to_string()));
    let held = holds(facts, leases, now);
    let follows = match held.is_empty() {
        true => (
            "follows",
            vec![
                format!("a correction ({}), as far as this can be seen from here", action(facts)),
                "its delay, limits and breaker are the controller's: /objects of its admin port has them".to_owned(),
            ],
        ),
        false => ("held", held),
    };
    vec![("verdict", vec![verdict]), ("stands", stands), follows]
}

fn print(target: &Target, object: &LeanObject, paragraphs: &[Paragraph]) -> Result<(), CommandError> {
    let place = format!("{}/{}", target.document.config_map, target.document.key);
    let mut text = format!("{} {} by target {} ({place})\n", target.objects.kind, object.id, target.name);
    for (head, lines) in paragraphs {
        for (number, line) in lines.iter().enumerate() {
            let head = if number == 0 { head } else { "" };
            text.push_str(&format!("{head:<INDENT$}{line}\n"));
        }
    }
    Ok(anstream::stdout().write_all(text.as_bytes())?)
}
