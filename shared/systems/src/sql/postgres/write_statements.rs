//! Runs the statements of one correction in order, optionally in one transaction.

use std::time::Duration;

use crate::guard::write_progress::WriteProgress;
use crate::sql::postgres::session::Session;
use crate::sql::{RunOptions, SqlFailure, StatementFailure, WriteStatement};

/// Maximum bytes from the server for a correction. Results of its statements are not read.
const ANSWER_BYTES: usize = 1024 * 1024;

/// Runs statements in order.
pub(crate) async fn run(
    session: &mut Session,
    statements: &[WriteStatement],
    options: RunOptions,
    progress: &WriteProgress,
) -> Result<(), StatementFailure> {
    session.allow(ANSWER_BYTES);
    let Session { client, line, allowance, .. } = session;
    let mut position = 0;
    let (begin, scope) = if options.transaction { ("BEGIN; ", "LOCAL ") } else { ("", "") };
    let limit = |timeout: Duration| format!("SET {scope}statement_timeout = {}", timeout.as_millis().max(1));
    let limits = statements.iter().map(|statement| statement.timeout.unwrap_or(options.timeout));
    let running = async {
        let mut stands = None;
        for (WriteStatement { text, .. }, timeout) in statements.iter().zip(limits) {
            if stands.replace(timeout) != Some(timeout) {
                let begin = if position == 0 { begin } else { "" };
                client.batch_execute(&format!("{begin}{}", limit(timeout))).await?;
            }
            allowance.request(text.len());
            progress.begin();
            if let Err(error) = client.execute(text.as_str(), &[]).await {
                let failure = SqlFailure::from(error);
                if options.transaction && !failure.is_loss() {
                    client.batch_execute("ROLLBACK").await?;
                }
                return Err(failure);
            }
            position += 1;
        }
        if options.transaction {
            client.batch_execute("COMMIT").await?;
        }
        Ok(())
    };
    let done = line.drive(running).await;
    done.map_err(|failure| StatementFailure { position, failure })
}
