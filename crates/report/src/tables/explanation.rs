//! What changed along with a step's speed, as tables.

use basecase_analysis::{
    Cost, CostRatio, Explanation, FunctionShare, FunctionShares, Hardware, HardwareCount, MOVED,
    MovedCounter, OperationTime, PlannedStatement, SettingChange, operation,
};
use basecase_model::{PlanUses, ProfileKind};

use super::{Column, Row, Table, TableCell};
use crate::words::{UNKNOWN, executions, figure, priced, setting_values};

/// How to read the table of costs.
const READING: &str = "The share is the part of the change in time per operation that a cost can explain: 100 % is all of \
                       it, and below 0 the cost changed in the opposite direction. About means that the time per unit was \
                       not measured but assumed to be typical. Costs overlap: reads, writes and context switches also take \
                       CPU time.";
/// Most counters and functions shown.
const MOST: usize = 20;

/// Costs, counters, settings, and the profile's results.
pub(crate) fn tables(explanation: &Explanation<'_>) -> Vec<Table> {
    let mut tables = vec![
        costs(explanation),
        to_try(explanation),
        counters(explanation),
        settings(explanation),
        planned(explanation),
    ];
    tables.extend(explanation.hardware.as_ref().map(|found| hardware(explanation, found)));
    tables.extend(explanation.functions().iter().map(functions));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn costs(explanation: &Explanation<'_>) -> Table {
    let row = |cost: &Cost| {
        let unit = if cost.kind.unit.is_empty() { String::new() } else { format!(", {}", cost.kind.unit) };
        let about = if cost.is_about { "about " } else { "" };
        let share = cost.share.map_or(String::new(), |share| format!("{about}{:.0} %", share * 100.0));
        let within = cost
            .share_interval
            .map_or(String::new(), |[low, high]| format!("({:.0} to {:.0})", low * 100.0, high * 100.0));
        let share = TableCell { small: within, ..TableCell::plain(share) };
        let values = [figure(cost.base), figure(cost.candidate)].map(TableCell::plain);
        let ratio = ratio_cell(explanation.cost_ratio(cost));
        Row::new(format!("{}{unit}", cost.kind.name), values.into_iter().chain([ratio, share]).collect())
    };
    let time = explanation.operation_time().map(|OperationTime { base_us, candidate_us, ratio }| {
        let values = [figure(base_us), figure(candidate_us)].map(TableCell::plain);
        let cells = values.into_iter().chain([ratio_cell(ratio), TableCell::plain("")]).collect();
        Row { reference: true, ..Row::new("available processor time, without what others took, µs", cells) }
    });
    Table {
        caption: format!("Costs per {}", operation(&explanation.base)),
        reading: std::iter::once(READING.to_owned()).chain(prices(explanation)).collect::<Vec<_>>().join(" "),
        corner: "cost",
        columns: ["base case", "candidate", "ratio", "share"].map(|name| Column::numbers(name, "")).into(),
        rows: time.into_iter().chain(explanation.costs.iter().map(row)).collect(),
        ..Table::default()
    }
}

/// What units cost, where the experiment tells it.
fn prices<'a>(explanation: &'a Explanation<'_>) -> impl Iterator<Item = String> + use<'a> {
    let sentence = |cost: &Cost| {
        let name = cost.kind.name;
        let first = name.chars().take(1).flat_map(char::to_uppercase);
        let name: String = first.chain(name.chars().skip(1)).collect();
        Some(format!("{name}: {}.", priced(cost.price.as_ref()?)))
    };
    explanation.costs.iter().filter_map(sentence)
}

/// Defaults that differ and have to do with a cause.
fn to_try(explanation: &Explanation<'_>) -> Table {
    let row = |change: &&SettingChange| {
        let topics: Vec<&str> = change.topics.iter().map(|topic| topic.as_str()).collect();
        let (base, candidate) = setting_values(change);
        Row::new(&change.name, [base, candidate, topics.join(", ")].map(TableCell::plain).into())
    };
    Table {
        caption: "Candidates to try: defaults that differ".into(),
        reading: "No config sets these, and they have to do with a cost that is named above. That is no sign that they \
                  caused anything: only the candidate with the base case's value, or with what is new switched off, shows it. \
                  `basecase explain --try SETTING` measures it."
            .into(),
        corner: "setting",
        columns: ["base case", "candidate", "has to do with"].map(Column::words).into(),
        rows: explanation.to_try().iter().map(row).collect(),
        ..Table::default()
    }
}

fn counters(explanation: &Explanation<'_>) -> Table {
    let row = |counter: &MovedCounter<'_>| {
        let values = [figure(counter.base), figure(counter.candidate)].map(TableCell::plain);
        Row::new(counter.name, values.into_iter().chain([ratio_cell(counter.ratio)]).collect())
    };
    Table {
        caption: format!("Server counters that changed, per {}", operation(&explanation.base)),
        reading: format!("Changes by {:.0} % or more, largest first.", (MOVED - 1.0) * 100.0),
        corner: "counter",
        columns: ["base case", "candidate", "ratio"].map(|name| Column::numbers(name, "")).into(),
        rows: explanation.counters().iter().take(MOST).map(row).collect(),
        ..Table::default()
    }
}

