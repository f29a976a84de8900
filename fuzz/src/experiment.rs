//! Experiment files.

use arbitrary::{Result, Unstructured};

use crate::candidate::{build, url};
use crate::{integer, word};

/// An experiment file that goes as far as planning, most of the time.
pub fn file(choices: &mut Unstructured<'_>) -> Result<String> {
    let mut text = String::new();
    let workload = word(
        choices,
        &[
            "insert-benchmark",
            "insert-benchmark",
            "",
            "oltp_read_write",
            "microbenchmarks",
            "oltp_point_select",
            "./own.toml",
            "./own.toml",
            "nothing",
            "./missing.toml",
        ],
    )?;
    if choices.ratio(1, 4)? {
        text += &format!("name = \"{}\"\n", word(choices, &["mine", "", "a/b", "\\u001b[31m", "ü"])?);
    }
    if !workload.is_empty() {
        text += &format!("workload = \"{workload}\"\n");
    }
    let is_of_sqlite = choices.ratio(2, 3)?;
    let mut candidates = Vec::new();
    for _ in 0..choices.int_in_range(0..=3)? {
        candidates.push(if is_of_sqlite {
            word(
                choices,
                &[
                    "sqlite",
                    "sqlite@rollback_full",
                    "sqlite@wal_normal",
                    "sqlite@default",
                    "sqlite@nothing",
                    "sqlite@./no.conf",
                ],
            )?
            .to_owned()
        } else if choices.ratio(1, 3)? {
            url(choices)?.replace(['\\', '\u{1b}'], "")
        } else {
            build(choices)?
        });
    }
    let quoted =
        |words: &[String]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    if !candidates.is_empty() || choices.ratio(1, 4)? {
        text += &format!("candidates = [{}]\n", quoted(&candidates));
    }
    if choices.ratio(1, 3)? {
        let builds = if is_of_sqlite { vec!["sqlite".to_owned()] } else { vec![build(choices)?] };
        text += &format!("builds = [{}]\n", quoted(&builds));
        text += &format!(
            "configs = [{}]\n",
            word(choices, &["\"wal_normal\", \"rollback_full\"", "\"default\"", "", "\"x10a\""])?
        );
    }
    let is_file = workload != "insert-benchmark" && !workload.is_empty();
    if is_file && choices.ratio(1, 3)? {
        text += &format!(
            "list = [\"{}\"]\n",
            word(choices, &["read", "oltp_read_write", "load", "short", "random-points", "nothing"])?
        );
    }
    if (!is_file && choices.ratio(3, 4)?) || choices.ratio(1, 12)? {
        text += &format!("[sizes]\n{}", sizes(choices)?);
    }
    if (is_file && choices.ratio(2, 3)?) || choices.ratio(1, 12)? {
        text += "[options]\n";
        for _ in 0..choices.int_in_range(1..=3)? {
            text += &option(choices)?;
        }
    }
    if choices.ratio(1, 6)? {
        text += &format!(
            "[settings]\n{} = {}\n",
            word(choices, &["work_mem", "port", "\"a b\"", "innodb_doublewrite"])?,
            word(choices, &["\"8MB\"", "1", "\"1\\nport = 5\"", "[1]", "true"])?
        );
    }
    if choices.ratio(1, 2)? {
        text += &format!("[schedule]\n{}", schedule(choices)?);
    }
    for _ in 0..if choices.ratio(1, 4)? { choices.int_in_range(1..=2)? } else { 0 } {
        text +=
            &format!("[[size]]\nname = \"{}\"\n", word(choices, &["cached", "io", "../a", "", ".a", "a b"])?);
        text += &if is_file { option(choices)? } else { sizes(choices)? };
    }
    Ok(text)
}

fn sizes(choices: &mut Unstructured<'_>) -> Result<String> {
    let mut text = String::new();
    if choices.ratio(1, 3)? {
        text += &format!(
            "preset = \"{}\"\n",
            word(choices, &["cached-c1", "cached-c8", "default", "io-bound", "nothing", "smoke"])?
        );
    }
    if choices.ratio(1, 3)? {
        text += &format!(
            "scale = {}\n",
            word(choices, &["0.001", "1", "0", "-1.0", "nan", "inf", "1e300", "1e-300", "2.5"])?
        );
    }
    for (key, usual) in [("clients", "2"), ("rows", "2000"), ("writes", "1000"), ("seconds", "10")] {
        if choices.ratio(1, 2)? {
            let value = if choices.ratio(2, 3)? { usual.to_owned() } else { integer(choices)? };
            text += &format!("{key} = {value}\n");
        }
    }
    Ok(text)
}

fn option(choices: &mut Unstructured<'_>) -> Result<String> {
    let name = word(
        choices,
        &[
            "rows",
            "table_size",
            "table-size",
            "tables",
            "threads",
            "seconds",
            "time",
            "write_seconds",
            "warm_up_seconds",
            "events",
            "rate",
            "seed",
            "mode",
            "prepared",
            "maintenance",
            "rand_type",
            "range_size",
            "skip_trx",
            "create_table_options",
            "nothing",
            "rand_zipfian_exp",
            "rand_spec_pct",
        ],
    )?;
    let value = if choices.ratio(1, 3)? {
        integer(choices)?
    } else {
        word(
            choices,
            &[
                "1000",
                "\"1,2\"",
                "[1, 2]",
                "0.5",
                "1e-20",
                "\"on\"",
                "true",
                "\"zipfian\"",
                "\"clean\"",
                "\"each\"",
                "nan",
                "inf",
                "\"1e300\"",
                "\"special\"",
                "10",
                "\"x\"",
            ],
        )?
        .to_owned()
    };
    Ok(format!("{name} = {value}\n"))
}

fn schedule(choices: &mut Unstructured<'_>) -> Result<String> {
    let mut text = String::new();
    for (key, values) in [
        ("settle", &["\"formula\"", "\"drain\"", "\"none\"", "\"x\"", "7"][..]),
        ("verify", &["\"auto\"", "\"full\"", "\"bounds\"", "\"x\""][..]),
        ("pace", &["\"bursts\"", "\"even\"", "\"x\""][..]),
        ("seed", &["1", "0", "18446744073709551615", "-1"][..]),
        ("step_limit_seconds", &["60", "0", "18446744073709551615"][..]),
        (
            "pin",
            &[
                "\"auto\"",
                "\"off\"",
                "\"client=0,server=1\"",
                "\"client=0-3,1,server=7\"",
                "\"server=4294967295\"",
                "\"client=0-4294967295\"",
                "\"\"",
                "\"client=\"",
            ][..],
        ),
        ("protocol", &["\"classic\"", "\"rounds\"", "\"x\""][..]),
        ("detect", &["\"3%\"", "\"0.1%\"", "\"0%\"", "\"nan%\"", "\"x\""][..]),
        ("rounds", &["5", "10", "1", "4294967295", "0"][..]),
        ("slice", &["\"30ms\"", "\"1h 30m\"", "\"0s\"", "\"-5m\"", "\"9999999999h\"", "\"1ns\""][..]),
    ] {
        if choices.ratio(1, 4)? {
            text += &format!("{key} = {}\n", word(choices, values)?);
        }
    }
    Ok(text)
}
