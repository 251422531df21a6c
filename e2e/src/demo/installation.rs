//! The base of both acts: a control plane, the shipped manifests, and the two programs with the rights of their
//! ServiceAccounts.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::terminal::Terminal;
use crate::binaries;
use crate::cluster::control_plane::ControlPlane;
use crate::cluster::kubectl::Kubectl;
use crate::process::run_folder;
use crate::programs::{self, Options, Program, Which};
use crate::{manifests, progress};

/// An API server with the manifests, and the running programs.
pub(super) struct Installation {
    pub(super) plane: ControlPlane,
    pub(super) kubectl: Kubectl,
    pub(super) folder: PathBuf,
    programs: tokio::sync::Mutex<Vec<Program>>,
}

impl Installation {
    /// Builds missing programs and starts the control plane.
    pub(super) async fn start(terminal: &Terminal) -> Result<Self> {
        // In parallel, because each build leaves a core idle at times, above all while linking.
        tokio::try_join!(async { binaries::locate().await.map(drop) }, async { programs::built().await.map(drop) })?;
        let folder = run_folder::path()?.join("demo");
        fs::create_dir_all(&folder)?;
        progress::say(format!("run folder: {}", run_folder::path()?.display()));
        let plane = ControlPlane::start(&folder.join("control-plane")).await?;
        terminal.say(&format!("etcd and kube-apiserver are ready at {}", plane.url()))?;
        let kubectl = plane.kubectl();
        Ok(Self { plane, kubectl, folder, programs: tokio::sync::Mutex::default() })
    }

    /// Runs `kubectl apply -k` on a folder of the manifests, through an overlay with this patch.
    pub(super) async fn apply_manifests(&self, terminal: &Terminal, part: &str, patch: Option<Value>) -> Result<()> {
        let overlay = self.write_overlay(part, patch)?;
        let overlay = overlay.to_str().context("a path that is not UTF-8")?;
        let applied = self.kubectl.run(&["apply", "-k", overlay]).await?;
        ensure!(applied.complaints.is_empty(), "kubectl apply warned: {}", applied.complaints);
        terminal.command(&format!("kubectl apply -k {}", Path::new("manifests").join(part).display()))?;
        terminal.note(&format!("{} objects applied", applied.output.lines().count()))?;
        terminal.say("This machine has no node, so the Deployments get no Pods. Both programs run as local processes.")
    }

    fn write_overlay(&self, part: &str, patch: Option<Value>) -> Result<PathBuf> {
        let overlay = self.folder.join("overlay");
        fs::create_dir_all(&overlay)?;
        let base = relative(&fs::canonicalize(&overlay)?, &fs::canonicalize(manifests::folder().join(part))?);
        let mut patches = Vec::new();
        if let Some(patch) = patch {
            fs::write(overlay.join("patch.yaml"), serde_saphyr::to_string(&patch)?)?;
            patches.push(json!({"path": "patch.yaml"}));
        }
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [base],
            "patches": patches,
        });
        fs::write(overlay.join("kustomization.yaml"), serde_saphyr::to_string(&kustomization)?)?;
        Ok(overlay)
    }

    /// Waits until the API server serves this kind.
    pub(super) async fn wait_for_kind(&self, name: &str) -> Result<()> {
        let kind = format!("crd/{name}");
        self.kubectl.run(&["wait", "--for=condition=established", "--timeout=60s", &kind]).await.map(drop)
    }

    /// Starts one program and waits until it is ready.
    pub(super) async fn start_program(&self, which: Which) -> Result<()> {
        let access = self.plane.service_account(manifests::NAMESPACE, which.name()).await?;
        let kubeconfig = self.folder.join(format!("{}.kubeconfig", which.name()));
        access.write(&kubeconfig)?;
        let program = Program::start(which, manifests::NAMESPACE, &kubeconfig, &Options::default()).await?;
        program.wait_until_ready().await?;
        self.programs.lock().await.push(program);
        Ok(())
    }

    /// Starts both programs in parallel. Otherwise the poller's first verdicts would wait for the controller's start.
    pub(super) async fn start_programs(&self, terminal: &Terminal) -> Result<()> {
        terminal.step("The two programs start, each with its own ServiceAccount's token and nothing more")?;
        tokio::try_join!(self.start_program(Which::Poller), self.start_program(Which::Controller))?;
        terminal.say("drift-poller and drift-controller are ready")
    }

    /// Fails if a program has exited.
    pub(super) async fn ensure_programs_run(&self) -> Result<()> {
        for program in self.programs.lock().await.iter() {
            let exit = program.exit().await?;
            ensure!(exit.is_none(), "{} ended by itself (log: {})", program.which().name(), program.log().display());
        }
        Ok(())
    }

    /// Shows kubectl's table of the objects.
    pub(super) async fn show_table(&self, terminal: &Terminal, (kind, namespace): (&str, &str)) -> Result<()> {
        let arguments = ["get", kind, "--namespace", namespace];
        let table = self.kubectl.run(&arguments).await?;
        terminal.command(&format!("kubectl {}", arguments.join(" ")))?;
        terminal.note(table.output.trim_end())
    }

    /// Terminates everything gracefully. Fails unless both programs exit successfully.
    pub(super) async fn take_down(self) -> Result<()> {
        for program in self.programs.lock().await.iter() {
            program.finish().await?;
        }
        self.plane.stop().await
    }

    /// Returns the address of the poller's page, or `None` if the poller does not run.
    pub(super) async fn page(&self) -> Option<String> {
        let programs = self.programs.lock().await;
        let poller = programs.iter().find(|program| program.which() == Which::Poller)?;
        Some(format!("{}/", poller.admin_url()))
    }

    /// Returns all addresses, for users who explore the running system. `outside` is the external system.
    pub(super) async fn addresses(&self, outside: (&str, &str)) -> String {
        let programs = self.programs.lock().await;
        let line = |program: &Program| {
            let pages = if program.which() == Which::Poller { "/, /readyz, /metrics" } else { "/readyz, /metrics" };
            format!("\n  {:<17}{} has {pages}", program.which().name(), program.admin_url())
        };
        let programs: String = programs.iter().map(line).collect();
        format!(
            "
It goes on running until Ctrl-C.
  API server       {url}
  kubeconfig       {kubeconfig}
  {name:<17}{address}
  logs             {logs}{programs}
",
            url = self.plane.url(),
            kubeconfig = self.plane.admin_kubeconfig().display(),
            name = outside.0,
            address = outside.1,
            logs = self.folder.display(),
        )
    }
}

/// Returns the relative path from one folder to another, because kustomize rejects absolute paths. Both are canonical.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let common = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_between_folders_goes_up_and_down() {
        let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        assert_eq!(way("/a/b/c", "/a/d"), Path::new("../../d"));
        assert_eq!(way("/a", "/a/b"), Path::new("b"));
        assert_eq!(way("/x/y", "/z"), Path::new("../../z"));
    }
}
