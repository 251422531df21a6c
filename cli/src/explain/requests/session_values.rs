//! Session credentials in the answers of a read, such as the cookie or the token of a log-in step.

use std::collections::BTreeSet;
use std::iter::repeat;

use drift_language::{SecretValues, Source, Target};
use drift_systems::sessions::credentials_sent;
use drift_systems::{Answer, RecordedExchange, sessions};

/// Returns the session credentials of a read.
pub(in crate::explain) fn session_values(target: &Target, exchanges: &[RecordedExchange]) -> SecretValues {
    let Source::Http(read) = &target.read.source else { return SecretValues::default() };
    let formats = read.steps().map(|step| &step.format).chain(repeat(&read.first.format));
    let answers = exchanges.iter().zip(formats);
    let answers = answers.filter_map(|(exchange, format)| Answer::of(exchange.reply.as_ref()?, format).ok());
    let answers: Vec<_> = answers.map(|answer| answer.variable).collect();
    let sent: BTreeSet<_> = exchanges.iter().flat_map(|exchange| credentials_sent(&exchange.request)).collect();
    let found = sessions::session_values(&answers, &sent);
    found.into_iter().map(|text| (text.clone(), text)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
