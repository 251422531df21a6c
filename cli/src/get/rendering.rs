//! Rows as a table, JSON or YAML: a whole list, and single lines of a watch.
//!
//! Tables always have colours; the stream that prints them removes them where no terminal shows them.

use std::ffi::OsStr;

use clap::ValueEnum;
use clap::builder::styling::{AnsiColor, Style};
use clap::builder::{PossibleValue, TypedValueParser};
use drift_api::printable::{printable, printable_json};
use drift_language::to_yaml;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::json_paths::Template;
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

/// The format of the rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Format {
    Known(GetOutput),
    Template(Template),
}

impl Default for Format {
    fn default() -> Self {
        Self::Known(GetOutput::default())
    }
}

/// Reads `-o`: a word of [`GetOutput`], or a template.
#[derive(Clone)]
pub(super) struct FormatParser;

/// The word before a template.
const JSONPATH: &str = "jsonpath=";

impl TypedValueParser for FormatParser {
    type Value = Format;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Format, clap::Error> {
        let text = value.to_string_lossy();
        let format = match text.strip_prefix(JSONPATH) {
            Some(template) => Template::parse(template).map(Format::Template),
            None => GetOutput::from_str(&text, false).map(Format::Known).map_err(|_| {
                let words = GetOutput::value_variants().iter().filter_map(GetOutput::to_possible_value);
                let words: Vec<_> = words.map(|word| word.get_name().to_owned()).collect();
                format!("`{text}` is no format; write {} or {JSONPATH}TEMPLATE", words.join(", "))
            }),
        };
        format.map_err(|error| {
            let kind = clap::error::ErrorKind::ValueValidation;
            clap::Error::raw(kind, format!("-o: {error}\n")).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = GetOutput::value_variants().iter().filter_map(GetOutput::to_possible_value);
        let jsonpath = PossibleValue::new(JSONPATH).help("What a JSONPath template of kubectl picks out of the JSON");
        Some(Box::new(words.chain([jsonpath])))
    }
}

/// A format, with or without the heads of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) format: Format,
    pub(super) no_headers: bool,
}

impl Layout {
    fn is_wide(&self) -> bool {
        self.format == Format::Known(GetOutput::Wide)
    }

    fn is_table(&self) -> bool {
        matches!(self.format, Format::Known(GetOutput::Table | GetOutput::Wide))
    }
}

/// All of them, for programs with what is wrong with targets; nothing where a table would have no row.
pub(super) fn whole_list((rows, troubles): (&[Row], &[String]), layout: &Layout, now: Timestamp) -> String {
    let items = || json!({"items": rows.iter().map(Row::json).collect::<Vec<Value>>(), "problems": troubles});
    match &layout.format {
        Format::Known(GetOutput::Table | GetOutput::Wide) if rows.is_empty() => String::new(),
        Format::Known(GetOutput::Table | GetOutput::Wide) => {
            let (heads, cells) = (heads(layout.is_wide()), cells(rows, layout, now));
            let heads = if layout.no_headers { None } else { Some(&*heads) };
            table(heads, &cells, paint)
        }
        Format::Known(GetOutput::Json) => printable_json(&format!("{:#}\n", items())),
        Format::Known(GetOutput::Yaml) => to_yaml(&items()),
        Format::Known(GetOutput::Name) => rows.iter().map(name_line).collect(),
        Format::Template(template) => printable_lines(&template.render(&items())),
    }
}

/// A filled template. Its line breaks and tabs are those of the person who wrote it.
fn printable_lines(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(printable).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
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
    layout: Layout,
    heads: Vec<&'static str>,
    columns: Columns,
}

impl FollowedList {
    /// With columns for what is listed first, and its text.
    pub(super) fn begin(rows: &[Row], layout: &Layout, now: Timestamp) -> (Self, String) {
        let heads = [&[TIME], &*heads(layout.is_wide())].concat();
        let usual = |head: &&str| USUAL.iter().find(|(known, _)| known == head).map_or("", |(_, text)| text).to_owned();
        let usual = vec![heads.iter().map(usual).collect::<Vec<_>>()];
        let columns = Columns::of(&heads, &[usual, timed_cells(rows, layout, now)].concat());
        let mut list = Self { layout: layout.clone(), heads, columns };
        let head = if layout.is_table() { list.head() } else { String::new() };
        let text = head + &list.lines(rows, now);
        (list, text)
    }

