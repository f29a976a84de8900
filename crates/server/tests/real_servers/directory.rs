//! A place for a server of a test.
use std::os::unix::fs::PermissionsExt;

/// A directory that the user of servers can reach: temporary ones are closed to others.
pub(crate) fn directory() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("bc-").tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    folder
}
