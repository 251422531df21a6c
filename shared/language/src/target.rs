//! A poll target, checked and compiled, and what it says of one object.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::cel::{EvaluationError, Expression, Node, TextTemplate, Variables};
use crate::compare::{Compare, WriteOnly};
use crate::correct::Correct;
use crate::hints::HintSource;
use crate::network::Network;
use crate::read::Read;
use crate::scope::IdentityScope;
use crate::secrets::DeclaredSecret;
use crate::spec::objects::ObjectSelection;
use crate::spec::polling::Confirm;
use crate::spec::requirements::Requirement;
use crate::spec::status_fields::StatusTemplates;
use crate::systems::Source;
use crate::systems::kubernetes::read::KubernetesRead;
use crate::yaml::problem::DocumentName;
use drift_api::condition::{DesiredHash, DifferingFields};
use drift_api::object::field_paths::FieldPaths;

/// Characters of an identity: what the longest names of external systems need, and what fits a message.
const MAX_IDENTITY_CHARS: usize = 253;

/// Fields that are the same for all objects of a target.
const SHARED_FIELDS: [&str; 2] = ["apiVersion", "kind"];

/// One poll target, checked and compiled.
#[derive(Debug)]
pub struct Target {
    /// `metadata.name`, unique over all documents.
    pub name: String,
    /// Where it was read.
    pub document: DocumentName,
    /// Which objects.
    pub objects: ObjectSelection,
    /// Names the external resource; use [`Target::identity_of`].
    pub identity: TextTemplate,
    /// Fields that stand in an address beside those of the identity, and do not choose the resource.
    pub not_identifying: FieldPaths,
    /// Within what the identity is unique, over all targets.
    pub scope: IdentityScope,
    /// What must hold before any read or write; use [`Target::unmet_requirement`].
    pub require: Vec<Requirement>,
    /// Time between polls of one object.
    pub interval: Duration,
    /// Deadline of one poll.
    pub timeout: Duration,
    /// True if the whole target is suspended.
    pub suspend: bool,
    /// Whether it is suspended for one object; use [`Target::is_suspended_for`].
    pub suspend_when: Option<Expression>,
    /// How many polls in a row confirm a change of verdict.
    pub confirm: Confirm,
    /// True if credentials and secrets may go where others can read them.
    pub insecure: bool,
    /// Networks that requests may go to though a guard would refuse them.
    pub allow_networks: Vec<Network>,
    /// What its corrections send of Secrets.
    pub secrets: Vec<DeclaredSecret>,
    /// How the real state is read.
    pub read: Read,
    /// What it is compared with.
    pub compare: Compare,
    /// The fields of the status that a poll writes with its condition.
    pub publish: StatusTemplates,
    /// How the poller hears of changes outside.
    pub hints: Vec<HintSource>,
    /// What the controller does.
    pub correct: Correct,
    /// Every field of `self` that the poller needs: what its templates read (identity, require, suspendWhen, read, compare,
    /// publish), and what it publishes.
    pub poll_fields: FieldPaths,
    /// What any template reads, those of `correct` too.
    pub all_fields: FieldPaths,
    /// Hash of objects, identity, scope, base, let, require, suspendWhen, read, compare and confirm, and of whether `correct` wants
    /// more said or longer confirmed: what a verdict depends on. 16 hex digits.
    pub verdict_hash: String,
    /// Hash of the whole document: any edit changes it. 16 hex digits.
    pub document_hash: String,
    /// Hash of what the requests of `correct` are made of.
    pub correct_hash: u64,
}

/// What an object asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredState {
    /// The rendered `desired` without ignored paths.
    pub value: Value,
    /// Its fingerprint without redacted paths.
    pub hash: DesiredHash,
}

impl Target {
    /// Returns true if a field stands in the identity in which objects may differ.
    #[must_use]
    pub fn has_own_identities(&self) -> bool {
        let is_shared = |path: &[String]| path.first().is_some_and(|first| SHARED_FIELDS.contains(&first.as_str()));
        !self.identity.fields().iter().all(is_shared)
    }
}

impl Target {
    /// The read of which changes are hints, where `hints.watch` asks for that.
    #[must_use]
    pub fn watched_read(&self) -> Option<&KubernetesRead> {
        let is_watched = self.hints.iter().any(|hint| matches!(hint, HintSource::Watch));
        match &self.read.source {
            Source::Kubernetes(read) if is_watched => Some(read),
            _ => None,
        }
    }

    /// The keys of a written-out `desired` that a written-out `observed` lacks, each with what that means.
    #[must_use]
    pub fn unobserved(&self) -> Vec<(String, String)> {
        self.compare.unobserved(self.read.source.section().observed())
    }

    /// The keys of a written-out `desired` for which an update has no write: where one of them differs alone, every `when` is false.
    ///
    /// A key by which the resource is found does not differ alone: another value of it finds another resource, or none.
    #[must_use]
    pub fn left_by_updates(&self) -> Vec<String> {
        // Of a key that no verdict can name all keys are said to differ.
        let is_named = |key: &str| DifferingFields::named([key]).names().is_some();
        let mut selecting = self.identity.fields();
        selecting.extend(&self.read.source.section().fields());
        let is_settled = |key: &str| self.compare.is_settled(key, &selecting, self.read.source.section().observed());
        let keys = self.compare.updated_keys().into_iter();
        keys.filter(|key| {
            is_named(key) && self.correct.section().is_some_and(|section| section.leaves(key)) && !is_settled(key)
        })
        .collect()
    }

