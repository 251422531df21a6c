//! CustomResourceDefinitions among the files, and whether targets beside them fit.

use std::collections::BTreeSet;

use drift_kube::kinds::{ExaminedKind, WrittenKinds};
use drift_language::manifests_of;
use drift_language::{Destination, Refused, Source as ReadSource, Target};

use crate::check::document::{Document, Severity, Source};
use crate::check::report::{Report, check, check_without};

/// The kinds that are defined beside targets.
pub(crate) fn written_in(sources: &[Source]) -> WrittenKinds {
    let manifests: Vec<_> = sources.iter().flat_map(|source| manifests_of(&source.text)).collect();
    WrittenKinds::read(&manifests)
}

/// Checks documents together with the kinds that are defined beside them.
pub(crate) fn check_with(documents: &[Document], kinds: &WrittenKinds) -> Report {
    let report = check(documents);
    let (mut refused, mut said, mut mistakes) = (Refused::new(), Vec::new(), Vec::new());
    let (mut undefined, mut said_of_manifest) = (BTreeSet::new(), Vec::new());
    for good in &report.targets {
        said_of_manifest.extend(lossy_manifest(kinds, &good.target).map(|lossy| (good.target.document.clone(), lossy)));
        let (name, objects) = (&good.target.document, &good.target.objects);
        let Some(examined) = kinds.examine(&good.target) else {
            if kinds.lacks(objects) {
                let message = format!(
                    "what targets read and write of {} is not checked: no CustomResourceDefinition among the files defines it in {}{}",
                    objects.kind,
                    objects.api_version,
                    kinds.question(objects)
                );
                said.push((name.clone(), (Severity::Warning, message)));
            } else if !is_of_kubernetes(objects.group()) {
                undefined.insert(objects.kind.clone());
            }
            continue;
        };
        if let Some(document) = Document::find(documents, name) {
            mistakes.push((document, examined.type_mistakes(&document.text)));
        }
        let ExaminedKind { problems, doubts, unknown, .. } = examined;
        if !unknown.is_empty() {
            refused.insert(name.clone(), unknown);
        }
        said.extend(problems.into_iter().map(|problem| (name.clone(), (Severity::Error, problem))));
        said.extend(doubts.into_iter().map(|doubt| (name.clone(), (Severity::Warning, doubt))));
    }
    let is_good = |document: &Document| report.targets.iter().any(|good| good.target.document == document.name);
    let unloaded = documents.iter().filter(|document| !is_good(document));
    mistakes.extend(unloaded.map(|document| (document, kinds.type_mistakes(&document.text))));
    let mut report = if refused.is_empty() { report } else { check_without(documents, &refused) };
    report.undefined = undefined;
    for (name, said) in said {
        if let Some(document) = Document::find(documents, &name) {
            report.say_at(document, &["spec", "objects", "kind"], said);
        }
    }
    for (name, lossy) in said_of_manifest {
        if let Some(document) = Document::find(documents, &name) {
            report.say_at(document, &["spec", "read", "kubernetes", "apiVersion"], (Severity::Error, lossy));
        }
    }
    mistakes.into_iter().for_each(|(document, mistakes)| report.say_types(document, mistakes));
    report
}

/// The reason for which the version of a target's manifest may not be written.
fn lossy_manifest(kinds: &WrittenKinds, target: &Target) -> Option<String> {
    let (ReadSource::Kubernetes(read), Some(Destination::Kubernetes(_))) =
        (&target.read.source, &target.correct.destination)
    else {
        return None;
    };
    let lossy = kinds.lossy(&read.kind.api_version, &read.kind.name)?;
    Some(format!("correct.kubernetes: {lossy}"))
}

/// Returns true for a group of Kubernetes, whose kinds no CustomResourceDefinition defines.
fn is_of_kubernetes(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}
