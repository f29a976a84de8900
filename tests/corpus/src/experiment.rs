//! An experiment file: read, scaled, and planned where it takes no server.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use basecase_lab::experiment_file::{Variant, read};
use basecase_lab::{Origin, Places, Plan, Request, Scale};
use tempfile::TempDir;

use crate::{Marks, check_refusal, shape};

/// A workload file beside the experiment.
const OWN: &str = "about = \"own\"\n[options]\nrows = { default = 100, least = 1, most = 1000000, help = \"rows\" }\n\
    [tables.t]\nrows = \"rows\"\ncolumns = [{ name = \"id\", type = \"INTEGER NOT NULL\", content = \"row\" }]\nprimary_key = \"id\"\n\
    [statements]\nread = \"SELECT id FROM {table} WHERE id = {1..rows}\"\n[[steps]]\nname = \"read\"\nevent = \"read\"\n";

thread_local! {
    /// Of each thread, whose end removes it.
    static FOLDER: Rc<TempDir> = {
        let folder = tempfile::Builder::new().prefix("bc-").tempdir().expect("a folder");
        fs::write(folder.path().join("own.toml"), OWN).expect("a file");
        Rc::new(folder)
    };
}

/// Reads an experiment file, as it is and scaled, and plans its experiments of SQLite.
pub fn experiment(input: &[u8]) -> Marks {
    let mut marks = Marks::new();
    let Ok(text) = std::str::from_utf8(input) else { return marks };
    let folder = FOLDER.with(Rc::clone);
    let path = folder.path().join("e.toml");
    fs::write(&path, text).expect("a file");
    for scale in [None, Some("0.01"), Some("1e-300")] {
        let scale = scale.map(|scale| scale.parse::<Scale>().expect("a scale"));
        match read(&path, scale, None) {
            Err(error) => {
                let refusal = error.to_string();
                check_refusal(&refusal, text);
                assert!(refusal.contains(&path.display().to_string()), "which file? {refusal}");
                let refusal = refusal.replace(&path.display().to_string(), "FILE");
                let reason = refusal.strip_prefix("experiment file FILE cannot be understood\n");
                let reason =
                    reason.map_or(refusal.as_str(), |reason| reason.lines().last().unwrap_or_default());
                // The last line before the hint is the reason of a file that cannot be understood.
                let reason =
                    refusal.lines().rev().nth(1).filter(|_| refusal.contains("understood")).unwrap_or(reason);
                marks.insert(format!("refused: {}", shape(reason)));
            }
            Ok(variants) => {
                assert!(!variants.is_empty());
                variants.iter().for_each(|variant| go_on(variant, folder.path(), &mut marks));
            }
        }
    }
    marks
}

fn go_on(variant: &Variant, folder: &Path, marks: &mut Marks) {
    let request = &variant.request;
    assert!(!request.candidates.is_empty());
    marks.insert(format!("an experiment of {}", name_of(request)));
    // A server would have to be got or asked.
    if request.candidates.iter().all(|candidate| candidate.origin == Origin::Embedded) {
        plan(request, folder, marks);
    }
}

/// The workload, without the folder of its file.
fn name_of(request: &Request) -> &str {
    let name = request.workload.name();
    name.rsplit('/').next().unwrap_or(name)
}

fn plan(request: &Request, folder: &Path, marks: &mut Marks) {
    let data = folder.join("data");
    let places = Places {
        home: folder.join("home"),
        data: data.clone(),
        transport: None,
        timing: basecase_lab::Timing::ORDINARY,
        program: PathBuf::new(),
    };
    match Plan::prepare(request, &places, "basecase run e.toml", &mut |_| {}) {
        Err(error) => {
            let refusal = basecase_lab::explain(&error);
            check_refusal(&refusal, "");
            let refusal = refusal.replace(&folder.display().to_string(), "FOLDER");
            marks.insert(format!("plan refused: {}", shape(&refusal)));
        }
        Ok(plan) => {
            assert!(!plan.cells().is_empty());
            assert_eq!(plan.candidates.len(), request.candidates.len());
            // What is stored is read again as it was.
            let stored = serde_json::to_string(&plan.experiment).expect("JSON");
            let again: basecase_model::Experiment = serde_json::from_str(&stored).expect("an experiment");
            assert_eq!(again, plan.experiment);
            marks.insert(format!("planned {}", name_of(request)));
            let own = data.join(&plan.experiment.id);
            drop(plan);
            // It may have been refused to be made at all.
            let _ = fs::remove_dir_all(own);
        }
    }
}
