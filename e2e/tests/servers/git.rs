//! docs/cookbook/git.md: a branch of a Git repository over HTTP.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use drift_e2e::pages::blocks;
use drift_e2e::process::{Launch, Process};
use drift_e2e::world::{World, condition};

use crate::installed::{self, program, serving};
use crate::page;

/// File name of the page.
const PAGE: &str = "git.md";
/// The secret's path and the address of the hints, as in the page's hook.
const SECRET_FILE: &str = "/etc/git/hint-secret";
const HINTS: &str = "drift-poller-hints.drift-system.svc";
/// The secret on the page.
const SECRET: &str = "change-me-to-at-least-16-bytes";
/// The commit on the page.
const WRITTEN: &str = "6a7078dac115df4262cd6736b10600a8efc49779";

/// Git's own CGI program behind a web server that asks for a password, with the repository `team/app.git`.
struct GitServer {
    folder: PathBuf,
    address: String,
    process: Process,
}

impl GitServer {
    async fn start(world: &World) -> Result<Self> {
        let folder = world.folder().join("git");
        fs::create_dir_all(&folder)?;
        let address = world.free_listen_address()?;
        let script = folder.join("git.cgi");
        fs::write(&script, "#!/bin/sh\nexec git http-backend\n")?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        fs::write(folder.join("users"), "reader:change-me\n")?;
        fs::write(folder.join("lighttpd.conf"), configuration(&folder, &address)?)?;
        git(&folder, &["init", "--bare", "repositories/team/app.git"]).await?;
        git(&folder, &["init", "--initial-branch=main", "work"]).await?;
        let process = Self::launch(&folder, &address).await?;
        Ok(Self { folder, address, process })
    }

    async fn launch(folder: &Path, address: &str) -> Result<Process> {
        let launch = Launch::new("lighttpd", program("lighttpd", "lighttpd")?);
        serving(launch.argument("-D").argument("-f").argument(folder.join("lighttpd.conf")), folder, address).await
    }

    /// Installs the hook from the page.
    fn tell_of_pushes(&self, hints: &str) -> Result<()> {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cookbook").join(PAGE);
        let hooks = blocks(&fs::read_to_string(page)?, "sh");
        let [hook] = hooks.as_slice() else { bail!("{} hooks", hooks.len()) };
        ensure!(hook.contains(SECRET_FILE) && hook.contains(HINTS), "{hook}");
        let secret = self.folder.join("hint-secret");
        fs::write(&secret, SECRET)?;
        let place = self.folder.join("repositories/team/app.git/hooks/post-receive");
        fs::write(&place, hook.replace(SECRET_FILE, &secret.display().to_string()).replace(HINTS, hints))?;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// Runs git like a user with a checkout.
    async fn git(&self, arguments: &[&str]) -> Result<()> {
        git(&self.folder.join("work"), arguments).await
    }

    /// Makes a commit. Returns its id.
    async fn commit(&self, message: &str) -> Result<String> {
        let author = ["-c", "user.name=somebody", "-c", "user.email=somebody@git.example"];
        self.git(&[&author[..], &["commit", "--allow-empty", "--message", message]].concat()).await?;
        let head = fs::read_to_string(self.folder.join("work/.git/refs/heads/main"))?;
        Ok(head.trim().to_owned())
    }

    async fn push(&self, refs: &str) -> Result<()> {
        self.git(&["push", "--force", "../repositories/team/app.git", refs]).await
    }
}

async fn git(folder: &Path, arguments: &[&str]) -> Result<()> {
    installed::run(Launch::new("git", program("git", "git")?).arguments(arguments).in_folder(folder), folder).await
}

fn configuration(folder: &Path, address: &str) -> Result<String> {
    let (host, port) = address.split_once(':').context("no port")?;
    let folder = folder.display();
    Ok(format!(
        r#"server.document-root = "{folder}"
server.bind = "{host}"
server.port = {port}
server.modules = ("mod_auth", "mod_authn_file", "mod_cgi", "mod_setenv")
cgi.assign = (".cgi" => "")
setenv.set-environment = ("GIT_PROJECT_ROOT" => "{folder}/repositories", "GIT_HTTP_EXPORT_ALL" => "1")
auth.backend = "plain"
auth.backend.plain.userfile = "{folder}/users"
auth.require = ("/" => ("method" => "basic", "realm" => "git", "require" => "valid-user"))
"#
    ))
}

#[tokio::test]
async fn a_moved_branch_in_git_is_seen() -> Result<()> {
    World::run("git", async |world| {
        let mut server = GitServer::start(world).await?;
        let wanted = server.commit("approved").await?;
        server.push("main:main").await?;
        let replaced = [("git.code.svc:8080", server.address.as_str()), (WRITTEN, &wanted)];
        let hints = world.free_listen_address()?;
        let (subject, poller) = page::follow_told(world, (PAGE, &hints), &replaced).await?;
        subject.wait_for_verdict("True/NotCreated").await?;
        server.tell_of_pushes(&hints)?;
        // A name with the branch's name as a prefix is another branch.
        server.push("main:release-2").await?;
        server.push("main:release").await?;
        subject.wait_for_verdict("False/InSync").await?;

        server.commit("of somebody else").await?;
        server.push("main:release").await?;
        subject.wait_for_verdict("True/FieldsDiffer").await?;
        page::wait_until_hinted(&poller).await?;
        server.push(&format!("{wanted}:release")).await?;
        subject.wait_for_verdict("False/InSync").await?;

        server.process.stop().await?;
        subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        server.process = GitServer::launch(&server.folder, &server.address).await?;
        subject.wait_for_verdict("False/InSync").await?;

        // A missing repository is not a missing branch.
        let repository = server.folder.join("repositories/team/app.git");
        let aside = repository.with_extension("aside");
        fs::rename(&repository, &aside)?;
        subject.wait_for_verdict("Unknown/ExternalError").await?;
        fs::rename(&aside, &repository)?;
        subject.wait_for_verdict("False/InSync").await?;

        server.push(":release").await?;
        let object = subject.wait_for_verdict("True/ExternalMissing").await?;
        ensure!(condition(&object, "driftCorrected").is_none(), "a target without correct was corrected: {object}");
        subject.delete().await
    })
    .await
}
