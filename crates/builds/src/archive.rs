//! Unpacks an archive as its recipe says.

use std::fs::{self, File};
use std::io::{self, Cursor, Read, Seek};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::form::{Form, Links, Part};
use crate::pattern::below;

/// Unpacks the parts of the archive `file` that `form` names into the empty folder `tree`.
pub(crate) fn unpack(file: &Path, form: &Form, tree: &Path) -> io::Result<()> {
    let mut taken = vec![false; form.parts.len()];
    let mut take = |name: &str, entry: Entry<'_>| {
        let is_of = |(_, part): &(usize, &Part)| below(&part.from, name).is_some();
        let Some((index, part)) = form.parts.iter().enumerate().find(is_of) else { return Ok(()) };
        if let Some(taken) = taken.get_mut(index) {
            *taken = true;
        }
        match (&part.within, entry) {
            (None, entry) => part.place(&part.from, name, entry, tree),
            (Some(within), Entry::File { reader, .. }) => {
                each_of_inner(name, reader, &mut |name, entry| part.place(within, name, entry, tree))
            }
            (Some(_), _) => Ok(()),
        }
    };
    let name = file.to_string_lossy();
    match kind(&name)? {
        // The index of a zip file is at its end, so reading it needs `Seek`.
        Kind::Zip => each_of_zip(File::open(file)?, &mut take)?,
        _ => each_of_inner(&name, &mut File::open(file)?, &mut take)?,
    }
    if let Some((part, _)) = form.parts.iter().zip(&taken).find(|(_, taken)| !**taken) {
        return Err(invalid(format!("it contains no {}", part.from)));
    }
    if let Some(links) = &form.links {
        make_links(links, tree)?;
    }
    finish(form, tree)
}

/// The last steps for any tree, however it was unpacked: puts the programs in `bin`, and lets every user run them.
pub(crate) fn finish(form: &Form, tree: &Path) -> io::Result<()> {
    if let Some(bin) = &form.bin {
        symlink(bin, tree.join("bin"))?;
    }
    open_to_all(tree)
}

/// What an archive holds under one name.
enum Entry<'r> {
    File {
        reader: &'r mut dyn Read,
        is_program: bool,
    },
    Link(PathBuf),
    /// A hard link to an earlier file.
    SameAs(String),
}

type Take<'t> = &'t mut dyn FnMut(&str, Entry<'_>) -> io::Result<()>;

enum Kind {
    Zip,
    TarGz,
    TarXz,
}

fn kind(name: &str) -> io::Result<Kind> {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    match () {
        () if ends(&[".zip", ".jar", ".whl"]) => Ok(Kind::Zip),
        () if ends(&[".tar.gz", ".tgz"]) => Ok(Kind::TarGz),
        () if ends(&[".tar.xz", ".txz"]) => Ok(Kind::TarXz),
        () => Err(invalid(format!("{name} is not a known kind of archive"))),
    }
}

fn each_of_inner(name: &str, reader: &mut dyn Read, take: Take<'_>) -> io::Result<()> {
    match kind(name)? {
        Kind::Zip => {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes)?;
            each_of_zip(Cursor::new(bytes), take)
        }
        Kind::TarGz => each_of_tar(flate2::read::GzDecoder::new(reader), take),
        Kind::TarXz => each_of_tar(liblzma::read::XzDecoder::new(reader), take),
    }
}

fn each_of_zip(reader: impl Read + Seek, take: Take<'_>) -> io::Result<()> {
    let mut archive = zip::ZipArchive::new(reader).map_err(io::Error::other)?;
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(io::Error::other)?;
        if file.is_dir() {
            continue;
        }
        let name = file.name().map_err(io::Error::other)?.into_owned();
        if file.is_symlink() {
            let mut target = String::new();
            file.read_to_string(&mut target)?;
            take(&name, Entry::Link(target.into()))?;
        } else {
            let is_program = file.unix_mode().is_some_and(|mode| mode & 0o100 != 0);
            take(&name, Entry::File { reader: &mut file, is_program })?;
        }
    }
    Ok(())
}

