//! Everything that has to stand before the story begins: control plane, external system, manifests; and the two
//! programs, which the story starts itself.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::terminal::Terminal;
use crate::control_plane::ControlPlane;
use crate::kubectl::Kubectl;
use crate::programs::{self, Options, Program, Which};
use crate::toxiproxy::Toxiproxy;
use crate::{binaries, manifests, ports, progress, run_folder};

/// The interval of the shipped target and the one used here, where nobody wants to wait for half a minute.
const INTERVALS: (&str, &str) = ("interval: 30s", "interval: 1s");

/// The standing set.
pub(super) struct Stage {
    pub(super) plane: ControlPlane,
    pub(super) toxiproxy: Toxiproxy,
    pub(super) kubectl: Kubectl,
    /// The file with the three objects.
    pub(super) objects: PathBuf,
    pub(super) folder: PathBuf,
    programs: tokio::sync::Mutex<Vec<Program>>,
}

impl Stage {
    /// Builds what is missing, starts the real things and applies the shipped manifests.
    pub(super) async fn build(terminal: &Terminal) -> Result<Self> {
        terminal.step("Setting the stage")?;
        // Side by side: each has stretches, linking above all, in which it leaves a core idle.
        tokio::try_join!(async { binaries::locate().await.map(drop) }, async { programs::built().await.map(drop) })?;
        let folder = run_folder::path()?.join("demo");
        fs::create_dir_all(&folder)?;
        let plane = ControlPlane::start(&folder.join("control-plane")).await?;
        terminal.say(&format!("etcd and kube-apiserver are ready at {}", plane.url()))?;
        let toxiproxy = Toxiproxy::start(&plane.binaries().toxiproxy, &folder, "toxiproxy").await?;
        terminal.say(&format!("toxiproxy, the external system, is ready at {}", toxiproxy.url()))?;
        let objects = write_objects(&folder)?;
        let kubectl = plane.kubectl();
        let programs = tokio::sync::Mutex::default();
        let stage = Self { plane, toxiproxy, kubectl, objects, folder, programs };
        stage.apply_manifests(terminal).await?;
        Ok(stage)
    }

    /// `kubectl apply -k` of the shipped manifests by way of an overlay that only puts this machine's address and a
    /// short interval into the target.
    async fn apply_manifests(&self, terminal: &Terminal) -> Result<()> {
        let overlay = self.write_overlay()?;
        let overlay = overlay.to_str().context("a path that is not UTF-8")?;
        let applied = self.kubectl.run(&["apply", "-k", overlay]).await?;
        ensure!(applied.complaints.is_empty(), "kubectl apply warned: {}", applied.complaints);
        terminal.command("kubectl apply -k manifests")?;
        terminal.note(applied.output.trim_end())?;
        let kind = format!("crd/proxies.{}", manifests::GROUP);
        self.kubectl.run(&["wait", "--for=condition=established", "--timeout=60s", &kind]).await?;
        terminal.say(
            "there is no node here, so the Deployments stay without Pods: both programs will run as local processes",
        )?;
        terminal.say("the target polls every second here, and every 30 s as shipped")
    }

