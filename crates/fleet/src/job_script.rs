//! The script that runs one node. The scheduler starts it on the node's machine; by hand it takes the number of the node:
//! `sh fleet.sqlite.fleet/job.sh 3`.

use std::fmt::Write as _;

use crate::FleetFolder;
use crate::failure::{NO_DISK, NOT_EXECUTABLE, NOT_SHARED};
use crate::folder::ID;

/// Letters of the fleet's id in the name of the local folder, whose path servers need for their sockets.
const SHORT: usize = 12;

/// What the script does once it knows `folder`, `fleet`, `short`, `nodes` and `machine`.
const HEAD: &str = r#"
node=${SLURM_ARRAY_TASK_ID:-${1:?names the node, from 1}}
own=$folder/node-$node

fail() {
    printf 'error: %s\n' "$2" >&2
    keep exit "$1"
    exit "$1"
}

# Nobody ever reads half a file.
keep() {
    new=$own/.new-$1-$(uname -n)-$$
    printf '%s\n' "$2" 2>/dev/null >"$new" && mv -f -- "$new" "$own/$1"
}

if [ "$(cat -- "$folder/@ID" 2>/dev/null)" != "$fleet" ]; then
    printf 'error: %s is not shared with %s\n' "$folder" "$(uname -n)" >&2
    exit @NOT_SHARED
fi
mkdir -p -- "$own" || exit @NOT_SHARED
rm -f -- "$own/exit"
keep clock "$(date +%s)"
[ -z "${SLURM_ARRAY_JOB_ID:-}" ] || keep job "$SLURM_ARRAY_JOB_ID"
[ "$(uname -m)" = "$machine" ] || fail @NOT_EXECUTABLE "this machine is $(uname -m), and the program is for $machine"

