//! The keys of one throwaway control plane: an authority, the API server's certificate for its site, its certificate as
//! the kubelet's client, and the key that signs ServiceAccount tokens.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use super::Site;

/// File names in the control plane's folder.
pub(super) const AUTHORITY: &str = "authority.crt";
pub(super) const KUBELET_CLIENT_CERTIFICATE: &str = "kubelet-client.crt";
pub(super) const KUBELET_CLIENT_KEY: &str = "kubelet-client.key";
pub(super) const SERVER_CERTIFICATE: &str = "server.crt";
pub(super) const SERVER_KEY: &str = "server.key";
pub(super) const ACCOUNTS_KEY: &str = "service-accounts.key";
pub(super) const ACCOUNTS_PUBLIC_KEY: &str = "service-accounts.pub";

/// The part of the keys that clients need.
pub(super) struct Keys {
    /// Certificate of the authority, PEM.
    pub(super) authority: String,
}

impl Keys {
    /// Generates fresh keys and writes those that the API server reads into `folder`.
    pub(super) fn generate(folder: &Path, site: Site) -> Result<Self> {
        let mut parameters = named("e2e authority", Vec::new())?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority_key = KeyPair::generate()?;
        let authority = parameters.self_signed(&authority_key)?.pem();
        let issuer = Issuer::new(parameters, authority_key);
        write(folder, AUTHORITY, &authority)?;

        let server_key = KeyPair::generate()?;
        let server = named("e2e API server", site.hosts())?.signed_by(&server_key, &issuer)?;
        write(folder, SERVER_CERTIFICATE, &format!("{}{authority}", server.pem()))?;
        write(folder, SERVER_KEY, &server_key.serialize_pem())?;
        let client_key = KeyPair::generate()?;
        write(folder, KUBELET_CLIENT_CERTIFICATE, &kubelet_client()?.signed_by(&client_key, &issuer)?.pem())?;
        write(folder, KUBELET_CLIENT_KEY, &client_key.serialize_pem())?;
        let accounts_key = KeyPair::generate()?;
        write(folder, ACCOUNTS_KEY, &accounts_key.serialize_pem())?;
        write(folder, ACCOUNTS_PUBLIC_KEY, &accounts_key.public_key_pem())?;
        Ok(Self { authority })
    }
}

/// Returns the API server's certificate as a client of kubelets, for logs and metrics.
fn kubelet_client() -> Result<CertificateParams> {
    let mut parameters = named("kube-apiserver-kubelet-client", Vec::new())?;
    parameters.distinguished_name.push(DnType::OrganizationName, "system:masters");
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    Ok(parameters)
}

/// Sets a unique name: OpenSSL considers a certificate self-signed if its issuer has the same name.
fn named(name: &str, hosts: Vec<String>) -> Result<CertificateParams> {
    let mut parameters = CertificateParams::new(hosts)?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, name);
    Ok(parameters)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}
