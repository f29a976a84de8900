//! Builds of a dbms: obtained by a recipe, compiled from source, or found in a folder. Never a running server.
//!
//! A [`Catalogue`] of [`Recipe`]s lists the available builds. A [`Library`] resolves the user's requests into [`Source`]s,
//! and turns each into a [`Build`]. The layout of a dbms knows where its programs lie, and what a complete installation has.

mod apt;
mod archive;
mod binary;
mod build;
mod cargo;
mod catalogue;
mod checksum;
mod client_tool;
mod commit_request;
mod credentials;
mod fetch;
mod form;
mod home;
mod java_trust;
mod layout;
mod library;
mod loader;
mod manifest;
mod obtain_error;
mod pattern;
mod private_tree;
mod programs;
mod recipe;
mod setup;
mod several;
mod source;
mod source_tree;
mod suggestion;
mod supply;
mod tool;
mod work_folder;

pub use basecase_model::{Version, release_number};
pub use binary::postgres_compiler;
pub use build::{Build, BuildError};
pub use catalogue::Catalogue;
pub use client_tool::to_install;
pub use commit_request::{CommitError, CommitRequest};
pub use credentials::without_credentials;
pub use form::{Form, Links, Part};
pub use home::{HomeError, default_home};
pub use layout::{Tree, initialises_itself, server_programs};
pub use library::{Library, Listing, Pending};
pub use obtain_error::{Artifact, Attempt, ObtainError};
pub use programs::ProgramsError;
pub use recipe::{BuildRequest, Packages, Provider, Recipe, RecipeError, Source};
pub use setup::Setup;
pub use source::{CompileError, SourceBuild, SourceOrder, StepError};
pub use suggestion::{alternatives, nearest};
pub use tool::{Tool, ToolError};
