//! Folders, builds and accounts that others could prepare.