fn settings(explanation: &Explanation<'_>) -> Table {
    let row = |change: &SettingChange| {
        let by = if change.is_default { "changed default" } else { "config" };
        let (base, candidate) = setting_values(change);
        Row::new(&change.name, [base, candidate, by.to_owned()].map(TableCell::plain).into())
    };
    // Distant versions have hundreds of settings that only one of them knows.
    let (in_both, in_one): (Vec<_>, Vec<_>) =
        explanation.settings.iter().partition(|change| change.is_of_both() || !change.is_default);
    let reading = match in_one.len() {
        0 => String::new(),
        count => format!("{count} more exist in only one of the two, and no config sets them."),
    };
    Table {
        caption: "Settings that differ between the running servers".into(),
        reading,
        corner: "setting",
        columns: ["base case", "candidate", "set by"].map(Column::words).into(),
        rows: in_both.into_iter().map(row).collect(),
        ..Table::default()
    }
}

/// With which kinds of plans prepared statements were executed.
fn planned(explanation: &Explanation<'_>) -> Table {
    let row = |planned: &PlannedStatement<'_>| {
        let executed = |uses: Option<PlanUses>| uses.map_or_else(|| "not told".to_owned(), executions);
        let cells = [planned.base, planned.candidate].map(executed).map(TableCell::plain);
        Row::new(planned.statement, cells.into())
    };
    Table {
        caption: "Plans of prepared statements as they were executed".into(),
        reading: "Counted by the measured sessions themselves, with their warm-up. A generic plan is made once for all values, \
                  a custom one for those of one execution."
            .into(),
        corner: "statement",
        columns: ["base case", "candidate"].map(Column::words).into(),
        rows: explanation.planned.iter().map(row).collect(),
        ..Table::default()
    }
}

fn hardware(explanation: &Explanation<'_>, hardware: &Hardware<'_>) -> Table {
    let row = |count: &HardwareCount| {
        let cells = [figure(count.base), figure(count.candidate), ratio_text(count.ratio())];
        Row::new(count.name, cells.map(TableCell::plain).into())
    };
    Table {
        caption: format!("Hardware counters, per {}", operation(&explanation.base)),
        reading: if hardware.is_of_profiled_pass {
            "Measured in the profiled run.".into()
        } else {
            String::new()
        },
        corner: "counter",
        columns: ["base case", "candidate", "ratio"].map(|name| Column::numbers(name, "")).into(),
        rows: hardware.counts().iter().map(row).collect(),
        ..Table::default()
    }
}

fn functions(found: &FunctionShares) -> Table {
    let percent = |share: f64| TableCell::plain(format!("{:.1} %", share * 100.0));
    let row = |share: &FunctionShare| {
        let growth = TableCell::plain(format!("{:+.1}", share.growth() * 100.0));
        Row::new(&share.function, vec![percent(share.base), percent(share.candidate), growth])
    };
    let time = match found.kind {
        ProfileKind::Cpu => "CPU time",
        ProfileKind::OffCpu => "off-CPU time",
    };
    Table {
        caption: format!("Server functions by their own share of {time}"),
        reading: format!(
            "{} samples of the base case, {} of the candidate.",
            found.base_samples, found.candidate_samples
        ),
        corner: "function",
        columns: ["base case", "candidate", "points"].map(|name| Column::numbers(name, "")).into(),
        rows: found.shares.iter().take(MOST).map(row).collect(),
        ..Table::default()
    }
}

fn ratio_cell(ratio: CostRatio) -> TableCell {
    match ratio {
        CostRatio::Single(ratio) => TableCell::plain(ratio_text(ratio)),
        CostRatio::Rounds(effect) => TableCell::ratio(&effect),
        CostRatio::AllRounds(ratio) => {
            TableCell { small: UNKNOWN.to_owned(), ..TableCell::plain(ratio_text(ratio)) }
        }
    }
}

fn ratio_text(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2}") } else { "new".to_owned() }
}