    fn head(&self) -> String {
        if self.layout.no_headers {
            return String::new();
        }
        self.columns.line(&self.heads, |_, head| head)
    }

    /// The text of what comes later. If a cell does not fit, its column widens, and the heads come again above it.
    pub(super) fn lines(&mut self, rows: &[Row], now: Timestamp) -> String {
        match &self.layout.format {
            Format::Known(GetOutput::Table | GetOutput::Wide) => {
                let cells = timed_cells(rows, &self.layout, now);
                let head =
                    if self.columns.widen(&Columns::of(&self.heads, &cells)) { self.head() } else { String::new() };
                let paint = |column: usize, cell| if column == 0 { cell } else { paint(column - 1, cell) };
                cells.iter().fold(head, |text, cells| text + &self.columns.line(cells, paint))
            }
            Format::Known(GetOutput::Json) => rows.iter().map(|row| format!("{}\n", row.json())).collect(),
            Format::Known(GetOutput::Yaml) => rows.iter().map(|row| format!("---\n{}", to_yaml(&row.json()))).collect(),
            Format::Known(GetOutput::Name) => rows.iter().map(name_line).collect(),
            Format::Template(template) => {
                rows.iter().map(|row| printable_lines(&template.render(&row.json()))).collect()
            }
        }
    }
}

/// The cells of a watch: the time in UTC, as logs have it, and those of the list.
fn timed_cells(rows: &[Row], layout: &Layout, now: Timestamp) -> Vec<Vec<String>> {
    let time = now.strftime("%H:%M:%SZ").to_string();
    cells(rows, layout, now).into_iter().map(|cells| [vec![time.clone()], cells].concat()).collect()
}

fn name_line(row: &Row) -> String {
    format!("{}\n", row.qualified_name())
}

fn cells(rows: &[Row], layout: &Layout, now: Timestamp) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.cells(now, layout.is_wide())).collect()
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::get::rows::fixtures::named_row;

    /// The lines without colours.
    fn lines(text: &str) -> Vec<String> {
        anstream::adapter::strip_str(text).to_string().lines().map(str::to_owned).collect()
    }

    /// The layout of `-o`.
    fn of(output: &str, no_headers: bool) -> Layout {
        let (command, output) = (clap::Command::new("get"), OsStr::new(output));
        Layout { format: FormatParser.parse_ref(&command, None, output).unwrap(), no_headers }
    }

    #[test]
    fn a_list_is_printed_as_asked() {
        let rows = [named_row("web"), named_row("db")];
        for (output, no_headers, expected) in [
            ("table", false, "NAMESPACE   NAME "),
            ("table", true, "n   Proxy/web "),
            ("wide", true, "n   Proxy/web "),
            ("name", true, "proxy.g.example/web\nproxy.g.example/db\n"),
            ("jsonpath={.items[*].name}", false, "web db"),
            ("jsonpath={range .items[*]}{.name}{\"\\n\"}{end}", false, "web\ndb\n"),
        ] {
            let text = whole_list((&rows, &[]), &of(output, no_headers), Timestamp::UNIX_EPOCH);
            let text = anstream::adapter::strip_str(&text).to_string();
            assert!(text.starts_with(expected), "{output}: {text}");
        }
        let command = clap::Command::new("get");
        let error = FormatParser.parse_ref(&command, None, OsStr::new("jsonpath={.items[}")).unwrap_err();
        assert!(error.to_string().contains("`.items[` is no JSONPath"), "{error}");
        let error = FormatParser.parse_ref(&command, None, OsStr::new("jsonpaht")).unwrap_err().to_string();
        assert!(error.contains("`jsonpaht` is no format; write table, wide, json, yaml, name or jsonpath="), "{error}");
    }

    #[test]
    fn a_watch_keeps_its_lines_under_the_heads() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap_or_default();
        let (rows, longer) = ([named_row("web")], [named_row("a-much-longer-name")]);
        let (mut list, text) = FollowedList::begin(&rows, &Layout::default(), time("2026-01-01T00:03:20Z"));
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
        let (_, text) = FollowedList::begin(&rows, &of("name", false), Timestamp::UNIX_EPOCH);
        assert_eq!(text, "proxy.g.example/web\n");
        let (_, text) = FollowedList::begin(&rows, &of("jsonpath={.name}{'\\n'}", true), Timestamp::UNIX_EPOCH);
        assert_eq!(text, "web\n");
    }
}
