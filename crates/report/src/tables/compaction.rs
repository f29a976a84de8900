//! What RocksDB's compaction did during a step, by level.

use basecase_analysis::{Results, Stalls, compaction_levels};
use basecase_model::StepFacts;

use super::{Column, Row, Table, TableCell, number};

const MIB: f64 = 1024.0 * 1024.0;

/// One row per candidate, column family and level; `None` without RocksDB.
pub(crate) fn table(results: &Results<'_>, (number_of_step, step): (usize, &StepFacts)) -> Option<Table> {
    let (mut rows, mut stalls) = (Vec::new(), Vec::new());
    for (candidate, facts) in results.candidates() {
        let Some(measured) = results.measured(number_of_step, candidate) else { continue };
        for level in compaction_levels(measured.trial) {
            let texts = [
                level.family,
                level.level,
                number(level.files, 0),
                number(level.bytes.map(|bytes| bytes / MIB), 1),
                number(Some(level.read_bytes / MIB), 1),
                number(Some(level.written_bytes / MIB), 1),
                number(level.write_amplification, 1),
                number(Some(level.compactions), 0),
                number(Some(level.seconds), 1),
            ];
            rows.push(Row::new(&facts.name.0, texts.into_iter().map(TableCell::plain).collect()));
        }
        stalls.extend(Stalls::of(measured.trial).map(|stalls| format!("{}: {}", facts.name, words(stalls))));
    }
    let mut reading = vec![
        "Files and sizes at the end of the step; all others are what compaction into the level, on L0 flushes, did during it. \
         The write amplification is what was written for each byte that came from the level above; in the sum, for each byte \
         that was flushed."
            .to_owned(),
    ];
    reading.extend(stalls);
    (!rows.is_empty()).then(|| Table {
        caption: format!("{} compaction of RocksDB", step.label),
        reading: reading.join("\n"),
        corner: "dbms",
        columns: vec![
            Column::words("family"),
            Column::words("level"),
            Column::numbers("files", "at the end"),
            Column::numbers("MiB", "at the end"),
            Column::numbers("MiB read", "by compaction"),
            Column::numbers("MiB written", "by compaction and flushes"),
            Column::numbers("w-amp", "write amplification"),
            Column::numbers("jobs", "compactions and flushes"),
            Column::numbers("s", "their time"),
        ],
        rows,
        ..Table::default()
    })
}

/// E.g. `writers stalled for 2.5 s; slowdowns: 3; stops: 1.`
fn words(Stalls { seconds, slowdowns, stops }: Stalls) -> String {
    let counts = [("slowdowns", slowdowns), ("stops", stops)];
    let told = counts.iter().filter_map(|(what, count)| Some(format!("; {what}: {:.0}", (*count)?)));
    format!("writers stalled for {seconds:.1} s{}.", told.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn only_candidates_with_rocksdb_have_rows() {
        let (experiment, mut trials) = fixture::sample();
        let step = || (0, &experiment.steps[0]);
        assert_eq!(table(&Results::new(&experiment, &trials), step()), None);
        trials[0].counters.set("rocksdb.default.l0.writegb", 0.5);
        trials[0].counters.set("mysql.rocksdb_stall_micros", 1_500_000.0);
        trials[0].counters.set("mysql.rocksdb_stall_total_stops", 2.0);
        let found = table(&Results::new(&experiment, &trials), step()).unwrap();
        let line: Vec<&str> = found.rows[0].cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(line, ["default", "L0", "NA", "NA", "0.0", "512.0", "NA", "0", "0.0"]);
        assert_eq!(found.rows.len(), 1);
        assert!(found.reading.ends_with("writers stalled for 1.5 s; stops: 2."), "{}", found.reading);
    }
}
