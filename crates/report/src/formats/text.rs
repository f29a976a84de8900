//! The report for a terminal.

use std::fmt::Write;

use basecase_model::printable;

use super::TextFormat;
use crate::documents::{self, Block};
use crate::tables::{Highlight, Row, Table, TableCell};

/// Longest line of running text.
const WIDTH: usize = 100;
/// Longest line of a report with counts, tables included where names can be cut.
const NARROW: usize = 80;

/// Plain monospaced tables for a terminal.
pub(super) const FORMAT: TextFormat = TextFormat {
    name: "text",
    render: |results, options| {
        let blocks = documents::compose(results, options);
        let is_narrow = results.counts.is_some() && !options.steps;
        if is_narrow { narrow(&blocks, options.ansi) } else { render(&blocks, options.ansi) }
    },
};

/// The answer alone, for a terminal.
pub(super) const ANSWER: TextFormat = TextFormat {
    name: "answer",
    render: |results, options| {
        fitting(&documents::answer::compose(results, options), options.ansi, options.columns)
    },
};

/// Prints the blocks as plain text, with ANSI colours when `ansi`.
pub(crate) fn render(blocks: &[Block], ansi: bool) -> String {
    within(blocks, ansi, Room { letters: WIDTH, is_limit: false })
}

/// The same for a terminal of 80 columns, without columns for which there is no room there.
pub(crate) fn narrow(blocks: &[Block], ansi: bool) -> String {
    fitting(blocks, ansi, NARROW)
}

/// The same for a terminal of so many columns.
fn fitting(blocks: &[Block], ansi: bool, letters: usize) -> String {
    within(blocks, ansi, Room { letters, is_limit: true })
}

/// How long a line may be.
#[derive(Clone, Copy)]
struct Room {
    letters: usize,
    /// Whether tables and headings are cut to it.
    is_limit: bool,
}

fn within(blocks: &[Block], ansi: bool, room: Room) -> String {
    let most = room.letters;
    let mut text = String::new();
    for block in blocks {
        if !text.is_empty() {
            text.push('\n');
        }
        match block {
            Block::Title(title) => {
                let title = heading(title, room);
                let _ = writeln!(text, "{title}\n{}", "=".repeat(title.chars().count()));
            }
            Block::Heading(found) => {
                let heading = heading(found, room);
                let _ = writeln!(text, "{heading}\n{}", "-".repeat(heading.chars().count()));
            }
            Block::Note(note) => wrapped(&mut text, "NOTE: ", note, most),
            Block::Paragraph(paragraph) => wrapped(&mut text, "", paragraph, most),
            Block::List(lines) => lines.iter().for_each(|line| wrapped(&mut text, "  * ", line, most)),
            Block::Log(log) => printable(log).lines().for_each(|line| {
                let _ = writeln!(text, "  | {line}");
            }),
            Block::Table(table) => {
                let table = table.map_text(&|text| line(text));
                let table = if room.is_limit { fitted(table, most) } else { table };
                write_table(&mut text, &table, ansi, most);
            }
        }
    }
    text
}

/// Text of others, printable and on one line.
fn line(text: &str) -> String {
    printable(text).replace('\n', " ")
}

/// A heading on one line, cut where a terminal is narrow.
fn heading(text: &str, room: Room) -> String {
    let text = line(text);
    if room.is_limit && width(&text) > room.letters { cut(&text, room.letters) } else { text }
}

