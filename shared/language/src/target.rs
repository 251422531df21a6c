//! A poll target, checked and compiled, and its results for one object.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::cel::{EvaluationError, Expression, Expressions as _, Node, Scope, TextTemplate, Variables};
use crate::compare::{Compare, WriteOnly, WrittenCompare};
use crate::correct::Correct;
use crate::hints::{HintSource, WrittenHints};
use crate::network::Network;
use crate::read::Read;
use crate::scope::{IdentityScope, parse_scope, scope_of_read};
use crate::secrets::{DeclaredSecret, declared_secrets};
use crate::section::{Section, duration, literal, map, section, text};
use crate::spec::destinations::allow_networks;
use crate::spec::naming::{Declared, not_identifying, read_identity};
use crate::spec::object_may::{ObjectMay, object_may};
use crate::spec::objects::ObjectSelection;
use crate::spec::polling::{Confirm, DEFAULT_INTERVAL, DEFAULT_TIMEOUT, INTERVAL, TIMEOUT, check_timeout};
use crate::spec::requirements::{Requirement, requirements};
use crate::spec::status_fields::{StatusTemplates, status_templates};
use crate::systems::Source;
use crate::systems::by_namespace::CredentialList;
use crate::systems::kubernetes::read::KubernetesRead;
use crate::yaml::problem::DocumentName;
use crate::yaml::{Fields, Reader, expression};
use drift_api::condition::{DesiredHash, DifferingFields};
use drift_api::identity::ScopeId;
use drift_api::names::OBSERVED_GENERATION;
use drift_api::object::field_paths::FieldPaths;
use drift_api::secrets::labelled_secrets::CredentialError;

/// Maximum characters of an identity: enough for the longest names of external systems, and short enough for a message.
const MAX_IDENTITY_CHARS: usize = 253;

/// Fields with the same value for all objects of a target.
const SHARED_FIELDS: [&str; 2] = ["apiVersion", "kind"];

/// The sections of a target that are checked against each other. Others may be invalid.
pub(crate) struct Parts<'t> {
    pub(crate) objects: Option<&'t ObjectSelection>,
    pub(crate) insecure: bool,
    pub(crate) secrets: &'t [DeclaredSecret],
    pub(crate) read: &'t Read,
    pub(crate) compare: &'t Compare,
    pub(crate) publish: &'t StatusTemplates,
    pub(crate) ready: bool,
    pub(crate) hints: &'t [HintSource],
    pub(crate) correct: &'t Correct,
}

