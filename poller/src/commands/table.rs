//! A table as kubectl prints it: columns beside each other, three spaces apart.
//!
//! Pure; it must not know what stands in a cell.

/// Between two columns.
const GAP: usize = 3;

/// The lines of a table; `paint` gives each cell, padded already, its colours by row (from 0), column and text.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>], paint: impl Fn(usize, usize, String) -> String) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(heads[column].chars().count())
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let padded = |column: usize, text: &str| match column + 1 == heads.len() {
        true => text.to_owned(),
        false => format!("{text:<0$}", widths[column] + GAP),
    };
    let mut lines: String = heads.iter().enumerate().map(|(column, head)| padded(column, head)).collect();
    lines.push('\n');
    for (number, row) in rows.iter().enumerate() {
        let cells = row.iter().enumerate();
        lines.extend(cells.map(|(column, cell)| paint(number, column, padded(column, cell))));
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let rows = [
            vec!["ä".to_owned(), "longer".to_owned(), "x".to_owned()],
            vec!["a-name".to_owned(), "b".to_owned(), "y z".to_owned()],
        ];
        let painted =
            table(
                &["NAME", "B", "C"],
                &rows,
                |row, column, text| {
                    if (row, column) == (1, 1) { format!("<{text}>") } else { text }
                },
            );
        assert_eq!(painted, "NAME     B        C\nä        longer   x\na-name   <b        >y z\n");
    }
}
