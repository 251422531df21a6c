//! Poll targets and credentials for one world.
//!
//! A test begins from the shipped target and changes what it is about, so that targets in tests stay in step with
//! what users are given.

use anyhow::{Context, Result};
use drift_api::names;
use serde_json::{Value, json};

use super::World;
use crate::manifests;

/// How often a test's objects are polled unless it says otherwise: short, since most tests wait for a regular poll, but
/// not so short that a machine that stands still for some seconds looks like a poller that went silent. After three
/// intervals without a poll the verdict turns Unknown, and a poll may take one interval at most.
const INTERVAL: &str = "3s";

/// One target document, to be changed and then applied.
#[derive(Clone, Debug)]
pub struct Target {
    document: Value,
}

impl Target {
    /// The shipped target `proxies` for this world's kind, with an external system at `url`, polled every three
    /// seconds.
    ///
    /// # Errors
    /// When the shipped manifests lack it.
    pub fn shipped(world: &World, url: &str) -> Result<Self> {
        let text = manifests::shipped_target(&world.control_plane().binaries().kubectl, "proxies.yaml")?;
        let text = text
            .replace(manifests::TOXIPROXY_URL, url)
            .replace(manifests::GROUP, world.group())
            .replace(manifests::OBJECTS_NAMESPACE, world.objects_namespace());
        let document = serde_saphyr::from_str(&text).context("parsing the shipped target")?;
        Ok(Self { document }.with("/spec/interval", json!(INTERVAL)))
    }

    /// With regular polls so far apart that only those that something causes happen, and with time for their answers: no
    /// stall of the machine makes a poll late or time out, so a verdict stands until a test wants another.
    #[must_use]
    pub fn polled_when_asked(self) -> Self {
        self.with("/spec/interval", json!("24h")).with("/spec/timeout", json!("2m"))
    }

    /// Any document.
    #[must_use]
    pub fn from_document(document: Value) -> Self {
        Self { document }
    }

    /// Sets the value at a JSON pointer, making the objects on the way: `.with("/spec/confirm/absent", json!(1))`.
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

    /// Removes the field at a JSON pointer; its parent has to be an object.
    #[must_use]
    pub fn without(mut self, pointer: &str) -> Self {
        let (parent, field) = pointer.rsplit_once('/').unwrap_or(("", pointer));
        if let Some(Value::Object(fields)) = self.document.pointer_mut(parent) {
            fields.remove(field);
        }
        self
    }

    /// Gives it another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.with("/metadata/name", json!(name))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.document["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Its text, as YAML that people could have written.
    ///
    /// # Errors
    /// When it cannot be written as YAML.
    pub fn text(&self) -> Result<String> {
        Ok(serde_saphyr::to_string(&self.document)?)
    }
}

impl World {
    /// Puts this target, alone, into the ConfigMap of targets; also the way to change it.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn apply_target(&self, target: &Target) -> Result<()> {
        self.apply_targets(std::slice::from_ref(target)).await
    }

    /// Puts these targets, and no others, into the ConfigMap of targets.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn apply_targets(&self, targets: &[Target]) -> Result<()> {
        let mut texts = Vec::new();
        for target in targets {
            texts.push((format!("{}.yaml", target.name()), target.text()?));
        }
        let texts: Vec<(&str, &str)> = texts.iter().map(|(key, text)| (key.as_str(), text.as_str())).collect();
        self.apply_target_texts(manifests::TARGETS, &texts).await
    }

    /// Puts these texts as they are, broken ones too, under these keys into a ConfigMap labelled as targets.
    ///
    /// # Errors
    /// When the API server refuses.
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

    /// A Secret in the programs' namespace, usable by `user` (`poller` or `controller`).
    ///
    /// # Errors
    /// When the API server refuses.
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
