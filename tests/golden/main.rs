//! Golden values: six stored experiments, opened, verified, reported and continued by today's program.
//!
//! The stores under `stores/` were written by protocol revision 3 on real servers. They hold what must not change by moving or renaming code: the keys of
//! cells, the ids of experiments and the names in JSON. What reports show of them stands under `snapshots/`. Texts that are
//! changed on purpose are accepted by
//!
//!     INSTA_UPDATE=always INSTA_FORCE_PASS=1 cargo test -p basecase-tests --test golden
//!
//! Of pages only the hashes are kept. To see what changed in one, unpack its store (`gunzip --keep`), and render it with both programs.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod continued;
mod made;
mod reported;
mod stored;

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::PathBuf;

use basecase_tests::{Sandbox, workspace};
use flate2::bufread::GzDecoder;

/// A stored experiment.
struct Golden {
    /// The name of its store under `stores/`.
    name: &'static str,
    /// What `basecase compare` was given.
    arguments: &'static str,
    /// The step that its explanation is about.
    explained: &'static str,
}

const GOLDEN: [Golden; 6] = [
    Golden {
        name: "postgres_classic",
        arguments: "postgres:17.11 postgres:18.6 --rows 2000 --writes 1000 --seconds 1",
        explained: "l.i1",
    },
    Golden {
        name: "postgres_rounds",
        arguments: "postgres:18.6@x10b postgres:18.6@x10c --workload oltp_read_write --tables 2 --option table_size=1000 --rounds 5 --slice 30ms --pin client=0,server=0",
        explained: "oltp_read_write",
    },
    Golden {
        name: "mysql_rounds",
        arguments: "mysql:5.7.22 mysql:8.0.33 --rows 2000 --writes 1000 --seconds 1 --rounds 5",
        explained: "l.i1",
    },
    Golden {
        name: "mariadb_classic",
        arguments: "mariadb:10.11.18 mariadb:10.11.18#rocksdb --workload microbenchmarks --list point-query,insert --option rows=2000 --threads 1,2 --seconds 2 --profile",
        explained: "insert",
    },
    Golden {
        name: "sqlite_classic",
        arguments: "sqlite@wal_normal sqlite@rollback_full --rows 2000 --writes 1000 --seconds 1",
        explained: "l.i1",
    },
    Golden {
        name: "sqlite_rounds",
        arguments: "sqlite@wal_normal sqlite@rollback_full --workload microbenchmarks --list point-query,insert --option rows=2000 --rounds 5",
        explained: "insert",
    },
];

/// What the program writes in a sandbox.
const STORE: &str = "s.sqlite";

impl Golden {
    fn packed(&self) -> PathBuf {
        workspace().join(format!("tests/golden/stores/{}.sqlite.gz", self.name))
    }

    /// Puts a copy of the store into a sandbox.
    fn unpack(&self) -> (Sandbox, PathBuf) {
        let sandbox = Sandbox::new();
        let store = sandbox.path().join(STORE);
        let packed = BufReader::new(File::open(self.packed()).unwrap());
        io::copy(&mut GzDecoder::new(packed), &mut File::create(&store).unwrap()).unwrap();
        (sandbox, store)
    }

    /// The arguments with which the program measures it in a sandbox.
    fn compare(&self) -> Vec<&'static str> {
        let fixed = ["compare", "--store", STORE, "--data", "data", "--probe", "on"];
        fixed.into_iter().chain(self.arguments.split(' ')).collect()
    }
}

/// Does the same with each, at the same time.
fn each(check: impl Fn(&Golden) + Sync) {
    std::thread::scope(|scope| {
        for golden in &GOLDEN {
            scope.spawn(|| check(golden));
        }
    });
}

#[test]
fn every_store_belongs_to_an_experiment() {
    let folder = workspace().join("tests/golden/stores");
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let mut named: Vec<PathBuf> = GOLDEN.iter().map(Golden::packed).collect();
    found.sort();
    named.sort();
    assert_eq!(found, named);
}
