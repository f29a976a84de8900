//! The documentation: the site can be built, every link leads somewhere, and the first pages are easy to read.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so may its helpers")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use basecase_tests::workspace;
use mdbook_driver::MDBook;

/// All files below a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// What stands between two marks, wherever they are.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split_once(after)).map(|(inner, _)| inner).collect()
}

/// The links of a page that stay within the site, with their fragments.
fn links(html: &str) -> Vec<&str> {
    let all = ["href=\"", "src=\""].iter().flat_map(|mark| between(html, mark, "\""));
    all.filter(|link| !link.contains(':') && !link.starts_with("//")).collect()
}

#[test]
fn the_site_is_built_and_its_links_lead_somewhere() {
    // It stays there to be looked at.
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
    let mut book = MDBook::load(workspace().join("book")).unwrap();
    book.config.build.build_dir = place.clone();
    book.build().unwrap();
    let pages: Vec<PathBuf> = files(&place, ".html");
    assert!(pages.len() > 50, "{} pages", pages.len());
    let mut broken = BTreeSet::new();
    let is_ours = |page: &&PathBuf| {
        !page.ends_with("print.html") && !page.ends_with("toc.html") && !page.ends_with("404.html")
    };
    for page in pages.iter().filter(is_ours) {
        let html = fs::read_to_string(page).unwrap();
        let main = between(&html, "<main>", "</main>").concat();
        for link in links(&main) {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let name = page.strip_prefix(&place).unwrap().display();
            if !target.exists() {
                broken.insert(format!("{name}: {link}"));
            } else if !fragment.is_empty() && target.extension().is_some_and(|ending| ending == "html") {
                let html = fs::read_to_string(&target).unwrap();
                if !html.contains(&format!("id=\"{fragment}\"")) {
                    broken.insert(format!("{name}: {link} (no such heading)"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Links of Markdown as a forge shows it, where folders are pages too.
#[test]
fn links_of_the_repository_lead_to_files() {
    let root = workspace();
    let mut pages = files(&root.join("docs"), ".md");
    pages.extend(
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "configs/README.md"].map(|name| root.join(name)),
    );
    let mut broken = BTreeSet::new();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for link in between(&text, "](", ")") {
            let file = link.split('#').next().unwrap_or_default();
            let is_here = !file.is_empty() && !link.contains(':') && !file.contains(char::is_whitespace);
            if is_here && !page.parent().unwrap().join(file).exists() {
                broken.insert(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Longest sentence of README and tutorial, in words.
const WORDS: usize = 30;

#[test]
fn sentences_of_the_first_pages_are_short() {
    for name in ["README.md", "docs/tutorial.md"] {
        let text = fs::read_to_string(workspace().join(name)).unwrap();
        for sentence in sentences(&text) {
            let words = sentence.split_whitespace().count();
            assert!(words <= WORDS, "{name}: {words} words: {sentence}");
        }
    }
}

/// The sentences of running text and lists: no commands, no tables, no headings.
fn sentences(markdown: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in markdown.lines() {
        let is_text =
            !line.is_empty() && !line.starts_with("    ") && !line.starts_with('|') && !line.starts_with('#');
        let begins = !is_text
            || line.starts_with("* ")
            || line.starts_with("- ")
            || line.starts_with(|first: char| first.is_ascii_digit());
        if begins {
            paragraphs.push(String::new());
        }
        if let Some(paragraph) = paragraphs.last_mut().filter(|_| is_text) {
            paragraph.push_str(line);
            paragraph.push(' ');
        }
    }
    let ends = [". ", "? ", "! ", ": ", "; "];
    paragraphs
        .iter()
        .flat_map(|paragraph| {
            ends.iter().fold(vec![paragraph.clone()], |parts, end| {
                parts.iter().flat_map(|part| part.split(end).map(str::to_owned)).collect()
            })
        })
        .filter(|sentence| !sentence.trim().is_empty())
        .collect()
}