fn each_of_tar(reader: impl Read, take: Take<'_>) -> io::Result<()> {
    let mut archive = tar::Archive::new(reader);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = plain(&entry.path()?);
        let kind = entry.header().entry_type();
        let target = entry.link_name()?.map(PathBuf::from);
        match target {
            Some(target) if kind.is_symlink() => take(&name, Entry::Link(target))?,
            Some(target) if kind.is_hard_link() => take(&name, Entry::SameAs(plain(&target)))?,
            _ if kind.is_file() => {
                let is_program = entry.header().mode()? & 0o100 != 0;
                take(&name, Entry::File { reader: &mut entry, is_program })?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A path without a leading `./`.
fn plain(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).to_string_lossy().into_owned()
}

impl Part {
    /// Writes the archive entry `name` if it matches `pattern`.
    fn place(&self, pattern: &str, name: &str, entry: Entry<'_>, tree: &Path) -> io::Result<()> {
        let Some(name) = self.name(pattern, name) else { return Ok(()) };
        if self.leave_out.iter().any(|pattern| below(pattern, &name).is_some()) {
            return Ok(());
        }
        let path = inside(tree, &name)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        match entry {
            Entry::File { reader, is_program } => {
                let mut file = File::create(&path)?;
                io::copy(reader, &mut file)?;
                file.set_permissions(PermissionsExt::from_mode(if is_program { 0o755 } else { 0o644 }))
            }
            // An absolute link points at a place on the machine where the archive was made.
            Entry::Link(target) if target.is_absolute() => Ok(()),
            Entry::Link(target) => symlink(target, path),
            Entry::SameAs(other) => match self.name(pattern, &other) {
                Some(other) => fs::hard_link(inside(tree, &other)?, path),
                None => Ok(()),
            },
        }
    }

    /// The archive entry's path in the tree, if `name` matches `pattern`.
    fn name(&self, pattern: &str, name: &str) -> Option<String> {
        let rest = match below(pattern, name)? {
            "" if self.to.is_empty() || self.to.ends_with('/') => name.rsplit('/').next()?,
            rest => rest,
        };
        Some(format!("{}{rest}", self.to))
    }
}

/// The path of `name` in `tree`. Refuses a name that leads out of it.
fn inside(tree: &Path, name: &str) -> io::Result<PathBuf> {
    let is_plain = |component| matches!(component, Component::Normal(_) | Component::CurDir);
    if name.is_empty() || !Path::new(name).components().all(is_plain) {
        return Err(invalid(format!("{name:?} is not a path inside the tree")));
    }
    Ok(tree.join(name))
}

#[derive(Deserialize)]
struct LinkLine {
    source: String,
    target: String,
}

fn make_links(links: &Links, tree: &Path) -> io::Result<()> {
    let lines: Vec<LinkLine> = serde_json::from_slice(&fs::read(inside(tree, &links.list)?)?)?;
    for line in lines {
        let name = |path| {
            below(&links.below, path).ok_or_else(|| invalid(format!("{path} is not below {}", links.below)))
        };
        let (source, target) = (name(&line.source)?, name(&line.target)?);
        let path = inside(tree, target)?;
        inside(tree, source)?;
        if path.symlink_metadata().is_err() {
            let up = "../".repeat(target.matches('/').count());
            symlink(format!("{up}{source}"), path)?;
        }
    }
    Ok(())
}

/// Lets every user read the tree and run what is in a `bin` folder, and only the owner change it, whatever the archive or
/// the umask say: servers may run as another user than the one who unpacks, and some archives store no permissions.
pub(crate) fn open_to_all(path: &Path) -> io::Result<()> {
    let metadata = path.symlink_metadata()?;
    if metadata.is_symlink() {
        return Ok(());
    }
    let is_in_bin = path.parent().is_some_and(|folder| folder.ends_with("bin"));
    let runs = metadata.is_dir() || is_in_bin || metadata.permissions().mode() & 0o100 != 0;
    fs::set_permissions(path, PermissionsExt::from_mode(if runs { 0o755 } else { 0o644 }))?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            open_to_all(&entry?.path())?;
        }
    }
    Ok(())
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A tar.gz of files, each with its content.
    fn tarball(files: &[(&str, &str)]) -> Vec<u8> {
        let mut tree =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o700);
            header.set_cksum();
            tree.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Link);
        link.set_size(0);
        tree.append_link(&mut link, "top/bin/same", files[0].0).unwrap();
        link.set_entry_type(tar::EntryType::Symlink);
        tree.append_link(&mut link, "top/bin/away", "/tmp/somewhere").unwrap();
        tree.append_link(&mut link, "top/bin/near", "postgres").unwrap();
        tree.into_inner().unwrap().finish().unwrap()
    }

    fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn unpacked(name: &str, bytes: &[u8], form: &str) -> io::Result<tempfile::TempDir> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        fs::write(&file, bytes).unwrap();
        let tree = tempfile::tempdir().unwrap();
        unpack(&file, &toml::from_str(form).unwrap(), tree.path()).map(|()| tree)
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn an_archive_in_an_archive_becomes_a_tree_that_all_may_read() {
        let inner = tarball(&[("top/bin/postgres", "hi"), ("top/share/a", "a"), ("top/man/b", "b")]);
        let wheel = zip(&[("pkg/tree.tar.gz", &inner), ("pkg/other", b"no")]);
        let form = "parts = [{ from = '*/*.tar.gz', within = '*/', leave_out = ['man/'] }]";
        let tree = unpacked("a.whl", &wheel, form).unwrap();
        let bin = tree.path().join("bin");
        assert_eq!(mode(&bin.join("postgres")), 0o755);
        assert_eq!(fs::read_to_string(bin.join("same")).unwrap(), "hi");
        assert_eq!(fs::read_to_string(bin.join("near")).unwrap(), "hi");
        assert!(bin.join("away").symlink_metadata().is_err());
        assert!(tree.path().join("share/a").exists());
        assert!(!tree.path().join("man").exists() && !tree.path().join("pkg").exists());
        let error = unpacked("a.whl", &wheel, "parts = [{ from = '*.txz', within = '' }]").unwrap_err();
        assert_eq!(error.to_string(), "it contains no *.txz");
    }

    #[test]
    fn parts_are_put_together_and_what_is_in_bin_runs() {
        let share = zip(&[("share/english/errmsg.sys", b"x"), ("share/README", b"r")]);
        let jar = zip(&[("5/Linux/mysqld", b"server"), ("5/Windows/mysqld", b"no"), ("5/share.jar", &share)]);
        let form = "parts = [{ from = '5/Linux/mysqld', to = 'bin/server' }, { from = '5/share.jar', within = '' }, \
             { from = '5/*/mysqld', to = 'others/' }]";
        let tree = unpacked("a.jar", &jar, form).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("bin/server")).unwrap(), "server");
        assert_eq!(fs::read_to_string(tree.path().join("others/mysqld")).unwrap(), "no");
        assert_eq!(mode(&tree.path().join("bin/server")), 0o755);
        assert_eq!(mode(&tree.path().join("share/english/errmsg.sys")), 0o644);
    }

    #[test]
    fn listed_links_are_made_and_bin_leads_to_the_programs() {
        let list = r#"[{"source":"native/lib/libx.so.1.2","target":"native/lib/libx.so.1"}]"#;
        let tgz = tarball(&[("package/native/links.json", list), ("package/native/lib/libx.so.1.2", "x")]);
        let form = "parts = [{ from = 'package/native/' }]\nlinks = { list = 'links.json', below = 'native/' }\nbin = 'lib'";
        let tree = unpacked("a.tgz", &tgz, form).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("bin/libx.so.1")).unwrap(), "x");
    }

    #[test]
    fn no_entry_leaves_the_tree() {
        let jar = zip(&[("../../evil", b"x")]);
        let error = unpacked("a.jar", &jar, "parts = [{ from = '' }]").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(unpacked("a.rar", b"", "").is_err());
    }
}