    /// The keys of a written-out `desired` that no request of an update carries: neither they nor the fields that they are made of.
    #[must_use]
    pub fn lacking_in_updates(&self) -> Vec<String> {
        let left = self.left_by_updates();
        let mut selecting = self.identity.fields();
        selecting.extend(&self.read.source.section().fields());
        let is_lacking = |key: &String| {
            let fields = self.compare.desired.root().field(key).map(Node::fields).unwrap_or_default();
            let is_of_object = fields.iter().next().is_some();
            is_of_object
                && !self.compare.is_settled(key, &selecting, self.read.source.section().observed())
                && self.correct.section().is_some_and(|section| section.lacks(key, &fields))
        };
        self.compare.updated_keys().into_iter().filter(|key| !left.contains(key) && is_lacking(key)).collect()
    }

    /// Renders what the object asks for.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn desired_state_of(&self, object: &Value) -> Result<DesiredState, EvaluationError> {
        let desired = self.desired_of(object)?;
        let shown = self.compare.without_redacted(&desired);
        Ok(DesiredState { hash: self.fingerprint(object, shown.as_ref().unwrap_or(&desired)), value: desired })
    }

    /// The rendered `desired` without ignored paths, for whoever knows its fingerprint already.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn desired_of(&self, object: &Value) -> Result<Value, EvaluationError> {
        self.compare.render(object)
    }

    /// A verdict speaks of one resource: an object that names another now asks for something else, though all of
    /// `desired` be the same. (An identity can hang on a label, which no generation counts.)
    fn fingerprint(&self, object: &Value, shown: &Value) -> DesiredHash {
        DesiredHash::of(&serde_json::json!([self.identity_of(object).ok(), shown]))
    }

    /// The fields of the status that are written beside the conditions, each with the key that says so.
    pub fn written_status(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.publish.names().map(|name| ("publish", name)).chain(self.correct.stored().map(|name| ("store", name)))
    }

    /// Returns true if a correction depends on which fields differ: only then a verdict names them.
    #[must_use]
    pub fn uses_differs(&self) -> bool {
        self.correct.reads_differs()
    }

    /// `differs` as steps see it: which keys of the desired state differ, in a map of which these are told; where every one may, those that
    /// cannot be read back are among them.
    #[must_use]
    pub fn differing_keys(&self, fields: &DifferingFields, desired: &Map<String, Value>) -> Value {
        match fields.names() {
            Some(names) => names.collect(),
            None => {
                let write_only = self.compare.write_only.iter().map(WriteOnly::field);
                desired.keys().map(String::as_str).chain(write_only).collect::<BTreeSet<_>>().into_iter().collect()
            }
        }
    }

    /// Returns true if a difference can lead to a deletion and a creation: only then a verdict says that it asks for them.
    #[must_use]
    pub fn replaces(&self) -> bool {
        self.correct.actions().replace && self.compare.rules.replace()
    }

    /// Returns true if every difference leads to a replacement, so that there is nothing to update.
    #[must_use]
    pub fn replaces_all(&self) -> bool {
        self.correct.actions().replace && self.compare.replaces_all()
    }

    /// The name of the external resource: 1 to 253 characters, no control characters.
    ///
    /// # Errors
    /// Fails if the template cannot be evaluated or gives no such text.
    pub fn identity_of(&self, object: &Value) -> Result<String, EvaluationError> {
        let identity = self.identity.render(&Variables::of_object(object))?;
        let refusal = match identity.chars().count() {
            0 => Some("the identity is empty".to_owned()),
            length if length > MAX_IDENTITY_CHARS => {
                Some(format!("the identity is longer than {MAX_IDENTITY_CHARS} characters"))
            }
            _ if identity.chars().any(char::is_control) => Some("the identity holds a control character".to_owned()),
            _ => None,
        };
        refusal.map_or(Ok(identity), |cause| Err(self.identity.site().error(cause)))
    }

    /// The `else` of the first requirement that does not hold.
    ///
    /// # Errors
    /// Fails if a requirement cannot be evaluated.
    pub fn unmet_requirement(&self, object: &Value) -> Result<Option<&str>, EvaluationError> {
        let cost = Arc::default();
        for requirement in &self.require {
            if !requirement.that.evaluate_bool_within(&Variables::of_object(object), &cost)? {
                return Ok(Some(&requirement.otherwise));
            }
        }
        Ok(None)
    }

    /// Whether `suspend` or `suspendWhen` says that this object is not polled.
    ///
    /// # Errors
    /// Fails if `suspendWhen` cannot be evaluated.
    pub fn is_suspended_for(&self, object: &Value) -> Result<bool, EvaluationError> {
        match &self.suspend_when {
            Some(rule) if !self.suspend => rule.evaluate_bool(&Variables::of_object(object)),
            _ => Ok(self.suspend),
        }
    }
}
