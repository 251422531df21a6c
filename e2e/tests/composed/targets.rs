//! The target documents of the histories, each parsed once.
//!
//! Two targets share one kind and one external system. This allows all interactions: an object that both select, and
//! two objects of two targets with one external resource.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::ClaimedName;
use drift_api::identity::{ResourceName, ScopeId};
use drift_api::names::GIVE_UP_ANNOTATION;
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets, SecretVersion};
use drift_language::parse_document;
use drift_language::{ConditionsPlace, DocumentName, Target};
use serde_json::Value;

use crate::jobs::TTL;
use crate::known::PLAIN;

/// The variable parts of a target's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text {
    pub(crate) correct: bool,
    pub(crate) adopt: bool,
    pub(crate) deletes: bool,
    pub(crate) suspended: bool,
    /// Deletes and makes anew what has another zone. Jobs cannot.
    pub(crate) replaces: bool,
    /// Reads and corrects in the other external system, whose resources have the same names.
    pub(crate) elsewhere: bool,
    /// Each correction waits for the approval of a person.
    pub(crate) approves: bool,
    /// Corrects and deletes in windows only.
    pub(crate) has_windows: bool,
    /// Updates by one request for each of two items.
    pub(crate) for_each: bool,
    /// Publishes which incarnation of the resource it sees.
    pub(crate) publishes: bool,
    /// Reads the resources of all objects at once.
    pub(crate) lists: bool,
    /// Corrects by Jobs instead of requests. Jobs send no Secret.
    pub(crate) by_job: bool,
    /// Keeps the conditions in reports. A correction nudges the operator of the objects, which heals.
    pub(crate) reports: bool,
    /// Edition of the request bodies, so that the same desired state can be sent in two ways.
    pub(crate) edition: u8,
}

impl Text {
    /// Returns the text without parts that its document does not have, because one document is one text.
    pub(crate) fn of_document(self) -> Self {
        let Self { correct, suspended, elsewhere, approves, has_windows, lists, reports, .. } = self;
        let of_reports =
            Self { correct, suspended, elsewhere, approves, has_windows, lists, reports, deletes: false, ..PLAIN };
        if reports { of_reports } else { self }
    }

    /// Returns true if corrections write outside, with a claim.
    pub(crate) const fn claims(self) -> bool {
        self.correct && !self.reports
    }

    /// Returns the scope of the target.
    pub(crate) fn scope(self) -> ScopeId {
        ScopeId::of(if self.elsewhere { ELSEWHERE } else { HERE })
    }
}

/// The scopes: two external systems, in which one name is two resources.
const HERE: &str = "here";
const ELSEWHERE: &str = "elsewhere";
/// The host of the other external system.
pub(crate) const HOST_ELSEWHERE: &str = "elsewhere.example";

/// Returns the key of a resource among those of both external systems.
pub(crate) fn key_in(scope: ScopeId, name: &str) -> String {
    let system = if scope == ScopeId::of(ELSEWHERE) { "elsewhere/" } else { "" };
    format!("{system}{name}")
}

/// Returns the key of the resource.
pub(crate) fn key_of(resource: &ResourceName) -> String {
    key_in(resource.scope, &resource.identity)
}

/// Returns the key of the claimed resource. A claim without a scope is one of the usual scope.
pub(crate) fn key_claimed(claimed: &ClaimedName) -> String {
    key_in(claimed.scope.unwrap_or_else(|| ScopeId::of(HERE)), &claimed.identity)
}

/// Returns the key of the resource that the object names in that scope.
pub(crate) fn named(object: &Value, scope: ScopeId) -> Option<String> {
    Some(key_in(scope, object["spec"]["resource"].as_str()?))
}

/// Returns true if the object gives up the name of the resource, in any scope.
pub(crate) fn gives_up(object: &Value, resource: &str) -> bool {
    let given_up = object["metadata"]["annotations"][GIVE_UP_ANNOTATION].as_str();
    given_up.is_some() && given_up == resource.rsplit('/').next()
}

/// The names of the two targets. The first owns objects that both select.
pub(crate) const NAMES: [&str; 2] = ["alpha", "beta"];

/// The documents in the ConfigMaps.
pub(crate) type Documents = BTreeMap<&'static str, Text>;

