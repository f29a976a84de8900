//! Configs.

use arbitrary::{Result, Unstructured};

use crate::{integer, word};

/// A config whose lines are in order, most of the time.
pub fn file(choices: &mut Unstructured<'_>) -> Result<String> {
    let mut text = String::new();
    if choices.ratio(1, 4)? {
        text += &format!(
            "include {}\n",
            word(
                choices,
                &["default", "x10a", "z12a", "za1", "wal_normal", "mine", "./mine.conf", "", "a b"]
            )?
        );
    }
    for _ in 0..choices.int_in_range(0..=3)? {
        if choices.ratio(1, 3)? {
            text += &format!(
                "[{}]\n",
                word(
                    choices,
                    &[
                        "8.0..",
                        "..5.7",
                        "5.7..8.0",
                        "all",
                        "9..8",
                        "..",
                        "8.0.30",
                        "18",
                        "x",
                        "5.7..8.0] # old"
                    ]
                )?
            );
        }
        for _ in 0..choices.int_in_range(0..=3)? {
            text += &line(choices)?;
        }
    }
    if choices.ratio(1, 4)? {
        let name = word(
            choices,
            &["work_mem", "port", "a b", "", "a=b\\nport", "Innodb-Doublewrite", "journal_mode", "a\\nb"],
        )?;
        text += &format!(
            "#set {name}={}\n",
            word(choices, &["1", "8MB", "", "'", "1\\nport = 5", "x' y", "\\n[client]"])?
        );
    }
    Ok(text)
}

fn line(choices: &mut Unstructured<'_>) -> Result<String> {
    let name = word(
        choices,
        &[
            "shared_buffers",
            "work_mem",
            "innodb_buffer_pool_size",
            "innodb-doublewrite",
            "journal_mode",
            "synchronous",
            "cache_size",
            "io_method",
            "app.name",
            "port",
            "datadir",
            "skip_networking",
            "Page_Size",
            "threads",
            "1a",
            "mmap_size",
            "ſynchronous",
            "",
        ],
    )?;
    let value = match choices.int_in_range(0..=5)? {
        0 => sized(choices)?,
        1 => format!("'{}'", word(choices, &["a b", "it''s", "", "# x", "{memory:25%}", "\\", "x"])?),
        2 => integer(choices)?,
        _ => word(choices, &["on", "4MB", "wal", "normal", "'x", "'x' y", "a b", "", "a'b", "x # c", "é"])?
            .to_owned(),
    };
    let space = word(choices, &[" ", "", "  "])?;
    let comment = word(choices, &["", "", " # why", " ; x"])?;
    Ok(format!("{name}{space}={space}{value}{comment}\n"))
}

/// A value that is taken from the machine.
fn sized(choices: &mut Unstructured<'_>) -> Result<String> {
    let what = word(choices, &["memory", "memory", "cores", "disk", ""])?;
    let percent = word(choices, &["25", "50", "100", "0", "101", "1", "-5", "18446744073709551615", "2.5"])?;
    let size = |choices: &mut Unstructured<'_>| -> Result<String> {
        Ok(if choices.ratio(1, 2)? {
            word(choices, &["128MB", "1GB", "96GB", "2", "8", "0MB", "18014398509481984GB", "x", "1 GB"])?
                .to_owned()
        } else {
            format!("{}{}", integer(choices)?, word(choices, &["MB", "GB", ""])?)
        })
    };
    let mut text = format!("{{{what}:{percent}%");
    if choices.ratio(2, 3)? {
        text += &format!(", {}..{}", size(choices)?, size(choices)?);
        if choices.ratio(1, 3)? {
            text += &format!(", by {}", size(choices)?);
        }
    }
    Ok(text + word(choices, &["}", "}", "}", "", "}}"])?)
}
