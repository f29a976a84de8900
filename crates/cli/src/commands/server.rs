//! `server`: lists and gets builds.

use std::fmt::Write as _;

use anyhow::Result;
use basecase_server::{BuildRequest, Library, default_home};

use crate::arguments::{CompileArguments, FromArgument, Server, ServerCommand};
use crate::output;

pub(crate) fn run(arguments: &Server) -> Result<()> {
    let library = Library::open(&default_home())?;
    match &arguments.command {
        ServerCommand::List { json } => list(&library, *json),
        ServerCommand::Get { builds, compile } => {
            let builds = match compile.from {
                None => builds.clone(),
                Some(FromArgument::Source) => compiled(&library, builds, compile)?,
            };
            for source in library.resolve(&builds)? {
                let build = library.obtain(&source, &mut |text| output::complain(text))?;
                output::print(&format!(
                    "{}  {}  {}  {}\n",
                    source.request,
                    build.facts.short,
                    build.facts.toolchain(),
                    build.bin().display()
                ))?;
            }
            Ok(())
        }
    }
}

/// Compiles what is not here yet: the names by which the builds are asked for.
fn compiled(
    library: &Library,
    builds: &[BuildRequest],
    arguments: &CompileArguments,
) -> Result<Vec<BuildRequest>> {
    let orders = builds.iter().map(|request| arguments.order(request));
    let made = orders.map(|order| library.compile(&order, &mut |text| output::complain(text)));
    made.map(|build| Ok(build?.request())).collect()
}

fn list(library: &Library, json: bool) -> Result<()> {
    let listings = library.list();
    if json {
        let mut rows: Vec<serde_json::Value> = listings
            .iter()
            .map(|listing| {
                let recipe = &listing.recipe;
                serde_json::json!({
                    "dbms": recipe.dbms.as_str(),
                    "version": recipe.version.to_string(),
                    "provider": recipe.provider.name,
                    "artifact": recipe.artifact,
                    "toolchain": recipe.toolchain(),
                    "here": listing.is_here,
                })
            })
            .collect();
        rows.extend(library.source_builds().iter().map(|build| {
            serde_json::json!({
                "dbms": build.dbms.as_str(),
                "version": build.version,
                "provider": "source",
                "label": build.label,
                "artifact": build.artifact,
                "toolchain": build.toolchain(),
                "here": true,
            })
        }));
        return output::print(&format!("{:#}\n", serde_json::Value::Array(rows)));
    }
    let mut text = String::from("dbms      version   provider  toolchain        here  artifact\n");
    for listing in listings {
        let recipe = &listing.recipe;
        writeln!(
            text,
            "{:<8}  {:<8}  {:<8}  {:<15}  {:<4}  {}",
            recipe.dbms.as_str(),
            recipe.version.to_string(),
            recipe.provider.name,
            recipe.toolchain(),
            if listing.is_here { "yes" } else { "" },
            recipe.artifact
        )?;
    }
    for build in library.source_builds() {
        writeln!(
            text,
            "{:<8}  {:<8}  {:<8}  {:<15}  {:<4}  {}: {}",
            build.dbms.as_str(),
            build.version,
            "source",
            build.toolchain(),
            "yes",
            build.label,
            build.artifact
        )?;
    }
    writeln!(text, "sqlite    {:<8}  bundled", basecase_lab::sqlite_version())?;
    output::print(&text)
}