/// Writes `text` in lines of at most `most` letters, the first after `lead` and the others indented by its length.
fn wrapped(out: &mut String, lead: &str, text: &str, most: usize) {
    for (number, paragraph) in printable(text).lines().enumerate() {
        let mut line = if number == 0 { lead.to_owned() } else { " ".repeat(lead.len()) };
        let mut empty = true;
        for word in paragraph.split_whitespace() {
            if !empty && line.chars().count() + 1 + word.chars().count() > most {
                let _ = writeln!(out, "{line}");
                line = " ".repeat(lead.len());
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
        let _ = writeln!(out, "{line}");
    }
}

/// The table without columns for which there is no room, and with names cut where it still is too wide.
fn fitted(table: Table, most: usize) -> Table {
    let kept: Vec<bool> = table.columns.iter().map(|column| !column.aside).collect();
    let keep = |place: usize| kept.get(place).copied().unwrap_or(true);
    let mut table = table;
    for row in &mut table.rows {
        row.cells =
            row.cells.drain(..).enumerate().filter(|(place, _)| keep(*place)).map(|(_, cell)| cell).collect();
    }
    table.columns.retain(|column| !column.aside);
    let others: usize = (0..table.columns.len()).map(|place| 2 + column_width(&table, place)).sum();
    let room = most.saturating_sub(others);
    // A table that stays too wide in any case keeps its names.
    if room >= SHORTEST_NAME {
        for row in table.rows.iter_mut().filter(|row| width(&row.name) > room) {
            row.name = cut(&row.name, room);
        }
    }
    cut_last_words(&mut table, most);
    table
}

/// Names are never cut to less than this.
const SHORTEST_NAME: usize = 16;
/// Words are never cut to less than this.
const SHORTEST_WORDS: usize = 24;

/// Cuts the last of several columns if it has words and the table is too wide for it.
fn cut_last_words(table: &mut Table, most: usize) {
    let Some(last) =
        table.columns.len().checked_sub(1).filter(|last| *last > 0 && table.columns[*last].words)
    else {
        return;
    };
    let names = table.rows.iter().map(|row| width(&row.name)).max().unwrap_or(0).max(width(table.corner));
    let others: usize = (0..last).map(|place| 2 + column_width(table, place)).sum();
    let room = most.saturating_sub(names + others + 2);
    if room < SHORTEST_WORDS {
        return;
    }
    for cell in table.rows.iter_mut().filter_map(|row| row.cells.get_mut(last)) {
        if width(&cell.line()) > room {
            *cell = TableCell { text: cut(&cell.line(), room), small: String::new(), ..cell.clone() };
        }
    }
}

/// The first letters of a text.
fn cut(text: &str, room: usize) -> String {
    format!("{}…", text.chars().take(room.saturating_sub(1)).collect::<String>())
}

fn write_table(out: &mut String, table: &Table, ansi: bool, most: usize) {
    if !table.caption.is_empty() {
        let _ = writeln!(out, "{}", table.caption);
    }
    if !table.reading.is_empty() {
        wrapped(out, "", &table.reading, most);
    }
    for line in &table.key {
        let _ = writeln!(out, "{line}");
    }
    for (mark, meaning) in &table.legend {
        wrapped(out, &format!("  {} ", mark.sign()), meaning, most);
    }
    let names = table.rows.iter().map(|row| row.name.as_str()).chain([table.corner]);
    let first = names.map(width).max().unwrap_or(0);
    let widths: Vec<usize> =
        table.columns.iter().enumerate().map(|(index, _)| column_width(table, index)).collect();
    let mut line = pad(table.corner, first, true);
    for (column, &width) in table.columns.iter().zip(&widths) {
        line.push_str("  ");
        line.push_str(&pad(&column.name, width, column.words));
        // Room for the marks of the cells below.
        line.push_str(if has_marks(table) { " " } else { "" });
    }
    let _ = writeln!(out, "{}", line.trim_end());
    for row in &table.rows {
        write_row(out, table, row, first, &widths, ansi);
    }
}

fn write_row(out: &mut String, table: &Table, row: &Row, first: usize, widths: &[usize], ansi: bool) {
    let mut line = pad(&row.name, first, true);
    for ((column, cell), &width) in table.columns.iter().zip(&row.cells).zip(widths) {
        line.push_str("  ");
        let mut text = pad(&cell.line(), width, column.words);
        if has_marks(table) {
            text.push_str(if cell.mark == Highlight::None { " " } else { cell.mark.sign() });
        }
        match ansi_code(cell.mark).filter(|_| ansi) {
            Some(code) => {
                let _ = write!(line, "\u{1b}[{code}m{text}\u{1b}[0m");
            }
            None => line.push_str(&text),
        }
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

fn has_marks(table: &Table) -> bool {
    !table.legend.is_empty()
}

fn column_width(table: &Table, index: usize) -> usize {
    let cells =
        table.rows.iter().filter_map(|row| row.cells.get(index)).map(|cell: &TableCell| width(&cell.line()));
    cells.chain([width(&table.columns[index].name)]).max().unwrap_or(0)
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, to: usize, left: bool) -> String {
    if left { format!("{text:<to$}") } else { format!("{text:>to$}") }
}

fn ansi_code(mark: Highlight) -> Option<&'static str> {
    match mark {
        Highlight::None | Highlight::DefaultChanged | Highlight::IoBound => None,
        Highlight::TopQuarter => Some("32"),
        Highlight::BottomQuarter | Highlight::SlaFailed => Some("31"),
        Highlight::Ignored => Some("2"),
        Highlight::Better => Some("36"),
        Highlight::Worse => Some("33"),
    }
}

#[cfg(test)]
mod tests {
    use crate::options::Options;
    use crate::{fixture, render};

    #[test]
    fn summary() {
        let (experiment, trials) = fixture::sample();
        insta::assert_snapshot!(render(&experiment, &trials, super::FORMAT, &Options::default()));
    }

    #[test]
    fn microbenchmarks() {
        let (experiment, trials) = fixture::microbenchmarks(4, &fixture::LIST, 2);
        insta::assert_snapshot!(render(&experiment, &trials, super::FORMAT, &Options::default()));
    }

    #[test]
    fn sweep() {
        let (experiment, trials) = fixture::sweep(3, &[1, 4, 8, 16, 32, 64], 2);
        insta::assert_snapshot!(render(&experiment, &trials, super::FORMAT, &Options::default()));
    }

    #[test]
    fn colours_add_nothing_but_colour() {
        let (experiment, trials) = fixture::sample();
        let plain = render(&experiment, &trials, super::FORMAT, &Options::default());
        let mut coloured =
            render(&experiment, &trials, super::FORMAT, &Options { ansi: true, ..Options::default() });
        assert!(coloured.contains("\u{1b}[36m"));
        for code in ["0", "2", "31", "32", "33", "36"] {
            coloured = coloured.replace(&format!("\u{1b}[{code}m"), "");
        }
        let trimmed: Vec<&str> = coloured.lines().map(str::trim_end).collect();
        assert_eq!(trimmed, plain.lines().collect::<Vec<_>>());
    }

    #[test]
    fn a_log_cannot_steer_the_terminal() {
        let (experiment, trials) = fixture::sample();
        let text = render(&experiment, &trials, super::FORMAT, &Options::default());
        assert!(!text.contains('\u{1b}'), "the fixture's log holds an escape sequence");
    }
}
