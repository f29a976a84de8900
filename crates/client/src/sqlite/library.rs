//! Libraries of SQLite: the one that is part of this program, and others that are loaded beside it.
//!
//! Each has a table of its own with the C functions that sessions call, so that several work in one process without mixing.
//! The store of results, which has its own binding to the bundled library, knows nothing of the others.
#![expect(unsafe_code, reason = "C functions are called, and found by their names in shared libraries")]

use std::ffi::{CStr, CString, c_char, c_double, c_int, c_uchar, c_uint, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, OnceLock};

use nix::libc;
use rusqlite::ffi::{self, sqlite3, sqlite3_stmt};
use thiserror::Error;

/// Declares the table of C functions: how it is filled from the bundled library, and from a loaded one. Functions of the second
/// list are younger than the oldest library that is supported.
macro_rules! functions {
    (
        required { $(fn $name:ident($($argument:ty),*) -> $result:ty;)* }
        optional { $(fn $younger:ident($($other:ty),*) -> $other_result:ty;)* }
    ) => {
        /// The C functions of one library, by the names that SQLite documents.
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
            $(pub(super) $younger: Option<unsafe extern "C" fn($($other),*) -> $other_result>,)*
        }

        impl Functions {
            fn bundled() -> Functions {
                Functions { $($name: ffi::$name,)* $($younger: Some(ffi::$younger),)* }
            }

            fn of(file: &SharedObject) -> Result<Functions, LibraryError> {
                // SAFETY: the functions of SQLite have had these signatures in all of its versions, and a library that has
                // a function of that name and is none of SQLite's is refused for others that it lacks.
                unsafe {
                    Ok(Functions {
                        $($name: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $result>(
                            file.function(stringify!($name))?
                        ),)*
                        $($younger: file.find(stringify!($younger)).map(|found| {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($other),*) -> $other_result>(found)
                        }),)*
                    })
                }
            }
        }
    };
}

type Handler = Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>;
type Destructor = Option<unsafe extern "C" fn(*mut c_void)>;

functions! {
    required {
        fn sqlite3_libversion() -> *const c_char;
        fn sqlite3_sourceid() -> *const c_char;
        fn sqlite3_threadsafe() -> c_int;
        fn sqlite3_open_v2(*const c_char, *mut *mut sqlite3, c_int, *const c_char) -> c_int;
        fn sqlite3_close(*mut sqlite3) -> c_int;
        fn sqlite3_extended_result_codes(*mut sqlite3, c_int) -> c_int;
        fn sqlite3_errmsg(*mut sqlite3) -> *const c_char;
        fn sqlite3_busy_handler(*mut sqlite3, Handler, *mut c_void) -> c_int;
        fn sqlite3_interrupt(*mut sqlite3) -> ();
        fn sqlite3_changes(*mut sqlite3) -> c_int;
        fn sqlite3_prepare_v2(*mut sqlite3, *const c_char, c_int, *mut *mut sqlite3_stmt, *mut *const c_char) -> c_int;
        fn sqlite3_finalize(*mut sqlite3_stmt) -> c_int;
        fn sqlite3_reset(*mut sqlite3_stmt) -> c_int;
        fn sqlite3_clear_bindings(*mut sqlite3_stmt) -> c_int;
        fn sqlite3_stmt_readonly(*mut sqlite3_stmt) -> c_int;
        fn sqlite3_bind_parameter_count(*mut sqlite3_stmt) -> c_int;
        fn sqlite3_bind_int64(*mut sqlite3_stmt, c_int, i64) -> c_int;
        fn sqlite3_bind_text(*mut sqlite3_stmt, c_int, *const c_char, c_int, Destructor) -> c_int;
        fn sqlite3_step(*mut sqlite3_stmt) -> c_int;
        fn sqlite3_column_count(*mut sqlite3_stmt) -> c_int;
        fn sqlite3_column_type(*mut sqlite3_stmt, c_int) -> c_int;
        fn sqlite3_column_int64(*mut sqlite3_stmt, c_int) -> i64;
        fn sqlite3_column_double(*mut sqlite3_stmt, c_int) -> c_double;
        fn sqlite3_column_text(*mut sqlite3_stmt, c_int) -> *const c_uchar;
        fn sqlite3_column_blob(*mut sqlite3_stmt, c_int) -> *const c_void;
        fn sqlite3_column_bytes(*mut sqlite3_stmt, c_int) -> c_int;
    }
    optional {
        fn sqlite3_prepare_v3(*mut sqlite3, *const c_char, c_int, c_uint, *mut *mut sqlite3_stmt, *mut *const c_char) -> c_int;
        fn sqlite3_error_offset(*mut sqlite3) -> c_int;
    }
}

