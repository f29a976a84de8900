//! `server`: lists, downloads and compiles builds.

use anyhow::Result;
use basecase_builds::{BuildRequest, Library, Listing, SourceBuild, default_home};
use basecase_model::Dbms;

use crate::arguments::{CompileArguments, FromArgument, Server, ServerCommand};
use crate::output;

pub(crate) fn run(arguments: &Server) -> Result<()> {
    let library = Library::open(&default_home()?)?;
    match &arguments.command {
        ServerCommand::List { dbms, json } => {
            let rows = rows(&library, *dbms);
            if *json { output::print_json(to_json(&rows)) } else { output::print(&to_text(&rows)) }
        }
        ServerCommand::Get { builds, compile } => {
            let builds = match compile.from {
                None => builds.clone(),
                Some(FromArgument::Source) => compiled(&library, builds, compile)?,
            };
            for source in library.resolve(&builds)? {
                let build = library.obtain(&source, &mut |text| output::print_message(text))?;
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

/// Compiles builds that are not here yet, and returns the names by which to request them.
fn compiled(
    library: &Library,
    builds: &[BuildRequest],
    arguments: &CompileArguments,
) -> Result<Vec<BuildRequest>> {
    let orders = builds.iter().map(|request| arguments.order(request));
    let made = orders.map(|order| library.compile(&order, &mut |text| output::print_message(text)));
    made.map(|build| Ok(build?.request())).collect()
}

/// One line of the list. Unknown values are absent.
struct Row {
    dbms: Dbms,
    version: String,
    provider: String,
    toolchain: Option<String>,
    is_here: bool,
    missing: Vec<String>,
    artifact: Option<String>,
}

impl From<Listing> for Row {
    fn from(Listing { recipe, is_here, missing }: Listing) -> Self {
        Row {
            dbms: recipe.dbms,
            version: recipe.version.to_string(),
            toolchain: recipe.toolchain(),
            provider: recipe.provider.name,
            is_here,
            missing,
            artifact: Some(recipe.artifact),
        }
    }
}

impl From<SourceBuild> for Row {
    fn from(build: SourceBuild) -> Self {
        Row {
            dbms: build.dbms,
            toolchain: Some(build.toolchain()),
            version: build.version,
            // As in a request for the build, the label takes the provider's place.
            provider: build.label,
            is_here: true,
            missing: Vec::new(),
            artifact: Some(format!("source: {}", build.artifact)),
        }
    }
}

/// All builds, or those of `dbms`, by dbms and version; those from source come last for each dbms.
fn rows(library: &Library, dbms: Option<Dbms>) -> Vec<Row> {
    let sqlite = Row {
        dbms: Dbms::Sqlite,
        version: basecase_lab::sqlite_version(),
        provider: "bundled".to_owned(),
        toolchain: None,
        is_here: true,
        missing: Vec::new(),
        artifact: None,
    };
    let of_recipes = library.list().into_iter().map(Row::from);
    let compiled = library.source_builds().into_iter().map(Row::from);
    let rows = of_recipes.chain(compiled).chain([sqlite]);
    let mut rows: Vec<Row> = rows.filter(|row| dbms.is_none_or(|dbms| row.dbms == dbms)).collect();
    rows.sort_by_key(|row| row.dbms);
    rows
}

fn to_json(rows: &[Row]) -> Vec<serde_json::Value> {
    rows.iter()
        .map(|row| {
            serde_json::json!({
                "dbms": row.dbms.as_str(),
                "version": row.version,
                "provider": row.provider,
                "toolchain": row.toolchain,
                "here": row.is_here,
                "missing": row.missing,
                "artifact": row.artifact,
            })
        })
        .collect()
}

fn to_text(rows: &[Row]) -> String {
    let heads = ["dbms", "version", "provider", "toolchain", "here", "missing libraries", "artifact"];
    let mut lines = vec![heads.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| {
        [
            row.dbms.to_string(),
            row.version.clone(),
            row.provider.clone(),
            row.toolchain.clone().unwrap_or_default(),
            if row.is_here { "yes" } else { "" }.to_owned(),
            row.missing.join(" "),
            row.artifact.clone().unwrap_or_default(),
        ]
    }));
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(String::len).max();
    let widths: Vec<usize> = (0..heads.len()).filter_map(width).collect();
    lines
        .iter()
        .map(|line| {
            let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(version: &str, missing: &[&str]) -> Row {
        Row {
            dbms: Dbms::Mysql,
            version: version.into(),
            provider: "maven".into(),
            toolchain: None,
            is_here: false,
            missing: missing.iter().map(ToString::to_string).collect(),
            artifact: Some("a:b".into()),
        }
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let text = to_text(&[row("8.0.31", &["libaio.so.1", "libnuma.so.1"]), row("5.5.9", &[])]);
        assert_eq!(
            text,
            "dbms   version  provider  toolchain  here  missing libraries         artifact\n\
             mysql  8.0.31   maven                      libaio.so.1 libnuma.so.1  a:b\n\
             mysql  5.5.9    maven                                                a:b\n"
        );
    }

    #[test]
    fn unknown_values_are_null_in_json() {
        let rows = to_json(&[row("5.5.9", &[])]);
        assert!(rows[0]["toolchain"].is_null() && rows[0]["missing"].as_array().unwrap().is_empty());
        assert_eq!(rows[0]["here"], false);
    }
}
