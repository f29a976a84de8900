//! A cluster on this machine: a Slurm of its own with several nodes, which listens on 127.0.0.1 only.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use basecase_builds::{Tool, default_home};
use basecase_fleet::Slurm;
use basecase_process::{die_with_parent, send};
use basecase_tests::Sandbox;
use rustix::process::Signal;

/// How long the cluster may take to be ready, and a daemon to end.
const START_LIMIT: Duration = Duration::from_secs(60);
const END_LIMIT: Duration = Duration::from_secs(5);

/// A daemon, whose process id stands in a file of the cluster's folder as well.
struct Daemon {
    name: String,
    child: Child,
}

impl Daemon {
    fn end(&mut self, signal: Signal) {
        send(self.child.id(), signal);
        let until = Instant::now() + END_LIMIT;
        while Instant::now() < until && self.child.try_wait().is_ok_and(|status| status.is_none()) {
            sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end(Signal::TERM);
    }
}

/// A cluster. Dropping it ends its daemons and whatever its jobs have left.
pub(crate) struct Cluster {
    sandbox: Sandbox,
    tool: Tool,
    ports: Vec<u16>,
    nodes: BTreeMap<u32, Daemon>,
    others: Vec<Daemon>,
}

impl Cluster {
    /// Starts a cluster with nodes `n1`, `n2` and so on; `None` where Slurm cannot be had, which is said.
    pub(crate) fn start(nodes: u32) -> Option<Cluster> {
        let found = Tool::find("slurmctld", &default_home().unwrap(), &mut |line| println!("{line}"));
        let tool = match found {
            Ok(tool) => tool,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "{error}");
                println!("skipped: {error}");
                return None;
            }
        };
        let ports = free_ports(nodes as usize + 1);
        let sandbox = Sandbox::new();
        let mut cluster = Cluster { sandbox, tool, ports, nodes: BTreeMap::new(), others: Vec::new() };
        cluster.write_files(nodes);
        cluster.start_munged();
        let controller = cluster.program("slurmctld", &["-D", "-c"]);
        let controller = cluster.daemon("slurmctld", controller);
        cluster.others.push(controller);
        for node in 1..=nodes {
            cluster.start_node(node);
        }
        cluster.wait_until("all nodes are idle", |cluster| {
            cluster.states().iter().filter(|state| *state == "idle").count() == nodes as usize
        });
        Some(cluster)
    }

    /// What lies in its folder.
    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Its folder, which every node sees.
    pub(crate) fn path(&self) -> &Path {
        self.sandbox.path()
    }

    /// Slurm's client programs, as users of this cluster have them.
    pub(crate) fn slurm(&self) -> Slurm {
        let folder = self.tool.tree().unwrap_or(Path::new("/")).join("usr/bin");
        Slurm::at(folder, self.environment())
    }

    /// The environment of users of this cluster.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let of_tool = self.tool.variables().map(|(name, value)| (name.into(), value.to_owned()));
        // Nodes take the folder of temporary files from whoever submits.
        let own = [("SLURM_CONF", self.configuration()), ("TMPDIR", self.path().to_owned())];
        of_tool.chain(own.map(|(name, value)| (name.into(), value.into_os_string()))).collect()
    }

    /// The program, as a user of this cluster runs it.
    pub(crate) fn basecase(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.command(arguments);
        command.envs(self.environment());
        if let Some(tree) = self.tool.tree() {
            let mut path = tree.join("usr/bin").into_os_string();
            path.push(":");
            path.push(std::env::var_os("PATH").unwrap_or_default());
            command.env("PATH", path);
        }
        command
    }

    /// Ends a node as if its machine lost power: its daemon and all that it started are killed.
    pub(crate) fn kill_node(&mut self, node: u32) {
        if let Some(mut daemon) = self.nodes.remove(&node) {
            daemon.end(Signal::KILL);
        }
        // First whoever would tell the controller that a job was killed: the parent of its script.
        let name = format!("SLURMD_NODENAME=n{node}");
        let jobs: Vec<Process> = Process::all().into_iter().filter(|job| job.has_variable(&name)).collect();
        let own: Vec<&Process> = jobs.iter().filter(|job| job.has_variable(&self.own_variable())).collect();
        let step_daemons: BTreeSet<u32> =
            own.iter().filter_map(|job| job.parent).filter(|pid| is_step_daemon(*pid)).collect();
        assert!(!step_daemons.is_empty(), "no job runs on n{node}");
        step_daemons.iter().for_each(|pid| send(*pid, Signal::KILL));
        own.iter().for_each(|job| send(job.pid, Signal::KILL));
        // Slurm 22.05 does not start a job again beside what is left of it.
        fs::remove_dir_all(self.path().join(format!("spool-n{node}"))).unwrap();
    }

    /// Starts a node, again if it was killed.
    pub(crate) fn start_node(&mut self, node: u32) {
        let name = format!("n{node}");
        let step_daemon = self.place("slurmstepd");
        let command = self.program("slurmd", &["-D", "-N", &name, "-d", step_daemon.to_str().unwrap()]);
        let daemon = self.daemon(&format!("slurmd-{name}"), command);
        self.nodes.insert(node, daemon);
    }

    /// Runs a program of Slurm, and returns what it prints.
    pub(crate) fn output(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.program(program, arguments).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    fn states(&self) -> Vec<String> {
        let text = self.output("sinfo", &["--noheader", "--Node", "--format=%T"]);
        text.lines().map(|line| line.trim().to_owned()).collect()
    }

    fn wait_until(&mut self, what: &str, is: impl Fn(&Cluster) -> bool) {
        let until = Instant::now() + START_LIMIT;
        while !is(self) {
            let daemons = self.others.iter_mut().chain(self.nodes.values_mut());
            let ended: Vec<String> = daemons
                .filter_map(|daemon| daemon.child.try_wait().ok().flatten().map(|_| daemon.name.clone()))
                .collect();
            assert!(
                ended.is_empty() && Instant::now() < until,
                "not so: {what}\nended: {ended:?}\n{}",
                self.logs()
            );
            sleep(Duration::from_millis(100));
        }
    }

    /// The ends of all logs, for a test that fails.
    pub(crate) fn logs(&self) -> String {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten().map(|entry| entry.path());
        let logs = entries.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        let tail = |path: PathBuf| {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let tail = lines[lines.len().saturating_sub(40)..].join("\n");
            format!("-- {}\n{tail}\n", path.display())
        };
        logs.map(tail).collect()
    }

    fn configuration(&self) -> PathBuf {
        self.path().join("slurm.conf")
    }

    fn write_files(&self, nodes: u32) {
        let (folder, port) = (self.path().display(), |index: u32| self.ports[index as usize]);
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let user = said("id", &["-un"]);
        let plugins = self.tool.tree().unwrap_or(Path::new("/"));
        let plugins = plugins.join(format!("usr/lib/{}-linux-gnu/slurm-wlm", std::env::consts::ARCH));
        let mut text = format!(
            "ClusterName=basecase\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
             SlurmUser={user}\nSlurmdUser={user}\nAuthType=auth/munge\nAuthInfo=socket={folder}/munge.socket,cred_expire=10\n\
             CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\nPluginDir={}\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             JobAcctGatherType=jobacct_gather/none\nMpiDefault=none\nReturnToService=2\n\
             SlurmdTimeout=5\nSchedulerParameters=sched_interval=1,bf_interval=1\nKillWait=2\nMinJobAge=300\n\
             StateSaveLocation={folder}/state\nSlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdSpoolDir={folder}/spool-%n\nSlurmdPidFile={folder}/slurmd-%n.pid\n",
            port(0),
            plugins.display(),
        );
        let mut names = Vec::new();
        for node in 1..=nodes {
            let address = format!("NodeHostname={host} NodeAddr=127.0.0.1 Port={}", port(node));
            text.push_str(&format!("NodeName=n{node} {address} CPUs=1 RealMemory=500\n"));
            names.push(format!("n{node}"));
        }
        text.push_str(&format!(
            "PartitionName=p Nodes={} Default=YES State=UP MaxTime=INFINITE\n",
            names.join(",")
        ));
        fs::write(self.configuration(), text).unwrap();
        // The nodes are one machine, and its control groups are not theirs. Slurm 22.05 knows no such word and leaves them alone.
        if !self.output("slurmd", &["-V"]).contains(" 22.") {
            fs::write(self.path().join("cgroup.conf"), "CgroupPlugin=disabled\n").unwrap();
        }
        fs::create_dir(self.path().join("state")).unwrap();
        let key = self.path().join("munge.key");
        let mut random = [0; 1024];
        File::open("/dev/urandom").unwrap().read_exact(&mut random).unwrap();
        fs::write(&key, random).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn start_munged(&mut self) {
        let at = |name: &str| self.path().join(name).to_str().unwrap().to_owned();
        let options = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--socket={}", at("munge.socket")),
            format!("--key-file={}", at("munge.key")),
            format!("--pid-file={}", at("munged.pid")),
            format!("--seed-file={}", at("munge.seed")),
            format!("--log-file={}", at("munge.log")),
        ];
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let command = self.program("munged", &options);
        let daemon = self.daemon("munged", command);
        self.others.push(daemon);
        self.wait_until("munged listens", |cluster| cluster.path().join("munge.socket").exists());
    }

    /// Where a program of Slurm lies. Debian's daemons have an ending until they are installed. They go by the name that they were started
    /// with, so they get a link without it.
    fn place(&self, program: &str) -> PathBuf {
        let top = self.tool.tree().unwrap_or(Path::new("/"));
        let named = |name: &str| {
            let places = ["usr/sbin", "usr/bin"].map(|folder| top.join(folder).join(name));
            places.into_iter().find(|place| place.is_file())
        };
        if let Some(place) = named(program) {
            return place;
        }
        let daemon =
            named(&format!("{program}-wlm")).unwrap_or_else(|| panic!("no {program} in {}", top.display()));
        let link = self.path().join(program);
        if !link.is_symlink() {
            symlink(daemon, &link).unwrap();
        }
        link
    }

    fn program(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.place(program));
        command.args(arguments).envs(self.environment()).current_dir(self.path()).stdin(Stdio::null());
        command
    }

    fn daemon(&self, name: &str, mut command: Command) -> Daemon {
        let log = File::create(self.path().join(format!("{name}.log"))).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        die_with_parent(&mut command, Signal::KILL);
        let child = command.spawn().unwrap();
        fs::write(self.path().join(format!("{name}.started")), child.id().to_string()).unwrap();
        Daemon { name: name.to_owned(), child }
    }

    /// The variable that every process of this cluster has.
    fn own_variable(&self) -> String {
        format!("SLURM_CONF={}", self.configuration().display())
    }

    /// Kills what jobs of this cluster have left.
    fn kill_rest(&self) {
        let own = self.own_variable();
        // What is killed may just have started another.
        for _ in 0..3 {
            let processes = Process::all();
            let of_cluster = |process: &&Process| {
                process.pid != std::process::id()
                    && (process.has_variable(&own) || process.works_below(self.path()))
            };
            processes.iter().filter(of_cluster).for_each(|process| send(process.pid, Signal::KILL));
            sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        while let Some(mut daemon) = self.others.pop() {
            daemon.end(Signal::TERM);
        }
        self.kill_rest();
    }
}

/// A process of this machine.
struct Process {
    pid: u32,
    parent: Option<u32>,
    environment: Vec<u8>,
    folder: PathBuf,
}

impl Process {
    fn all() -> Vec<Process> {
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let process = |pid: u32| Process {
            pid,
            parent: parent(pid),
            environment: fs::read(format!("/proc/{pid}/environ")).unwrap_or_default(),
            folder: fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default(),
        };
        pids.map(process).collect()
    }

    fn has_variable(&self, variable: &str) -> bool {
        self.environment.split(|byte| *byte == 0).any(|text| text == variable.as_bytes())
    }

    fn works_below(&self, folder: &Path) -> bool {
        self.folder.starts_with(folder)
    }
}

/// The parent of a process.
fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// Whether a process is the daemon that Slurm starts for each step of a job.
fn is_step_daemon(pid: u32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("slurmstepd"))
}

/// Ports of 127.0.0.1 that nobody listens on.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0)).unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
