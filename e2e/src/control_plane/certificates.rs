//! The keys of one throwaway control plane: an authority, the API server's certificate for 127.0.0.1, and the key
//! that signs ServiceAccount tokens.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// File names in the control plane's folder.
pub(super) const SERVER_CERTIFICATE: &str = "server.crt";
pub(super) const SERVER_KEY: &str = "server.key";
pub(super) const ACCOUNTS_KEY: &str = "service-accounts.key";
pub(super) const ACCOUNTS_PUBLIC_KEY: &str = "service-accounts.pub";

/// What clients need to know of the keys.
pub(super) struct Keys {
    /// The authority's certificate, PEM.
    pub(super) authority: String,
}

impl Keys {
    /// Makes fresh keys and writes those that the API server reads into `folder`.
    pub(super) fn generate(folder: &Path) -> Result<Self> {
        let mut parameters = named("e2e authority", &[])?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority_key = KeyPair::generate()?;
        let authority = parameters.self_signed(&authority_key)?.pem();
        let issuer = Issuer::new(parameters, authority_key);

        let server_key = KeyPair::generate()?;
        let server = named("e2e API server", &["127.0.0.1", "localhost"])?.signed_by(&server_key, &issuer)?;
        write(folder, SERVER_CERTIFICATE, &format!("{}{authority}", server.pem()))?;
        write(folder, SERVER_KEY, &server_key.serialize_pem())?;
        let accounts_key = KeyPair::generate()?;
        write(folder, ACCOUNTS_KEY, &accounts_key.serialize_pem())?;
        write(folder, ACCOUNTS_PUBLIC_KEY, &accounts_key.public_key_pem())?;
        Ok(Self { authority })
    }
}

/// Each certificate needs a name of its own: OpenSSL takes one whose issuer has its own name for self-signed.
fn named(name: &str, hosts: &[&str]) -> Result<CertificateParams> {
    let mut parameters = CertificateParams::new(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    Ok(parameters)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}
