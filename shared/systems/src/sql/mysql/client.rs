//! The commands of a session and their results.

use crate::guard::failure::SystemFailure;
use std::sync::Arc;

use mysql_common::constants::{Command, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{Column, ComStmtClose, ComStmtExecuteRequestBuilder, StmtPacket};
use mysql_common::proto::{MySerialize, Text};
use mysql_common::row::{Row, RowDeserializer};
use mysql_common::value::{ServerSide, Value};

use crate::guard::allowance::Allowance;
use crate::sql::SqlFailure;
use crate::sql::mysql::dial::Stream;
use crate::sql::mysql::failure::{ERROR, LONG_STATEMENT, NOT_MYSQL, answered};
use crate::sql::mysql::packets::Packets;
use crate::sql::value::{MAX_COLUMNS, TOO_MANY_COLUMNS};

/// Maximum bytes of an answer without rows, or with the one row of a setting. An error's text has at most 512 bytes.
pub(super) const ANSWER_BYTES: Allowance = Allowance::of(64 * 1024, "larger than 64 KiB");
/// Maximum bytes that describe the columns of a result, or a prepared statement: 4,096 columns of 256 bytes.
const COLUMNS_BYTES: Allowance = Allowance::of(1024 * 1024, "its columns are described by more than 1 MiB");
/// Maximum bytes of results that are thrown away, such as those of a procedure. As many as the largest `maxBytes`.
pub(super) const UNUSED_BYTES: Allowance =
    Allowance::of(16 * 1024 * 1024, "the results of the statement are larger than 16 MiB");

/// The message about a marker of a parameter that the target did not write.
const PARAMETERS: &str = "a `?` in the statement reads as a parameter";
/// The message about LOCAL INFILE.
const WANTS_FILE: &str = "the server asks for a file of this program";

/// First byte of an answer without a result.
const DONE: u8 = 0;
/// First byte of a request for a file.
const FILE: u8 = 0xfb;
/// First byte of the packet after the columns or rows of a result, and its maximum length. A row can begin like it.
const END: u8 = 0xfe;
const END_BYTES: usize = 8;

/// The commands of one connection.
pub(super) struct Client {
    packets: Packets<Stream>,
    /// The last prepared statement. A target repeats its query.
    prepared: Option<Prepared>,
}

struct Prepared {
    text: Arc<str>,
    id: u32,
    parameters: usize,
}

/// The beginning of an answer.
pub(super) enum Answer {
    /// It has no result.
    Done { has_more: bool },
    /// Rows follow.
    Columns(Arc<[Column]>),
}

/// The continuation of a result.
pub(super) enum Next {
    Row(Vec<u8>),
    End { has_more: bool },
}

impl Client {
    pub(super) const fn over(packets: Packets<Stream>) -> Self {
        Self { packets, prepared: None }
    }

    /// Runs a statement of our own, and returns the first row of its result.
    pub(super) async fn query(&mut self, text: &str) -> Result<Option<Vec<Value>>, SqlFailure> {
        self.packets.command(&[&[Command::COM_QUERY as u8], text.as_bytes()].concat()).await?;
        let mut allowance = ANSWER_BYTES;
        let columns = match self.answer(&mut allowance).await? {
            Answer::Done { has_more } => return self.discard(has_more, &mut allowance).await.map(|()| None),
            Answer::Columns(columns) => columns,
        };
        let mut first = None;
        loop {
            match self.next(&mut allowance).await? {
                Next::Row(row) if first.is_none() => first = Some(texts(&row, columns.clone())?),
                Next::Row(_) => {}
                Next::End { has_more } => return self.discard(has_more, &mut allowance).await.map(|()| first),
            }
        }
    }

    /// Prepares and runs a statement, so that the server takes exactly one.
    pub(super) async fn execute(&mut self, text: &Arc<str>, parameters: &[Value]) -> Result<Answer, SqlFailure> {
        let id = self.prepare(text, parameters.len()).await?;
        let (request, is_long) = ComStmtExecuteRequestBuilder::new(id).build(parameters);
        if is_long {
            return Err(LONG_STATEMENT);
        }
        let mut command = Vec::new();
        request.serialize(&mut command);
        self.packets.command(&command).await?;
        self.answer(&mut COLUMNS_BYTES.clone()).await
    }

    /// Returns the number of a prepared statement.
    async fn prepare(&mut self, text: &Arc<str>, parameters: usize) -> Result<u32, SqlFailure> {
        if let Some(known) = self.prepared.take() {
            if known.text == *text && known.parameters == parameters {
                return Ok(self.prepared.insert(known).id);
            }
            let mut command = Vec::new();
            ComStmtClose::new(known.id).serialize(&mut command);
            self.packets.command(&command).await?;
        }
        self.packets.command(&[&[Command::COM_STMT_PREPARE as u8], text.as_bytes()].concat()).await?;
        let mut allowance = COLUMNS_BYTES;
        let packet = self.receive(&mut allowance).await?;
        let statement: StmtPacket = ParseBuf(&packet).parse(()).map_err(|_| NOT_MYSQL)?;
        if usize::from(statement.num_params()) != parameters {
            return Err(SqlFailure::System(SystemFailure::Unreadable(PARAMETERS)));
        }
        // The result describes its columns again.
        for count in [statement.num_params(), statement.num_columns()] {
            self.definitions(count.into(), &mut allowance).await?;
        }
        let id = statement.statement_id();
        self.prepared = Some(Prepared { text: text.clone(), id, parameters });
        Ok(id)
    }

    /// Receives the beginning of an answer.
    async fn answer(&mut self, allowance: &mut Allowance) -> Result<Answer, SqlFailure> {
        let packet = self.receive(allowance).await?;
        match packet.first() {
            Some(&DONE) => {
                let mut rest = ParseBuf(&packet[1..]);
                let _rows_and_id = rest.checked_eat_lenenc_int().and_then(|_| rest.checked_eat_lenenc_int());
                Ok(Answer::Done { has_more: has_more(rest)? })
            }
            Some(&FILE) => Err(SqlFailure::System(SystemFailure::Unreadable(WANTS_FILE))),
            _ => {
                let count = ParseBuf(&packet).checked_eat_lenenc_int().ok_or(NOT_MYSQL)?;
                Ok(Answer::Columns(self.definitions(count, allowance).await?.into()))
            }
        }
    }

    /// Receives the definitions of columns or parameters, and the packet after them. Without any, no packet follows.
    async fn definitions(&mut self, count: u64, allowance: &mut Allowance) -> Result<Vec<Column>, SqlFailure> {
        let mut columns = Vec::new();
        if count == 0 {
            return Ok(columns);
        }
        if count > MAX_COLUMNS as u64 {
            return Err(SqlFailure::System(SystemFailure::Unreadable(TOO_MANY_COLUMNS)));
        }
        for _ in 0..count {
            let packet = self.receive(allowance).await?;
            columns.push(ParseBuf(&packet).parse(()).map_err(|_| NOT_MYSQL)?);
        }
        let end = self.receive(allowance).await?;
        if is_end(&end) { Ok(columns) } else { Err(NOT_MYSQL) }
    }

    /// Receives the next row of a result.
    pub(super) async fn next(&mut self, allowance: &mut Allowance) -> Result<Next, SqlFailure> {
        let packet = self.receive(allowance).await?;
        if !is_end(&packet) {
            return Ok(Next::Row(packet));
        }
        let mut rest = ParseBuf(&packet[1..]);
        let _warnings = rest.checked_eat_u16_le();
        Ok(Next::End { has_more: has_more(rest)? })
    }

    /// Reads the results that follow to their end.
    pub(super) async fn discard(&mut self, mut has_more: bool, allowance: &mut Allowance) -> Result<(), SqlFailure> {
        while has_more {
            has_more = match self.answer(allowance).await? {
                Answer::Done { has_more } => has_more,
                Answer::Columns(_) => self.discard_rows(allowance).await?,
            };
        }
        Ok(())
    }

    /// Reads the rows of a result to their end. Returns true if another result follows.
    pub(super) async fn discard_rows(&mut self, allowance: &mut Allowance) -> Result<bool, SqlFailure> {
        loop {
            if let Next::End { has_more } = self.next(allowance).await? {
                return Ok(has_more);
            }
        }
    }

    async fn receive(&mut self, allowance: &mut Allowance) -> Result<Vec<u8>, SqlFailure> {
        let packet = self.packets.receive(allowance).await?;
        if packet.first() == Some(&ERROR) { Err(answered(&packet)) } else { Ok(packet) }
    }

    /// Tells the server that the session ends.
    pub(super) fn quit(&mut self) {
        self.packets.quit();
    }
}

fn is_end(packet: &[u8]) -> bool {
    packet.first() == Some(&END) && packet.len() <= END_BYTES
}

/// Reads the status that a packet goes on with. Returns true if another result follows.
fn has_more(mut rest: ParseBuf<'_>) -> Result<bool, SqlFailure> {
    let status = rest.checked_eat_u16_le().ok_or(NOT_MYSQL)?;
    Ok(StatusFlags::from_bits_truncate(status).contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS))
}

/// Reads a row whose values are texts.
fn texts(packet: &[u8], columns: Arc<[Column]>) -> Result<Vec<Value>, SqlFailure> {
    let row: RowDeserializer<ServerSide, Text> = ParseBuf(packet).parse(columns).map_err(|_| NOT_MYSQL)?;
    Ok(Row::from(row).unwrap())
}
