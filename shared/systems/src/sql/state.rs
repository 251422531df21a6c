//! The status code of a statement: five characters, of which the first two are the class. MySQL adds a number, which is
//! more precise: most of its denials share the class 42 with syntax errors.
//!
//! It is the only part of a server's error that is displayed.

use std::fmt;

/// MySQL's errors about a rejected account: ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR,
/// ER_MUST_CHANGE_PASSWORD, ER_MUST_CHANGE_PASSWORD_LOGIN and ER_ACCOUNT_HAS_BEEN_LOCKED.
const REFUSED_LOGINS: &[u16] = &[1045, 1698, 1820, 1862, 3118];
/// MySQL's errors about a missing right: ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR,
/// ER_COLUMNACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_PROCACCESS_DENIED_ERROR and
/// ER_CANT_CREATE_USER_WITH_GRANT.
const MISSING_RIGHTS: &[u16] = &[1044, 1142, 1143, 1227, 1370, 1410];
/// MySQL's errors of a server that takes no session now: ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS,
/// ER_USER_LIMIT_REACHED, ER_SERVER_SHUTDOWN and MariaDB's ER_CONNECTION_KILLED.
const SHUTDOWNS: &[u16] = &[1040, 1203, 1226, 1053, 1927];
/// MySQL's errors of a statement that took too long: ER_QUERY_INTERRUPTED, ER_QUERY_TIMEOUT and MariaDB's
/// ER_STATEMENT_TIMEOUT.
const TIMEOUTS: &[u16] = &[1317, 3024, 1969];
/// MySQL's errors about something that exists already: ER_DB_CREATE_EXISTS, ER_TABLE_EXISTS_ERROR, ER_DUP_FIELDNAME,
/// ER_DUP_KEYNAME, ER_DUP_ENTRY, ER_SP_ALREADY_EXISTS, ER_TRG_ALREADY_EXISTS, ER_CANNOT_USER (to `CREATE USER` and
/// `CREATE ROLE`), ER_EVENT_ALREADY_EXISTS, ER_DUP_ENTRY_WITH_KEY_NAME and ER_FK_DUP_NAME.
const DUPLICATES: &[u16] = &[1007, 1050, 1060, 1061, 1062, 1304, 1359, 1396, 1537, 1586, 1826];
/// PostgreSQL's states about something that exists already: unique_violation, duplicate_column, duplicate_object,
/// duplicate_function, duplicate_database, duplicate_schema and duplicate_table. The other duplicates of class 42 are
/// mistakes in a statement.
const DUPLICATE_STATES: &[&str] = &["23505", "42701", "42710", "42723", "42P04", "42P06", "42P07"];
/// MySQL's ER_LOCK_WAIT_TIMEOUT.
const LOCK_TIMEOUT: u16 = 1205;

/// A validated SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState {
    state: [u8; 5],
    /// MySQL's number.
    number: Option<u16>,
}

