//! Where source code comes from: a folder, a git repository or an archive.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use basecase_model::{Commit, hexadecimal};
use basecase_process::{Account, act, owner_of};
use basecase_repository::{Repository, RepositoryError};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::error::CompileError;
use super::toolchain::Toolchain;
use crate::checksum::sha256_of;

/// Where source code comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A folder that is not a git working tree.
    Folder(PathBuf),
    /// A git working tree as it is now, including uncommitted changes.
    WorkingTree(PathBuf),
    /// A commit of a repository.
    Commit { repository: PathBuf, reference: String },
    /// A tar archive, plain or compressed.
    Archive(PathBuf),
}

/// What identifies source code exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Equal for equal source code: the SHA-256 of an archive or of a folder's content, or a commit.
    pub(crate) digest: String,
    /// The source as shown to the user: file name and checksum, or repository and commit.
    pub(crate) artifact: String,
    /// What it adds to the label of a build, so that two commits of one version are told apart; `None` for a release.
    pub(crate) label: Option<String>,
    /// The first digits of the commit, if it is one.
    pub(crate) commit: Option<String>,
    /// The files of a folder or working tree, relative to it.
    files: Vec<PathBuf>,
}

impl Origin {
    /// The source that `text` names.
    ///
    /// # Errors
    /// If there is no such source.
    pub(crate) fn find(text: &str) -> Result<Origin, CompileError> {
        let wrong = |reason: &str| CompileError::Origin { text: text.to_owned(), reason: reason.to_owned() };
        let absolute = |path: &Path| path.canonicalize().map_err(CompileError::file(path));
        let path = Path::new(text);
        if path.is_dir() {
            let is_bare = path.join("HEAD").is_file() && path.join("objects").is_dir();
            return if path.join(".git").exists() {
                Ok(Origin::WorkingTree(absolute(path)?))
            } else if is_bare {
                Err(wrong("a bare repository needs a tag or commit after it, as in repository.git@REL_17_6"))
            } else {
                Ok(Origin::Folder(absolute(path)?))
            };
        }
        if path.is_file() {
            return Ok(Origin::Archive(absolute(path)?));
        }
        match text.rsplit_once('@') {
            Some((repository, reference)) if Path::new(repository).is_dir() && !reference.is_empty() => {
                Ok(Origin::Commit {
                    repository: absolute(Path::new(repository))?,
                    reference: reference.to_owned(),
                })
            }
            _ if text.contains("://") || text.starts_with("git@") => {
                Err(wrong("basecase does not clone repositories; clone it and give the local folder"))
            }
            _ => Err(wrong("there is no such file or folder")),
        }
    }

    /// Identifies the source code, without unpacking or copying it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn identify(&self, toolchain: &Toolchain) -> Result<Identity, CompileError> {
        match self {
            Origin::Archive(path) => {
                let digest = sha256_of(path).map_err(CompileError::file(path))?;
                let artifact = format!("{} sha256:{digest}", file_name(path));
                Ok(Identity { digest, artifact, label: None, commit: None, files: Vec::new() })
            }
            Origin::Folder(folder) => {
                let read = || {
                    let mut files = Vec::new();
                    walk(folder, Path::new(""), &mut files)?;
                    Ok((digest_of(folder, &files)?, files))
                };
                let (digest, files) = as_owner(folder, read).map_err(CompileError::file(folder))?;
                let artifact = format!("{} sha256:{digest}", file_name(folder));
                Ok(Identity { digest, artifact, label: None, commit: None, files })
            }
            Origin::Commit { repository, reference } => {
                let program = toolchain.git()?;
                let git = Repository::at(repository, &program);
                let commit = git.commit(reference)?;
                let short = head(&commit, Commit::DIGITS);
                let label = if git.is_tagged(&commit)? { None } else { Some(short.clone()) };
                let artifact = format!("{}@{commit}", file_name(repository));
                Ok(Identity { digest: commit, artifact, label, commit: Some(short), files: Vec::new() })
            }
            Origin::WorkingTree(folder) => {
                let program = toolchain.git()?;
                let git = Repository::at(folder, &program);
                let (commit, files) = (git.commit("HEAD")?, git.files()?);
                let artifact = format!("{}@{commit}", file_name(folder));
                let short = head(&commit, Commit::DIGITS);
                if !git.is_dirty()? {
                    let label = if git.is_tagged(&commit)? { None } else { Some(short.clone()) };
                    return Ok(Identity { digest: commit, artifact, label, commit: Some(short), files });
                }
                let digest = as_owner(folder, || digest_of(folder, &files));
                let digest = digest.map_err(CompileError::file(folder))?;
                Ok(Identity {
                    artifact: format!("{artifact} dirty sha256:{digest}"),
                    label: Some(format!("{short}-{}", head(&digest, 4))),
                    commit: Some(short),
                    digest,
                    files,
                })
            }
        }
    }

    /// Puts the source code into the empty folder `into`, as the account that compiles. Returns the name of the top folder
    /// in it, or `None` if that is `into` itself.
    ///
    /// # Errors
    /// If it cannot be unpacked or copied, or has changed since it was identified.
    pub(crate) fn unpack(
        &self,
        identity: &Identity,
        toolchain: &Toolchain,
        into: &Path,
    ) -> Result<Option<OsString>, CompileError> {
        let account = toolchain.account();
        match self {
            Origin::Archive(path) => {
                let unpacked =
                    File::open(path).and_then(|file| act(account, || untar(decompressed(file)?, into)));
                unpacked.map_err(|source| CompileError::Unpack { path: path.clone(), source })?;
            }
            Origin::Commit { repository, .. } => {
                let git = toolchain.git()?;
                let mut child = Repository::at(repository, &git).archive(&identity.digest)?;
                let unpacked = child
                    .stdout
                    .take()
                    .map_or(Ok(()), |reader| act(account, || untar_to_the_end(reader, into)));
                let status = child.wait().map_err(CompileError::file(repository))?;
                unpacked.map_err(|source| CompileError::Unpack { path: repository.clone(), source })?;
                if !status.success() {
                    let reason = format!("git archive ended with {status}");
                    return Err(RepositoryError::Git { repository: repository.clone(), reason }.into());
                }
            }
            Origin::Folder(folder) | Origin::WorkingTree(folder) => {
                copy(folder, &identity.files, into, account).map_err(CompileError::file(into))?;
                if self.identify(toolchain)? != *identity {
                    return Err(CompileError::Changed { folder: folder.clone() });
                }
                return Ok(None);
            }
        }
        act(account, || top_folder(into)).map_err(CompileError::file(into))
    }
}

