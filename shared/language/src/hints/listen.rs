//! `hints.listen`: notifications of a PostgreSQL server, as `NOTIFY` and `pg_notify` send them.
//!
//! It must not know how a server is listened to.

use crate::hints::HintedIdentities;
use crate::systems::postgres::{Connection, read_connection};
use crate::yaml::Node;
use crate::yaml::raw::Reader;

/// Bytes of a channel's name; PostgreSQL takes no longer one (NAMEDATALEN).
const MAX_CHANNEL_BYTES: usize = 63;

/// Notifications of one channel.
#[derive(Debug)]
pub struct ListenHints {
    /// Which database, and as whom.
    pub connection: Connection,
    /// The channel, letter for letter as the sender names it.
    pub channel: String,
    /// Names the external resources, over `payload`, which is the notification's text.
    pub identities: HintedIdentities,
}

pub(super) fn read_listen(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<ListenHints> {
    let fields = reader.fields(node, place, &["connection", "channel", "identity"])?;
    let connection = reader.needed(&fields, "connection", read_connection);
    let channel = reader.needed(&fields, "channel", read_channel);
    let identities = reader.needed(&fields, "identity", HintedIdentities::read);
    Some(ListenHints { connection: connection?, channel: channel?, identities: identities? })
}

fn read_channel(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<String> {
    let text = reader.literal(node, place)?;
    if !(1..=MAX_CHANNEL_BYTES).contains(&text.len()) || text.chars().any(char::is_control) {
        let message = format!("{place}: a channel's name has 1 to {MAX_CHANNEL_BYTES} bytes and no control character");
        return reader.refuse(node.at, message);
    }
    Some(text.to_owned())
}
