//! Changes to a store.

use arbitrary::{Result, Unstructured};

use crate::{integer, word};

const CELLS: [&str; 60] = [
    "experiment.id",
    "experiment.name",
    "experiment.created_at",
    "experiment.facts",
    "cell.key",
    "cell.facts",
    "experiment_cell.experiment",
    "experiment_cell.cell",
    "experiment_cell.candidate",
    "trial.id",
    "trial.experiment",
    "trial.cell",
    "trial.step",
    "trial.candidate",
    "trial.round",
    "trial.pass",
    "trial.position",
    "trial.placement",
    "trial.started_at",
    "trial.seconds",
    "trial.status",
    "trial.reason",
    "trial.log_tail",
    "trial.protocol_revision",
    "trial.warnings",
    "trial.observation",
    "role.number",
    "role.client",
    "role.role",
    "role.class",
    "role.statements",
    "role.items",
    "role.affected",
    "role.fetched",
    "role.retries",
    "role.mismatches",
    "role.started_us",
    "role.ended_us",
    "role.client_cpu_us",
    "role.server_cpu_us",
    "role.asides",
    "role.interval_ms",
    "role.events",
    "measure.name",
    "measure.value",
    "table_state.rows",
    "table_state.min_id",
    "comparison.passed",
    "statement.number",
    "statement.executed",
    "statement.class",
    "track.kind",
    "track.interval_ms",
    "plan.text",
    "profile.kind",
    "profile.frequency_hz",
    "slice.opened_us",
    "slice.length_us",
    "slice.operations",
    "slice.rate",
];
const BLOBS: [&str; 5] = ["role.samples", "role.service", "role.response", "track.numbers", "profile.stacks"];
const POINTERS: [&str; 30] = [
    "/steps/0/name",
    "/steps/0/label",
    "/steps/0/headline",
    "/steps/0/group",
    "/steps/0/sla_target",
    "/steps/0/threads",
    "/steps/0/scanned_rows",
    "/steps/0/headline_items",
    "/steps/1",
    "/steps",
    "/candidates/0/name",
    "/candidates/1/name",
    "/candidates",
    "/candidates/0/build/dbms",
    "/candidates/0/build/version",
    "/candidates/0/config/settings",
    "/host/cores",
    "/host/memory_bytes",
    "/schedule/looks",
    "/schedule/read_margin",
    "/schedule/seed",
    "/schedule",
    "/groups",
    "/clients",
    "/loaded_rows",
    "/parameters",
    "/workload",
    "/protocol_revision",
    "/created_at",
    "/id",
];
const CELL_POINTERS: [&str; 6] =
    ["/step", "/parameters", "/protocol_revision", "/engine", "/build", "/nothing"];

/// A few changes.
pub fn file(choices: &mut Unstructured<'_>) -> Result<String> {
    let mut text = String::new();
    if choices.ratio(1, 5)? {
        text += "loose\n";
    }
    for _ in 0..choices.int_in_range(1..=4)? {
        text += &change(choices)?;
        text.push('\n');
    }
    Ok(text)
}

fn change(choices: &mut Unstructured<'_>) -> Result<String> {
    let row = if choices.ratio(1, 3)? { "*".to_owned() } else { choices.int_in_range(0..=24)?.to_string() };
    Ok(match choices.int_in_range(0..=13)? {
        0..=3 => format!("{}[{row}] = {}", word(choices, &CELLS)?, literal(choices)?),
        4 => format!("{}[{row}] = {}", word(choices, &BLOBS)?, literal(choices)?),
        5 | 6 => format!(
            "plain {}[{row}] {} {}",
            word(choices, &BLOBS)?,
            choices.int_in_range(0..=80)?,
            hex(choices)?
        ),
        7 => format!(
            "raw {}[{row}] {} {}",
            word(choices, &BLOBS)?,
            choices.int_in_range(0..=40)?,
            hex(choices)?
        ),
        8..=10 => {
            let is_cell = choices.ratio(1, 5)?;
            let (cell, pointer) = if is_cell {
                ("cell.facts", word(choices, &CELL_POINTERS)?)
            } else {
                ("experiment.facts", word(choices, &POINTERS)?)
            };
            format!("json {cell}[{row}] {pointer} = {}", json(choices)?)
        }
        11 => format!(
            "delete {}[{row}]",
            word(
                choices,
                &[
                    "trial",
                    "role",
                    "slice",
                    "measure",
                    "experiment",
                    "cell",
                    "experiment_cell",
                    "statement",
                    "track"
                ]
            )?
        ),
        12 => word(
            choices,
            &[
                "drop table role",
                "drop table slice",
                "drop table in_flight",
                "alter table trial drop column observation",
                "alter table slice drop column rate",
                "alter table role rename column items to item",
                "version 0",
                "version 3",
                "version 5",
                "version 7",
                "version 4294967295",
                "alter table cell rename to cells",
            ],
        )?
        .to_owned(),
        _ => format!("file {} {}", choices.int_in_range(0..=200_000)?, hex(choices)?),
    })
}

fn literal(choices: &mut Unstructured<'_>) -> Result<String> {
    Ok(match choices.int_in_range(0..=6)? {
        0 => "null".to_owned(),
        1 | 2 => integer(choices)?,
        3 => word(choices, &["0.5", "-1.0", "1e300", "-1e300", "1e-300", "inf", "9e18"])?.to_owned(),
        4 => format!(
            "\"{}\"",
            word(
                choices,
                &[
                    "",
                    "x",
                    "complete",
                    "failed",
                    "read",
                    "write",
                    "insert",
                    "query",
                    "cpu",
                    "usual",
                    "[]",
                    "{}",
                    "[\\\"a\\\"]",
                    "\\u001b[31m",
                    "2026-01-02T03:04:05Z",
                    "../x",
                    "a\\nb"
                ]
            )?
        ),
        5 => hex(choices)?,
        _ => format!("deflate {}", hex(choices)?),
    })
}

fn hex(choices: &mut Unstructured<'_>) -> Result<String> {
    let bytes: Vec<u8> = match choices.int_in_range(0..=4)? {
        0 => vec![0xff; choices.int_in_range(1..=16)?],
        1 => vec![0; choices.int_in_range(0..=16)?],
        2 => vec![0x7f, 0xff, 0xff, 0xff],
        // Not a number, infinity.
        3 => vec![0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0xff],
        _ => choices.bytes(choices.len().min(6))?.to_vec(),
    };
    Ok(format!("x'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

fn json(choices: &mut Unstructured<'_>) -> Result<String> {
    Ok(match choices.int_in_range(0..=3)? {
        0 => integer(choices)?,
        1 => word(
            choices,
            &[
                "0.5",
                "-1.0",
                "1e308",
                "-1e-320",
                "null",
                "true",
                "[]",
                "{}",
                "[1, 0, 1]",
                "[4294967295]",
                "[[1]]",
            ],
        )?
        .to_owned(),
        _ => format!(
            "\"{}\"",
            word(
                choices,
                &[
                    "",
                    "x",
                    "l.i0",
                    "qr100",
                    "postgres",
                    "sqlite",
                    "inserts",
                    "queries",
                    "a\\nb",
                    "\\u0000",
                    "ü\\u202e",
                    "2026"
                ]
            )?
        ),
    })
}