/// Why a file is not used as a library of SQLite.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// This program has no loader: it is linked statically with the C library.
    #[error(
        "this basecase is linked statically, so it cannot load another library of SQLite than its own\nhint: build basecase with `cargo install --path crates/cli --locked`, or compare configs of its own, as in sqlite@wal_normal"
    )]
    NoLoader,
    /// The system's loader refuses it.
    #[error(
        "cannot load {}: {reason}\nhint: name a shared library of SQLite for this system, as in path:/usr/local/lib/libsqlite3.so", path.display()
    )]
    Load {
        /// The file.
        path: PathBuf,
        /// What the loader says.
        reason: String,
    },
    /// It is a library, and not SQLite.
    #[error(
        "{} is no library of SQLite: it lacks the function {function}\nhint: name the file libsqlite3.so of an installation", path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The function.
        function: &'static str,
    },
    /// It is SQLite without a function that sessions need.
    #[error(
        "{} lacks the function {function}, which basecase calls\nhint: compile SQLite without the option SQLITE_OMIT_… that leaves it out", path.display()
    )]
    Lacks {
        /// The file.
        path: PathBuf,
        /// The function.
        function: &'static str,
    },
    /// It may be used by one thread only.
    #[error(
        "{} was compiled for a single thread (SQLITE_THREADSAFE=0), and basecase has several\nhint: compile it with -DSQLITE_THREADSAFE=1", path.display()
    )]
    SingleThread {
        /// The file.
        path: PathBuf,
    },
}

/// A library of SQLite. Copies are the same library. It stays loaded until the process ends.
#[derive(Clone)]
pub struct Library(Arc<Inner>);

struct Inner {
    functions: Functions,
    version: String,
    source_id: String,
    path: Option<PathBuf>,
}

impl Library {
    /// The library that is part of this program.
    pub fn bundled() -> Library {
        static BUNDLED: OnceLock<Library> = OnceLock::new();
        BUNDLED.get_or_init(|| Library::with(Functions::bundled(), None)).clone()
    }

    /// Whether this program can load libraries. The C library's loader works in a static program only beside files of the very
    /// C library that it was linked with.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check_loader() -> Result<(), LibraryError> {
        if cfg!(target_feature = "crt-static") { Err(LibraryError::NoLoader) } else { Ok(()) }
    }

    /// Loads the shared library at `path`, which runs code of it.
    ///
    /// # Errors
    /// If it cannot be loaded, is not SQLite, lacks a function, or is not made for several threads.
    pub fn load(path: &Path) -> Result<Library, LibraryError> {
        Library::check_loader()?;
        let file = SharedObject::open(path)?;
        let functions = Functions::of(&file)?;
        // SAFETY: it takes nothing and reads a constant.
        if unsafe { (functions.sqlite3_threadsafe)() } == 0 {
            return Err(LibraryError::SingleThread { path: path.to_path_buf() });
        }
        Ok(Library::with(functions, Some(path.to_path_buf())))
    }

    fn with(functions: Functions, path: Option<PathBuf>) -> Library {
        // SAFETY: both take nothing, and return constants that end in a zero byte.
        let [version, source_id] =
            unsafe { [text((functions.sqlite3_libversion)()), text((functions.sqlite3_sourceid)())] };
        Library(Arc::new(Inner { functions, version, source_id, path }))
    }

    /// The version, e.g. `3.54.1`.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Date, time and hash of the commit that it was made from.
    pub fn source_id(&self) -> &str {
        &self.0.source_id
    }

    /// The file that it was loaded from; `None` for the bundled library.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    pub(super) fn functions(&self) -> &Functions {
        &self.0.functions
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SQLite {} of {:?}", self.version(), self.path())
    }
}

