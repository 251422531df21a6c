//! `auth.awsSigV4`: signatures of AWS and of servers that follow it, such as S3 alikes.
//!
//! It names a Secret and never holds a key.

use crate::secrets::secret_key::read_whole_secret;
use crate::yaml::Node;
use crate::yaml::reader::Reader;

/// Maximum bytes of a region or a service. The longest ones of AWS have about 30.
const MAX_NAME_BYTES: usize = 64;

/// The signature of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AwsSigV4 {
    /// The region, such as `eu-central-1`.
    pub region: String,
    /// The service by the name in its host, such as `sqs`.
    pub service: String,
    /// The Secret with keys `accessKeyId`, `secretAccessKey` and, for temporary keys, `sessionToken`.
    pub secret: String,
}

pub(crate) fn read_aws_sig_v4(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<AwsSigV4> {
    let fields = reader.fields(node, place, &["region", "service", "secretRef"])?;
    let region = reader.needed(&fields, "region", read_name);
    let service = reader.needed(&fields, "service", read_name);
    let secret = reader.needed(&fields, "secretRef", read_whole_secret);
    Some(AwsSigV4 { region: region?, service: service?, secret: secret? })
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