/// Decompresses `file`, whatever its format.
fn decompressed(mut file: File) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = Vec::new();
    Read::by_ref(&mut file).take(6).read_to_end(&mut magic)?;
    io::Seek::rewind(&mut file)?;
    let reader = io::BufReader::with_capacity(1 << 16, file);
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        [b'B', b'Z', b'h', ..] => Box::new(bzip2::bufread::MultiBzDecoder::new(reader)),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(reader)),
        _ => Box::new(reader),
    })
}

/// Unpacks, keeping the archive's file times: `make` compares them to decide whether generated files are up to date.
fn untar(reader: impl Read, folder: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(reader);
    archive.set_preserve_permissions(true);
    archive.unpack(folder)
}

/// The same from a program, which must not be cut off while it still writes the padding behind the archive.
fn untar_to_the_end(mut reader: impl Read, folder: &Path) -> io::Result<()> {
    untar(&mut reader, folder)?;
    io::copy(&mut reader, &mut io::sink()).map(drop)
}

/// The name of the folder in `folder`, if there is nothing else.
fn top_folder(folder: &Path) -> io::Result<Option<OsString>> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    match entries.as_slice() {
        [only] if only.file_type()?.is_dir() => Ok(Some(only.file_name())),
        _ => Ok(None),
    }
}

/// Does `work` on `folder` with the rights of its owner.
fn as_owner<T: Send>(folder: &Path, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    act(owner_of(folder)?.as_ref(), work)
}

