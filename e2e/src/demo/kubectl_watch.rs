//! A running `kubectl get … -o yaml --watch`: every version of the objects exactly as kubectl prints it.
//!
//! A verdict that is healed at once lasts for a fraction of a second. A watch that was started before still sees it,
//! and the demonstration shows kubectl's own output.

use anyhow::{Context, Result};
use serde_json::Value;

use super::installation::Installation;
use crate::process::Process;
use crate::wait::{self, Seen};
use crate::world::{condition, describe};

/// One version of an object.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// The text as kubectl printed it.
    pub(super) text: String,
    /// The parsed form of the text.
    pub(super) object: Value,
}

/// A running kubectl watch.
#[derive(Debug)]
pub(super) struct KubectlWatch {
    process: Process,
    arguments: String,
}

impl KubectlWatch {
    /// Starts a watch of a kind in a namespace, and waits until it has printed this many objects. Misses no later
    /// change.
    pub(super) async fn start(installation: &Installation, of: (&str, &str), objects: usize) -> Result<Self> {
        let arguments = ["get", of.0, "--namespace", of.1, "--output", "yaml", "--watch"];
        let process =
            installation.kubectl.launch(&format!("kubectl-watch-{}", of.0), &arguments).start(&installation.folder)?;
        let watch = Self { process, arguments: arguments.join(" ") };
        wait::until("kubectl to print the objects that it watches", wait::DEADLINE, async || {
            let printed = watch.versions()?.len();
            Ok(if printed >= objects { Seen::Met(()) } else { Seen::Instead(watch.output()?) })
        })
        .await?;
        Ok(watch)
    }

    /// Returns the command as a user would type it.
    pub(super) fn command(&self) -> String {
        format!("kubectl {} &", self.arguments)
    }

    /// Waits for the first version of an object that satisfies `wanted`, and skips the first `skip` versions.
    pub(super) async fn wait_for(
        &self,
        name: &str,
        skip: usize,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Version> {
        wait::until(format!("{name} to be {what}"), wait::DEADLINE, async || {
            let versions =
                self.versions()?.into_iter().skip(skip).filter(|each| each.object["metadata"]["name"] == name);
            let versions: Vec<Version> = versions.collect();
            let last = versions.last().map_or_else(|| "no news of it".to_owned(), |version| version.text.clone());
            let found = versions.into_iter().find(|version| wanted(&version.object));
            Ok(found.map_or(Seen::Instead(last), Seen::Met))
        })
        .await
    }

    /// Returns the number of versions that have been printed.
    pub(super) fn count(&self) -> Result<usize> {
        Ok(self.versions()?.len())
    }

    fn output(&self) -> Result<String> {
        std::fs::read_to_string(self.process.log()).context("reading kubectl's output")
    }

    /// Returns all complete versions so far. An incomplete document does not parse or lacks its end, and is parsed
    /// again at the next call.
    fn versions(&self) -> Result<Vec<Version>> {
        let output = self.output()?;
        let texts = output.split("\n---\n").map(|text| text.trim_start_matches("---\n"));
        let read = texts.filter_map(|text| {
            let object: Value = serde_saphyr::from_str(text).ok()?;
            object["metadata"]["name"].is_string().then(|| Version { text: text.trim_end().to_owned(), object })
        });
        Ok(read.collect())
    }
}

/// Returns true if the object is in sync.
pub(super) fn in_sync(object: &Value) -> bool {
    describe(object, "driftObserved") == "False/InSync"
}

/// Returns the number in `correction 7, owns "…"` of the controller's note, or 0 without one.
pub(super) fn correction(object: &Value) -> u64 {
    let message = condition(object, "driftCorrected").and_then(|note| note["message"].as_str()).unwrap_or_default();
    let number = message.split("correction ").nth(1).unwrap_or_default();
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Returns the poller's verdict on one line.
pub(super) fn verdict(name: &str, object: &Value) -> String {
    let message = condition(object, "driftObserved").and_then(|entry| entry["message"].as_str());
    format!("{name}: driftObserved {}: {}", describe(object, "driftObserved"), message.unwrap_or("-"))
}