impl SqlState {
    /// Parses five digits and capital letters. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let state = <[u8; 5]>::try_from(text.as_bytes()).ok()?;
        let is_state = state.iter().all(|letter| letter.is_ascii_digit() || letter.is_ascii_uppercase());
        is_state.then_some(Self { state, number: None })
    }

    /// Parses MySQL's SQLSTATE with its number.
    #[must_use]
    pub fn parse_mysql(text: &str, number: u16) -> Option<Self> {
        Self::parse(text).map(|state| Self { number: Some(number), ..state })
    }

    /// Returns the code.
    #[must_use]
    pub fn code(&self) -> &str {
        // Parsing accepts only ASCII.
        std::str::from_utf8(&self.state).unwrap_or_default()
    }

    /// Returns the class: the first two characters.
    #[must_use]
    pub fn class(&self) -> &str {
        self.code().get(..2).unwrap_or_default()
    }

    fn is_one_of(&self, numbers: &[u16]) -> bool {
        self.number.is_some_and(|number| numbers.contains(&number))
    }

    /// Returns true if the server rejects the role (class 28).
    #[must_use]
    pub fn is_refused_login(&self) -> bool {
        self.class() == "28" || self.is_one_of(REFUSED_LOGINS)
    }

    /// Returns true if the server rejects the role, or the role lacks a right (42501).
    #[must_use]
    pub fn is_denial(&self) -> bool {
        self.is_refused_login() || self.code() == "42501" || self.is_one_of(MISSING_RIGHTS)
    }

    /// Returns true if the server is stopping, starting, or ended this session on request (57P), or if MySQL has no
    /// session left.
    #[must_use]
    pub fn is_shutdown(&self) -> bool {
        self.code().starts_with("57P") || self.is_one_of(SHUTDOWNS)
    }

    /// Returns true if the server cancelled the statement, usually because it took too long (57014).
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.code() == "57014" || self.is_one_of(TIMEOUTS)
    }

    /// Returns true if what the statement was to create exists already.
    #[must_use]
    pub fn is_duplicate(&self) -> bool {
        match self.number {
            Some(_) => self.is_one_of(DUPLICATES),
            None => DUPLICATE_STATES.contains(&self.code()),
        }
    }

    /// Returns true if the statement waited too long for a lock (55P03).
    #[must_use]
    pub fn is_lock_timeout(&self) -> bool {
        self.code() == "55P03" || self.is_one_of(&[LOCK_TIMEOUT])
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code())?;
        self.number.map_or(Ok(()), |number| write!(formatter, " (error {number})"))
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn only_five_digits_and_capitals_are_a_state() {
        assert_eq!(SqlState::parse("42P01").map(|state| state.class().to_owned()).as_deref(), Some("42"));
        assert!(SqlState::parse("57P01").is_some_and(|state| state.is_shutdown()));
        for text in ["", "4270", "427044", "42p01", "42 01", "4270é"] {
            assert_eq!(SqlState::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_exists_already_is_no_other_violation() {
        let found = |text: &str| SqlState::parse(text).is_some_and(|state| state.is_duplicate());
        for text in ["23505", "42701", "42710", "42723", "42P04", "42P06", "42P07"] {
            assert!(found(text), "{text}");
        }
        for text in ["23503", "23514", "23P01", "42601", "42712", "42P01", "42P03", "42P05", "23000", "P0001"] {
            assert!(!found(text), "{text}");
        }
        let mysql = |text: &str, number| SqlState::parse_mysql(text, number).is_some_and(|state| state.is_duplicate());
        let table = [
            ("HY000", 1007),
            ("42S01", 1050),
            ("42S21", 1060),
            ("42000", 1061),
            ("23000", 1062),
            ("42000", 1304),
            ("HY000", 1359),
            ("HY000", 1396),
            ("HY000", 1537),
            ("23000", 1586),
            ("HY000", 1826),
        ];
        for (text, number) in table {
            assert!(mysql(text, number), "{number}");
        }
        for (text, number) in [("23000", 1452), ("23000", 1048), ("42000", 1064), ("HY000", 1008), ("23505", 1064)] {
            assert!(!mysql(text, number), "{number}");
        }
    }

    #[test]
    fn mysql_numbers_say_more_than_their_state() {
        let state = |text: &str, number| SqlState::parse_mysql(text, number).unwrap_or_else(|| panic!("{text}"));
        for (text, number, is_login) in
            [("42000", 1044, false), ("28000", 1045, true), ("HY000", 3118, true), ("42000", 1227, false)]
        {
            assert!(state(text, number).is_denial(), "{number}");
            assert_eq!(state(text, number).is_refused_login(), is_login, "{number}");
        }
        for (text, number) in [("08004", 1040), ("42000", 1203), ("42000", 1226), ("08S01", 1053)] {
            assert!(state(text, number).is_shutdown(), "{number}");
        }
        assert!(state("70100", 1969).is_timeout() && state("HY000", 3024).is_timeout());
        assert!(state("HY000", 1205).is_lock_timeout());
        let syntax = state("42000", 1064);
        assert!(
            !syntax.is_duplicate()
                && !syntax.is_denial()
                && !syntax.is_shutdown()
                && !syntax.is_timeout()
                && !syntax.is_lock_timeout()
        );
        assert_eq!(syntax.to_string(), "42000 (error 1064)");
    }
}
