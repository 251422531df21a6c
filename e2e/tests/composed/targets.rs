//! The target documents of the histories, each parsed once.
//!
//! Two targets share one kind and one external system. This allows all interactions: an object that both select, and
//! two objects of two targets with one external resource.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets, SecretVersion};
use drift_language::parse_document;
use drift_language::{DocumentName, Target};
use serde_json::Value;

use crate::jobs::TTL;

/// The variable parts of a target's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text {
    pub(crate) correct: bool,
    pub(crate) adopt: bool,
    pub(crate) deletes: bool,
    pub(crate) suspended: bool,
    /// Corrects by Jobs instead of requests. Jobs send no Secret.
    pub(crate) by_job: bool,
    /// Edition of the request bodies, so that the same desired state can be sent in two ways.
    pub(crate) edition: u8,
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
pub(crate) fn owner_of<'t>(object: &Value, mut targets: impl Iterator<Item = &'t Target>) -> Option<&'static str> {
    let metadata = &object["metadata"];
    let selects = |target: &&Target| target.objects.selects(metadata["namespace"].as_str(), metadata.get("labels"));
    let owner = targets.find(selects)?;
    NAMES.into_iter().find(|name| *name == owner.name)
}

/// The Secret that corrections by requests send.
const SECRETS: &str = "secrets: {password: {secretRef: {name: password, key: key}}}";

/// Edition whose creates make another resource each time, because the external system knows no names and no keys.
pub(crate) const KEYLESS: u8 = 3;

/// Returns corrections by requests. Edition 1 skips correct resources, and the others always write. A deletion of edition
/// 2 is only done on 404. A create of [`KEYLESS`] is one POST.
fn requests(text: Text, url: &str) -> String {
    let Text { deletes, edition, .. } = text;
    let body = format!("{{value: \"${{desired.value}}\", password: \"${{secrets.password}}\", edition: {edition}}}");
    let update = match edition {
        0 | 2 | KEYLESS => format!("[{{method: PUT, url: \"{url}\", body: {body}}}]"),
        _ => format!(
            "[{{name: found, method: GET, url: \"{url}\"}}, \
             {{method: PUT, url: \"{url}\", when: \"${{steps.found.body.?value.orValue(-1) != desired.value || 'password' in differs}}\", body: {body}}}]"
        ),
    };
    let done = if edition == 2 { ", doneOn: [404]" } else { "" };
    let delete = if deletes { format!(", delete: [{{method: DELETE, url: \"{url}\"{done}}}]") } else { String::new() };
    let update_after = format!(", {{method: PUT, url: \"{url}\", body: {body}}}");
    let update_after = if edition == KEYLESS { "" } else { update_after.as_str() };
    let create = format!("[{{method: POST, url: \"{url}\", body: {body}}}{update_after}]");
    format!("http: {{create: {create}, update: {update}{delete}}}")
}

/// Returns corrections by Jobs.
fn jobs(text: Text) -> String {
    let job = |action: &str, value: &str| {
        let pod = "runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}";
        let container = "allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}";
        let env = format!(
            "[{{name: ACTION, value: {action}}}, {{name: EDITION, value: \"{}\"}}, \
             {{name: RESOURCE, value: \"${{self.spec.resource}}\"}}, {{name: VALUE, value: \"{value}\"}}]",
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
    let mode = if correct { "Correct" } else { "Observe" };
    let existing = if adopt { "Adopt" } else { "Refuse" };
    let url = "https://outside.example/things/${self.spec.resource}";
    let (secrets, write_only) = match text.by_job {
        false => (SECRETS, "writeOnly: [{path: /password, secret: password}]"),
        true => ("", ""),
    };
    let means = if text.by_job { jobs(text) } else { requests(text, url) };
    let yaml = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: {name}}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Thing, labelSelector: {name}=yes}}
  identity: "${{self.spec.resource}}"
  interval: 60s
  {secrets}
  suspend: {suspended}
  require: [{{that: "${{!self.spec.forbidden}}", else: it is forbidden}}]
  read:
    http: {{url: "{url}"}}
  compare:
    desired: {{value: "${{self.spec.value}}"}}
    {write_only}
  correct:
    mode: {mode}
    existing: {existing}
    limits: {{attempts: 3}}
    {means}
"#
    );
    let document = DocumentName { config_map: "targets".to_owned(), key: format!("{name}.yaml") };
    parse_document(&document, &yaml).unwrap_or_else(|problems| panic!("{problems:?}"))
}
