//! Words that name candidates, one on each line; among them URLs.

use basecase_builds::{BuildRequest, Catalogue};
use basecase_client::{mysql, postgres};
use basecase_lab::{CandidateSpec, Origin};

use crate::{Marks, SECRET, check_refusal, shape};

/// Reads every line as a candidate, and as the URLs of both kinds.
pub fn candidate(input: &[u8]) -> Marks {
    let mut marks = Marks::new();
    let Ok(text) = std::str::from_utf8(input) else { return marks };
    text.lines().for_each(|word| read(word, &mut marks));
    marks
}

fn read(word: &str, marks: &mut Marks) {
    let url = word.strip_prefix("url:").unwrap_or(word);
    let refusals = [
        postgres::Address::from_url(url).err().map(|error| error.to_string()),
        mysql::Address::from_url(url).err().map(|error| error.to_string()),
    ];
    for refusal in refusals.into_iter().flatten() {
        check_refusal(&refusal, word);
        marks.insert(format!("url refused: {}", shape(&refusal)));
    }
    let spec = match word.parse::<CandidateSpec>() {
        Ok(spec) => spec,
        Err(error) => {
            let refusal = error.to_string();
            check_refusal(&refusal, word);
            marks.insert(format!("refused: {}", shape(&refusal)));
            return;
        }
    };
    let shown = spec.to_string();
    match &spec.origin {
        Origin::PostgresUrl(address) => {
            marks.insert("a URL of Postgres".into());
            let parts = [&address.user, &address.database, &address.host.to_string()];
            check_secret(&shown, &spec, address.password.reveal(), parts);
        }
        Origin::MysqlUrl(address) => {
            marks.insert("a URL of MySQL".into());
            let parts = [&address.user, &address.database, &address.host.to_string()];
            check_secret(&shown, &spec, address.password.reveal(), parts);
        }
        origin => {
            assert_eq!(
                shown.parse::<CandidateSpec>().ok().as_ref(),
                Some(&spec),
                "{shown:?} is read as another"
            );
            if let Origin::Build(request) = origin {
                resolve(request, marks);
            }
            marks.insert(format!("a {} with {:?}", spec.dbms(), spec.table_engine()));
        }
    }
}

/// Checks that nothing shows the password, unless it stands elsewhere too.
fn check_secret(shown: &str, spec: &CandidateSpec, password: &str, others: [&String; 3]) {
    if password.contains(SECRET) && !others.iter().any(|other| other.contains(SECRET)) {
        assert!(!shown.contains(SECRET) && !format!("{spec:?}").contains(SECRET), "a password in {shown}");
    }
}

/// Looks a version up among the recipes; a path would look at this machine.
fn resolve(request: &BuildRequest, marks: &mut Marks) {
    if matches!(request, BuildRequest::Path(_)) {
        return;
    }
    let catalogue = Catalogue::embedded().expect("the recipes");
    match catalogue.resolve(std::slice::from_ref(request)) {
        Ok(sources) => {
            assert_eq!(sources.len(), 1);
            marks.insert("a recipe".into());
        }
        Err(error) => {
            check_refusal(&error.to_string(), "");
            marks.insert(format!("no recipe: {}", shape(&error.to_string())));
        }
    }
}
