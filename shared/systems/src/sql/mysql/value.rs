//! Converts the values of a row to JSON without loss. Values that JSON cannot represent exactly are texts.

use std::fmt::Write;
use std::sync::Arc;

use mysql_common::constants::ColumnType;
use mysql_common::io::ParseBuf;
use mysql_common::packets::Column;
use mysql_common::proto::Binary;
use mysql_common::row::{Row, RowDeserializer};
use mysql_common::value::{ServerSide, Value as Stored};
use serde_json::{Map, Number, Value};

use crate::guard::allowance::Allowance;
use crate::sql::SqlFailure;
use crate::sql::mysql::failure::NOT_MYSQL;
use crate::sql::value::{MALFORMED, check_columns, exact, parsed, row_allowance};

/// Character set of values that are not texts (`binary`).
const BINARY: u16 = 63;
/// Bytes that a value counts for at least, so that a result has a limited number of values.
const LEAST_BYTES: usize = 8;
/// The message about a column whose values the decoder of `mysql_common` does not know.
const STORED_TYPE: &str = "a column is of a type that no result has";

/// The columns of a result.
pub(super) struct Columns {
    defined: Arc<[Column]>,
    read_as: Vec<(String, Kind)>,
}

/// The JSON type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// 0 and 1 are false and true: `TINYINT(1)`, which `BOOLEAN` means, and `BIT(1)`.
    Boolean,
    Bits,
    Decimal,
    Json,
    Date,
    /// `TIMESTAMP`, which is an instant. `DATETIME` has no time zone.
    Timestamp,
    Bytes,
    Other,
}

impl Columns {
    /// Reads the columns of a result.
    ///
    /// # Errors
    /// Fails if there are none, two have the same name, or one is of a type that only the server's files have.
    pub(super) fn of(defined: Arc<[Column]>) -> Result<Self, &'static str> {
        let read_as = defined.iter().map(|column| kind_of(column).map(|kind| (column.name_str().into_owned(), kind)));
        let read_as = read_as.collect::<Result<Vec<_>, _>>()?;
        check_columns(read_as.iter().map(|(name, _)| name.as_str()))?;
        Ok(Self { defined, read_as })
    }

    /// Decodes the values of a row.
    pub(super) fn values_of(&self, packet: &[u8]) -> Result<Vec<Stored>, SqlFailure> {
        let mut rest = ParseBuf(packet);
        let row: RowDeserializer<ServerSide, Binary> = rest.parse(self.defined.clone()).map_err(|_| NOT_MYSQL)?;
        if rest.is_empty() { Ok(Row::from(row).unwrap()) } else { Err(NOT_MYSQL) }
    }

    /// Converts one row to JSON, with columns by name.
    ///
    /// # Errors
    /// Fails if a value does not match its column, or there are too many values.
    pub(super) fn json_of(&self, row: Vec<Stored>) -> Result<Value, &'static str> {
        let mut allowance = row_allowance();
        let mut fields = Map::new();
        for ((name, kind), stored) in self.read_as.iter().zip(row) {
            allowance.take(1)?;
            fields.insert(name.clone(), json_of(*kind, stored, &mut allowance)?);
        }
        Ok(Value::Object(fields))
    }
}

fn kind_of(column: &Column) -> Result<Kind, &'static str> {
    use ColumnType as Type;
    Ok(match column.column_type() {
        Type::MYSQL_TYPE_TIMESTAMP2
        | Type::MYSQL_TYPE_DATETIME2
        | Type::MYSQL_TYPE_TIME2
        | Type::MYSQL_TYPE_TYPED_ARRAY
        | Type::MYSQL_TYPE_UNKNOWN => return Err(STORED_TYPE),
        Type::MYSQL_TYPE_TINY if column.column_length() == 1 => Kind::Boolean,
        Type::MYSQL_TYPE_BIT if column.column_length() == 1 => Kind::Boolean,
        Type::MYSQL_TYPE_BIT => Kind::Bits,
        Type::MYSQL_TYPE_DECIMAL | Type::MYSQL_TYPE_NEWDECIMAL => Kind::Decimal,
        Type::MYSQL_TYPE_JSON => Kind::Json,
        Type::MYSQL_TYPE_DATE | Type::MYSQL_TYPE_NEWDATE => Kind::Date,
        Type::MYSQL_TYPE_TIMESTAMP => Kind::Timestamp,
        _ if column.character_set() == BINARY => Kind::Bytes,
        _ => Kind::Other,
    })
}

/// Returns the size of a row.
pub(super) fn bytes_of(row: &[Stored]) -> usize {
    let size = |stored: &Stored| match stored {
        Stored::Bytes(bytes) => bytes.len().max(LEAST_BYTES),
        _ => LEAST_BYTES,
    };
    row.iter().map(size).sum()
}

fn json_of(kind: Kind, stored: Stored, allowance: &mut Allowance) -> Result<Value, &'static str> {
    Ok(match stored {
        Stored::NULL => Value::Null,
        Stored::Int(0) | Stored::UInt(0) if kind == Kind::Boolean => Value::Bool(false),
        Stored::Int(1) | Stored::UInt(1) if kind == Kind::Boolean => Value::Bool(true),
        Stored::Int(number) => Value::from(number),
        Stored::UInt(number) => whole(number),
        // The shortest text that round-trips, as the server shows it.
        Stored::Float(number) => float(number.to_string().parse().map_err(|_| MALFORMED)?),
        Stored::Double(number) => float(number),
        Stored::Date(year, month, day, hour, minute, second, micros) => {
            let date = format!("{year:04}-{month:02}-{day:02}");
            let zone = if kind == Kind::Timestamp { "Z" } else { "" };
            Value::from(match kind {
                Kind::Date => date,
                _ => format!("{date}T{hour:02}:{minute:02}:{second:02}{}{zone}", fraction(micros)),
            })
        }
        Stored::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let (sign, hours) = (if is_negative { "-" } else { "" }, u64::from(hours) + u64::from(days) * 24);
            Value::from(format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(micros)))
        }
        Stored::Bytes(bytes) => of_bytes(kind, bytes, allowance)?,
    })
}

