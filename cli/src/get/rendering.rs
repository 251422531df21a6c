//! Rows as a table, JSON or YAML: a whole list, and single lines of a watch.
//!
//! Tables always have colours; the stream that prints them removes them where no terminal shows them.

use clap::builder::styling::{AnsiColor, Style};
use drift_language::to_yaml;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::rows::{Row, heads};
use super::text_table::{Columns, table};

/// The column that says whether an object drifted.
const DRIFT_COLUMN: usize = 2;
/// The column that says what comes next.
const NEXT_COLUMN: usize = 7;

/// How objects are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum GetOutput {
    /// A table
    #[default]
    Table,
    /// A table with the target and the message too
    Wide,
    /// A JSON object whose `items` has an entry for each, and whose `problems` says what is wrong with targets; with --watch one JSON object a line
    Json,
    /// The same as YAML; with --watch one document each
    Yaml,
    /// A line KIND.GROUP/NAME each, as kubectl takes it
    Name,
}

impl GetOutput {
    fn is_wide(self) -> bool {
        self == Self::Wide
    }
}

/// All of them, for programs with what is wrong with targets; nothing where a table would have no row.
pub(super) fn whole_list((rows, troubles): (&[Row], &[String]), output: GetOutput, now: Timestamp) -> String {
    let items = || json!({"items": rows.iter().map(Row::json).collect::<Vec<Value>>(), "problems": troubles});
    match output {
        GetOutput::Table | GetOutput::Wide if rows.is_empty() => String::new(),
        GetOutput::Table | GetOutput::Wide => table(&heads(output.is_wide()), &cells(rows, output, now), paint),
        GetOutput::Json => format!("{:#}\n", items()),
        GetOutput::Yaml => to_yaml(&items()),
        GetOutput::Name => rows.iter().map(name_line).collect(),
    }
}

/// A list that is followed.
pub(super) struct FollowedList {
    output: GetOutput,
    columns: Columns,
}

impl FollowedList {
    /// With columns for what is listed first, and its text.
    pub(super) fn begin(rows: &[Row], output: GetOutput, now: Timestamp) -> (Self, String) {
        let heads = heads(output.is_wide());
        let columns = Columns::of(&heads, &cells(rows, output, now));
        let list = Self { output, columns };
        let head = match output {
            GetOutput::Table | GetOutput::Wide => list.columns.line(&heads, |_, head| head),
            GetOutput::Json | GetOutput::Yaml | GetOutput::Name => String::new(),
        };
        let text = head + &list.lines(rows, now);
        (list, text)
    }

    /// The text of what comes later.
    pub(super) fn lines(&self, rows: &[Row], now: Timestamp) -> String {
        let line = |row: &Row| match self.output {
            GetOutput::Table | GetOutput::Wide => self.columns.line(&row.cells(now, self.output.is_wide()), paint),
            GetOutput::Json => format!("{}\n", row.json()),
            GetOutput::Yaml => format!("---\n{}", to_yaml(&row.json())),
            GetOutput::Name => name_line(row),
        };
        rows.iter().map(line).collect()
    }
}

fn name_line(row: &Row) -> String {
    format!("{}\n", row.qualified_name())
}

fn cells(rows: &[Row], output: GetOutput, now: Timestamp) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.cells(now, output.is_wide())).collect()
}

/// What drifted is red; what cannot be told, and what somebody holds, yellow; in sync needs nobody's eye.
fn paint(column: usize, cell: String) -> String {
    let colour = match (column, cell.trim_end()) {
        (DRIFT_COLUMN, "True") => AnsiColor::Red,
        (DRIFT_COLUMN, "Unknown" | "-") | (NEXT_COLUMN, "Paused" | "Suspended" | "Unknown") => AnsiColor::Yellow,
        _ => return cell,
    };
    let style: Style = colour.on_default();
    format!("{style}{cell}{style:#}")
}
