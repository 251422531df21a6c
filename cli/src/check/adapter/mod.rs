//! `kubectl drift check --adapter`: plays the contract for adapters against a running one.

mod exchange;
mod rules;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::path::PathBuf;

use drift_kube::process::clock::wall_micros;
use http::HeaderValue;
use serde_json::{Value, json};
use url::Url;

use crate::cluster::block_on;
use crate::ending::{CommandError, ExitStatus};
use exchange::{Adapter, Stop};
use rules::{Outcome, Trial};

/// A running adapter, and what to create in it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AdapterSettings {
    /// Play the contract for adapters against a running one instead: it creates, reads, replaces and deletes a resource of its own
    #[arg(
        long,
        requires = "resource",
        conflicts_with_all = ["paths", "filenames", "from_cluster", "output", "fail_on_warnings", "kubeconfig", "context"],
        value_name = "URL"
    )]
    adapter: Option<Url>,
    /// The resource to play it with, the first part of the adapter's paths
    #[arg(long, requires = "adapter", value_name = "NAME")]
    resource: Option<String>,
    /// A state that the adapter accepts, a JSON object; given twice, the second one replaces the first
    #[arg(long = "state", requires = "adapter", value_name = "JSON", value_parser = parse_state)]
    states: Vec<Value>,
    /// The file with the adapter's bearer token, which may write
    #[arg(long, requires = "adapter", value_name = "FILE")]
    token_file: Option<PathBuf>,
}

fn parse_state(text: &str) -> Result<Value, String> {
    let state: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if state.is_object() { Ok(state) } else { Err("a state is a JSON object".to_owned()) }
}

impl AdapterSettings {
    /// Plays the contract, if an adapter is named.
    ///
    /// # Errors
    /// If the token cannot be read, the adapter does not answer, or stdout is closed.
    pub(super) fn run(&self) -> Option<Result<ExitStatus, CommandError>> {
        let (base, resource) = (self.adapter.as_ref()?, self.resource.as_deref()?);
        Some(self.play(base, resource))
    }

    fn play(&self, base: &Url, resource: &str) -> Result<ExitStatus, CommandError> {
        // The URL is printed.
        if !matches!(base.scheme(), "http" | "https") || !base.username().is_empty() || base.password().is_some() {
            return Err(CommandError::BadUsage("--adapter is an http or https URL without credentials".to_owned()));
        }
        let states = match &*self.states {
            // Of the first state a key is left, which a PUT that merges would keep.
            [] => [json!({"value": "1", "old": "1"}), json!({"value": "2"})],
            [one] => [one.clone(), one.clone()],
            [first, second] => [first.clone(), second.clone()],
            _ => return Err(CommandError::BadUsage("--state may be given twice, not more often".to_owned())),
        };
        let adapter = Adapter::new(base.clone(), self.token()?);
        // A name of its own: a leftover of another check is not in the way, nor is anything of the user.
        // Decoded twice, it would be another name.
        let identity = format!("drift-check/ü +%41{}", wall_micros());
        let trial = Trial { adapter: &adapter, resource, identity: &identity, states: &states };
        let outcomes = block_on(async {
            if let Err(why) = adapter.health().await.came {
                return Err(CommandError::CannotTell(format!("the adapter at {base} does not answer: {why}")));
            }
            Ok(trial.play().await)
        })?;
        anstream::stdout().write_all(rendered(&outcomes).as_bytes())?;
        let is_bad = outcomes.iter().any(|(_, end)| matches!(end, Err(Stop::Failed { .. })));
        Ok(if is_bad { ExitStatus::BadUsage } else { ExitStatus::Success })
    }

    fn token(&self) -> Result<Option<HeaderValue>, CommandError> {
        let Some(file) = &self.token_file else { return Ok(None) };
        let bad = |why: String| CommandError::BadUsage(format!("{}: {why}", file.display()));
        let token = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
        let token = token.trim_end_matches(['\r', '\n']);
        let header = HeaderValue::from_str(&format!("Bearer {token}")).ok().filter(|_| !token.is_empty());
        let mut header = header.ok_or_else(|| bad("a token is one line of visible ASCII characters".to_owned()))?;
        header.set_sensitive(true);
        Ok(Some(header))
    }
}

/// One line for each rule, and what came instead.
fn rendered(outcomes: &[Outcome]) -> String {
    let (mut text, mut counts) = (String::new(), [0, 0, 0]);
    for (rule, end) in outcomes {
        let (index, line) = match end {
            Ok(()) => (0, format!("ok       {rule}\n")),
            Err(Stop::Failed { sent, came, expected }) => {
                (1, format!("fails    {rule}\n  sent      {sent}\n  came      {came}\n  expected  {expected}\n"))
            }
            Err(Stop::Skipped(why)) => (2, format!("skipped  {rule} ({why})\n")),
        };
        counts[index] += 1;
        text += &line;
    }
    let [ok, failed, skipped] = counts;
    format!("{text}{ok} ok, {failed} failed, {skipped} skipped\n")
}