    fn write_overlay(&self) -> Result<PathBuf> {
        let overlay = self.folder.join("overlay");
        fs::create_dir_all(&overlay)?;
        let text = manifests::shipped_target(&self.plane.binaries().kubectl, "proxies.yaml")?;
        let changed = text.replace(manifests::TOXIPROXY_URL, self.toxiproxy.url()).replace(INTERVALS.0, INTERVALS.1);
        ensure!(changed.contains(INTERVALS.1), "the shipped target has no {}", INTERVALS.0);
        let metadata = json!({"name": manifests::TARGETS, "namespace": manifests::NAMESPACE});
        let data = json!({"proxies.yaml": changed});
        let patch = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
        fs::write(overlay.join("drift-targets.yaml"), serde_saphyr::to_string(&patch)?)?;
        let base = relative(&fs::canonicalize(&overlay)?, &fs::canonicalize(manifests::folder())?);
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [base],
            "patches": [{"path": "drift-targets.yaml"}],
        });
        fs::write(overlay.join("kustomization.yaml"), serde_saphyr::to_string(&kustomization)?)?;
        Ok(overlay)
    }

    /// Starts one program with its ServiceAccount's token and nothing more, and waits until it is ready.
    pub(super) async fn start_program(&self, which: Which) -> Result<()> {
        let access = self.plane.service_account(manifests::NAMESPACE, which.name()).await?;
        let kubeconfig = self.folder.join(format!("{}.kubeconfig", which.name()));
        access.write(&kubeconfig)?;
        let program = Program::start(which, manifests::NAMESPACE, &kubeconfig, &Options::default()).await?;
        program.wait_until_ready().await?;
        self.programs.lock().await.push(program);
        Ok(())
    }

    /// Fails when a program is no longer there.
    pub(super) async fn ensure_programs_run(&self) -> Result<()> {
        for program in self.programs.lock().await.iter() {
            let exit = program.exit().await?;
            ensure!(exit.is_none(), "{} ended by itself (log: {})", program.which().name(), program.log().display());
        }
        Ok(())
    }

    /// Ends everything in good order; both programs must end well.
    pub(super) async fn take_down(self) -> Result<()> {
        for program in self.programs.lock().await.iter() {
            program.finish().await?;
        }
        self.plane.stop().await
    }

    /// What `--keep` prints.
    pub(super) async fn things_to_try(&self) -> String {
        let programs = self.programs.lock().await;
        let line =
            |program: &Program| format!("\n  {:<17}{}/readyz, /metrics", program.which().name(), program.admin_url());
        let programs: String = programs.iter().map(line).collect();
        let kubectl = self.plane.binaries().kubectl.display().to_string();
        let kubeconfig = self.plane.admin_kubeconfig().display().to_string();
        let toxiproxy = self.toxiproxy.url();
        let logs = self.folder.display();
        format!(
            "
It goes on running until Ctrl-C.
  API server       {url}
  kubeconfig       {kubeconfig}
  toxiproxy        {toxiproxy}/proxies
  logs             {logs}{programs}

Three things to try in another terminal:

  export KUBECONFIG={kubeconfig}

  1. Watch drift come and go:
     {kubectl} get proxies -n drift-demo --watch

  2. Change a proxy behind everybody's back:
     curl -s -X POST {toxiproxy}/proxies/database -d '{{\"upstream\": \"127.0.0.1:6666\"}}'

  3. Let it drift and look at it at leisure (create, update and delete rest while it is paused):
     {kubectl} annotate proxy cache -n drift-demo driftpoller.dev/paused=true
     curl -s -X DELETE {toxiproxy}/proxies/cache
     {kubectl} get proxy cache -n drift-demo -o yaml
     {kubectl} annotate proxy cache -n drift-demo driftpoller.dev/paused-
",
            url = self.plane.url(),
        )
    }
}

/// The shipped example objects with ports that are free on this machine.
fn write_objects(folder: &Path) -> Result<PathBuf> {
    let text = fs::read_to_string(manifests::folder().join("examples/proxies.yaml"))?;
    let mut documents = manifests::parse_stream(&text)?;
    for document in documents.iter_mut().filter(|document| document["kind"] == "Proxy") {
        document["spec"]["listen"] = Value::String(format!("127.0.0.1:{}", ports::free_port()?));
    }
    let texts: Vec<String> = documents.iter().map(serde_saphyr::to_string).collect::<Result<_, _>>()?;
    let path = folder.join("proxies.yaml");
    fs::write(&path, texts.join("---\n"))?;
    progress::say(format!("run folder: {}", run_folder::path()?.display()));
    Ok(path)
}

/// The way from one folder to another; kustomize takes no absolute paths. Both are canonical.
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
