//! Unpacking artifacts, as their recipe says.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::recipe::Unpack;

/// Unpacks the artifact `file` under the empty folder `folder`: the path of the tree.
pub(crate) fn unpack(file: &Path, how: &Unpack, folder: &Path) -> io::Result<PathBuf> {
    let invalid = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    if how.outer != "zip" {
        return Err(invalid(format!("the recipe's outer archive {:?} is not known", how.outer)));
    }
    let mut outer = zip::ZipArchive::new(File::open(file)?).map_err(io::Error::other)?;
    let names = outer.file_names().filter_map(Result::ok);
    let name = names.map(Cow::into_owned).find(|name| matches(&how.member, name));
    let name = name.ok_or_else(|| invalid(format!("it holds no {}", how.member)))?;
    let member = outer.by_name(&name).map_err(io::Error::other)?;
    match how.inner.as_str() {
        "tar.gz" => untar(flate2::read::GzDecoder::new(member), folder)?,
        "tar.xz" => untar(liblzma::read::XzDecoder::new(member), folder)?,
        other => return Err(invalid(format!("the recipe's inner archive {other:?} is not known"))),
    }
    let mut tree = folder.to_path_buf();
    for _ in 0..how.strip {
        let mut folders =
            fs::read_dir(&tree)?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
        tree = folders.next().ok_or_else(|| invalid("it has fewer folders than its recipe says".into()))?;
    }
    open_to_all(&tree)?;
    Ok(tree)
}

fn untar(reader: impl Read, folder: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(reader);
    archive.set_preserve_permissions(true);
    // Times of the archive say nothing about this machine, and old ones invite cleaners of temporary files.
    archive.set_preserve_mtime(false);
    archive.unpack(folder)
}

/// Lets every user read the tree and nobody but the owner change it, whatever the archive or the umask say: servers may run as
/// another user than the one who unpacks.
pub(crate) fn open_to_all(path: &Path) -> io::Result<()> {
    let metadata = path.symlink_metadata()?;
    if metadata.is_symlink() {
        return Ok(());
    }
    let old = metadata.permissions().mode();
    let runs = metadata.is_dir() || old & 0o100 != 0;
    fs::set_permissions(path, PermissionsExt::from_mode(if runs { 0o755 } else { 0o644 }))?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            open_to_all(&entry?.path())?;
        }
    }
    Ok(())
}

/// Whether `name` is as `pattern` says, in which one `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn artifact(folder: &Path) -> PathBuf {
        let mut tree =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        header.set_mode(0o700);
        header.set_cksum();
        tree.append_data(&mut header, "top/bin/postgres", &b"hi"[..]).unwrap();
        let bytes = tree.into_inner().unwrap().finish().unwrap();
        let path = folder.join("a.whl");
        let mut zip = zip::ZipWriter::new(File::create(&path).unwrap());
        zip.start_file("pkg/tree.tar.gz", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
        zip.finish().unwrap();
        path
    }

    #[test]
    fn an_archive_in_an_archive_becomes_a_tree_that_all_may_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = artifact(folder.path());
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        let how = Unpack { outer: "zip".into(), member: "*.tar.gz".into(), inner: "tar.gz".into(), strip: 1 };
        let tree = unpack(&file, &how, &out).unwrap();
        assert_eq!(tree, out.join("top"));
        let mode = tree.join("bin/postgres").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        let wrong = Unpack { member: "*.txz".into(), ..how };
        assert_eq!(unpack(&file, &wrong, &out).unwrap_err().to_string(), "it holds no *.txz");
    }

    #[test]
    fn patterns_have_one_star() {
        assert!(matches("*.txz", "a.txz"));
        assert!(!matches("a*a", "a"));
        assert!(matches("x", "x"));
    }
}
