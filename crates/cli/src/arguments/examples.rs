//! What stands below the options in the help: examples, and exit codes.

pub(super) const COMPARE: &str = "\
Examples:
  basecase compare postgres:17.11 postgres:18.6
  basecase compare postgres:18.6@x10b postgres:18.6@x10c --budget 60m
  basecase compare mysql:5.7.22 mysql:8.0.33 \\
      --workload oltp_read_write --threads 8";

pub(super) const COUNT: &str = "\
Examples:
  basecase count postgres:17.11 postgres:18.6 --workload microbenchmarks
  basecase count mysql:5.7.22 mysql:8.0.31 \\
      --workload microbenchmarks --list point-query,range-covered-pk \\
      --counts-engine callgrind";

pub(super) const RUN: &str = "\
Examples:
  basecase run experiments/first-light.toml
  basecase run experiments/postgres-14-to-18.toml --size cached --scale 0.01
  basecase run experiments/postgres-14-to-18.toml --budget 2h";

pub(super) const GATE: &str = "\
Exit codes; if several apply, the highest is returned:
  0  no regression was found
  1  a candidate failed, the run was interrupted, or a file could not be written
  2  the command line is invalid
  3  a regression was found
Failure to write to standard output does not change the exit code.

Example:
  basecase gate path:/opt/pg-main path:/opt/pg-branch --budget 30m \\
      --junit gate.xml";

pub(super) const BISECT: &str = "\
With --counts, the search decides by instructions per operation. Of a range of commits, what is found is confirmed in rounds.

Examples:
  basecase bisect postgres:14.23 postgres:15.19 postgres:16.15 postgres:17.11 \\
      --workload microbenchmarks --list point-query --budget 2h
  basecase bisect git:~/postgres REL_17_0..REL_18_0 \\
      --counts --workload microbenchmarks --list range-covered-pk
  basecase bisect sqlite:3.17.0 sqlite:3.31.1 sqlite:3.39.0 sqlite:3.45.0 \\
      --counts --workload microbenchmarks --list point-query --tables 1";

pub(super) const CALIBRATE: &str = "\
Example:
  basecase calibrate postgres:18.6 --budget 20m \\
      --workload microbenchmarks --list point-query";

pub(super) const REPORT: &str = "\
Examples:
  basecase report basecase.sqlite --out pages
  basecase report basecase.sqlite --format text --full
  basecase report basecase.sqlite --format csv
  basecase report basecase.sqlite --format bmf >results.json";

pub(super) const EXPLAIN: &str = "\
Examples:
  basecase explain basecase.sqlite
  basecase explain basecase.sqlite my8033.z12a/l.i1
  basecase explain basecase.sqlite pg186.x10a/point-query --try jit
  basecase explain basecase.sqlite pg186.x10a/point-query --try io_method=sync --budget 30m";

pub(super) const HISTORY: &str = "\
Examples:
  basecase history basecase.sqlite --step l.i0
  basecase history nightly.sqlite --step hot-points --dates
  basecase history nightly.sqlite --dates --out nightly-pages
  basecase history nightly.sqlite --dates --format otava >nightly.csv";

pub(super) const GET_SERVER: &str = "\
Examples:
  basecase server get postgres:17.11 postgres:18.6
  basecase server get postgres:19devel --from source \\
      --source ~/postgres --type o2nofp";

pub(super) const SHOW_WORKLOAD: &str = "\
Examples:
  basecase workload show insert-benchmark --preset cached-c8
  basecase workload show microbenchmarks --list 32 --dbms mysql";