place=${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/basecase-$short-$node
umask 022
said=$(mkdir -p -- "$place" 2>&1) || fail @NO_DISK "$said"
[ ! -L "$place" ] && [ -O "$place" ] || fail @NO_DISK "$place belongs to somebody else"
said=$(cp -- "$folder/program" "$place/program.new" 2>&1 && mv -f -- "$place/program.new" "$place/program" 2>&1) || fail @NO_DISK "$said"

# The scheduler asks the program to stop as well, and its exit code is waited for.
trap : HUP INT TERM
"#;

/// What comes after the program.
const FOOT: &str = r#"code=$?
[ "$code" -ne 0 ] || rm -rf -- "$place"
keep exit "$code"
exit "$code"
"#;

/// The script of a fleet of so many nodes, each of which runs `command`.
pub(crate) fn text(folder: &FleetFolder, id: &str, nodes: u32, command: &[String]) -> String {
    let machine = rustix::system::uname().machine().to_string_lossy().into_owned();
    let mut script = "#!/bin/sh\n# Runs one node of a fleet of basecase.\n".to_owned();
    let folder = folder.path().to_string_lossy();
    // Of the fleet and not of the job: a cluster that is set up anew counts jobs from 1 again, and another job of this fleet goes on.
    let short = id.get(..SHORT).unwrap_or(id);
    let variables = [
        ("folder", &*folder),
        ("fleet", id),
        ("short", short),
        ("nodes", &nodes.to_string()),
        ("machine", &machine),
    ];
    for (name, value) in variables {
        let _ = writeln!(script, "{name}={}", quote(value));
    }
    let head = HEAD.replace("@ID", ID).replace("@NOT_SHARED", &NOT_SHARED.to_string());
    let head = head.replace("@NOT_EXECUTABLE", &NOT_EXECUTABLE.to_string());
    script.push_str(&head.replace("@NO_DISK", &NO_DISK.to_string()));
    let words: Vec<String> = command.iter().map(|word| quote(word)).collect();
    let _ = write!(script, "\"$place/program\" {}", words.join(" "));
    script.push_str(
        " \\\n    --node \"$node/$nodes\" --store \"$place/results.sqlite\" --deliver \"$own\" --decided \"$folder/decided\"",
    );
    // Pages of one node are not wanted, and nodes would write each other's.
    script.push_str(" --out \"$place/report\"");
    // Servers' data on a shared file system would measure that.
    if !command.iter().any(|word| word == "--data" || word.starts_with("--data=")) {
        script.push_str(" --data \"$place/data\"");
    }
    script.push('\n');
    script.push_str(FOOT);
    script
}

/// A word as a POSIX shell reads it back.
pub(crate) fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    /// A fleet's folder in a folder of its own, with a program that is a shell script.
    struct Node {
        place: tempfile::TempDir,
        folder: FleetFolder,
    }

    impl Node {
        fn new(program: &str, command: &[&str]) -> Node {
            let place = tempfile::tempdir().unwrap();
            // A name that must be quoted.
            let folder = FleetFolder::beside(&place.path().join("it's $(a) store.sqlite"));
            let file = place.path().join("program");
            fs::write(&file, format!("#!/bin/sh\n{program}\n")).unwrap();
            folder.create(&file).unwrap();
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            let script = text(&folder, &folder.id().unwrap(), 8, &command);
            fs::write(folder.script(), script).unwrap();
            fs::create_dir(place.path().join("tmp")).unwrap();
            Node { place, folder }
        }

        fn command(&self) -> Command {
            let mut command = Command::new("/bin/sh");
            command.arg(self.folder.script()).arg("3").env("TMPDIR", self.place.path().join("tmp"));
            command.env_remove("SLURM_TMPDIR").env_remove("SLURM_ARRAY_TASK_ID");
            command.env_remove("SLURM_ARRAY_JOB_ID");
            command
        }

        fn run(&self) -> Output {
            self.command().output().unwrap()
        }

        /// The node's folder on its own disk.
        fn local(&self) -> PathBuf {
            self.place.path().join("tmp").join(format!("basecase-{}-3", &self.folder.id().unwrap()[..SHORT]))
        }
    }

    #[test]
    fn a_node_runs_the_command_and_leaves_its_exit_code_and_nothing_local() {
        let node = Node::new("printf '%s\\n' \"$@\"", &["run", "it's $HOME/x y.toml", "--budget", "2h"]);
        let output = node.run();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let (local, folder) = (node.local(), node.folder.path());
        let expected = [
            "run",
            "it's $HOME/x y.toml",
            "--budget",
            "2h",
            "--node",
            "3/8",
            "--store",
            local.join("results.sqlite").to_str().unwrap(),
            "--deliver",
            folder.join("node-3").to_str().unwrap(),
            "--decided",
            folder.join("decided").to_str().unwrap(),
            "--out",
            local.join("report").to_str().unwrap(),
            "--data",
            local.join("data").to_str().unwrap(),
        ]
        .join("\n");
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), expected);
        assert_eq!(node.folder.exit_code(3), Some(0));
        assert!(node.folder.clock_ahead_s(3).unwrap().abs() < 60.0);
        assert!(!local.exists());
        assert_eq!(fs::read_dir(node.folder.node(3)).unwrap().count(), 2, "clock and exit");
    }

    #[test]
    fn a_failure_keeps_the_local_folder_for_another_try() {
        let node = Node::new("touch \"${0%/*}/tried\"; exit 5", &["run", "--data", "/mine"]);
        let output = node.run();
        assert_eq!((output.status.code(), node.folder.exit_code(3)), (Some(5), Some(5)));
        assert!(node.local().join("tried").exists());
        assert!(!fs::read_to_string(node.folder.script()).unwrap().contains("$place/data"));
        // The scheduler's own number comes before that of the command line; whatever the job, the folder is the fleet's.
        let mut again = node.command();
        again.env("SLURM_ARRAY_TASK_ID", "4").env("SLURM_ARRAY_JOB_ID", "77");
        assert_eq!(again.output().unwrap().status.code(), Some(5));
        let local = node.local().to_string_lossy().into_owned();
        let of_other = format!("{}4", local.strip_suffix('3').unwrap());
        assert!(Path::new(&of_other).join("tried").exists());
        assert_eq!((node.folder.job(3), node.folder.job(4)), (None, Some("77".to_owned())));
    }

    #[test]
    fn a_node_that_sees_another_folder_says_so_and_runs_nothing() {
        let node = Node::new("touch \"$HOME/ran\"", &["run"]);
        fs::write(node.folder.path().join(ID), "another\n").unwrap();
        let output = node.command().env("HOME", node.place.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(NOT_SHARED));
        assert!(String::from_utf8_lossy(&output.stderr).contains("is not shared with"), "{output:?}");
        assert!(!node.folder.node(3).exists() && !node.place.path().join("ran").exists());
    }

    fn executable(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_machine_of_another_architecture_executes_nothing() {
        let node = Node::new("echo ran", &["run"]);
        executable(&node.place.path().join("uname"), "#!/bin/sh\necho riscv64\n");
        let path = format!("{}:/usr/bin:/bin", node.place.path().display());
        let output = node.command().env("PATH", path).output().unwrap();
        assert_eq!(output.status.code(), Some(NOT_EXECUTABLE));
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).contains("this machine is riscv64"), "{output:?}");
        assert_eq!(node.folder.exit_code(3), Some(NOT_EXECUTABLE));
    }

    #[test]
    fn a_disk_without_room_is_told_with_the_words_of_the_system() {
        let node = Node::new("echo ran", &["run"]);
        executable(
            &node.place.path().join("cp"),
            "#!/bin/sh\necho 'cp: No space left on device' >&2\nexit 1\n",
        );
        let path = format!("{}:/usr/bin:/bin", node.place.path().display());
        let output = node.command().env("PATH", path).output().unwrap();
        assert_eq!((output.status.code(), node.folder.exit_code(3)), (Some(NO_DISK), Some(NO_DISK)));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "error: cp: No space left on device\n");
    }

    #[test]
    fn the_folder_of_somebody_else_is_not_used() {
        let node = Node::new("echo ran", &["run"]);
        std::os::unix::fs::symlink(node.place.path(), node.local()).unwrap();
        let output = node.run();
        assert_eq!(output.status.code(), Some(NO_DISK));
        assert!(String::from_utf8_lossy(&output.stderr).contains("belongs to somebody else"), "{output:?}");
    }

    #[test]
    fn an_interrupted_node_waits_for_its_program_and_keeps_its_code() {
        let program =
            "trap 'sleep 0.2; exit 1' TERM; touch \"${0%/*}/begun\"; while true; do sleep 0.05; done";
        let node = Node::new(program, &["run"]);
        use std::os::unix::process::CommandExt as _;
        let mut child = node.command().process_group(0).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while !node.local().join("begun").exists() && Instant::now() < until {
            sleep(Duration::from_millis(10));
        }
        // As a scheduler does: to every process.
        let kill = format!("kill -s TERM -- -{}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(1));
        assert_eq!(node.folder.exit_code(3), Some(1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_quoted_word_is_read_back(words in prop::collection::vec("[^\0]{0,12}", 1..8)) {
            let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
            let script = format!("printf '%s\\0' {}", quoted.join(" "));
            let output = Command::new("/bin/sh").args(["-c", &script]).output().unwrap();
            let read: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
            let expected: Vec<&[u8]> = words.iter().map(String::as_bytes).chain([&b""[..]]).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
