//! Our sessions with a real OpenLDAP server: protection, limits, and values that try to leave their place.

use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_e2e::process::run_folder;
use drift_language::cel::Variables;
use drift_language::ldap::{Change, Search};
use drift_language::{Destination, DocumentName, LdapStep, Source, Target, parse_document};
use drift_systems::{DirectoryParameters, DirectoryServer, LdapFailure, SearchAnswer, WriteProgress};
use serde_json::{Value, json};

use crate::slapd::{PASSWORD, Slapd};

const GROUPS: &str = "ou=groups,dc=example,dc=org";

/// Our access to a server with these keys of the Secret.
fn access(url: &str, account: &str, more: &[(&str, &str)]) -> Result<DirectoryParameters> {
    let dn = format!("cn={account},ou=services,dc=example,dc=org");
    let data = [&[("url", url), ("bindDn", &dn), ("password", PASSWORD)], more].concat();
    let data = data.into_iter().map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
    let secrets: LabelledSecrets = [("s".to_owned(), LabelledSecret::new(None, data))].into_iter().collect();
    Ok(DirectoryParameters::of("s", &secrets, false)?)
}

fn target() -> Result<Target> {
    let text = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: groups}}
spec:
  objects: {{apiVersion: directory.example/v1, kind: Group}}
  identity: "${{self.spec.name}}"
  read:
    ldap:
      secretRef: {{name: s}}
      base: {GROUPS}
      scope: one
      filter: "(&(objectClass=groupOfNames)(cn=${{self.spec.name}}))"
      attributes: [cn, Member, seeAlso]
  compare: {{desired: {{cn: ["${{self.spec.name}}"]}}}}
  correct:
    mode: Correct
    ldap:
      secretRef: {{name: s}}
      create:
      - add:
          dn: "cn=${{self.spec.name}},{GROUPS}"
          attributes: {{objectClass: [groupOfNames], cn: "${{self.spec.name}}", member: {{dn: "cn=${{self.spec.name}},dc=b"}}}}
      - modify: {{dn: "cn=${{self.spec.name}},{GROUPS}", add: {{member: "cn=c"}}, delete: {{member: {{dn: "cn=${{self.spec.name}},dc=b"}}}}}}
      delete: [{{delete: {{dn: "cn=${{self.spec.name}},{GROUPS}"}}}}]
"#
    );
    let name = DocumentName { config_map: "directory".to_owned(), key: "groups".to_owned() };
    parse_document(&name, &text).map_err(|problems| anyhow!("{problems:?}"))
}

/// The client, with a target whose templates make the requests.
struct Client {
    target: Target,
    parameters: DirectoryParameters,
}

impl Client {
    fn server(&self) -> DirectoryServer<'_> {
        DirectoryServer { parameters: &self.parameters, allow_networks: &[] }
    }

    async fn search(&self, name: &str) -> Result<Result<SearchAnswer, LdapFailure>> {
        let Source::Ldap(read) = &self.target.read.source else { return Err(anyhow!("no search")) };
        let search: Search = read.render(&object(name))?;
        Ok(self.server().search(&search, Duration::from_secs(5)).await)
    }

    async fn run(&self, steps: impl Fn(&drift_language::LdapCorrect) -> &[LdapStep], name: &str) -> Result<()> {
        let Some(Destination::Ldap(ldap)) = &self.target.correct.destination else { return Err(anyhow!("no steps")) };
        for step in steps(ldap) {
            let object = object(name);
            let change: Change = step.render(&Variables::of_object(&object))?.context("a skipped step")?;
            self.server().change(&change, &WriteProgress::default()).await?;
        }
        Ok(())
    }
}

fn object(name: &str) -> Value {
    json!({"spec": {"name": name}})
}

