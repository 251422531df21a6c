//! `kubectl drift explain`: polls one object now and says what follows. Writes nothing.

mod answer_files;
mod answers;
mod deleting;
mod explanation;
mod facts;
mod guards;
mod hold_words;
mod holds;
mod invalid_answer;
mod items;
mod markup;
mod masker;
mod polling;
mod preview;
mod request_body;
mod requests;
mod steps;
mod tried_object;
mod warnings;

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::{ConditionStatus, CurrentVerdict, ObservedReason, Verdict};
use drift_api::names::{CONTROLLER_LEASE, PROJECTED_TOKENS};
use drift_api::object::LeanObject;
use drift_api::printable::printable_json;
use drift_kube::process::clock;
use drift_kube::program::settings::{EgressSettings, parse_lease_name};
use drift_language::{Source, Target, to_yaml};

use crate::check::files::is_standard_input;
use crate::check::{TriedFiles, read_tried};
use crate::cluster::{PlaceSettings, TargetsSettings, block_on};
use crate::ending::{CommandError, ExitStatus};
use crate::kinds::named_objects::one_object;
use crate::targets::known::LiveTargets;
use crate::targets::session::Session;
use crate::targets::{FoundObject, find_object};
use answer_files::try_files;
use answers::answers;
use drift_poller::engine::judgement::comparison::compare;
use drift_poller::engine::judgement::credentials::Credentials;
use drift_poller::engine::judgement::drift::Subject;
use drift_poller::engine::judgement::finding::Finding;
use drift_poller::engine::judgement::observation::Observation;
use drift_poller::engine::judgement::rendered::{Rendered, appraise};
use drift_poller::engine::judgement::total_loss::{all_missing, is_confirmed_loss};
use drift_poller::engine::judgement::verdict::{Basis, Known, reach_verdict};
use drift_poller::engine::judgement::without_effect::note_no_effect;
pub(crate) use facts::Leases;
use facts::as_published;
use holds::holds;
use invalid_answer::describe;
use masker::Masker;
use polling::{Polled, poll};
pub(crate) use polling::{WayOut, WaysOut};
pub(crate) use preview::{Preview, preview};
use requests::asked;

pub use answers::Answer;
pub use explanation::{Explanation, Poll, Shown};
pub use facts::Facts;
pub(crate) use facts::action;
pub use invalid_answer::answer_lines;
pub use masker::{differing, observed};
pub use steps::steps;
use warnings::warnings;

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift explain proxy/web -n team-a
  kubectl drift explain proxy/web -n team-a -f target.yaml      a target that is not deployed yet; nothing is written
  kubectl kustomize overlays/production | kubectl drift explain proxy/web -n team-a -f -
  kubectl drift explain proxy/web -n team-a --show-answer       what the external system answered, too
  kubectl drift explain proxy/web -n team-a --watch             again every 5 s: what changed
  kubectl drift explain proxy/web -f target.yaml -f web.yaml --answer answer.json      neither cluster nor system is asked

Exit codes: 0 in sync, 1 drifted, 2 unknown (also for an object that is being deleted), 3 bad usage";

/// The remedy if there is no cluster.
const WITHOUT_CLUSTER: &str =
    "to try a target without a cluster, name its file and that of the object with -f, and an answer with --answer";

/// Interval of `--watch`: short enough for a person, and little load for the external system.
const WATCH_EVERY: Duration = Duration::from_secs(5);

/// The object, and the target that explains it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "kubectl drift explain [OPTIONS] <KIND/NAME | KIND NAME>")]
pub(crate) struct ExplainSettings {
    /// The object, as KIND/NAME or KIND NAME, with a kind as for get
    #[arg(value_name = "OBJECT", required = true)]
    object: Vec<String>,
    #[command(flatten)]
    place: PlaceSettings,
    #[command(flatten)]
    targets: TargetsSettings,
    /// A file, a folder (every .yaml, .yml and .json below), or - for standard input, with targets to try instead of those of the
    /// cluster; may be given several times
    #[arg(long = "file", short, alias = "filename", value_name = "FILE|FOLDER|-")]
    files: Vec<PathBuf>,
    /// A file with the body of an answer, to try a target without a cluster and without the external system: the object stands in
    /// the files of -f too, and is taken as it is written there: the defaults of its CustomResourceDefinition, which the API server
    /// would fill in, are missing. The status is 200 unless it is written before it (404=none.json); further requests of a
    /// read take further answers
    #[arg(long = "answer", value_name = "[STATUS=]FILE", requires = "files", conflicts_with = "watch")]
    answers: Vec<String>,
    /// Print the answer of the external system too, with secrets masked
    #[arg(long, conflicts_with = "answers")]
    show_answer: bool,
    /// Poll again every 5 s and show what changed
    #[arg(long, short)]
    watch: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value_t)]
    output: ExplainOutput,
    #[command(flatten)]
    polling: PollingSettings,
}

