//! Failures of a session, as fixed texts and codes.

use crate::guard::failure::SystemFailure;
use crate::sql::state::SqlState;
use mysql_common::io::ParseBuf;

use crate::refusal::ServerText;
use crate::sql::SqlFailure;

/// The failure of a server that does not follow the protocol.
pub(super) const NOT_MYSQL: SqlFailure = SqlFailure::System(SystemFailure::Unreachable("the answer is not MySQL's"));
/// The failure of a statement that takes several packets. No statement of a target is that long.
pub(super) const LONG_STATEMENT: SqlFailure =
    SqlFailure::System(SystemFailure::Unreadable("the statement and its parameters are larger than 16 MiB"));

/// First byte of an error packet.
pub(super) const ERROR: u8 = 0xff;
/// State of an error that has none: errors before the login, such as too many connections.
const NO_STATE: &[u8] = b"HY000";

/// Reads an error packet.
pub(super) fn answered(packet: &[u8]) -> SqlFailure {
    state_and_text(packet).map_or(NOT_MYSQL, |(state, text)| SqlFailure::Answered(state, text))
}

fn state_and_text(packet: &[u8]) -> Option<(SqlState, ServerText)> {
    let mut rest = ParseBuf(packet);
    rest.checked_eat_u8()?;
    let number = rest.checked_eat_u16_le()?;
    let (state, text) = match rest.0 {
        [b'#', rest @ ..] => rest.split_at_checked(NO_STATE.len())?,
        text => (NO_STATE, text),
    };
    let state = SqlState::parse_mysql(std::str::from_utf8(state).ok()?, number)?;
    Some((state, ServerText::from(&*String::from_utf8_lossy(text))))
}
