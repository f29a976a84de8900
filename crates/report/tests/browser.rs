//! Pages as a browser shows them: nothing overflows, nothing fails to load, charts draw and every fold opens, at three widths, and in the
//! dark at one of them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use basecase_analysis::JudgedExperiment;
use basecase_builds::{Tool, default_home};
use basecase_report::{Options, fixture, write_history, write_pages};

/// Options that make it show a page, print the result and exit, without network access or questions.
const ARGUMENTS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    // The script's pauses take no real time.
    "--virtual-time-budget=600000",
];
/// Time limit.
const LIMIT: Duration = Duration::from_secs(180);
/// Widths of a phone, a tablet and a screen.
const WIDTHS: [u32; 3] = [390, 800, 1440];
/// Most pixels that the overview of ten steps and four candidates may be high, to fit on a screen.
const SCREEN: u32 = 900;

/// Writes reports of all kinds and returns the pages, relative to the folder.
fn pages(folder: &Path) -> Vec<String> {
    let (unwatched, mut trials) = fixture::microbenchmarks(2, &fixture::EXCERPT, 20);
    trials.iter_mut().for_each(|trial| trial.tracks.clear());
    let samples = [
        ("insert-benchmark", fixture::sample_of(60, 2)),
        ("microbenchmarks", fixture::microbenchmarks(12, &fixture::EXCERPT, 20)),
        ("unwatched", (unwatched, trials)),
        ("rounds", fixture::in_rounds()),
        ("sweep", fixture::sweep(3, &[1, 8, 64], 20)),
    ];
    let mut folders = vec!["history"];
    for (name, (experiment, trials)) in samples {
        write_pages(&experiment, &trials, &Options::default(), &folder.join(name)).unwrap();
        folders.push(name);
    }
    let nights = fixture::nights(150, 6).into_iter();
    let mut nights: Vec<JudgedExperiment> = nights.map(JudgedExperiment::from).collect();
    let newest = nights.pop().unwrap();
    write_history(&newest, Some(&nights), None, &folder.join("history")).unwrap();
    let mut pages = Vec::new();
    for name in folders {
        let entries = fs::read_dir(folder.join(name)).unwrap().map(|entry| entry.unwrap().file_name());
        let files = entries.map(|file| file.into_string().unwrap()).filter(|file| file.ends_with(".html"));
        pages.extend(files.map(|file| format!("{name}/{file}")));
    }
    pages.sort();
    pages
}

/// The values of an attribute in a page.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    page.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let folder = tempfile::tempdir().unwrap();
    let pages: BTreeMap<PathBuf, String> = pages(folder.path())
        .into_iter()
        .map(|page| folder.path().join(page))
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    let mut links = 0;
    for (path, page) in &pages {
        for link in attributes(page, "href").into_iter().chain(attributes(page, "src")) {
            let (file, anchor) =
                link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.is_file(), "{}: {link}", path.display());
            if let Some(anchor) = anchor {
                assert!(attributes(&pages[&target], "id").contains(&anchor), "{}: {link}", path.display());
            }
            links += 1;
        }
    }
    assert!(links > 500, "{links} links");
}

#[test]
fn pages_are_whole_at_every_width_and_in_both_schemes() {
    let browser = Tool::find("chromium", &default_home().unwrap(), &mut |line| eprintln!("{line}")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let pages = pages(folder.path());
    fs::write(folder.path().join("browser.js"), include_str!("browser.js")).unwrap();
    for page in &pages {
        let path = folder.path().join(page);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replacen("<head>", "<head><script src=\"../browser.js\"></script>", 1)).unwrap();
    }
    let check = |dark: bool, widths: &[u32]| {
        let said = show(&browser, folder.path(), &pages, dark, widths);
        let problems: Vec<&str> = said.split("<p>").filter(|line| line.starts_with("PROBLEM")).collect();
        assert!(problems.is_empty(), "dark: {dark}, {widths:?}\n{}", problems.join("\n"));
        let views = pages.len() * widths.len();
        let seen = format!("SEEN {views} views, ");
        let charts = said.split(&seen).nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        assert!(charts.is_some_and(|charts: usize| charts > 5 * views), "not all views were seen:\n{said}");
    };
    let [phone, tablet, screen] = WIDTHS;
    // A browser keeps one processor busy. Colours are the same at every width.
    std::thread::scope(|scope| {
        scope.spawn(|| check(false, &[phone, tablet]));
        check(false, &[screen]);
        check(true, &[tablet]);
    });
}

/// Shows all pages at these widths and returns the document with the results.
fn show(browser: &Tool, folder: &Path, pages: &[String], dark: bool, widths: &[u32]) -> String {
    let page = |page: &String| {
        let fits = page == "insert-benchmark/index.html";
        serde_json::json!({ "page": page, "height": fits.then_some(SCREEN) })
    };
    let pages: Vec<serde_json::Value> = pages.iter().map(page).collect();
    let work = serde_json::json!({ "pages": pages, "widths": widths, "dark": dark });
    let driver = folder.join(format!("browser-{dark}-{}.html", widths[0]));
    fs::write(&driver, include_str!("browser.html").replace("WORK", &work.to_string())).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let said = profile.path().join("said");
    let mut child = browser
        .command()
        .args(ARGUMENTS)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!dark)))
        .arg("--dump-dom")
        .arg(format!("file://{}", driver.display()))
        .stdin(Stdio::null())
        .stdout(File::create(&said).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser took longer than {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    fs::read_to_string(said).unwrap()
}
