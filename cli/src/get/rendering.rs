//! Rows as a table, JSON or YAML: a whole list, and single lines of a watch.
//!
//! Tables always have colours; the stream that prints them removes them where no terminal shows them.

use clap::builder::styling::{AnsiColor, Style};
use drift_api::printable::printable_json;
use drift_language::to_yaml;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::rows::{Row, heads};
use super::text_table::{Columns, table};

/// The column that says whether an object drifted.
const DRIFT_COLUMN: usize = 2;
/// The column that says what comes next.
const NEXT_COLUMN: usize = 7;

/// The output format of a list.
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
        GetOutput::Json => printable_json(&format!("{:#}\n", items())),
        GetOutput::Yaml => to_yaml(&items()),
        GetOutput::Name => rows.iter().map(name_line).collect(),
    }
}

/// The column of a watch with the time at which a line was printed.
const TIME: &str = "TIME";
/// The usual widths of a watch: what its first rows lack comes later.
const USUAL: [(&str, &str); 5] = [
    ("DRIFT", "Unknown"),
    ("SINCE", "119s"),
    ("REASON", "ExternalUnreachable"),
    ("CORRECTED", "CorrectionApplied"),
    ("NEXT", "AttemptsExhausted"),
];

/// A list that is followed.
pub(super) struct FollowedList {
    output: GetOutput,
    heads: Vec<&'static str>,
    columns: Columns,
}

impl FollowedList {
    /// With columns for what is listed first, and its text.
    pub(super) fn begin(rows: &[Row], output: GetOutput, now: Timestamp) -> (Self, String) {
        let heads = [&[TIME], &*heads(output.is_wide())].concat();
        let usual = |head: &&str| USUAL.iter().find(|(known, _)| known == head).map_or("", |(_, text)| text).to_owned();
        let usual = vec![heads.iter().map(usual).collect::<Vec<_>>()];
        let columns = Columns::of(&heads, &[usual, timed_cells(rows, output, now)].concat());
        let mut list = Self { output, heads, columns };
        let head = match output {
            GetOutput::Table | GetOutput::Wide => list.head(),
            GetOutput::Json | GetOutput::Yaml | GetOutput::Name => String::new(),
        };
        let text = head + &list.lines(rows, now);
        (list, text)
    }

    fn head(&self) -> String {
        self.columns.line(&self.heads, |_, head| head)
    }

    /// The text of what comes later. If a cell does not fit, its column widens, and the heads come again above it.
    pub(super) fn lines(&mut self, rows: &[Row], now: Timestamp) -> String {
        match self.output {
            GetOutput::Table | GetOutput::Wide => {
                let cells = timed_cells(rows, self.output, now);
                let head =
                    if self.columns.widen(&Columns::of(&self.heads, &cells)) { self.head() } else { String::new() };
                let paint = |column: usize, cell| if column == 0 { cell } else { paint(column - 1, cell) };
                cells.iter().fold(head, |text, cells| text + &self.columns.line(cells, paint))
            }
            GetOutput::Json => rows.iter().map(|row| format!("{}\n", row.json())).collect(),
            GetOutput::Yaml => rows.iter().map(|row| format!("---\n{}", to_yaml(&row.json()))).collect(),
            GetOutput::Name => rows.iter().map(name_line).collect(),
        }
    }
}

/// The cells of a watch: the time in UTC, as logs have it, and those of the list.
fn timed_cells(rows: &[Row], output: GetOutput, now: Timestamp) -> Vec<Vec<String>> {
    let time = now.strftime("%H:%M:%SZ").to_string();
    cells(rows, output, now).into_iter().map(|cells| [vec![time.clone()], cells].concat()).collect()
}

fn name_line(row: &Row) -> String {
    format!("{}\n", row.qualified_name())
}

fn cells(rows: &[Row], output: GetOutput, now: Timestamp) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.cells(now, output.is_wide())).collect()
}

/// Paints drift red, and unknown, paused and suspended objects yellow.
fn paint(column: usize, cell: String) -> String {
    let colour = match (column, cell.trim_end()) {
        (DRIFT_COLUMN, "True") => AnsiColor::Red,
        (DRIFT_COLUMN, "Unknown" | "-") | (NEXT_COLUMN, "Paused" | "Suspended" | "Unknown") => AnsiColor::Yellow,
        _ => return cell,
    };
    let style: Style = colour.on_default();
    format!("{style}{cell}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::get::rows::fixtures::named_row;

    /// The lines without colours.
    fn lines(text: &str) -> Vec<String> {
        anstream::adapter::strip_str(text).to_string().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_watch_keeps_its_lines_under_the_heads() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap_or_default();
        let (rows, longer) = ([named_row("web")], [named_row("a-much-longer-name")]);
        let (mut list, text) = FollowedList::begin(&rows, GetOutput::Table, time("2026-01-01T00:03:20Z"));
        let first = lines(&text);
        assert!(first.len() == 2 && first[0].find("NEXT") == first[1].find("Poll"), "{first:?}");
        assert!(
            first[0].starts_with("TIME        NAMESPACE   ") && first[1].starts_with("00:03:20Z   n    "),
            "{first:?}"
        );
        let later = lines(&list.lines(&longer, time("2026-01-01T00:03:29Z")));
        assert!(later.len() == 2 && later[0].find("NEXT") == later[1].find("Poll"), "{later:?}");
        assert!(later[1].starts_with("00:03:29Z ") && later[0].find("NEXT") > first[0].find("NEXT"), "{later:?}");
        assert_eq!(list.lines(&rows, time("2026-01-01T00:03:30Z")).lines().count(), 1, "it fits");
        let (_, text) = FollowedList::begin(&rows, GetOutput::Name, Timestamp::UNIX_EPOCH);
        assert_eq!(text, "proxy.g.example/web\n");
    }
}