/// Adds the files and links below `root`/`folder` to `found`, sorted, relative to `root`.
pub(crate) fn walk(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut names: Vec<_> = fs::read_dir(root.join(folder))?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    names.sort();
    for name in names {
        let path = folder.join(name);
        if root.join(&path).symlink_metadata()?.is_dir() {
            walk(root, &path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

/// The checksum over names, contents and execute bits of `files` below `root`.
fn digest_of(root: &Path, files: &[PathBuf]) -> io::Result<String> {
    let mut hash = Sha256::new();
    for file in files {
        let path = root.join(file);
        let metadata = path.symlink_metadata()?;
        let content = if metadata.is_symlink() {
            format!("link {}", fs::read_link(&path)?.display())
        } else {
            let runs = metadata.permissions().mode() & 0o100 != 0;
            format!("{} {}", if runs { "program" } else { "file" }, sha256_of(&path)?)
        };
        hash.update(file.as_os_str().as_bytes());
        hash.update(format!("\0{content}\n"));
    }
    Ok(hexadecimal(&hash.finalize()))
}

/// Copies `files` below `from` to the same places below `to`, with their times. They are read as the owner of `from`, and
/// written as `account`.
fn copy(from: &Path, files: &[PathBuf], to: &Path, account: Option<&Account>) -> io::Result<()> {
    let (reader, writer) = io::pipe()?;
    std::thread::scope(|scope| {
        let written = scope.spawn(move || act(account, || untar(io::BufReader::new(reader), to)));
        let read = as_owner(from, || pack(from, files, io::BufWriter::new(writer)));
        let written = written.join().unwrap_or_else(|_| Err(io::Error::other("the writing thread panicked")));
        // If writing failed, reading fails too, on a closed pipe; the first error tells more.
        written.and(read)
    })
}

/// Writes `files` below `from` to a tar archive.
fn pack(from: &Path, files: &[PathBuf], writer: impl io::Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(writer);
    archive.follow_symlinks(false);
    for file in files {
        let path = from.join(file);
        let metadata = path.symlink_metadata()?;
        if metadata.is_symlink() {
            archive.append_path_with_name(&path, file)?;
        } else if metadata.is_file() {
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            let mut opened = File::options().read(true).custom_flags(flags.bits() as i32).open(&path)?;
            archive.append_file(file, &mut opened)?;
        }
    }
    archive.into_inner()?.flush()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn head(text: &str, digits: usize) -> String {
    text.chars().take(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn what_is_named_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::create_dir_all(folder.path().join("clone/.git")).unwrap();
        fs::write(folder.path().join("a.tar.gz"), "").unwrap();
        assert!(matches!(Origin::find(&path("")), Ok(Origin::Folder(_))));
        assert!(matches!(Origin::find(&path("clone")), Ok(Origin::WorkingTree(_))));
        assert!(matches!(Origin::find(&path("a.tar.gz")), Ok(Origin::Archive(_))));
        let Ok(Origin::Commit { reference, .. }) = Origin::find(&path("clone@REL_17_6")) else { panic!() };
        assert_eq!(reference, "REL_17_6");
        let message = |text: &str| Origin::find(text).unwrap_err().to_string();
        assert!(message(&path("none")).contains("no such file or folder"));
        assert!(message(&path("clone@")).contains("no such file or folder"));
        assert!(message("https://example.org/postgres.git").contains("does not clone"));
        fs::write(folder.path().join("HEAD"), "").unwrap();
        fs::create_dir(folder.path().join("objects")).unwrap();
        assert!(message(&path("")).contains("a bare repository needs a tag"));
    }

    #[test]
    fn archives_of_every_form_become_the_same_folder() {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        header.set_mode(0o755);
        header.set_mtime(1_000_000_000);
        header.set_cksum();
        builder.append_data(&mut header, "postgresql-17.6/configure", &b"hi"[..]).unwrap();
        let plain = builder.into_inner().unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&plain).unwrap();
        let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bz.write_all(&plain).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&plain).unwrap();
        for bytes in [gz.finish().unwrap(), bz.finish().unwrap(), xz.finish().unwrap(), plain] {
            let folder = tempfile::tempdir().unwrap();
            let (file, out) = (folder.path().join("source"), folder.path().join("out"));
            fs::write(&file, bytes).unwrap();
            fs::create_dir(&out).unwrap();
            let origin = Origin::Archive(file);
            let identity = origin.identify(&Toolchain::system(None)).unwrap();
            let top = origin.unpack(&identity, &Toolchain::system(None), &out).unwrap();
            assert_eq!(top.as_deref(), Some("postgresql-17.6".as_ref()));
            let metadata = out.join("postgresql-17.6/configure").metadata().unwrap();
            assert_eq!(
                metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(),
                1_000_000_000
            );
        }
    }

    #[test]
    fn a_program_that_writes_an_archive_is_heard_to_its_end() {
        struct Padded(usize);
        impl Read for Padded {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let count = buffer.len().min(self.0);
                buffer[..count].fill(0);
                self.0 -= count;
                Ok(count)
            }
        }
        let folder = tempfile::tempdir().unwrap();
        // An empty archive ends with two blocks of zeros; git pads it to 10,240 bytes and more.
        let mut padded = Padded(1 << 20);
        untar_to_the_end(&mut padded, folder.path()).unwrap();
        assert_eq!(padded.0, 0);
    }

    #[test]
    fn a_folder_is_known_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        for top in [&first, &second] {
            fs::create_dir_all(top.join("src")).unwrap();
            fs::write(top.join("src/a.c"), "int a;").unwrap();
            symlink("a.c", top.join("src/b.c")).unwrap();
        }
        let identify = |path: &Path| Origin::Folder(path.to_path_buf()).identify(&Toolchain::system(None));
        let identity = identify(&first).unwrap();
        assert_eq!(identity.digest, identify(&second).unwrap().digest);
        assert_eq!(identity.files, [PathBuf::from("src/a.c"), PathBuf::from("src/b.c")]);
        fs::set_permissions(second.join("src/a.c"), PermissionsExt::from_mode(0o755)).unwrap();
        assert_ne!(identity.digest, identify(&second).unwrap().digest);

        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        let origin = Origin::Folder(first.clone());
        origin.unpack(&identity, &Toolchain::system(None), &out).unwrap();
        assert_eq!(fs::read_link(out.join("src/b.c")).unwrap(), Path::new("a.c"));
        let modified = |top: &Path| top.join("src/a.c").metadata().unwrap().mtime();
        assert_eq!(modified(&out), modified(&first));
    }
}