/// Records the mistakes across sections.
pub(crate) type CheckParts = fn(&mut Reader<'_>, &Fields<'_>, &Parts<'_>);

/// One poll target, checked and compiled. Its keys are those of `spec`.
#[derive(Debug, Section)]
#[section(
    context = CheckParts,
    first = Declared,
    rules = |reader: &mut Reader<'_>, fields: &Fields<'_>, check: CheckParts| {
        if let (Some(secrets), Some(read), Some(compare), Some(publish), Some(correct)) =
            (&key_secrets, &key_read, &key_compare, &key_publish, &key_correct)
        {
            let hints = key_hints.as_deref().unwrap_or_default();
            let (objects, insecure) = (key_objects.as_ref(), key_insecure.unwrap_or_default());
            let ready = key_ready.unwrap_or_default();
            check(reader, fields, &Parts { objects, insecure, secrets, read, compare, publish, ready, hints, correct });
        }
        check_timeout(reader, fields, key_interval, key_timeout)
    }
)]
pub struct Target {
    /// `metadata.name`, unique over all documents.
    #[key(skip)]
    pub name: String,
    /// The document that it was read from.
    #[key(skip)]
    pub document: DocumentName,
    /// The Kubernetes objects.
    pub objects: ObjectSelection,
    /// Annotations of objects that the target permits: ignore, interval.
    #[key(object_may(), default)]
    pub object_may: ObjectMay,
    /// NAME: {secretRef: {name, key}} or NAME: {fromObject, key}. 1 to 16.
    #[key(declared_secrets(), default)]
    pub secrets: Vec<DeclaredSecret>,
    /// The name of the external resource: ${self.metadata.name}.
    // Use [`Target::identity_of`].
    #[key(text(read_identity))]
    pub identity: TextTemplate,
    /// Fields in an address that do not choose the resource: spec.format. At most 20.
    #[key(not_identifying(), default)]
    pub not_identifying: FieldPaths,
    /// Conditions that an object must meet. At most 50.
    // Use [`Target::unmet_requirement`].
    #[key(requirements(), default)]
    pub require: Vec<Requirement>,
    /// Time between two polls of an object. 1s to 24h, default 5m.
    #[key(duration(INTERVAL), default = DEFAULT_INTERVAL)]
    pub interval: Duration,
    /// Deadline of one poll. 100ms to 5m, at most interval, default 10s.
    #[key(duration(TIMEOUT), default = DEFAULT_TIMEOUT.min(key_interval.unwrap_or(DEFAULT_INTERVAL)))]
    pub timeout: Duration,
    /// Stops polls and corrections. Default: false.
    #[key(default)]
    pub suspend: bool,
    /// One ${…} over self that suspends single objects.
    // Use [`Target::is_suspended_for`].
    #[key(text(expression(Scope::Object)))]
    pub suspend_when: Option<Expression>,
    /// Polls in a row that confirm a finding.
    #[key(default)]
    pub confirm: Confirm,
    /// Allows credentials over plain http. Default: false.
    #[key(default)]
    pub insecure: bool,
    /// Networks that the dial guard permits: 10.0.0.0/8. 1 to 100.
    #[key(allow_networks(), default)]
    pub allow_networks: Vec<Network>,
    /// The read: exactly one of http, postgres, mysql, ldap and kubernetes.
    pub read: Read,
    /// The external system, by a name of your own. Default: the request of the read.
    #[key(literal(parse_scope), default = scope_of_read(key_read.as_ref(), fields.node()))]
    pub scope: IdentityScope,
    /// The comparison.
    #[key(section::<WrittenCompare>(()))]
    pub compare: Compare,
    /// Fields of the object's .status over observed. 1 to 16.
    #[key(map(status_templates(Scope::Publication)), default)]
    pub publish: StatusTemplates,
    /// Keeps the conditions Ready, Reconciling and Stalled. Default: false.
    #[key(default)]
    pub ready: bool,
    /// Signals from outside that cause a poll.
    #[key(section::<WrittenHints>(()), default)]
    pub hints: Vec<HintSource>,
    /// The correction: at most one of http, postgres, mysql, ldap, kubernetes, job and nudge.
    #[key(default)]
    pub correct: Correct,
    /// Every field of `self` that the poller needs: those that its templates read (identity, require, suspendWhen,
    /// read, compare, publish), and those that it publishes.
    #[key(skip)]
    pub poll_fields: FieldPaths,
    /// The fields that any template reads, including those of `correct`.
    #[key(skip)]
    pub all_fields: FieldPaths,
    /// Hash of everything that a verdict depends on: objects, identity, scope, base, let, require, suspendWhen, read,
    /// compare, confirm, and the additional checks that `correct` requires. 16 hex digits.
    #[key(skip)]
    pub verdict_hash: String,
    /// Hash of the whole document. Any edit changes it. 16 hex digits.
    #[key(skip)]
    pub document_hash: String,
    /// Hash of everything that decides what a poll asks, of whom, and with which credential. 32 hex digits.
    #[key(skip)]
    pub asking_hash: String,
    /// Hash of the inputs of the requests of `correct`.
    #[key(skip)]
    pub correct_hash: u64,
}

/// The desired state of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredState {
    /// The rendered `desired` without ignored paths.
    pub value: Value,
    /// Its fingerprint, without redacted paths.
    pub hash: DesiredHash,
}