thread_local! {
    static PARSED: RefCell<BTreeMap<(&'static str, Text), Arc<Target>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the target with that name and text.
pub(crate) fn target(name: &'static str, text: Text) -> Arc<Target> {
    PARSED.with_borrow_mut(|parsed| parsed.entry((name, text)).or_insert_with(|| Arc::new(parse(name, text))).clone())
}

/// Returns the single Secret of the programs' namespace in this version, if it exists.
pub(crate) fn secrets(version: Option<u32>) -> LabelledSecrets {
    let secret = |version: u32| {
        let secret = LabelledSecret::new(None, [("key".to_owned(), version.to_string().into_bytes())]);
        let version = SecretVersion { uid: "u".to_owned(), resource_version: version.to_string() };
        ("password".to_owned(), secret.in_version(version))
    };
    version.map(secret).into_iter().collect()
}

/// Returns the first target by name that selects the object.
pub(crate) fn owner<'t>(object: &Value, mut targets: impl Iterator<Item = &'t Target>) -> Option<&'t Target> {
    let metadata = &object["metadata"];
    targets.find(|target| target.objects.selects(metadata["namespace"].as_str(), metadata.get("labels")))
}

/// Returns that target if its objects may own resources. One with reports protects no claim: what a former text left on
/// the objects is cleaned up.
pub(crate) fn claiming_owner<'t>(object: &Value, targets: &'t [Arc<Target>]) -> Option<&'t Target> {
    let owner = owner(object, targets.iter().map(|target| &**target))?;
    (owner.objects.conditions == ConditionsPlace::Object).then_some(owner)
}

/// Returns the name of that target.
pub(crate) fn owner_of<'t>(object: &Value, targets: impl Iterator<Item = &'t Target>) -> Option<&'static str> {
    let owner = owner(object, targets)?;
    NAMES.into_iter().find(|name| *name == owner.name)
}

/// The Secret that corrections by requests send.
const SECRETS: &str = "secrets: {password: {secretRef: {name: password, key: key}}}";

/// Returns true if a correction may begin at this time since 1970, in windows of four minutes in ten, or a deletion in
/// windows of two minutes in five.
pub(crate) const fn is_open(deletes: bool, wall: Duration) -> bool {
    let (every, open) = if deletes { (300, 120) } else { (600, 240) };
    wall.as_secs() % every < open
}

/// Edition whose creates make another resource each time, because the external system knows no names and no keys.
pub(crate) const KEYLESS: u8 = 3;

/// Returns corrections by requests. Edition 1 skips correct resources, and the others always write. A deletion of edition
/// 2 is only done on 404. A create of [`KEYLESS`] is one POST. Without steps of their own, replacements are those of
/// `delete` and `create`.
fn requests(text: Text, url: &str) -> String {
    let Text { deletes, replaces, edition, for_each, .. } = text;
    let body = format!("{{value: \"${{desired.value}}\", password: \"${{secrets.password}}\", edition: {edition}}}");
    let update = match edition {
        _ if for_each => {
            let body = body.replacen('{', "{part: \"${item}\", ", 1);
            format!("[{{forEach: \"${{['left', 'right']}}\", method: PUT, url: \"{url}\", body: {body}}}]")
        }
        0 | 2 | KEYLESS => format!("[{{method: PUT, url: \"{url}\", body: {body}}}]"),
        _ => format!(
            "[{{name: found, method: GET, url: \"{url}\"}}, \
             {{method: PUT, url: \"{url}\", when: \"${{steps.found.body.?value.orValue(-1) != desired.value || 'password' in differs}}\", body: {body}}}]"
        ),
    };
    let done = if edition == 2 { ", doneOn: [404]" } else { "" };
    let deletion = format!("{{method: DELETE, url: \"{url}\"{done}}}");
    let delete = if deletes { format!(", delete: [{deletion}]") } else { String::new() };
    let update_after = format!(", {{method: PUT, url: \"{url}\", body: {body}}}");
    let update_after = if edition == KEYLESS { "" } else { update_after.as_str() };
    let create = format!("{{method: POST, url: \"{url}\", body: {body}}}{update_after}");
    let replace = if replaces && !deletes { format!(", replace: [{deletion}, {create}]") } else { String::new() };
    format!("http: {{create: [{create}], update: {update}{delete}{replace}}}")
}

