//! `auth.awsSigV4`: signatures of AWS and of servers that follow it, such as S3 alikes.
//!
//! It names where the keys come from and never holds one.

use url::Url;

use crate::secrets::secret_key::read_whole_secret;
use crate::systems::http::auth::oauth2::read_token_url;
use crate::systems::http::auth::service_account_token::read_service_account_token;
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

pub(crate) fn read_aws_sig_v4(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<AwsSigV4> {
    let fields = reader.fields(node, place, &["region", "service", "secretRef", "webIdentity"])?;
    let region = reader.needed(&fields, "region", read_name);
    let service = reader.needed(&fields, "service", read_name);
    let of_region = region.as_deref().unwrap_or_default();
    let keys = match (fields.get("secretRef"), fields.get("webIdentity")) {
        (Some(_), None) => reader.needed(&fields, "secretRef", read_whole_secret).map(AwsKeys::Secret),
        (None, Some(_)) => reader.needed(&fields, "webIdentity", |reader, node, place| {
            let fields = reader.fields(node, place, &["roleArn", "serviceAccountToken", "stsUrl"])?;
            read_role(reader, &fields, of_region).map(AwsKeys::Role)
        }),
        _ => reader.refuse(node.at, format!("{place}: exactly one of secretRef, webIdentity is needed")),
    };
    Some(AwsSigV4 { region: region?, service: service?, keys: keys? })
}

fn read_role(reader: &mut Reader<'_>, fields: &Fields<'_>, region: &str) -> Option<AwsRole> {
    let arn = reader.needed(fields, "roleArn", |reader, node, place| {
        let arn = reader.literal(node, place)?;
        if !(arn.starts_with("arn:") && arn.contains(":role/")) {
            let example = "write for example arn:aws:iam::123456789012:role/drift";
            return reader.refuse(node.at, format!("{place}: `{arn}` is no role; {example}"));
        }
        Some(arn.to_owned())
    });
    let token = reader.needed(fields, "serviceAccountToken", read_service_account_token);
    let sts_url = reader.optional(fields, "stsUrl", read_token_url)?;
    let (arn, token) = (arn?, token?);
    let usual = format!("https://sts.{region}.amazonaws.com/");
    let sts_url = match sts_url {
        Some(url) => url,
        None if arn.starts_with("arn:aws:") => Url::parse(&usual).ok()?,
        // Other partitions have other names.
        None => {
            let message = format!("{} is missing: only arn:aws: has a default", fields.place("stsUrl"));
            return reader.refuse(fields.at(), message);
        }
    };
    Some(AwsRole { arn, token, sts_url })
}

fn read_name(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<String> {
    let name = reader.literal(node, place)?;
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_known) {
        let message = format!("{place}: `{name}` is no region and no service; write for example eu-central-1 or sqs");
        return reader.refuse(node.at, message);
    }
    Some(name.to_owned())
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
