//! Poll targets and credentials of one world.
//!
//! A test starts from the shipped target and changes the part under test, so that targets in tests match those that
//! users get.

use anyhow::{Context, Result};
use drift_api::names;
use serde_json::{Value, json};

use super::World;
use crate::manifests;

/// Default poll interval of a test's objects. Most tests wait for a regular poll, so it is short. It is long enough
/// that a machine that pauses for some seconds does not make the poller look silent: after three intervals without a
/// poll the verdict becomes Unknown, and a poll may take one interval at most.
const INTERVAL: &str = "3s";

/// A target document that tests change and then apply.
#[derive(Clone, Debug)]
pub struct Target {
    document: Value,
}

impl Target {
    /// Returns the shipped target `proxies` for this world's kind, with an external system at `url` and an interval of
    /// 3 s.
    pub fn shipped(world: &World, url: &str) -> Result<Self> {
        let text = manifests::shipped_target(&world.control_plane().binaries().kubectl, "proxies.yaml")?;
        let text = text
            .replace(manifests::TOXIPROXY_URL, url)
            .replace(manifests::GROUP, world.group())
            .replace(manifests::OBJECTS_NAMESPACE, world.objects_namespace());
        let document = serde_saphyr::from_str(&text).context("parsing the shipped target")?;
        Ok(Self { document }.with("/spec/interval", json!(INTERVAL)))
    }

    /// Sets an interval so long that only requested polls happen, and a long timeout. A pause of the machine then makes
    /// no poll late, so a verdict stays until a test requests another.
    #[must_use]
    pub fn polled_when_asked(self) -> Self {
        self.with("/spec/interval", json!("24h")).with("/spec/timeout", json!("2m"))
    }

    /// Wraps any document as a target.
    #[must_use]
    pub fn from_document(document: Value) -> Self {
        Self { document }
    }

    /// Sets the value at a JSON pointer and creates missing objects: `.with("/spec/confirm/absent", json!(1))`.
    #[must_use]
    pub fn with(mut self, pointer: &str, value: Value) -> Self {
        let mut place = &mut self.document;
        for step in pointer.split('/').skip(1) {
            if place.get(step).is_none() && !place.is_array() {
                place[step] = json!({});
            }
            place = match step.parse::<usize>() {
                Ok(index) if place.is_array() => &mut place[index],
                _ => &mut place[step],
            };
        }
        *place = value;
        self
    }

    /// Removes the field at a JSON pointer. Its parent must be an object.
    #[must_use]
    pub fn without(mut self, pointer: &str) -> Self {
        let (parent, field) = pointer.rsplit_once('/').unwrap_or(("", pointer));
        if let Some(Value::Object(fields)) = self.document.pointer_mut(parent) {
            fields.remove(field);
        }
        self
    }

    /// Sets another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.with("/metadata/name", json!(name))
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.document["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Returns its text as YAML.
    pub fn text(&self) -> Result<String> {
        Ok(serde_saphyr::to_string(&self.document)?)
    }
}

impl World {
    /// Writes this target, alone, into the ConfigMap of targets. Also used to change it.
    pub async fn apply_target(&self, target: &Target) -> Result<()> {
        self.apply_targets(std::slice::from_ref(target)).await
    }

    /// Writes these targets, and no others, into the ConfigMap of targets.
    pub async fn apply_targets(&self, targets: &[Target]) -> Result<()> {
        let mut texts = Vec::new();
        for target in targets {
            texts.push((format!("{}.yaml", target.name()), target.text()?));
        }
        let texts: Vec<(&str, &str)> = texts.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
        self.apply_target_texts(manifests::TARGETS, &texts).await
    }

    /// Writes these texts unchanged, even invalid ones, under these keys into a ConfigMap labelled as targets.
    pub async fn apply_target_texts(&self, config_map: &str, texts: &[(&str, &str)]) -> Result<()> {
        let data: serde_json::Map<String, Value> =
            texts.iter().map(|(key, text)| ((*key).to_owned(), json!(text))).collect();
        let metadata = json!({
            "name": config_map,
            "namespace": self.programs_namespace(),
            "labels": {names::TARGETS_LABEL: names::TRUE},
        });
        let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
        self.apply(&document).await.map(drop)
    }

    /// Writes a Secret in the programs' namespace that `user` (`poller` or `controller`) may use.
    pub async fn apply_credential(&self, name: &str, user: &str, data: Value) -> Result<()> {
        let metadata = json!({
            "name": name,
            "namespace": self.programs_namespace(),
            "labels": {names::CREDENTIAL_LABEL: user},
        });
        let document = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
        self.apply(&document).await.map(drop)
    }
}
