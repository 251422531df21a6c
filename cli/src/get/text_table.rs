//! A table as kubectl prints it: columns three spaces apart. Later lines keep the widths.

/// Between two columns.
const GAP: usize = 3;

/// The widths of the columns.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    widths: Vec<usize>,
}

impl Columns {
    /// As wide as the longest cell of these rows, or the head.
    pub(crate) fn of(heads: &[&str], rows: &[Vec<String>]) -> Self {
        let width = |(column, head): (usize, &&str)| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.max().unwrap_or(0).max(head.chars().count())
        };
        Self { widths: heads.iter().enumerate().map(width).collect() }
    }

    /// Makes every column at least as wide as this; returns true if one was narrower.
    pub(crate) fn widen(&mut self, wanted: &Self) -> bool {
        let before = self.widths.clone();
        self.widths.iter_mut().zip(&wanted.widths).for_each(|(width, wanted)| *width = (*width).max(*wanted));
        before != self.widths
    }

    /// One line; `paint` gives each cell, padded already, its colours by column and text.
    pub(crate) fn line<S: AsRef<str>>(&self, cells: &[S], paint: impl Fn(usize, String) -> String) -> String {
        let last = self.widths.len().saturating_sub(1);
        let padded = |(column, cell): (usize, &S)| match self.widths.get(column) {
            // A gap follows even a cell that is too long for its column.
            Some(width) if column < last => paint(column, format!("{0:<width$}{1:GAP$}", cell.as_ref(), "")),
            _ => paint(column, cell.as_ref().to_owned()),
        };
        let mut line: String = cells.iter().enumerate().map(padded).collect();
        line.push('\n');
        line
    }
}

/// The lines of a table, with or without heads; `paint` gives each cell, padded already, its colours by column and text.
pub(crate) fn table(heads: Option<&[&str]>, rows: &[Vec<String>], paint: impl Fn(usize, String) -> String) -> String {
    let none = rows.first().map(|row| vec![""; row.len()]).unwrap_or_default();
    let columns = Columns::of(heads.unwrap_or(&none), rows);
    let mut lines = heads.map(|heads| columns.line(heads, |_, head| head)).unwrap_or_default();
    lines.extend(rows.iter().map(|row| columns.line(row, &paint)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["ä", "longer", "x"]), row(["a-name", "b", "y z"])];
        let heads = ["NAME", "B", "C"];
        let painted = table(Some(&heads), &rows, |column, text| if column == 1 { format!("<{text}>") } else { text });
        assert_eq!(painted, "NAME     B        C\nä        <longer   >x\na-name   <b        >y z\n");
        let mut columns = Columns::of(&heads, &rows);
        let later = row(["a-longer-name", "b", "z"]);
        assert_eq!(columns.line(&later, |_, text| text), "a-longer-name   b        z\n");
        let later = [later];
        assert!(columns.widen(&Columns::of(&heads, &later)) && !columns.widen(&Columns::of(&heads, &later)));
        assert_eq!(columns.line(&heads, |_, text| text), "NAME            B        C\n");
    }
}