/// Returns corrections by Jobs.
fn jobs(text: Text) -> String {
    let job = |action: &str, value: &str| {
        let pod = "runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}";
        let system = key_in(text.scope(), "");
        let container = "allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}";
        let env = format!(
            "[{{name: ACTION, value: {action}}}, {{name: EDITION, value: \"{}\"}}, \
             {{name: RESOURCE, value: \"${{'{system}' + self.spec.resource}}\"}}, {{name: VALUE, value: \"{value}\"}}]",
            text.edition
        );
        format!(
            "{action}: {{activeDeadlineSeconds: 300, ttlSecondsAfterFinished: {}, template: {{spec: {{securityContext: {{{pod}}}, \
             containers: [{{name: tool, image: \"registry.example/tool:1\", securityContext: {{{container}}}, env: {env}}}]}}}}}}",
            TTL.as_secs()
        )
    };
    let mut jobs = vec![job("create", "${desired.value}"), job("update", "${desired.value}")];
    jobs.extend(text.deletes.then(|| job("delete", "")));
    format!("job: {{{}}}", jobs.join(", "))
}

#[expect(clippy::panic, reason = "the documents of these tests are good, or the tests are not")]
fn parse(name: &str, text: Text) -> Target {
    let Text { correct, adopt, suspended, .. } = text;
    let mode = match (correct, text.approves) {
        (true, true) => "Approve",
        (true, false) => "Correct",
        (false, _) => "Observe",
    };
    let windows = match text.has_windows {
        true if text.reports => "windows: [{cron: '*/10 * * * *', duration: 4m}]",
        true => {
            "windows: [{cron: '*/10 * * * *', duration: 4m}]\n    deletionWindows: [{cron: '*/5 * * * *', duration: 2m}]"
        }
        false => "",
    };
    let publish =
        if text.publishes && !text.reports { "publish: {incarnation: \"${observed.incarnation}\"}" } else { "" };
    let existing = match adopt {
        _ if text.reports => "",
        true => "existing: Adopt",
        false => "existing: Refuse",
    };
    let (scope, host) = if text.elsewhere { (ELSEWHERE, HOST_ELSEWHERE) } else { (HERE, "outside.example") };
    let url = format!("https://{host}/things/${{self.spec.resource}}");
    let (secrets, write_only) = match text.by_job || text.reports {
        false => (SECRETS, "writeOnly: [{path: /password, secret: password}]"),
        true => ("", ""),
    };
    let read = match text.lists {
        true => format!(
            "{{url: \"https://{host}/things\", each: \"${{response.body.items}}\", key: {{item: \"${{item.name}}\"}}, \
             next: \"${{response.body.?next}}\"}}"
        ),
        false => format!("{{url: \"{url}\"}}"),
    };
    let means = match text.by_job {
        _ if text.reports => "nudge: {annotations: {wake: \"n${correction}\"}}".to_owned(),
        true => jobs(text),
        false => requests(text, &url),
    };
    let place = if text.reports { "Report" } else { "Object" };
    let (zone, rules) = match text.replaces && !text.by_job && !text.reports {
        true => (", zone: \"${self.spec.value % 2}\"", "rules: [{path: /zone, change: replace}]"),
        false => ("", ""),
    };
    let yaml = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: {name}}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Thing, labelSelector: {name}=yes, conditions: {place}}}
  identity: "${{self.spec.resource}}"
  scope: {scope}
  interval: 60s
  {secrets}
  suspend: {suspended}
  require: [{{that: "${{!self.spec.forbidden}}", else: it is forbidden}}]
  read:
    http: {read}
  {publish}
  compare:
    desired: {{value: "${{self.spec.value}}"{zone}}}
    {rules}
    {write_only}
  correct:
    mode: {mode}
    {existing}
    limits: {{attempts: 3}}
    {windows}
    {means}
"#
    );
    let document = DocumentName { config_map: name.to_owned(), key: format!("{name}.yaml") };
    parse_document(&document, &yaml).unwrap_or_else(|problems| panic!("{problems:?}"))
}
