//! Every file under `experiments/` is one that can be run: its keys, builds, configs and workload are known.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use basecase_builds::{BuildRequest, Catalogue};
use basecase_lab::{CandidateSpec, Missing, Origin, experiment_file};
use basecase_server::{ConfigFile, Host};
use experiment_file::Variant;

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    files.sort();
    files
}

fn read(file: &Path, scale: Option<&str>) -> Vec<Variant> {
    let scale = scale.map(|scale| scale.parse().unwrap());
    experiment_file::read(file, scale, None).unwrap_or_else(|error| panic!("--scale {scale:?} of {error}"))
}

#[test]
fn builds_and_configs_are_known() {
    let catalogue = Catalogue::embedded().unwrap();
    for file in files() {
        for Variant { request, .. } in read(&file, None) {
            let build = |spec: &CandidateSpec| match &spec.origin {
                Origin::Build(build) => Some(build.clone()),
                _ => None,
            };
            let resolve = |build: &BuildRequest| catalogue.resolve(std::slice::from_ref(build)).map(drop);
            let builds: Vec<BuildRequest> = request.candidates.iter().filter_map(build).collect();
            let unknown: Vec<String> = builds
                .iter()
                .filter_map(|build| resolve(build).err())
                .map(|error| error.to_string())
                .collect();
            // A study is still one without the versions that must be built from source.
            match request.missing {
                Missing::Refuse => assert!(unknown.is_empty(), "{}: {unknown:?}", file.display()),
                Missing::LeaveOut => assert!(builds.len() - unknown.len() >= 2, "{}", file.display()),
            }
            for spec in &request.candidates {
                let Some(config) = &spec.config else { continue };
                ConfigFile::find(spec.dbms(), config, Host::detect())
                    .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            }
        }
    }
}

#[test]
fn they_are_named_after_their_files_and_run_small() {
    for file in files() {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        for (variant, small) in read(&file, None).iter().zip(read(&file, Some("0.01"))) {
            let name = variant.size.as_ref().map_or_else(|| stem.to_owned(), |size| format!("{stem} {size}"));
            assert_eq!(variant.request.name, name);
            let rows = |variant: &Variant| variant.request.workload.loaded_rows();
            assert!(rows(&small) < rows(variant), "{}", file.display());
        }
    }
}

#[test]
fn each_is_named_where_users_look() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages =
        ["studies.md", "how-to/experiments.md"].map(|page| std::fs::read_to_string(docs.join(page)).unwrap());
    for file in files() {
        let name = format!("experiments/{}", file.file_name().unwrap().to_str().unwrap());
        assert!(
            pages.iter().any(|page| page.contains(&name)),
            "neither docs/studies.md nor docs/how-to/experiments.md names {name}"
        );
    }
}
