//! `kubectl drift draft`: writes a first target from a CustomResourceDefinition and one answer of the external system.

mod address;
mod advice;
mod comparison;
mod correction;
mod definition;
mod document;
mod fields;
mod matching;
mod place;
mod sample_url;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod text;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use drift_kube::client::KubeconfigSettings;
use drift_language::manifests_of;
use serde_json::Value;

use crate::check::files::read_path;
use crate::cluster::{block_on, connect, get, unanswered};
use crate::ending::{CommandError, ExitStatus};
use crate::kinds::names::ServedKind;
use crate::kinds::served_kinds;
use definition::{Definition, only_kind};
use document::draft;
use matching::described;
use sample_url::parse_address;

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift draft dnsrecord --answer answer.json > target.yaml      with the kind of the cluster
  kubectl drift draft dnsrecord -f crd.yaml --answer answer.json --url https://dns.example/records/A/www.example.org

Exit codes: 0 printed, 2 the cluster does not answer, 3 bad usage";

/// The API path of CustomResourceDefinitions.
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The kind, and a sample of its external system.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DraftSettings {
    /// The kind, as for get: kind, plural, singular or short name, with an optional group
    kind: String,
    /// Files, folders (every .yaml, .yml and .json below), or - for standard input, with the CustomResourceDefinition of the kind
    /// instead of the one in the cluster; may be given several times
    #[arg(long = "filename", short, value_name = "FILE|FOLDER|-")]
    files: Vec<PathBuf>,
    /// A file with the answer of the external system for one resource or a list of them, JSON or YAML, or - for standard input
    #[arg(long, value_name = "FILE|-")]
    answer: PathBuf,
    /// The address of that resource or list, without credentials. Values of fields in it become templates
    #[arg(long)]
    url: Option<String>,
    #[command(flatten)]
    cluster: KubeconfigSettings,
}

/// Prints the draft.
///
/// # Errors
/// If a file cannot be read, the kind is unknown, nothing in the answer fits it, or stdout is closed.
pub(crate) fn run(settings: &DraftSettings) -> Result<ExitStatus, CommandError> {
    let url = settings.url.as_deref().map(parse_address).transpose().map_err(CommandError::BadUsage)?;
    let answer = answer_of(&settings.answer)?;
    let (manifests, place) = if settings.files.is_empty() {
        (block_on(definition_in_cluster(settings))?, "the cluster".to_owned())
    } else {
        let files: Vec<_> = settings.files.iter().map(|file| file.display().to_string()).collect();
        (manifests_in(&settings.files)?, files.join(", "))
    };
    let definition = Definition::find(&manifests, &settings.kind, &place);
    let definition = definition.map_err(|error| CommandError::BadUsage(error.to_string()))?;
    let text = draft(&definition, &answer, url.as_ref()).map_err(CommandError::BadUsage)?;
    anstream::stdout().write_all(text.as_bytes())?;
    Ok(ExitStatus::Success)
}

fn manifests_in(files: &[PathBuf]) -> Result<Vec<Value>, CommandError> {
    let mut manifests = Vec::new();
    for source in files.iter().map(|file| read_path(file)).collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        manifests.extend(manifests_of(&source.text));
    }
    Ok(manifests)
}

/// The definition of the kind in the cluster, if it has one.
async fn definition_in_cluster(settings: &DraftSettings) -> Result<Vec<Value>, CommandError> {
    let client = connect(&settings.cluster).await?;
    let served = served_kinds(&client).await.map_err(|error| unanswered("the kinds of the cluster", &error))?;
    // The group of each CustomResourceDefinition has a dot.
    let served: Vec<_> = served.into_iter().filter(|kind| kind.group.contains('.')).collect();
    let kind = only_kind(&served, &settings.kind).map_err(|error| CommandError::BadUsage(error.to_string()))?;
    let Some(name) = kind.map(ServedKind::plural_with_group) else { return Ok(Vec::new()) };
    let found = get(&client, DEFINITIONS, &name).await;
    let found = found.map_err(|error| unanswered(&format!("CustomResourceDefinition {name}"), &error))?;
    Ok(found.into_iter().collect())
}

/// The body of an answer for one resource, or for a list of them.
fn answer_of(path: &Path) -> Result<Value, CommandError> {
    let bad = |said: &str| CommandError::BadUsage(format!("{}: {said}", path.display()));
    let sources = read_path(path)?;
    let [source] = &*sources else { return Err(bad("name one file with an answer")) };
    let values = serde_json::from_str(&source.text).map_or_else(|_| manifests_of(&source.text), |value| vec![value]);
    match &*values {
        [list @ Value::Array(items)] if items.first().is_some_and(Value::is_object) => Ok(list.clone()),
        [Value::Array(_)] => Err(bad(
            "the answer is a list without the fields of its resources: give the answer for one resource, and its address with --url",
        )),
        [answer @ Value::Object(_)] => Ok(answer.clone()),
        [other] => {
            Err(bad(&format!("the answer is {}: give the answer for one resource, an object", described(other))))
        }
        _ => Err(bad("the answer is neither JSON nor one YAML document: give the body as the server sent it")),
    }
}
