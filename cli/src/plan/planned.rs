//! One planned object, and one edited target: as text, as JSON, and the hash of a plan.

use drift_api::approval::{ObjectInputs, fingerprint};
use drift_api::condition::ConditionStatus;
use drift_api::object::LeanObject;
use drift_api::object::object_view::ObjectView;
use drift_language::Target;
use serde_json::{Value, json};

use crate::explain::Preview;

/// The widest word at the beginning of a line, and what parts it from the text.
const INDENT: usize = 12;

/// The result of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanResult {
    /// Nothing would change outside.
    Same,
    /// A correction would follow, or is held.
    Changes,
    /// That could not be found out.
    Unknown,
    /// The external system was not asked, because what is asked was edited or the object is in another namespace than the
    /// named one.
    NotAsked,
}

impl PlanResult {
    /// The word in JSON.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "Same",
            Self::Changes => "Changes",
            Self::Unknown => "Unknown",
            Self::NotAsked => "NotAsked",
        }
    }
}

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectName {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl ObjectName {
    /// Returns true if every part may be one of a path at the API server. A file of a stranger could otherwise ask for
    /// another resource.
    pub(crate) fn is_valid(&self) -> bool {
        let is_part = |text: &str| {
            let is_plain = |letter: char| letter.is_ascii_graphic() && !"/?#%\\".contains(letter);
            !text.is_empty() && text.chars().all(is_plain) && text != "." && text != ".."
        };
        is_part(&self.name) && self.namespace.as_deref().is_none_or(is_part) && is_part(&self.kind)
    }

    /// The name as people read it.
    pub(crate) fn told(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{}", self.kind, self.name),
            None => format!("{} {}", self.kind, self.name),
        }
    }
}

/// One object of a plan.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) name: ObjectName,
    pub(crate) target: Option<String>,
    pub(crate) is_edited: bool,
    pub(crate) is_target_edited: bool,
    /// True if the cluster does not have it yet.
    pub(crate) is_new: bool,
    pub(crate) outlook: Outlook,
    pub(crate) notes: Vec<&'static str>,
}

/// The outlook of one object.
#[derive(Debug)]
pub(crate) enum Outlook {
    /// The external system was read, or needed no request.
    Polled(Box<Preview>, String),
    /// It was not, for this reason.
    Unpolled(PlanResult, String),
}

impl Planned {
    /// Returns its result.
    pub(crate) const fn result(&self) -> PlanResult {
        match &self.outlook {
            Outlook::Unpolled(result, _) => *result,
            Outlook::Polled(preview, _) => match preview.status {
                ConditionStatus::False => PlanResult::Same,
                ConditionStatus::True => PlanResult::Changes,
                ConditionStatus::Unknown => PlanResult::Unknown,
            },
        }
    }

    /// For people; nothing for an object that stays the same.
    pub(super) fn text(&self, values: bool) -> String {
        if self.result() == PlanResult::Same {
            return String::new();
        }
        let target = self.target.as_ref().map(|target| format!(" by target {target}")).unwrap_or_default();
        let parts = [(self.is_new, "new object"), (self.is_edited && !self.is_new, "edited object")];
        let parts = parts.into_iter().chain([(self.is_target_edited, "edited target")]);
        let edited: Vec<_> = parts.filter_map(|(is_it, words)| is_it.then_some(words)).collect();
        let edited = if edited.is_empty() { String::new() } else { format!(" ({})", edited.join(", ")) };
        let mut text = format!("{}{target}{edited}\n", self.name.told());
        let mut add = |head: &str, lines: &[String]| {
            for (number, line) in lines.iter().enumerate() {
                let head = if number == 0 { head } else { "" };
                text.push_str(&format!("  {head:<INDENT$}{line}\n"));
            }
        };
        match &self.outlook {
            Outlook::Unpolled(_, why) => add("not planned", std::slice::from_ref(why)),
            Outlook::Polled(preview, _) => {
                add("verdict", &[format!("{}: {}", preview.reason.as_str(), preview.message(values))]);
                add("differs", preview.fields(values));
                add("would send", preview.requests(values));
                add("held", &preview.held(values).map(|hold| hold.sentence).collect::<Vec<_>>());
            }
        }
        add("note", &self.notes.iter().map(|note| (*note).to_owned()).collect::<Vec<_>>());
        text
    }

    /// For programs.
    pub(super) fn json(&self, values: bool) -> Value {
        let ObjectName { api_version, kind, namespace, name } = &self.name;
        let mut json = json!({
            "apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name, "target": self.target,
            "result": self.result().as_str(), "new": self.is_new, "edited": self.is_edited,
            "targetEdited": self.is_target_edited, "notes": self.notes, "reason": null, "message": null,
            "action": null, "fields": [], "requests": [], "held": [], "hash": null,
        });
        match &self.outlook {
            Outlook::Unpolled(_, why) => json["message"] = json!(why),
            Outlook::Polled(preview, hash) => {
                json["reason"] = json!(preview.reason.as_str());
                json["message"] = json!(preview.message(values));
                json["action"] = json!(preview.action);
                json["fields"] = json!(preview.fields(values));
                json["requests"] = json!(preview.requests(values));
                json["held"] = preview.held(values).map(|hold| hold.json()).collect();
                json["hash"] = json!(hash);
            }
        }
        json
    }
}

/// The hash of an object's plan: what would be sent, and for which fields. It covers no observed value, which a reader of
/// the hash could guess. The uid of an object that is there keeps its reader from guessing values of the object. Of a new
/// object it covers no rendered request, because a published value could be in it.
pub(crate) fn hash_of(target: &Target, object: &LeanObject, is_new: bool, preview: &Preview) -> String {
    let mut view = object.view.open().clone();
    if let Some(fields) = view.as_object_mut() {
        fields.remove("status");
    }
    let inputs = ObjectInputs::of(&LeanObject { view: ObjectView::of(&view), ..object.clone() });
    let view = object.view.open();
    fingerprint(&json!({
        "uid": (!is_new).then(|| object.id.uid.to_string()),
        "object": object.id.to_string(), "kind": target.objects.kind_word(), "target": target.name,
        "scope": target.scope.id.to_string(), "identity": target.identity_of(&view).ok(),
        "verdicts": target.verdict_hash, "corrections": target.correct_hash.to_string(),
        "desired": target.desired_state_of(&view).ok().map(|desired| desired.hash.to_string()),
        "inputs": inputs.to_string(), "action": preview.action, "fields": preview.names,
        "steps": preview.requests(!is_new),
    }))
}

/// One edited target.
#[derive(Debug)]
pub(super) struct PlannedTarget {
    pub(super) name: String,
    pub(super) document: String,
    /// [`PlanResult::Same`] if its objects were asked about.
    pub(super) result: PlanResult,
    pub(super) message: Option<String>,
    /// Live objects that were planned.
    pub(super) objects: usize,
    /// Live objects beyond the limit.
    pub(super) left: usize,
}

impl PlannedTarget {
    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = match &self.message {
            Some(message) => format!("target {} ({}): {message}\n", self.name, self.document),
            None => String::new(),
        };
        if self.left > 0 {
            let Self { name, objects, left, .. } = self;
            text.push_str(&format!(
                "target {name}: {objects} live objects planned, {left} left out; --limit and --selector choose others\n"
            ));
        }
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let result = if self.result == PlanResult::Same { "Asked" } else { self.result.as_str() };
        json!({"name": self.name, "document": self.document, "result": result, "message": self.message,
            "objects": self.objects, "left": self.left})
    }
}
