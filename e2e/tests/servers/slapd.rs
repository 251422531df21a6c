//! A real OpenLDAP server on loopback, with the accounts, containers and rules of docs/cookbook/ldap.md.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use drift_e2e::pages::blocks;
use drift_e2e::process::{Launch, Process, ports};

use crate::installed::{self, program, serving};

/// The administrator.
const ADMINISTRATOR: &str = "cn=admin,dc=example,dc=org";
/// Password of the administrator, and of the accounts on the page.
pub(crate) const PASSWORD: &str = "change-me";

/// A server with its own data folder.
pub(crate) struct Slapd {
    folder: PathBuf,
    pub(crate) address: String,
    /// The address of `ldaps`.
    pub(crate) tls_address: String,
    process: Process,
}

impl Slapd {
    /// Starts a server. `settings` are lines of its configuration, after those of the database.
    pub(crate) async fn start(parent: &Path, settings: &str) -> Result<Self> {
        let folder = parent.join("slapd");
        fs::create_dir_all(folder.join("data"))?;
        fs::write(folder.join("slapd.conf"), configuration(&folder, &page_rules()?, settings))?;
        fs::write(folder.join("entries.ldif"), blocks(&page()?, "ldif").concat())?;
        let add =
            Launch::new("slapadd", program("slapadd", "slapd")?).argument("-f").argument(folder.join("slapd.conf"));
        installed::run(add.argument("-l").argument(folder.join("entries.ldif")), &folder).await?;
        let address = format!("127.0.0.1:{}", ports::free_port()?);
        let tls_address = format!("127.0.0.1:{}", ports::free_port()?);
        let process = launch(&folder, &address, &tls_address).await?;
        Ok(Self { folder, address, tls_address, process })
    }

    pub(crate) async fn stop(&mut self) -> Result<()> {
        self.process.stop().await.map(drop)
    }

    pub(crate) async fn start_again(&mut self) -> Result<()> {
        self.process = launch(&self.folder, &self.address, &self.tls_address).await?;
        Ok(())
    }

    /// Starts it again with these access rules before those of the page.
    pub(crate) async fn start_again_with(&mut self, rules: &str) -> Result<()> {
        self.stop().await?;
        let page = format!("{rules}{}", page_rules()?);
        fs::write(self.folder.join("slapd.conf"), configuration(&self.folder, &page, ""))?;
        self.start_again().await
    }

    /// Applies changes in LDIF as the administrator.
    pub(crate) async fn change(&self, ldif: &str) -> Result<()> {
        let file = self.folder.join("change.ldif");
        fs::write(&file, ldif)?;
        let tool = self.tool("ldapmodify")?.argument("-f").argument(file);
        installed::run(tool, &self.folder).await
    }

    /// Returns the lines of the groups in LDIF, sorted, without blank ones.
    pub(crate) async fn groups(&self) -> Result<Vec<String>> {
        self.search(["description", "member"]).await
    }

    /// Returns the lines that change with each write to a group.
    pub(crate) async fn changes(&self) -> Result<Vec<String>> {
        self.search(["entryCSN", "entryUUID"]).await
    }

    async fn search(&self, attributes: [&str; 2]) -> Result<Vec<String>> {
        let file = self.folder.join("ldapsearch.log");
        let _ = fs::remove_file(&file);
        let tool = self.tool("ldapsearch")?.arguments(["-LLL", "-o", "ldif-wrap=no", "-s", "sub"]);
        let tool = tool.arguments(["-b", "ou=groups,dc=example,dc=org", "(objectClass=groupOfNames)"]);
        installed::run(tool.arguments(attributes), &self.folder).await?;
        let text = fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
        let mut lines: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        lines.sort();
        Ok(lines)
    }

    fn tool(&self, name: &str) -> Result<Launch> {
        let launch = Launch::new(name, program(name, "ldap-utils")?);
        let url = format!("ldap://{}", self.address);
        Ok(launch.arguments(["-x", "-H", &url, "-D", ADMINISTRATOR, "-w", PASSWORD]))
    }
}

fn page() -> Result<String> {
    Ok(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cookbook/ldap.md"))?)
}

fn page_rules() -> Result<String> {
    Ok(blocks(&page()?, "conf").concat())
}

async fn launch(folder: &Path, address: &str, tls_address: &str) -> Result<Process> {
    let launch = Launch::new("slapd", program("slapd", "slapd")?).argument("-f").argument(folder.join("slapd.conf"));
    // With a debug level it stays in the foreground.
    let launch = launch.arguments(["-d", "0", "-h", &format!("ldap://{address} ldaps://{tls_address}")]);
    serving(launch, folder, address).await
}

fn configuration(folder: &Path, rules: &str, settings: &str) -> String {
    let schemas = ["core", "cosine", "inetorgperson"].map(|name| format!("include /etc/ldap/schema/{name}.schema\n"));
    let (schemas, folder) = (schemas.concat(), folder.display());
    format!(
        "{schemas}modulepath /usr/lib/ldap\nmoduleload back_mdb\npidfile {folder}/slapd.pid\n{settings}\n\
         database mdb\nmaxsize 10485760\nsuffix \"dc=example,dc=org\"\nrootdn \"{ADMINISTRATOR}\"\n\
         rootpw {PASSWORD}\ndirectory {folder}/data\n{rules}\n"
    )
}