/// The way out of a command that polls, and the Lease that lists what is held.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PollingSettings {
    /// The folder with projected ServiceAccount tokens, such as those of kubectl create token
    #[arg(long, value_name = "DIRECTORY", default_value = PROJECTED_TOKENS)]
    projected_tokens: PathBuf,
    #[command(flatten)]
    egress: EgressSettings,
    /// The controller's Lease
    #[arg(long, value_name = "NAME", default_value = CONTROLLER_LEASE, value_parser = parse_lease_name)]
    pub(crate) controller_lease: String,
}

/// The output format of an explanation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum ExplainOutput {
    /// Paragraphs for people
    #[default]
    Text,
    /// A JSON object
    Json,
    /// The same as YAML
    Yaml,
}

/// Polls and explains the result.
///
/// # Errors
/// If there is no such object or target, or stdout is closed.
pub(crate) fn run(settings: &ExplainSettings) -> Result<ExitStatus, CommandError> {
    let (kind, name) = one_object(&settings.object).map_err(CommandError::BadUsage)?;
    // Before the cluster is asked: what is wrong with a file needs no cluster.
    let mut tried = read_tried(&settings.files)?;
    if !settings.answers.is_empty() {
        let explanation = try_files(&tried, (kind, settings.place.stated(), name), &settings.answers)?;
        print(&explanation, None, settings.output)?;
        return Ok(status_of(&explanation));
    }
    block_on(async {
        let session = Session::open(&settings.targets).await.map_err(with_hint)?;
        let mut before: Option<Explanation> = None;
        loop {
            match Box::pin(explain(&session, settings, (kind, name), &tried.targets)).await {
                // A watch goes on after an error.
                Err(error) if before.is_some() => writeln!(anstream::stderr(), "error: {error}")?,
                explanation => {
                    let explanation = explanation?;
                    print(&explanation, before.as_ref(), settings.output)?;
                    if !settings.watch {
                        return Ok(status_of(&explanation));
                    }
                    before = Some(explanation);
                }
            }
            tokio::time::sleep(WATCH_EVERY).await;
            read_again(&settings.files, &mut tried)?;
        }
    })
}

/// Takes in what was edited meanwhile; standard input is read once, and what is not good any more leaves what was.
fn read_again(files: &[PathBuf], tried: &mut TriedFiles) -> Result<(), CommandError> {
    if files.iter().any(|file| is_standard_input(file)) {
        return Ok(());
    }
    match read_tried(files) {
        Ok(anew) => *tried = anew,
        Err(error) => writeln!(anstream::stderr(), "error: {error}")?,
    }
    Ok(())
}

fn status_of(explanation: &Explanation) -> ExitStatus {
    match explanation.status() {
        ConditionStatus::False => ExitStatus::Success,
        ConditionStatus::True => ExitStatus::Drifted,
        ConditionStatus::Unknown => ExitStatus::Unknown,
    }
}

/// Prints the changes under the time; without an earlier explanation, all of it.
fn print(explanation: &Explanation, before: Option<&Explanation>, output: ExplainOutput) -> Result<(), CommandError> {
    let text = match output {
        _ if before.is_some_and(|before| before == explanation) => return Ok(()),
        ExplainOutput::Text if before.is_some() => format!("--- {}\n{}", clock::wall(), explanation.text(before)),
        ExplainOutput::Text => explanation.text(None),
        ExplainOutput::Json => printable_json(&format!("{:#}\n", explanation.json())),
        ExplainOutput::Yaml => {
            format!("{}{}", if before.is_some() { "---\n" } else { "" }, to_yaml(&explanation.json()))
        }
    };
    Ok(anstream::stdout().write_all(text.as_bytes())?)
}

