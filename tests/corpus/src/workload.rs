//! A workload file: read, checked, planned, and its first statements drawn.

use basecase_model::{Engine, Operation, Parameter, Reply};
use basecase_workload::{Dialect, Next, RolePlan, SetUp, StepPlan, Work, Workload, WorkloadError};

use crate::{Marks, check_refusal, shape};

/// The name under which the file is read.
const FILE: &str = "mine.toml";
/// Statements that are drawn of every role.
const DRAWN: usize = 60;
/// Statements that are drawn of the load's roles: each may have half a megabyte.
const LOADED: usize = 2;
/// More threads than this are refused by the limit of open files of most machines, before anything is planned.
const MOST_THREADS: u32 = 40;

const DIALECTS: [Dialect; 4] =
    [Dialect::Postgres, Dialect::Mysql(Engine::Innodb), Dialect::Mysql(Engine::Rocksdb), Dialect::Sqlite];

/// Options that a user may give beside those of the file.
const RUNS: [&[(&str, &str)]; 3] = [
    &[],
    &[("mode", "clean"), ("threads", "2"), ("prepared", "off"), ("rate", "7.5"), ("seed", "9")],
    &[("threads", "1,3"), ("maintenance", "each"), ("events", "5")],
];

/// Reads a workload file and goes on with it as long as it is not refused.
pub fn workload(input: &[u8]) -> Marks {
    let mut marks = Marks::new();
    let Ok(text) = std::str::from_utf8(input) else { return marks };
    match Workload::load(text, FILE) {
        Err(error) => refused(&error, text, "load", &mut marks),
        Ok(workload) => {
            marks.insert("checked".into());
            let again = Workload::load(workload.text(), FILE);
            // Numbers that are none are not equal to themselves.
            assert_eq!(format!("{again:?}"), format!("{:?}", Ok::<_, WorkloadError>(workload.clone())));
            for given in RUNS {
                if let Err(error) = run(&workload, given, &mut marks) {
                    refused(&error, text, "run", &mut marks);
                }
            }
        }
    }
    marks
}

fn refused(error: &WorkloadError, text: &str, stage: &str, marks: &mut Marks) {
    let refusal = error.to_string();
    check_refusal(&refusal, "");
    let problem = match error {
        WorkloadError::File { file, line, column, problem, .. } => {
            assert_eq!(file, FILE);
            let lines: Vec<&str> = text.split('\n').collect();
            let width = lines.get(line - 1).map(|line| line.chars().count());
            assert!(width.is_some_and(|width| (1..=width + 1).contains(column)), "no such place: {refusal}");
            problem
        }
        WorkloadError::Request { problem, .. } => problem,
    };
    marks.insert(format!("{stage} refused: {}", shape(problem)));
}

fn run(workload: &Workload, given: &[(&str, &str)], marks: &mut Marks) -> Result<(), WorkloadError> {
    let parameters = workload.options(given)?;
    // What is shown can be given again, and means the same.
    let facts = parameters.facts(workload);
    let shown: Vec<(&str, &str)> =
        facts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let again = workload.options(&shown).map(|again| again.facts(workload));
    assert_eq!(again.as_ref(), Ok(&facts), "options as they are shown");
    marks.insert("options".into());
    let steps = workload.steps(&parameters, &[])?;
    for (name, _) in workload.lists() {
        workload.steps(&parameters, &[name]).map(drop)?;
        workload.groups(name);
    }
    marks.insert("steps".into());
    let tables = workload.loaded_tables(&parameters, &steps)?;
    marks.insert("tables".into());
    if steps.iter().map(|step| step.threads).max().unwrap_or(0) > MOST_THREADS {
        return Ok(());
    }
    for dialect in DIALECTS {
        workload.describe(&parameters, &steps, dialect)?;
        for step in &steps {
            let plan = workload.plan(&parameters, step, dialect)?;
            assert_eq!(plan.roles.len(), step.threads as usize);
            draw(plan, DRAWN);
            marks.insert("events drawn".into());
        }
        let loaders = tables.len().clamp(1, 2) as u32;
        let load = workload.load_plan(&parameters, &steps, dialect, loaders)?;
        // The rows are the same in every dialect.
        if dialect == Dialect::Sqlite {
            draw(load, LOADED);
            marks.insert("load drawn".into());
        }
    }
    Ok(())
}

/// Draws the first statements of every role.
fn draw(plan: StepPlan, most: usize) {
    let kinds = plan.kinds.len();
    for role in plan.roles {
        let prepared = role.set_up.iter().filter(|set_up| matches!(set_up, SetUp::Prepare { .. })).count();
        let RolePlan { work: Work::Script(mut script), .. } = role else { continue };
        let mut operation = Operation::default();
        for turn in 0..most {
            operation.clear();
            match script.next(&mut operation) {
                Next::Finish => break,
                Next::Aside(_) | Next::RoundEnd | Next::Send(_) => continue,
                Next::Execute => {}
            }
            assert!(operation.prepared.is_none_or(|number| number < prepared), "prepared {operation:?}");
            assert!(kinds == 0 || usize::from(operation.kind) < kinds, "kind of {operation:?}");
            for parameter in &operation.parameters {
                if let Parameter::Text { start, end } = parameter {
                    assert!(operation.text.get(*start as usize..*end as usize).is_some(), "{operation:?}");
                }
            }
            if turn % 13 == 12 {
                script.restart();
            } else {
                let rows = turn as u64 % 3;
                script.answer(&Reply { fetched: rows, affected: rows, first: (rows > 0).then_some(7) });
            }
        }
    }
}
