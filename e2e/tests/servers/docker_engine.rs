//! docs/cookbook/docker-engine.md: a container on a container engine, through the API of Docker and Podman.
//!
//! The engine runs in its own namespaces. When its process is killed, the kernel ends its containers and removes its
//! mounts and networks, so nothing stays on the machine. Its next start is like one after a power failure.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use drift_e2e::process::{Launch, Process};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{World, condition, message};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::process::Command;

use crate::installed::{self, program};
use crate::page;

/// The image on the page, without its tag.
const IMAGE: &str = "registry.example/shop/web";

/// Configuration of Podman as a container engine without systemd, for a root user that may not raise its limits.
const CONFIGURATION: &str = r#"[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
"#;

/// Mounts the engine's volatile folders and starts the engine. $0 is its socket.
const SERVE: &str = "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm \
                     && exec podman system service --time=0 \"unix://$0\"";

/// An engine with two images, whose containers all end with it.
struct Engine {
    folder: PathBuf,
    /// Short, since paths of sockets end at 107 bytes.
    sockets: TempDir,
    process: Process,
}

impl Engine {
    async fn start(world: &World) -> Result<Self> {
        ensure!(rustix::process::geteuid().is_root(), "a container engine needs root: `sudo -E cargo e2e-servers`");
        let folder = world.folder().join("engine");
        fs::create_dir_all(folder.join("storage"))?;
        fs::write(folder.join("containers.conf"), CONFIGURATION)?;
        let storage = folder.join("storage");
        let storage = format!("[storage]\ndriver = \"vfs\"\ngraphroot = {storage:?}\nrunroot = \"/run/storage\"\n");
        fs::write(folder.join("storage.conf"), storage)?;
        for (name, package) in [("podman", "podman"), ("conmon", "conmon"), ("runc", "runc")] {
            program(name, package)?;
        }
        let sockets = tempfile::tempdir()?;
        let process = Self::launch(&folder, &sockets).await?;
        let engine = Self { folder, sockets, process };
        engine.bring_images().await?;
        Ok(engine)
    }

    async fn launch(folder: &Path, sockets: &TempDir) -> Result<Process> {
        let unshare = program("unshare", "util-linux")?;
        let socket = sockets.path().join("engine.sock");
        let launch = Launch::new("engine", unshare)
            .arguments(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .arguments(["--propagation", "private", "sh", "-c", SERVE])
            .argument(&socket)
            .variable("CONTAINERS_CONF", folder.join("containers.conf"))
            .variable("CONTAINERS_STORAGE_CONF", folder.join("storage.conf"));
        let mut process = launch.start(folder)?;
        wait::until("the engine to listen", wait::DEADLINE, async || {
            if let Some(obituary) = process.obituary()? {
                return Ok(Seen::Hopeless(obituary));
            }
            UnixStream::connect(&socket).await?;
            Ok(Seen::Met(()))
        })
        .await?;
        Ok(process)
    }

    fn socket(&self) -> Result<String> {
        let socket = self.sockets.path().join("engine.sock");
        Ok(socket.to_str().context("a path that is no text")?.to_owned())
    }

    /// Loads images with a single program under two tags, without a registry.
    async fn bring_images(&self) -> Result<()> {
        let root = self.folder.join("image");
        fs::create_dir_all(root.join("bin"))?;
        fs::copy(program("busybox", "busybox-static")?, root.join("bin/busybox"))?;
        symlink("busybox", root.join("bin/httpd"))?;
        let archive = self.folder.join("image.tar");
        let tar = Launch::new("tar", program("tar", "tar")?).argument("-cf").argument(&archive);
        installed::run(tar.argument("-C").argument(&root).argument("bin"), &self.folder).await?;
        let archive = archive.to_str().context("a path that is no text")?;
        for tag in ["1", "2"] {
            self.podman(&["import", archive, &format!("{IMAGE}:{tag}")]).await?;
        }
        Ok(())
    }

    /// Runs the engine's own command like an administrator. Returns its output.
    async fn podman(&self, arguments: &[&str]) -> Result<String> {
        let socket = format!("unix://{}", self.socket()?);
        let mut command = Command::new(program("podman", "podman")?);
        command.args(["--remote", "--url", &socket]).args(arguments).kill_on_drop(true);
        command.env("CONTAINERS_CONF", self.folder.join("containers.conf"));
        let output = tokio::time::timeout(wait::DEADLINE, command.output()).await??;
        let [said, complaint] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        ensure!(output.status.success(), "podman {arguments:?}: {complaint}");
        Ok(said.trim().to_owned())
    }

    /// Returns the state of a container and its image.
    async fn state(&self, name: &str) -> Result<String> {
        self.podman(&["inspect", "--format", "{{.State.Status}} {{.ImageName}}", name]).await
    }
}

#[tokio::test]
async fn a_container_on_an_engine_is_kept() -> Result<()> {
    World::run("engine", async |world| {
        let mut engine = Engine::start(world).await?;
        let socket = engine.socket()?;
        let subject = page::follow(world, "docker-engine.md", &[("/run/docker.sock", &socket)]).await?;
        subject.wait_until_healed_by(1).await?;
        let name = format!("{}.web", world.objects_namespace());
        let [first, second] = ["1", "2"].map(|tag| format!("running {IMAGE}:{tag}"));
        ensure!(engine.state(&name).await? == first);

        let history = subject.watch().await?;
        engine.podman(&["stop", "--time", "0", &name]).await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        ensure!(engine.state(&name).await? == first);
        engine.podman(&["pause", &name]).await?;
        subject.wait_until_healed_by(3).await?;
        ensure!(engine.state(&name).await? == first);
        engine.podman(&["rm", "--force", "--time", "0", &name]).await?;
        history.wait_for_transitions("driftObserved", &[("True", "ExternalMissing"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(4).await?;
        ensure!(engine.state(&name).await? == first);

        subject.edit(json!({"spec": {"image": format!("{IMAGE}:2")}})).await?;
        subject.wait_until_healed_by(5).await?;
        ensure!(engine.state(&name).await? == second);
        // A container that cannot be recreated is not removed.
        subject.edit(json!({"spec": {"image": format!("{IMAGE}:3")}})).await?;
        let object = subject.wait_for_correction("False/CorrectionFailed").await?;
        let said = message(&object, "driftCorrected");
        ensure!(said.contains("update, step image: 404: ") && said.contains("No such image"), "{said}");
        ensure!(engine.state(&name).await? == second);
        subject.edit(json!({"spec": {"image": format!("{IMAGE}:2")}})).await?;
        subject.wait_for_verdict("False/InSync").await?;
        let before = subject.wait_for_correction("True/CorrectionApplied").await?;

        // An engine that is down is not a missing container. Its next start finds the container stopped.
        engine.process.kill().await?;
        let unknown = subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        let corrected = [&before, &unknown].map(|object| condition(object, "driftCorrected"));
        ensure!(corrected[0] == corrected[1], "corrected what could not be seen: {unknown}");
        engine.process = Engine::launch(&engine.folder, &engine.sockets).await?;
        subject.wait_for_verdict("False/InSync").await?;
        ensure!(engine.state(&name).await? == second);

        engine.podman(&["create", "--name", "other", &format!("{IMAGE}:1"), "/bin/httpd"]).await?;
        subject.delete().await?;
        let left = engine.podman(&["ps", "--all", "--format", "{{.Names}}"]).await?;
        ensure!(left == "other", "{left}");
        Ok(())
    })
    .await
}
