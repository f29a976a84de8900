//! Prints what a file of callgrind says, to compare it with `callgrind_annotate`: `callgrind FILE [PART OF A FUNCTION'S NAME | LIBRARY]`.
#![allow(clippy::print_stdout)]

use std::path::Path;

use basecase_probe::{CallgrindProfile, CountedFunction};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which file?")?;
    let profile = CallgrindProfile::read(Path::new(&file))?;
    println!(
        "process {} thread {:?} part {:?} of `{}`: {} instructions, {} functions, {} pairs that call",
        profile.process,
        profile.thread,
        profile.part,
        profile.command,
        profile.instructions,
        profile.functions.len(),
        profile.calls.len()
    );
    let Some(which) = arguments.next() else {
        show(&profile.functions);
        return Ok(());
    };
    let part = if which.starts_with('/') {
        profile.within_object(Path::new(&which))
    } else {
        profile.within_function(|name| name == which || name.starts_with(&format!("{which}(")))
    };
    let sum: u64 = part.functions.iter().map(|function| function.exclusive).sum();
    println!(
        "{which}: {} instructions in {} calls; functions add up to {sum}",
        part.instructions, part.calls
    );
    show(&part.functions);
    Ok(())
}

fn show(functions: &[CountedFunction]) {
    for CountedFunction { name, object, file, line, exclusive, inclusive, calls } in functions {
        let place = format!("{}:{}", file.as_deref().unwrap_or("?"), line.unwrap_or(0));
        println!("{exclusive}\t{inclusive}\t{calls}\t{name}\t{object}\t{place}");
    }
}
