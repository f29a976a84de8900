//! Getting a build for a test.
use basecase_builds::{Build, Library, default_home};

/// The build that `request` means, got when it is not here.
pub(crate) fn obtain(request: &str) -> Build {
    let library = Library::open(&default_home().unwrap()).unwrap();
    let sources = library.resolve(&[request.parse().unwrap()]).unwrap();
    library.obtain(&sources[0], &mut |_| {}).unwrap()
}
