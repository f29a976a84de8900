//! Processes: the account they run under, how they are started, suspended and ended, and the files that they share with this
//! process.
//!
//! If basecase runs as root, servers run under an unprivileged account ([`Account`]). One thread spawns them ([`spawn`]).
//! They end with this process ([`die_with_parent`], [`Guard`]), and are suspended while others have their turns
//! ([`Suspender`]). A directory has one owner at a time ([`DirectoryLock`]), which ends what a dead owner left running
//! there.
//!
//! A limit on the memory of a server is that of its control group ([`ControlGroups`]).
//!
//! Files belong here if processes of different users share them: a folder that one user creates and another fills is
//! accessed without following links ([`PrivateFolder`]), and what somebody else could have written is not trusted
//! ([`trust`]).

mod account;
mod control_group;
mod guard;
mod keeper;
mod lock;
pub mod log;
mod page_cache;
mod private_folder;
mod process;
mod scratch;
mod suspender;
pub mod tree_copy;
pub mod trust;
mod watchdog;

pub use account::{Account, AccountError, act, owner_of};
pub use control_group::{ControlGroup, ControlGroupError, ControlGroups};
pub use guard::Guard;
pub use keeper::spawn;
pub use lock::{DATA, DirectoryLock, FolderHold, LockError, Owner, ServerKind};
pub use page_cache::{forget_file, forget_folder};
pub use private_folder::{FolderError, PrivateFolder, folder_in, make_open, names};
pub use process::{PATH, command, die_with_parent, end_on_stop, send, start_time};
pub use scratch::Scratch;
pub use suspender::Suspender;
pub use trust::{Purpose, TrustError};
pub use watchdog::Watchdog;
