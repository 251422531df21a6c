//! `explain --answer`: the same explanation of an object and answers that stand in files, without a cluster and without the external
//! system.
//!
//! Thin: what the answers mean is decided in the core. It must not know how an explanation is told.

use std::fs;
use std::sync::Arc;

use drift_cluster::process::clock;
use drift_model::condition::{ConditionStatus, Standing};
use drift_model::object::LeanObject;
use drift_outside::{HttpReply, ReplyBody, SentCredentials};
use drift_target::{Source, Target};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::polling::Polled;
use super::{judge, shown};
use crate::commands::check::TriedFiles;
use crate::commands::ending::CommandError;
use crate::core::explanation::{Explanation, Facts, Leases, holds, steps};
use crate::core::rendered::appraise;
use crate::core::reply::{Subject, compare};
use crate::core::trial::try_answers;

/// What holds a correction of what was never asked.
const TRIED: &str = "the answer was tried from a file: nobody was asked, and nobody acts on it";

/// Explains by these answers the object of that kind, namespace (any where none is stated) and name.
///
/// # Errors
/// When the files have no such object or target, an answer cannot be read, or there are too few.
pub(super) fn try_files(
    files: &TriedFiles,
    (kind, namespace, name): (&str, Option<&str>, &str),
    answers: &[String],
) -> Result<Explanation, CommandError> {
    let bad = CommandError::BadUsage;
    let target = target_of(files, kind).map_err(bad)?;
    let manifest = object_of(files, &target, (namespace, name)).map_err(bad)?;
    let object = LeanObject::prune(manifest, &target.all_fields);
    let replies = answers.iter().map(|answer| reply_of(&target, answer)).collect::<Result<Vec<_>, _>>().map_err(bad)?;
    let rendered = appraise(&target, &object);
    let (request, observation) = try_answers(&target, &object, &rendered, &replies).map_err(bad)?;
    let view = object.view.open();
    let subject = Subject::from(&*view);
    let found = compare(&target, subject, observation.clone());
    let standing = object.conditions.observed().and_then(Standing::read);
    let verdict = judge(&object, &rendered, standing.as_ref(), &found.finding);
    let facts = Facts { target: &target, is_deployed: false, object: &object, verdict: &verdict };
    let held = match verdict.status() {
        ConditionStatus::True => vec![TRIED.to_owned()],
        _ => holds(facts, &Leases::default(), clock::wall()),
    };
    let polled = Polled { request, observation, sent: SentCredentials::default() };
    Ok(Explanation::new(facts, shown(&target, &polled, subject), (steps(facts), held)))
}

fn target_of(files: &TriedFiles, kind: &str) -> Result<Arc<Target>, String> {
    let found = files.targets.iter().find(|target| target.objects.kind.eq_ignore_ascii_case(kind)).cloned();
    found.ok_or_else(|| {
        let kinds: Vec<_> = files.targets.iter().map(|target| target.objects.kind.as_str()).collect();
        format!("without a cluster the object is named by its kind as the target has it: {}", kinds.join(", "))
    })
}

fn object_of<'f>(
    files: &'f TriedFiles,
    target: &Target,
    (namespace, name): (Option<&str>, &str),
) -> Result<&'f Value, String> {
    let text = |manifest: &'f Value, pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
    let is_meant = |manifest: &&'f Value| {
        text(manifest, "/kind") == Some(&target.objects.kind)
            && text(manifest, "/apiVersion") == Some(&target.objects.api_version)
            && text(manifest, "/metadata/name") == Some(name)
            && namespace.is_none_or(|namespace| text(manifest, "/metadata/namespace") == Some(namespace))
    };
    let (kind, api_version) = (&target.objects.kind, &target.objects.api_version);
    let manifest = files.manifests.iter().find(is_meant);
    let manifest =
        manifest.ok_or_else(|| format!("no manifest of {kind} {name} ({api_version}) stands in the files of -f"))?;
    let is_selected =
        target.objects.selects(text(manifest, "/metadata/namespace"), manifest.pointer("/metadata/labels"));
    is_selected.then_some(manifest).ok_or_else(|| format!("target {} does not select {kind} {name}", target.name))
}

/// `FILE`, or `STATUS=FILE`.
fn reply_of(target: &Target, answer: &str) -> Result<HttpReply, String> {
    let stated = answer.split_once('=').and_then(|(status, file)| Some((status.parse::<StatusCode>().ok()?, file)));
    let (status, file) = stated.unwrap_or((StatusCode::OK, answer));
    let body = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let body = match &target.read.source {
        Source::Http(read) if body.len() > read.max_bytes => ReplyBody::TooLarge,
        _ => ReplyBody::Whole(body),
    };
    Ok(HttpReply { status, headers: HeaderMap::new(), body })
}
