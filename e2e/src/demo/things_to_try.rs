//! The text that `--keep` prints: all addresses, and commands to try while the system runs.
//!
//! A folder for PATH contains kubectl and its plugin `kubectl-drift`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::installation::Installation;
use crate::programs::built;

/// Contents of the text after the act. Each command is one line after five spaces.
pub(super) struct ThingsToTry {
    /// The external system's name and address.
    pub(super) outside: (&'static str, String),
    /// A change on the external system, one command per line.
    pub(super) change: String,
    /// Another change, made while the object is paused.
    pub(super) other_change: String,
    /// The objects of the two, as `KIND/NAME -n NAMESPACE`.
    pub(super) changed: [&'static str; 2],
    /// The target of both objects.
    pub(super) target: &'static str,
}

impl ThingsToTry {
    /// Returns the whole text for this installation.
    pub(super) async fn text(&self, installation: &Installation) -> Result<String> {
        let tools = link_tools(installation).await?;
        let addresses = installation.addresses((self.outside.0, &self.outside.1)).await;
        let kubeconfig = installation.plane.admin_kubeconfig().display().to_string();
        let page = installation.page().await.unwrap_or_default();
        Ok(addresses + &self.told((&kubeconfig, &tools.display().to_string()), &page))
    }

    fn told(&self, (kubeconfig, tools): (&str, &str), page: &str) -> String {
        let Self { change, other_change, changed: [changed, paused], target, .. } = self;
        format!(
            "
Things to try in another terminal, which is told this first:

  export KUBECONFIG={kubeconfig}
  export PATH={tools}:$PATH

  1. See what stands on the objects, and each change as it comes:
     kubectl drift get -A
     kubectl drift get -A --watch

  2. Change something behind everybody's back, and ask for the next poll at once:
     {change}
     kubectl drift poll {changed}

  3. Let it drift and see what would be done about it (create, update and delete rest while it is paused):
     kubectl drift pause {paused}
     {other_change}
     kubectl drift explain {paused}
     kubectl drift resume {paused}

  4. Check the targets against the cluster, and stop one for a while:
     kubectl drift check --from-cluster
     kubectl drift suspend {target}
     kubectl drift unsuspend {target}

  5. Open the page with all targets and objects:
     {page}
"
        )
    }
}

/// Creates a folder with kubectl, and with the plugin under the names by which kubectl calls it.
async fn link_tools(installation: &Installation) -> Result<PathBuf> {
    let folder = installation.folder.join("bin");
    fs::create_dir_all(&folder)?;
    let cli = built().await?.cli()?;
    link(&installation.plane.binaries().kubectl, &folder.join("kubectl"))?;
    for name in ["kubectl-drift", "kubectl_complete-drift"] {
        link(cli, &folder.join(name))?;
    }
    Ok(folder)
}

fn link(program: &Path, name: &Path) -> Result<()> {
    if name.is_symlink() {
        fs::remove_file(name)?;
    }
    Ok(std::os::unix::fs::symlink(fs::canonicalize(program)?, name)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use clap::Parser as _;
    use kubectl_drift::CommandLine;

    #[test]
    fn what_is_to_be_tried_can_be_typed() {
        let things = ThingsToTry {
            outside: ("outside", "address".to_owned()),
            change: "curl a".to_owned(),
            other_change: "curl b".to_owned(),
            changed: ["proxy/database -n drift-demo", "proxy/cache -n drift-demo"],
            target: "proxies",
        };
        let text = things.told(("config", "bin"), "http://127.0.0.1:1/");
        let ours = text.lines().filter_map(|line| line.trim().strip_prefix("kubectl drift "));
        let ours: Vec<Vec<&str>> = ours.map(|words| words.split(' ').collect()).collect();
        assert_eq!(ours.len(), 9, "{text}");
        for words in ours {
            CommandLine::try_parse_from([&["kubectl-drift"], &words[..]].concat()).unwrap();
        }
    }
}