fn of_bytes(kind: Kind, bytes: Vec<u8>, allowance: &mut Allowance) -> Result<Value, &'static str> {
    Ok(match kind {
        Kind::Json => parsed(&bytes, allowance)?,
        Kind::Bytes => Value::from(hex(&bytes)),
        Kind::Boolean => Value::Bool(bits(&bytes)? != 0),
        Kind::Bits => whole(bits(&bytes)?),
        _ => {
            let text = String::from_utf8(bytes).map_err(|_| MALFORMED)?;
            exact(&text).filter(|_| kind == Kind::Decimal).unwrap_or_else(|| Value::from(text))
        }
    })
}

/// Converts a whole number. Those beyond a signed one are texts, as a decimal of that size is.
fn whole(number: u64) -> Value {
    i64::try_from(number).map_or_else(|_| Value::from(number.to_string()), Value::from)
}

fn float(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

fn bits(bytes: &[u8]) -> Result<u64, &'static str> {
    if bytes.len() > size_of::<u64>() {
        return Err(MALFORMED);
    }
    Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Returns bytes as MySQL's hexadecimal literal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the fraction of a second without trailing zeros.
fn fraction(micros: u32) -> String {
    if micros == 0 { String::new() } else { format!(".{micros:06}").trim_end_matches('0').to_owned() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn column(name: &str, kind: ColumnType, length: u32, set: u16) -> Column {
        Column::new(kind).with_name(name.as_bytes()).with_column_length(length).with_character_set(set)
    }

    #[test]
    fn nothing_of_a_value_is_lost() {
        use ColumnType as Type;
        let text = |text: &str| Stored::from(text);
        let table = [
            (Type::MYSQL_TYPE_TINY, 1, BINARY, Stored::Int(1), json!(true)),
            (Type::MYSQL_TYPE_TINY, 1, BINARY, Stored::Int(2), json!(2)),
            (Type::MYSQL_TYPE_TINY, 4, BINARY, Stored::Int(1), json!(1)),
            (Type::MYSQL_TYPE_BIT, 1, BINARY, Stored::Bytes(vec![0]), json!(false)),
            (Type::MYSQL_TYPE_BIT, 9, BINARY, Stored::Bytes(vec![1, 2]), json!(258)),
            (
                Type::MYSQL_TYPE_LONGLONG,
                20,
                BINARY,
                Stored::Int(9_007_199_254_740_993),
                json!(9_007_199_254_740_993_i64),
            ),
            (Type::MYSQL_TYPE_LONGLONG, 20, BINARY, Stored::UInt(u64::MAX), json!("18446744073709551615")),
            (Type::MYSQL_TYPE_NEWDECIMAL, 10, BINARY, text("10.50"), json!(10.5)),
            (Type::MYSQL_TYPE_NEWDECIMAL, 20, BINARY, text("1234567890.1234567"), json!("1234567890.1234567")),
            (Type::MYSQL_TYPE_FLOAT, 12, BINARY, Stored::Float(0.1), json!(0.1)),
            (Type::MYSQL_TYPE_DOUBLE, 22, BINARY, Stored::Double(0.1), json!(0.1)),
            (Type::MYSQL_TYPE_JSON, 0, BINARY, text(r#"{"a": [1, null]}"#), json!({"a": [1, null]})),
            (Type::MYSQL_TYPE_VAR_STRING, 9, 45, text("10"), json!("10")),
            (Type::MYSQL_TYPE_BLOB, 9, BINARY, Stored::Bytes(vec![0, 255]), json!("0x00ff")),
            (Type::MYSQL_TYPE_DATE, 10, BINARY, Stored::Date(2026, 11, 22, 0, 0, 0, 0), json!("2026-11-22")),
            (Type::MYSQL_TYPE_DATE, 10, BINARY, Stored::Date(0, 0, 0, 0, 0, 0, 0), json!("0000-00-00")),
            (
                Type::MYSQL_TYPE_DATETIME,
                26,
                BINARY,
                Stored::Date(2026, 11, 22, 10, 0, 0, 500_000),
                json!("2026-11-22T10:00:00.5"),
            ),
            (
                Type::MYSQL_TYPE_TIMESTAMP,
                19,
                BINARY,
                Stored::Date(2026, 11, 22, 10, 0, 0, 0),
                json!("2026-11-22T10:00:00Z"),
            ),
            (Type::MYSQL_TYPE_TIME, 10, BINARY, Stored::Time(true, 1, 2, 3, 4, 0), json!("-26:03:04")),
            (Type::MYSQL_TYPE_LONG, 11, BINARY, Stored::NULL, json!(null)),
        ];
        for (kind, length, set, stored, expected) in table {
            let columns = Columns::of([column("c", kind, length, set)].into()).unwrap();
            assert_eq!(columns.json_of(vec![stored]), Ok(json!({"c": expected})), "{kind:?}");
        }
    }

    #[test]
    fn columns_have_distinct_names() {
        let column = |name| column(name, ColumnType::MYSQL_TYPE_LONG, 11, BINARY);
        assert!(Columns::of([column("a"), column("b")].into()).is_ok());
        assert!(Columns::of([column("a"), column("a")].into()).is_err());
        assert!(Columns::of([].into()).is_err());
        let broken = json_of(Kind::Other, Stored::Bytes(vec![255]), &mut row_allowance());
        assert_eq!(broken, Err(MALFORMED));
    }
}
