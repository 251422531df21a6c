//! `auth.awsSigV4`: signatures of AWS and of servers that follow it, such as S3 alikes.
//!
//! It names where the keys come from and never holds one.

use url::Url;

use crate::secrets::secret_key::whole_secret;
use crate::section::{Section, literal, section};
use crate::systems::http::auth::oauth2::token_url;
use crate::systems::http::auth::service_account_token::ServiceAccountToken;
use crate::yaml::{Fields, Node, Reader};

/// Maximum bytes of a region or a service. The longest ones of AWS have about 30.
const MAX_NAME_BYTES: usize = 64;

/// The signature of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AwsSigV4 {
    /// The region, such as `eu-central-1`.
    pub region: String,
    /// The service by the name in its host, such as `sqs`.
    pub service: String,
    /// The source of the keys.
    pub keys: AwsKeys,
}

/// The source of the keys that sign.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AwsKeys {
    /// The Secret with keys `accessKeyId`, `secretAccessKey` and, for temporary keys, `sessionToken`.
    Secret(String),
    /// A role for which a projected ServiceAccount token is exchanged.
    Role(AwsRole),
}

/// A role of AWS that trusts the cluster's identity provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AwsRole {
    /// The Amazon Resource Name of the role.
    pub arn: String,
    /// The file name of the projected token.
    pub token: String,
    /// The server that gives the temporary keys.
    pub sts_url: Url,
}

/// The section as written.
#[derive(Section)]
#[section(value = AwsSigV4, check = make)]
pub(crate) struct WrittenAwsSigV4 {
    /// The region: eu-central-1.
    #[key(literal(parse_name))]
    region: String,
    /// The service in the signature: sqs.
    #[key(literal(parse_name))]
    service: String,
    #[key(flatten = ())]
    keys: WrittenKeys,
}

#[derive(Section)]
enum WrittenKeys {
    /// A Secret in the programs' namespace.
    #[key(whole_secret(), name = "secretRef")]
    Secret(String),
    /// In place of secretRef: temporary keys of a role.
    #[key(name = "webIdentity")]
    Role(WrittenRole),
}

#[derive(Section)]
#[section(rules = check_sts_url)]
struct WrittenRole {
    /// The role: arn:aws:iam::123456789012:role/drift.
    #[key(literal(parse_role))]
    role_arn: String,
    /// The projected token that it trusts.
    #[key(section::<ServiceAccountToken>(()))]
    service_account_token: String,
    /// Default: the host sts.REGION.amazonaws.com, by https.
    #[key(token_url())]
    sts_url: Option<Url>,
}

/// The beginning of roles whose server has a default.
const USUAL_PARTITION: &str = "arn:aws:";

/// Other partitions have other names of their servers.
fn check_sts_url(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<()> {
    let role = fields.get("roleArn").and_then(Node::as_text).filter(|role| parse_role(role).is_ok());
    if fields.get("stsUrl").is_none() && role.is_some_and(|role| !role.starts_with(USUAL_PARTITION)) {
        let message = format!("{} is missing: only {USUAL_PARTITION} has a default", fields.place("stsUrl"));
        return reader.refuse(fields.at(), message);
    }
    Some(())
}

fn make(written: WrittenAwsSigV4, _: &mut Reader<'_>, _: &Fields<'_>, (): ()) -> Option<AwsSigV4> {
    let WrittenAwsSigV4 { region, service, keys } = written;
    let keys = match keys {
        WrittenKeys::Secret(secret) => AwsKeys::Secret(secret),
        WrittenKeys::Role(WrittenRole { role_arn, service_account_token, sts_url }) => {
            let usual = || Url::parse(&format!("https://sts.{region}.amazonaws.com/")).ok();
            AwsKeys::Role(AwsRole { arn: role_arn, token: service_account_token, sts_url: sts_url.or_else(usual)? })
        }
    };
    Some(AwsSigV4 { region, service, keys })
}

fn parse_role(text: &str) -> Result<String, String> {
    match text.starts_with("arn:") && text.contains(":role/") {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is no role; write for example arn:aws:iam::123456789012:role/drift")),
    }
}

fn parse_name(text: &str) -> Result<String, String> {
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if text.is_empty() || text.len() > MAX_NAME_BYTES || !text.bytes().all(is_known) {
        return Err(format!("`{text}` is no region and no service; write for example eu-central-1 or sqs"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_role_at_the_wrong_place_is_told() {
        let (role, token) = ("arn:aws:iam::123456789012:role/drift", "serviceAccountToken: {name: t}");
        for (keys, expected) in [
            (format!("role: '{role}'"), "awsSigV4.role: it belongs to webIdentity: {roleArn: …, serviceAccountToken: "),
            (format!("roleArn: '{role}', secretRef: {{name: s}}"), "awsSigV4.roleArn: it belongs to webIdentity"),
            (format!("webIdentity: {{role: '{role}', {token}}}"), "webIdentity: did you mean `roleArn`?"),
        ] {
            let auth = format!("{{awsSigV4: {{region: eu-central-1, service: sqs, {keys}}}}}");
            let faults = crate::fixtures::faults_of_auth(&auth);
            assert!(faults.iter().any(|fault| fault.contains(expected)), "{keys}: {faults:?}");
        }
    }
}
