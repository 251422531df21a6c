//! Logs in. The password itself is sent only where no third party can read it.

use mysql_common::constants::CapabilityFlags as Can;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakeResponse};
use mysql_common::proto::MySerialize;
use secrecy::ExposeSecret;

use crate::sql::mysql::dial::{Dialled, Greeting, LOGIN_BYTES, Stream};
use crate::sql::mysql::failure::{ERROR, NOT_MYSQL, answered};
use crate::sql::mysql::packets::{PACKET_BYTES, Packets};
use crate::sql::{ConnectionParameters, SqlFailure};

/// The server's version from which on `mysql_common` announces the character set `utf8mb4`.
const UTF8MB4: (u16, u16, u16) = (5, 5, 3);
/// First byte of the packet that ends the login.
const LOGGED_IN: u8 = 0;
/// First byte of a request to log in in another way.
const SWITCH: u8 = 0xfe;
/// The server remembers a hash of the password, and the response to the challenge matches it.
const KNOWN: [u8; 2] = [1, 3];
/// The server remembers nothing, and asks for the password itself.
const PASSWORD_WANTED: [u8; 2] = [1, 4];

/// The failure of a server that asks for a way to log in that can give the password away, or that is not implemented.
const OTHER_LOGIN: SqlFailure = SqlFailure::LoginUnsupported(
    "the server asks for another way to log in than mysql_native_password or caching_sha2_password",
);
/// The failure of a server that asks for the password itself over plain TCP. A key that it sends there could be
/// anybody's.
const UNPROTECTED: SqlFailure = SqlFailure::LoginUnsupported(
    "the server asks for the password itself (caching_sha2_password), so set sslmode to verify-full or require",
);

/// Logs in as the account of the Secret. The server's administrator sees `name`.
pub(super) async fn log_in(
    dialled: Dialled,
    parameters: &ConnectionParameters,
    name: &str,
) -> Result<Packets<Stream>, SqlFailure> {
    let Dialled { mut packets, greeting, is_private } = dialled;
    let password = parameters.password.as_ref().map(|password| password.expose_secret());
    packets.send(&response(&greeting, parameters, password, name)).await?;
    let (mut allowance, mut may_switch) = (LOGIN_BYTES, true);
    loop {
        let packet = packets.receive(&mut allowance).await?;
        match packet.as_slice() {
            [LOGGED_IN, ..] => return Ok(packets),
            [ERROR, ..] => return Err(answered(&packet)),
            // The protocol has one switch at most.
            [SWITCH, ..] if may_switch => {
                may_switch = false;
                packets.send(&response_to_switch(&packet, password)?).await?;
            }
            packet if packet == KNOWN => {}
            packet if packet == PASSWORD_WANTED && is_private => {
                packets.send(&[password.unwrap_or_default().as_bytes(), b"\0"].concat()).await?;
            }
            packet if packet == PASSWORD_WANTED => return Err(UNPROTECTED),
            _ => return Err(NOT_MYSQL),
        }
    }
}

/// Returns the client's first packet. If the server proposes another way to log in, it asks to switch.
fn response(greeting: &Greeting, parameters: &ConnectionParameters, password: Option<&str>, name: &str) -> Vec<u8> {
    let plugin = match greeting.plugin {
        AuthPlugin::CachingSha2Password => AuthPlugin::CachingSha2Password,
        _ => AuthPlugin::MysqlNativePassword,
    };
    let proof = plugin.gen_data(password, &greeting.nonce);
    let has_attributes = greeting.capabilities.contains(Can::CLIENT_CONNECT_ATTRS);
    let attributes = has_attributes.then(|| [("program_name".to_owned(), name.to_owned())].into());
    let response = HandshakeResponse::new(
        proof.as_deref(),
        UTF8MB4,
        Some(parameters.user.as_bytes()),
        parameters.database.as_ref().map(|database| database.as_bytes()),
        Some(plugin),
        greeting.capabilities,
        attributes,
        PACKET_BYTES,
    );
    let mut packet = Vec::new();
    response.serialize(&mut packet);
    packet
}

fn response_to_switch(packet: &[u8], password: Option<&str>) -> Result<Vec<u8>, SqlFailure> {
    if packet.len() == 1 {
        // The way of servers before MySQL 4.1.
        return Err(OTHER_LOGIN);
    }
    let request: AuthSwitchRequest<'_> = ParseBuf(packet).parse(()).map_err(|_| NOT_MYSQL)?;
    match request.auth_plugin() {
        plugin @ (AuthPlugin::CachingSha2Password | AuthPlugin::MysqlNativePassword) => {
            let proof = plugin.gen_data(password, request.plugin_data());
            Ok(proof.map(|proof| proof.to_vec()).unwrap_or_default())
        }
        _ => Err(OTHER_LOGIN),
    }
}