impl Target {
    /// Returns true if no object of this target can have the identity of one of the other: their literal ends differ.
    #[must_use]
    pub fn never_shares_identity(&self, other: &Self) -> bool {
        let ((start, end), (other_start, other_end)) = (self.identity.literal_ends(), other.identity.literal_ends());
        let is_start = start.starts_with(other_start) || other_start.starts_with(start);
        let is_end = end.ends_with(other_end) || other_end.ends_with(end);
        !is_start || !is_end
    }

    /// Returns true if its conditions may be kept in reports: a lost one must protect nothing, and no other field of the
    /// status is written.
    #[must_use]
    pub fn may_keep_reports(&self) -> bool {
        self.owns_nothing() && !self.ready && self.publish.is_empty()
    }

    /// Returns true if it only observes its objects, or wakes their operator. So no record of a correction is needed.
    #[must_use]
    pub fn owns_nothing(&self) -> bool {
        !(self.correct.mode.corrects() && self.correct.writes_outside())
    }

    /// Returns true if the identity contains a field in which objects can differ.
    #[must_use]
    pub fn has_own_identities(&self) -> bool {
        let is_shared = |path: &[String]| path.first().is_some_and(|first| SHARED_FIELDS.contains(&first.as_str()));
        !self.identity.fields().iter().all(is_shared)
    }
}

impl Target {
    /// Returns the scope of an object's identity. With a list of credentials, each names an account, and so has a scope
    /// of its own.
    ///
    /// # Errors
    /// Fails if the read lists no credential for the object's namespace.
    pub fn scope_of(&self, namespace: Option<&str>) -> Result<ScopeId, CredentialError> {
        match self.read_credentials() {
            Some(list) => list.account(namespace).map(|account| self.scope.of_account(account)),
            None => Ok(self.scope.id),
        }
    }

    /// The scopes of all its objects.
    #[must_use]
    pub fn scopes(&self) -> BTreeSet<ScopeId> {
        match self.read_credentials() {
            Some(list) => list.accounts().iter().map(|account| self.scope.of_account(account)).collect(),
            None => BTreeSet::from([self.scope.id]),
        }
    }

    /// Returns the account that reads an object of this namespace. Empty if one reads all objects, or none reads it.
    #[must_use]
    pub fn account_of(&self, namespace: Option<&str>) -> &str {
        self.read_credentials().and_then(|list| list.account(namespace).ok()).unwrap_or_default()
    }

    /// Returns true if the scope of an object depends on its credential.
    #[must_use]
    pub fn has_accounts(&self) -> bool {
        self.read_credentials().is_some()
    }

    /// The list of credentials of its read.
    fn read_credentials(&self) -> Option<&CredentialList> {
        self.read.source.section().credential_list()
    }
}

impl Target {
    /// Returns the read whose watch gives hints, if `hints.watch` is set.
    #[must_use]
    pub fn watched_read(&self) -> Option<&KubernetesRead> {
        let is_watched = self.hints.iter().any(|hint| matches!(hint, HintSource::Watch));
        match &self.read.source {
            Source::Kubernetes(read) if is_watched => Some(read),
            _ => None,
        }
    }

    /// The keys of a literal `desired` that a literal `observed` lacks, each with its consequence.
    #[must_use]
    pub fn unobserved(&self) -> Vec<(String, String)> {
        self.compare.unobserved(self.read.source.section().observed())
    }

    /// The keys of a literal `desired` that no update writes: if only such a key differs, every `when` is false.
    ///
    /// A key by which the resource is looked up never differs alone: another value of it finds another
    /// resource, or none.
    #[must_use]
    pub fn left_by_updates(&self) -> Vec<String> {
        // If a verdict cannot name the key, it reports that all keys differ.
        let is_named = |key: &str| DifferingFields::named([key]).names().is_some();
        let selecting = self.selecting_fields();
        let is_settled = |key: &str| self.is_settled(key, &selecting);
        let keys = self.compare.updated_keys().into_iter();
        keys.filter(|key| {
            is_named(key) && self.correct.section().is_some_and(|section| section.leaves(key)) && !is_settled(key)
        })
        .collect()
    }

