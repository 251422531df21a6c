//! Opens a connection up to the login: checks the address, reads the server's greeting, and sets up TLS.

use mysql_common::constants::CapabilityFlags as Can;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, SslRequest};
use mysql_common::proto::MySerialize;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};

use crate::guard::allowance::Allowance;
use crate::guard::dialling::DialRules;
use crate::guard::stream::{Wire, connect, handshake};
use crate::sql::dial::{NO_TLS, open_socket, tls_configuration};
use crate::sql::mysql::failure::{ERROR, NOT_MYSQL, answered};
use crate::sql::mysql::packets::{PACKET_BYTES, Packets};
use crate::sql::{ConnectionParameters, SqlFailure, SslMode};

/// Maximum bytes from a server until the login ends, in any number of packets. They take less than 200.
pub(super) const LOGIN_BYTES: Allowance = Allowance::of(64 * 1024, "the login is larger than 64 KiB");
/// The only version of the protocol since 1998.
const PROTOCOL: u8 = 10;
/// Number of `utf8mb4_general_ci`.
const CHARACTER_SET: u8 = 45;
/// Bytes of a challenge. A zero byte follows it.
const NONCE_BYTES: usize = 20;
/// Capabilities that every server has since MySQL 5.5.
const NEEDED: Can = Can::CLIENT_PROTOCOL_41.union(Can::CLIENT_SECURE_CONNECTION).union(Can::CLIENT_PLUGIN_AUTH);
/// Capabilities that are used if the server has them. Several statements in one text and LOCAL INFILE are not among
/// them, and results end in the way that every server knows (without CLIENT_DEPRECATE_EOF).
const USED: Can = NEEDED
    .union(Can::CLIENT_LONG_PASSWORD)
    .union(Can::CLIENT_TRANSACTIONS)
    .union(Can::CLIENT_MULTI_RESULTS)
    .union(Can::CLIENT_PS_MULTI_RESULTS)
    .union(Can::CLIENT_CONNECT_ATTRS);

/// The stream of a connection after TLS is set up.
pub(super) type Stream = BufReader<Box<dyn Wire>>;

/// A connection before the login.
pub(super) struct Dialled {
    pub(super) packets: Packets<Stream>,
    pub(super) greeting: Greeting,
    /// True if no third party can read what is sent.
    pub(super) is_private: bool,
}

/// Opens a connection that is ready for the login.
pub(super) async fn dial(parameters: &ConnectionParameters, rules: &DialRules) -> Result<Dialled, SqlFailure> {
    if let Some(path) = parameters.host_and_port().strip_prefix("unix:") {
        let mut packets = Packets::over(open_socket(path).await?);
        let greeting = Greeting::receive(&mut packets, parameters).await?;
        return Ok(Dialled::of(greeting, packets, true));
    }
    let mut packets = Packets::over(connect(&parameters.host, parameters.port, rules).await?);
    // Unbuffered: anything after it was not sent under TLS, and the handshake rejects it.
    let mut greeting = Greeting::receive(&mut packets, parameters).await?;
    if parameters.ssl_mode == SslMode::Disable {
        let packets = Packets { wire: Box::new(packets.wire) as Box<dyn Wire>, next: packets.next };
        return Ok(Dialled::of(greeting, packets, false));
    }
    if !greeting.server_can.contains(Can::CLIENT_SSL) {
        return Err(NO_TLS.into());
    }
    greeting.capabilities |= Can::CLIENT_SSL;
    let mut request = Vec::new();
    SslRequest::new(greeting.capabilities, PACKET_BYTES, CHARACTER_SET).serialize(&mut request);
    packets.send(&request).await?;
    let wire = handshake(packets.wire, &parameters.host, tls_configuration(parameters)?).await?;
    let packets = Packets { wire: Box::new(wire) as Box<dyn Wire>, next: packets.next };
    Ok(Dialled::of(greeting, packets, true))
}

impl Dialled {
    fn of(greeting: Greeting, packets: Packets<Box<dyn Wire>>, is_private: bool) -> Self {
        let packets = Packets { wire: BufReader::new(packets.wire), next: packets.next };
        Self { packets, greeting, is_private }
    }
}

/// The server's first packet. The parser of `mysql_common` overflows on one of its lengths.
#[derive(Debug)]
pub(super) struct Greeting {
    server_can: Can,
    /// The capabilities of this connection. MySQL heeds only those of the client's first packet, which asks for TLS.
    pub(super) capabilities: Can,
    /// The server's challenge.
    pub(super) nonce: Vec<u8>,
    /// The way to log in that the server proposes.
    pub(super) plugin: AuthPlugin<'static>,
}

impl Greeting {
    async fn receive<W: AsyncRead + AsyncWrite + Unpin>(
        packets: &mut Packets<W>,
        parameters: &ConnectionParameters,
    ) -> Result<Self, SqlFailure> {
        let packet = packets.receive(&mut LOGIN_BYTES.clone()).await?;
        if packet.first() == Some(&ERROR) {
            return Err(answered(&packet));
        }
        let mut greeting = Self::parse(&packet).ok_or(NOT_MYSQL)?;
        greeting.capabilities.set(Can::CLIENT_CONNECT_WITH_DB, parameters.database.is_some());
        Ok(greeting)
    }

    /// Parses the packet. `None` if it is malformed, or of a server before MySQL 5.5.
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let mut rest = ParseBuf(packet);
        if rest.checked_eat_u8()? != PROTOCOL {
            return None;
        }
        let _version = rest.eat_null_str();
        let _connection = rest.checked_eat_u32_le()?;
        let mut nonce = rest.checked_eat(8)?.to_vec();
        let _filler = rest.checked_eat_u8()?;
        let low = rest.checked_eat_u16_le()?;
        let _character_set_and_status = rest.checked_eat(3)?;
        let high = rest.checked_eat_u16_le()?;
        let length = usize::from(rest.checked_eat_u8()?);
        let _reserved = rest.checked_eat(10)?;
        nonce.extend(rest.checked_eat(length.saturating_sub(8).max(13))?);
        nonce.truncate(NONCE_BYTES);
        let plugin = AuthPlugin::from_bytes(rest.eat_null_str()).into_owned();
        let server_can = Can::from_bits_truncate(u32::from(high) << 16 | u32::from(low));
        let capabilities = server_can & USED;
        server_can.contains(NEEDED).then_some(Self { server_can, capabilities, nonce, plugin })
    }
}