async fn explain(
    session: &Session<'_>,
    settings: &ExplainSettings,
    (kind, name): (&str, &str),
    tried: &[Arc<Target>],
) -> Result<Explanation, CommandError> {
    let client = &session.client;
    let is_deployed = settings.files.is_empty();
    let live = match is_deployed {
        true => session.live_targets().await?,
        false => LiveTargets::tried(tried.to_vec()),
    };
    let place = (settings.place.namespace(client), name);
    let FoundObject { target, kind, object, report, written } = find_object(client, &live, kind, place).await?;
    let target = match target.into_text() {
        Ok(target) => target,
        Err(doubt) => return Ok(Explanation::unread(doubt, &kind, &object).with_writes(written)),
    };
    if settings.show_answer && !matches!(target.read.source, Source::Http(_)) {
        return Err(CommandError::BadUsage("--show-answer shows answers of read.http alone".to_owned()));
    }
    let way = WayOut::open(session, &settings.polling, &target).await?;
    let Looked { polled, verdict, published } = look(&way, &target, &object).await;
    let moved = object.conditions.moved_secrets();
    let view = object.view.open();
    let credentials = Credentials::of(&target, way.outside.sender.secrets(), polled.sent.clone());
    let subject = Subject { object: &view, moved: &moved, credentials: Some(&credentials) };
    let (leases, warnings) =
        futures::join!(Leases::read(session, &settings.polling.controller_lease), warnings(client, &object.id));
    let facts = Facts { target: &target, is_deployed, object: &published, verdict: &verdict };
    let follows = (steps(facts), holds(facts, &leases, clock::wall()));
    let mut causes = way.outside.troubles.causes(&target.name);
    causes.extend(describe(&target, subject, &polled));
    let poll = Poll { causes, ..shown(&target, &polled, subject) };
    let answers = if settings.show_answer { answers(&target, subject, &polled.exchanges) } else { Vec::new() };
    let doubt = leases.holds(clock::wall()).doubt_of(&target.name, &object).filter(|_| is_deployed);
    let explanation = Explanation::new(facts, poll, follows).with_writes(written).with_report(report);
    Ok(explanation.with_doubt(doubt).with_answers(answers).with_warnings(warnings))
}

/// The result of one poll, judged.
struct Looked {
    polled: Polled,
    verdict: Verdict,
    /// The object with the fields that the poller would publish.
    published: LeanObject,
}

/// Polls an object and judges the result as the poller does.
async fn look(way: &WayOut, target: &Target, object: &LeanObject) -> Looked {
    let rendered = appraise(target, object);
    let polled = Box::pin(poll(way, target, object, &rendered)).await;
    let moved = object.conditions.moved_secrets();
    let view = object.view.open();
    let credentials = Credentials::of(target, way.outside.sender.secrets(), polled.sent.clone());
    let subject = Subject { object: &view, moved: &moved, credentials: Some(&credentials) };
    let found = compare(target, subject, polled.observed.clone());
    let current = object.conditions.observed().and_then(CurrentVerdict::read);
    let verdict = judge(target, (object, &rendered), current.as_ref(), &found.finding);
    let published = as_published(object, found.published.as_ref());
    Looked { polled, verdict, published }
}

/// Adds the way that needs no cluster.
fn with_hint(error: CommandError) -> CommandError {
    match error {
        CommandError::BadUsage(said) => CommandError::BadUsage(format!("{said}; {WITHOUT_CLUSTER}")),
        other => other,
    }
}

fn judge(
    target: &Target,
    (object, rendered): (&LeanObject, &Rendered),
    current: Option<&CurrentVerdict>,
    finding: &Finding,
) -> Verdict {
    let basis = Basis { moved: 0, ..Basis::of(object, rendered.desired_hash) };
    let creates = target.correct.mode.corrects() && target.correct.actions().create;
    // One object cannot tell whether the read lost the others too, so what the poller found about them stands.
    let is_held = current.is_some_and(|current| current.reason == ObservedReason::AllMissing)
        && *finding == Finding::Absent
        && !is_confirmed_loss(object, current, true);
    let held = Finding::Failed(all_missing(None));
    let finding = if is_held { &held } else { finding };
    let basis = Basis { contradicted: basis.contradicted && creates, ..basis };
    let mut verdict = reach_verdict(finding, &basis, current, &Known::default());
    note_no_effect(&mut verdict, finding, (current, &object.conditions), (&mut 0, target.correct.actions().nudge));
    verdict
}

fn shown(target: &Target, polled: &Polled, subject: Subject<'_>) -> Poll {
    // A later request may contain what an answer repeats.
    let masker = Masker::outside().hiding_credentials(subject);
    let asked = asked(target, polled).iter().map(|line| masker.line(line)).collect();
    let observed = match &polled.observed {
        Ok(Observation::Present(value)) => Shown::Present(observed(target, subject, value)),
        Ok(Observation::Absent) => Shown::Absent,
        // Nothing is remembered here that could be known already.
        Ok(Observation::Known(_)) => Shown::Failed("it is as it was the last time".to_owned()),
        Err(failure) => Shown::Failed(failure.text.clone()),
    };
    let differing = match &polled.observed {
        Ok(Observation::Present(value)) => differing(target, subject, value),
        _ => Vec::new(),
    };
    Poll { asked, observed, causes: Vec::new(), differing }
}