    /// Returns true if every key of a literal `desired` is one by which the resource is looked up, or a constant of the
    /// read, so that there is nothing to update.
    #[must_use]
    pub fn settles_all(&self) -> bool {
        let selecting = self.selecting_fields();
        let keys = self.compare.updated_keys();
        !keys.is_empty() && keys.iter().all(|key| self.is_settled(key, &selecting))
    }

    /// The fields of an object by which its resource is looked up.
    fn selecting_fields(&self) -> FieldPaths {
        let mut selecting = self.identity.fields();
        selecting.extend(&self.read.source.section().fields());
        selecting
    }

    fn is_settled(&self, key: &str, selecting: &FieldPaths) -> bool {
        self.compare.is_settled(key, selecting, self.read.source.section().observed())
    }

    /// The keys of a literal `desired` that no request of an update carries: neither they nor the fields that they
    /// are made of.
    #[must_use]
    pub fn lacking_in_updates(&self) -> Vec<String> {
        let left = self.left_by_updates();
        let selecting = self.selecting_fields();
        let is_lacking = |key: &String| {
            let fields = self.compare.desired.root().field(key).map(Node::fields).unwrap_or_default();
            let is_of_object = fields.iter().next().is_some();
            is_of_object
                && !self.is_settled(key, &selecting)
                && self.correct.section().is_some_and(|section| section.lacks(key, &fields))
        };
        self.compare.updated_keys().into_iter().filter(|key| !left.contains(key) && is_lacking(key)).collect()
    }

    /// Renders the desired state of the object.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn desired_state_of(&self, object: &Value) -> Result<DesiredState, EvaluationError> {
        let desired = self.desired_of(object)?;
        let shown = self.compare.without_redacted(&desired);
        Ok(DesiredState { hash: self.fingerprint(object, shown.as_ref().unwrap_or(&desired)), value: desired })
    }

    /// Renders `desired` without what the target and the object ignore, if its fingerprint is already known.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn desired_of(&self, object: &Value) -> Result<Value, EvaluationError> {
        let mut desired = self.compare.render(object)?;
        let is_declared = |key: &str| self.compare.desired.root().field(key).is_some();
        self.object_may.apply(object, &mut desired, is_declared)?;
        Ok(desired)
    }

    /// A verdict is about one resource. If an object names another resource, it has another desired state, even with an
    /// equal `desired`. (An identity can depend on a label, which does not change the generation.)
    fn fingerprint(&self, object: &Value, shown: &Value) -> DesiredHash {
        DesiredHash::of(&serde_json::json!([self.identity_of(object).ok(), shown]))
    }

    /// The status fields that are written besides the conditions, each with the target key that writes it.
    pub fn written_status(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let published = self.publish.names().map(|name| ("publish", name));
        let ready = self.ready.then_some(("ready", OBSERVED_GENERATION));
        published.chain(ready).chain(self.correct.stored().map(|name| ("store", name)))
    }

    /// Returns true if a correction reads which fields differ. Only then does a verdict name them.
    #[must_use]
    pub fn uses_differs(&self) -> bool {
        self.correct.reads_differs()
    }

    /// Returns `differs` as steps see it: the differing keys of the desired state. If any key may differ, it includes
    /// those that cannot be read back.
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

    /// Returns true if a difference can lead to a deletion and a creation. Only then does a verdict
    /// request a replacement.
    #[must_use]
    pub fn replaces(&self) -> bool {
        self.correct.actions().replace && self.compare.rules.replace()
    }

    /// Returns true if every difference leads to a replacement, so that there is nothing to update.
    #[must_use]
    pub fn replaces_all(&self) -> bool {
        self.correct.actions().replace && self.compare.replaces_all()
    }

    /// Renders the name of the external resource: 1 to 253 characters, no control characters.
    ///
    /// # Errors
    /// Fails if the template cannot be evaluated or yields no such text.
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

    /// Returns the `else` of the first requirement that is not met.
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

    /// Returns true if `suspend` or `suspendWhen` excludes this object from polling.
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