#[tokio::test]
async fn a_directory_takes_every_value_as_a_value() -> Result<()> {
    let server = Slapd::start(&run_folder::path()?.join("ldap-values"), "").await?;
    let url = format!("ldap://{}", server.address);
    let client = Client { target: target()?, parameters: access(&url, "drift-controller", &[])? };
    let names = ["plain", "a,ou=x", " b ", "#c", "*", "*)(cn=plain", "d\\2a\"+;<>=", "é ü", "(|(a=b))"];
    for name in names {
        client.run(|ldap| &ldap.steps.create, name).await.with_context(|| name.to_owned())?;
    }
    ensure!(server.groups().await?.iter().filter(|line| line.starts_with("dn:")).count() == names.len());
    for name in names {
        let found = client.search(name).await?;
        let Ok(SearchAnswer::Entries(entries)) = &found else { return Err(anyhow!("{name}: {found:?}")) };
        let [entry] = entries.as_slice() else { return Err(anyhow!("{name}: {entries:?}")) };
        ensure!(entry["cn"][0].as_str().map(str::trim) == Some(name.trim()), "{name}: {entry}");
        ensure!(entry["Member"] == json!(["cn=c"]) && entry["seeAlso"] == json!([]), "{name}: {entry}");
        client.run(|ldap| &ldap.steps.delete, name).await?;
    }
    ensure!(server.groups().await?.is_empty());
    ensure!(client.search("plain").await? == Ok(SearchAnswer::Entries(Vec::new())));
    Ok(())
}

#[tokio::test]
async fn a_directory_says_what_it_refuses() -> Result<()> {
    let server = Slapd::start(&run_folder::path()?.join("ldap-limits"), "sizelimit 1").await?;
    let url = format!("ldap://{}", server.address);
    let controller = Client { target: target()?, parameters: access(&url, "drift-controller", &[])? };
    controller.run(|ldap| &ldap.steps.create, "a").await?;
    let again = controller.run(|ldap| &ldap.steps.create, "a").await.unwrap_err().to_string();
    ensure!(again == "LDAP result 68 entryAlreadyExists", "{again}");
    server
        .change(&format!("dn: cn=b,{GROUPS}\nchangetype: add\nobjectClass: groupOfNames\ncn: b\ncn: a\nmember: cn=c\n"))
        .await?;
    let both = controller.search("a").await?.unwrap_err().to_string();
    ensure!(both == "LDAP result 4 sizeLimitExceeded", "{both}");

    let poller = Client { target: target()?, parameters: access(&url, "drift-poller", &[])? };
    let denied = poller.run(|ldap| &ldap.steps.create, "c").await.unwrap_err().to_string();
    ensure!(denied == "LDAP result 50 insufficientAccessRights", "{denied}");
    let nobody = Client { target: target()?, parameters: access(&url, "nobody", &[])? };
    let unknown = nobody.search("a").await?.unwrap_err().to_string();
    ensure!(unknown == "bind: LDAP result 49 invalidCredentials", "{unknown}");
    Ok(())
}

#[tokio::test]
async fn a_directory_is_reached_by_both_ways_of_tls() -> Result<()> {
    let folder = run_folder::path()?.join("ldap-tls");
    std::fs::create_dir_all(&folder)?;
    let certificate = |name: &str| -> Result<String> {
        let key = rcgen::KeyPair::generate()?;
        let certificate = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])?.self_signed(&key)?.pem();
        std::fs::write(folder.join(format!("{name}.key")), key.serialize_pem())?;
        std::fs::write(folder.join(format!("{name}.crt")), &certificate)?;
        Ok(certificate)
    };
    let (trusted, other) = (certificate("server")?, certificate("other")?);
    let settings = format!(
        "TLSCertificateFile {0}/server.crt\nTLSCertificateKeyFile {0}/server.key\nTLSCACertificateFile {0}/server.crt\n\
         security ssf=128\n",
        folder.display()
    );
    let server = Slapd::start(&folder, &settings).await?;
    let (plain, tls) = (format!("ldap://{}", server.address), format!("ldaps://{}", server.tls_address));
    let found = async |url: &str, more: &[(&str, &str)]| -> Result<String> {
        let client = Client { target: target()?, parameters: access(url, "drift-poller", more)? };
        Ok(client.search("a").await?.map_or_else(|failure| failure.to_string(), |answer| format!("{answer:?}")))
    };
    ensure!(found(&tls, &[("ca.crt", &trusted)]).await? == "Entries([])");
    ensure!(found(&plain, &[("ca.crt", &trusted), ("startTls", "true")]).await? == "Entries([])");
    for (url, more) in [(&tls, vec![("ca.crt", &*other)]), (&plain, vec![("ca.crt", &*other), ("startTls", "true")])] {
        let said = found(url, &more).await?;
        ensure!(said.starts_with("no connection: TLS: "), "{said}");
    }
    let unprotected = found(&plain, &[]).await?;
    ensure!(unprotected == "bind: LDAP result 13 confidentialityRequired", "{unprotected}");
    Ok(())
}
