//! Files of crates, by `cargo`: it has no command that downloads one file, so it fetches the dependency of an empty package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::client_tool::{Failure, run};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
}

/// Downloads the crate `artifact`, as in `libsqlite3-sys@0.28.0`, into the empty folder `folder`, as a compressed archive.
pub(crate) fn download(artifact: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let failed = |reason: String| Failure::Failed(format!("  {reason}"));
    let (name, version) =
        artifact.split_once('@').ok_or_else(|| failed(format!("{artifact} has no version after '@'")))?;
    let package = folder.join("package");
    let manifest = format!(
        "[package]\nname = \"basecase-fetch\"\nversion = \"0.0.0\"\n\n[workspace]\n\n[dependencies]\n{name} = {{ version = \"={version}\", default-features = false }}\n"
    );
    fs::create_dir_all(package.join("src"))
        .and_then(|()| fs::write(package.join("src/lib.rs"), ""))
        .and_then(|()| fs::write(package.join("Cargo.toml"), manifest))
        .map_err(|error| failed(error.to_string()))?;
    let cargo = |words: &[&str]| run("cargo", Command::new("cargo").args(words).current_dir(&package));
    cargo(&["fetch", "--quiet"])?;
    let text = cargo(&["metadata", "--quiet", "--offline", "--format-version", "1"])?;
    let metadata: Metadata =
        serde_json::from_str(&text).map_err(|error| failed(format!("cargo metadata says {error}")))?;
    let found = metadata.packages.iter().find(|package| package.name == name);
    let file = found.and_then(|package| in_cache(&package.manifest_path)).ok_or_else(|| {
        failed(format!("cargo has {artifact} from a source that keeps no archives (source replacement)"))
    })?;
    let place = folder.join(file.file_name().unwrap_or_default());
    fs::copy(&file, &place).map_err(|error| failed(format!("{}: {error}", file.display())))?;
    Ok(place)
}

/// The archive of an unpacked crate: `registry/cache/INDEX/NAME.crate` for `registry/src/INDEX/NAME/Cargo.toml`.
fn in_cache(manifest: &Path) -> Option<PathBuf> {
    let folder = manifest.parent()?;
    let (name, index) = (folder.file_name()?.to_str()?, folder.parent()?);
    let registry = index.parent().filter(|src| src.ends_with("src"))?.parent()?;
    let file = registry.join("cache").join(index.file_name()?).join(format!("{name}.crate"));
    file.is_file().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_lies_beside_what_was_unpacked() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("registry/cache/index-1");
        fs::create_dir_all(&cache).unwrap();
        fs::write(cache.join("a-1.0.0.crate"), "").unwrap();
        let manifest = |name: &str| home.path().join("registry/src/index-1").join(name).join("Cargo.toml");
        assert_eq!(in_cache(&manifest("a-1.0.0")), Some(cache.join("a-1.0.0.crate")));
        assert_eq!(in_cache(&manifest("b-1.0.0")), None);
        assert_eq!(in_cache(&home.path().join("vendor/a/Cargo.toml")), None);
    }
}
