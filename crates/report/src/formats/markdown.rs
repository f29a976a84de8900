//! The report as GitHub-flavoured Markdown.

use std::fmt::Write;

use basecase_model::printable;

use super::TextFormat;
use crate::documents::{self, Block};
use crate::tables::Table;

/// GitHub-flavoured Markdown.
pub(super) const FORMAT: TextFormat =
    TextFormat { name: "md", render: |results, options| render(&documents::compose(results, options)) };

/// Prints the blocks as Markdown.
pub(crate) fn render(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = match block {
            Block::Title(title) => writeln!(text, "# {}", escaped(title)),
            Block::Heading(heading) => writeln!(text, "## {}", escaped(heading)),
            Block::Note(note) => writeln!(text, "> **Note:** {}", escaped(note)),
            Block::Paragraph(paragraph) => writeln!(text, "{}", escaped(paragraph)),
            Block::List(lines) => lines.iter().try_for_each(|line| writeln!(text, "- {}", escaped(line))),
            Block::Log(log) => {
                let fence = fence(log);
                writeln!(text, "{fence}text\n{}\n{fence}", printable(log.trim_end()))
            }
            Block::Table(table) => write_table(&mut text, table),
        };
    }
    text
}

fn write_table(out: &mut String, table: &Table) -> std::fmt::Result {
    writeln!(out, "### {}\n", escaped(&table.caption))?;
    if !table.reading.is_empty() {
        writeln!(out, "{}\n", escaped(&table.reading))?;
    }
    if !table.key.is_empty() {
        table.key.iter().try_for_each(|line| writeln!(out, "- {}", escaped(line)))?;
        writeln!(out)?;
    }
    if !table.legend.is_empty() {
        let signs: Vec<String> = table
            .legend
            .iter()
            .map(|(mark, meaning)| format!("`{}` {}", mark.sign(), escaped(meaning)))
            .collect();
        writeln!(out, "{}\n", signs.join("; "))?;
    }
    let names = table.columns.iter().map(|column| escaped(&column.name));
    writeln!(out, "| {} | {} |", table.corner, names.collect::<Vec<_>>().join(" | "))?;
    let rules = table.columns.iter().map(|column| if column.words { ":--" } else { "--:" });
    writeln!(out, "| :-- | {} |", rules.collect::<Vec<_>>().join(" | "))?;
    for row in &table.rows {
        write!(out, "| {} |", escaped(&row.name))?;
        for cell in &row.cells {
            let sign = cell.mark.sign();
            let sign = if sign.is_empty() { String::new() } else { format!(" `{sign}`") };
            write!(out, " {}{sign} |", escaped(&cell.line()))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A fence that no line of the log closes.
fn fence(log: &str) -> String {
    let longest = log.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// Text escaped for a line or a cell, so that none of it is read as Markdown, HTML or an entity.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in printable(text).chars() {
        match letter {
            '\n' => escaped.push(' '),
            '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' | '&' | '~' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_of_others_stays_text() {
        assert_eq!(super::escaped("a|b\n<i>*_"), "a\\|b \\<i\\>\\*\\_");
        assert_eq!(super::fence("x ``` y"), "````");
        assert_eq!(super::fence("x"), "```");
    }
}