impl PartialEq for Library {
    fn eq(&self, other: &Library) -> bool {
        (self.path(), self.source_id()) == (other.path(), other.source_id())
    }
}

impl Eq for Library {}

/// The text at `pointer`; empty where there is none.
///
/// # Safety
/// The pointer is null, or leads to a text that ends in a zero byte.
pub(super) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: by this function's own condition.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// A shared library. Its names are not offered to other libraries, nor theirs to it.
struct SharedObject {
    path: PathBuf,
    handle: *mut c_void,
}

impl SharedObject {
    fn open(path: &Path) -> Result<SharedObject, LibraryError> {
        let failed = |reason: String| LibraryError::Load { path: path.to_path_buf(), reason };
        // A name without a slash would be looked for in the system's folders.
        let whole = path.canonicalize().map_err(|error| failed(error.to_string()))?;
        let name = CString::new(whole.as_os_str().as_bytes()).map_err(|error| failed(error.to_string()))?;
        // SAFETY: the name ends in a zero byte. What the library does as it is loaded is its own affair: whose file it is
        // has been checked where builds are opened.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: the text is this thread's own until its next call of the loader.
            let reason = unsafe { text(libc::dlerror()) };
            let file = format!("{}: ", whole.display());
            return Err(failed(reason.strip_prefix(&file).unwrap_or(&reason).to_owned()));
        }
        Ok(SharedObject { path: path.to_path_buf(), handle })
    }

    /// The function `name`; `None` if the library itself has none. The loader also finds those of libraries that it needs.
    fn find(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        // SAFETY: the handle was opened and is never closed, and the name ends in a zero byte.
        let found = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if found.is_null() {
            return None;
        }
        let mut place = libc::Dl_info {
            dli_fname: ptr::null(),
            dli_fbase: ptr::null_mut(),
            dli_sname: ptr::null(),
            dli_saddr: ptr::null_mut(),
        };
        // SAFETY: the place is writable, and the name of the file stays as long as the library is loaded.
        let file = unsafe {
            if libc::dladdr(found, &raw mut place) == 0 {
                return None;
            }
            text(place.dli_fname)
        };
        let is_own = self.path.canonicalize().is_ok_and(|own| Path::new(&file) == own);
        is_own.then_some(found)
    }

    fn function(&self, name: &'static str) -> Result<*mut c_void, LibraryError> {
        let path = || self.path.clone();
        self.find(name).ok_or_else(|| match self.find("sqlite3_libversion") {
            Some(_) => LibraryError::Lacks { path: path(), function: name },
            None => LibraryError::Foreign { path: path(), function: name },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_library_says_what_it_is() {
        let library = Library::bundled();
        assert_eq!(library.version(), rusqlite::version());
        assert!(library.source_id().starts_with("20") && library.path().is_none(), "{library:?}");
    }

    #[test]
    fn what_is_no_library_of_sqlite_is_refused() {
        let refused = |path: &str| Library::load(Path::new(path)).unwrap_err().to_string();
        assert!(refused("/nonexistent.so").starts_with("cannot load /nonexistent.so: No such file"));
        let message = refused("/etc/passwd");
        assert!(message.starts_with("cannot load /etc/passwd: ") && message.contains("hint:"), "{message}");
    }
}
