//! A campaign on a real Slurm: Debian's munged, slurmctld and slurmd, started here on one node,
//! with their files in a directory that goes.
//!
//! No service manager and no cgroups are needed: processes are followed by /proc
//! (`proctrack/linuxproc`). Packages: munge slurmctld slurmd slurm-client.

use crate::{
    campaign::{files, hashes},
    common,
};

use common::{Bench, Call, skip};
use serde_json::Value;
use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Longer than two hundred tasks take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(300);
/// Seconds after which a node that does not answer is lost: Slurm's least.
const NODE_TIMEOUT_S: u32 = 5;
/// Until a message to a node that died is given up; 10 s by default.
const MESSAGE_TIMEOUT_S: u32 = 2;
/// Seconds that a task's credential is good for. A task of a lost node starts again when its old
/// one has expired: with Slurm's 120 the tests waited two minutes for nothing.
const CREDENTIAL_S: u32 = 10;

/// Without it the scheduler waits seconds for more jobs before it starts one.
const AT_ONCE: &str = "batch_sched_delay=0,sched_min_interval=0,sched_interval=1";

/// The three daemons of a cluster of one node.
struct Cluster {
    place: TempDir,
    munged: Child,
    controller: Child,
    node: Option<Child>,
}

impl Cluster {
    /// Starts one; `None`, and it is said, where its packages or root are missing.
    fn start() -> Option<Self> {
        let programs = ["munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue"];
        if !rustix::process::geteuid().is_root() || !programs.iter().all(|name| testkit::has(name))
        {
            skip("root and the packages munge, slurmctld, slurmd, slurm-client");
            return None;
        }
        let place = tempfile::tempdir().expect("a directory");
        for name in ["state", "spool", "run"] {
            fs::create_dir(place.path().join(name)).expect("a directory");
        }
        fs::write(place.path().join("munge.key"), key()).expect("a key");
        fs::write(place.path().join("slurm.conf"), configuration(place.path())).expect("a file");
        let munged = munged(place.path());
        wait_until("munged", || place.path().join("run/munge.socket").exists());
        let controller = daemon(place.path(), "slurmctld");
        let mut cluster = Self { place, munged, controller, node: None };
        cluster.start_node();
        Some(cluster)
    }

    fn start_node(&mut self) {
        self.node = Some(daemon(self.place.path(), "slurmd"));
        wait_until("the node", || {
            let state = self.says("scontrol", &["show", "node"]);
            ["State=IDLE ", "State=MIXED ", "State=ALLOCATED "].iter().any(|is| state.contains(is))
        });
    }

    /// The node is gone from one moment to the next, with every task on it.
    fn kill_node(&mut self, campaign: &Path) {
        let mut node = self.node.take().expect("it runs");
        node.kill().expect("ours to kill");
        node.wait().expect("ours to wait for");
        for pid in working(campaign) {
            // Its parent is what slurmd started for it, which would report its end.
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
            let pids = parent.map(str::to_owned).into_iter().chain([pid.to_string()]);
            let _ = Command::new("kill").args(["-s", "KILL"]).args(pids).status();
        }
    }

    fn configuration(&self) -> PathBuf {
        self.place.path().join("slurm.conf")
    }

    fn says(&self, program: &str, words: &[&str]) -> String {
        let mut command = Command::new(program);
        let output = command.args(words).env("SLURM_CONF", self.configuration()).output();
        String::from_utf8_lossy(&output.expect("it starts").stdout).into_owned()
    }

    fn of(&self, call: Call) -> Call {
        call.variable("SLURM_CONF", &self.configuration().to_string_lossy())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.says("scancel", &["--user=root"]);
        let empty = || self.says("squeue", &["--noheader"]).trim().is_empty();
        let start = Instant::now();
        while !empty() && start.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(200));
        }
        for daemon in [self.node.as_mut(), Some(&mut self.controller), Some(&mut self.munged)] {
            let Some(daemon) = daemon else { continue };
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn key() -> Vec<u8> {
    let mut key = vec![0; 128];
    block::Rng::new(u64::from(std::process::id()), 3).fill(&mut key);
    key
}

fn configuration(place: &Path) -> String {
    let free = || TcpListener::bind("127.0.0.1:0").expect("a port");
    let (one, other) = (free(), free());
    let port = |it: &TcpListener| it.local_addr().expect("it is bound").port();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host = host.split('.').next().expect("a name").to_owned();
    let place = place.display();
    format!(
        "ClusterName=drivelab\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
         SlurmctldPort={}\nSlurmdPort={}\nAuthType=auth/munge\n\
         AuthInfo=socket={place}/run/munge.socket,cred_expire={CREDENTIAL_S}\n\
         StateSaveLocation={place}/state\n\
         SlurmdSpoolDir={place}/spool\nSlurmctldPidFile={place}/run/slurmctld.pid\n\
         SlurmdPidFile={place}/run/slurmd.pid\nSlurmctldLogFile={place}/slurmctld.log\n\
         SlurmdLogFile={place}/slurmd.log\nProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\nMpiDefault=none\n\
         SchedulerType=sched/builtin\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\nReturnToService=2\nSlurmdTimeout={NODE_TIMEOUT_S}\n\
         MessageTimeout={MESSAGE_TIMEOUT_S}\n\
         SchedulerParameters={AT_ONCE}\n\
         SlurmdParameters=config_overrides\nMinJobAge=300\n\
         NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN\n\
         PartitionName=all Nodes=ALL Default=YES State=UP\n",
        port(&one),
        port(&other),
    )
}

fn munged(place: &Path) -> Child {
    let mut command = Command::new("munged");
    // Below /tmp, whose other users munged would not trust.
    command.args(["--foreground", "--force"]);
    let files = [
        ("key-file", "munge.key"),
        ("socket", "run/munge.socket"),
        ("pid-file", "run/munge.pid"),
        ("log-file", "munge.log"),
        ("seed-file", "munge.seed"),
    ];
    for (option, name) in files {
        command.arg(format!("--{option}={}", place.join(name).display()));
    }
    let key = place.join("munge.key");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(key, private).expect("ours");
    start(&mut command)
}

fn daemon(place: &Path, name: &str) -> Child {
    let configuration = place.join("slurm.conf");
    start(
        Command::new(name)
            .arg("-D")
            .arg("-f")
            .arg(&configuration)
            .env("SLURM_CONF", &configuration),
    )
}

fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("it is installed")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "waited too long for {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Processes of the claims that have no answer.
fn working(campaign: &Path) -> Vec<u64> {
    let claims = fs::read_dir(campaign.join("claims")).expect("claims").flatten();
    let claims = claims.filter_map(|entry| {
        let claim: Value = serde_json::from_str(&fs::read_to_string(entry.path()).ok()?).ok()?;
        let answer = campaign.join(format!("results/{}.json", claim["task"]));
        (!answer.exists()).then(|| claim["pid"].as_u64())?
    });
    claims.collect()
}

/// Ten drives and depths, twenty times.
const SWEEP: &str = "targets = [\"model:{drive}\"]\nmethods = [\"small.toml\"]\nrepetitions = 20\n\
                     [vary]\ndrive = [\"intel-x25e-32\", \"mtron-pro-32\"]\n\
                     [set]\ndepth = [1, 2, 4, 8, 16]\n[run]\nmax_time = \"0.5s\"\n";

#[test]
fn two_hundred_tasks_as_a_job_array_are_there_once_though_the_node_dies_in_the_middle() {
    let Some(mut cluster) = Cluster::start() else { return };
    let bench = Bench::new();
    bench.file("sweep.toml", SWEEP);
    let begin = Instant::now();
    let words = ["campaign", "sweep.toml", "--on", "slurm"];
    let submitted = cluster.of(bench.drivelab_without_store(words)).done().succeeded();
    assert!(submitted.stderr.contains(": 200 tasks in 200 array elements"), "{submitted:?}");
    let directory = bench.path("sweep.campaign");
    let done = || files(&directory.join("results"));
    wait_until("some tasks", || done() >= 40);
    cluster.kill_node(&directory);
    let before = done();
    assert!(before < 200, "the node was killed too late to show anything");
    wait_until("Slurm to miss the node", || {
        cluster.says("scontrol", &["show", "node"]).contains("State=DOWN")
    });
    cluster.start_node();
    wait_until("all tasks", || done() == 200);
    let attempts = files(&directory.join("claims"));
    eprintln!(
        "{before} tasks done when the node was killed; 200 done by {attempts} attempts in {:.0} s",
        begin.elapsed().as_secs_f64()
    );
    let words = ["campaign", "sweep.toml", "--directory", "local"];
    bench.drivelab_without_store(words).done().succeeded();
    assert_eq!(hashes(&directory, 200, 3), hashes(&bench.path("local"), 200, 1));
}

#[test]
fn a_campaign_of_more_tasks_than_elements_is_cancelled_and_resumed() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = Bench::new();
    bench.file("sweep.toml", SWEEP.replace("[run]", "[slurm]\narray = 4\n[run]"));
    let call = |words: &[&str]| cluster.of(bench.drivelab_without_store(words)).done().succeeded();
    let said = call(&["campaign", "sweep.toml", "--on", "slurm"]).stderr;
    assert!(said.contains(": 200 tasks in 4 array elements"), "{said}");
    let directory = bench.path("sweep.campaign");
    let done = || files(&directory.join("results"));
    wait_until("some tasks", || done() >= 8);
    let page = call(&["campaign", "cancel", "sweep.campaign"]).stdout;
    // The line may be broken before it.
    assert!(page.replace('\n', " ").contains("; cancelled"), "{page}");
    wait_until("an empty queue", || cluster.says("squeue", &["--noheader"]).trim().is_empty());
    assert!(done() < 200, "it was cancelled too late to show anything");
    call(&["campaign", "resume", "sweep.campaign", "--on", "slurm"]);
    wait_until("all tasks", || done() == 200);
    hashes(&directory, 200, 3);
}

/// The node has eight processors: no more tasks run at once, and an array of two runs two.
#[test]
fn tasks_that_cannot_all_run_at_once_are_not_begun_together() {
    let Some(cluster) = Cluster::start() else { return };
    let bench = Bench::new();
    let together = SWEEP.replace("repetitions", "together = true\nrepetitions");
    let cases = [
        (together.clone(), "the cluster has 8 processors"),
        (together.replace("[run]", "[slurm]\narray = 9\n[run]"), "let slurm.array be 10 or more"),
    ];
    for (text, cure) in cases {
        bench.file("sweep.toml", text);
        let words = ["campaign", "sweep.toml", "--on", "slurm"];
        let outcome = cluster.of(bench.drivelab_without_store(words)).done();
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        common::assert_one_sentence(&outcome.stderr, &["10 tasks begin together", cure]);
        assert!(!bench.path("sweep.campaign").exists());
    }
}

#[test]
fn without_slurm_it_is_said_before_anything_is_made() {
    let bench = Bench::new();
    bench.file("sweep.toml", SWEEP);
    let words = ["campaign", "sweep.toml", "--on", "slurm"];
    let outcome = bench.drivelab_without_store(words).variable("PATH", "/nowhere").done();
    assert_eq!(outcome.code, Some(2));
    common::assert_one_sentence(&outcome.stderr, &["no `sbatch` here", "leave out --on"]);
    assert!(!bench.path("sweep.campaign").exists());
}

#[cfg(feature = "postgresql")]
mod postgresql {
    use super::*;
    use testkit::Postgresql;

    /// Completion hashes as the database has them, by task.
    fn told(server: &Postgresql) -> Vec<String> {
        let hashes = "SELECT task, document->'targets'->0->'completions'->>'hash' \
                      FROM drivelab.run WHERE campaign = 'sweep' ORDER BY task";
        server.ask("lab", hashes).lines().map(str::to_owned).collect()
    }

    /// Both go in the middle: the node with all that runs on it, and the database.
    #[test]
    fn two_hundred_tasks_are_in_the_database_once_though_node_and_server_go_in_the_middle() {
        let Some(server) = Postgresql::start() else { return skip("the package postgresql") };
        let Some(mut cluster) = Cluster::start() else { return };
        let bench = Bench::new();
        let store = server.database("lab");
        bench.file("sweep.toml", format!("store = {store:?}\n{SWEEP}"));
        let words = ["campaign", "sweep.toml", "--on", "slurm"];
        cluster.of(bench.drivelab_without_store(words)).done().succeeded();
        let directory = bench.path("sweep.campaign");
        let done = || files(&directory.join("results"));
        wait_until("some tasks", || done() >= 30);
        server.down();
        wait_until("tasks without a database", || done() >= 60);
        cluster.kill_node(&directory);
        let before = done();
        assert!(before < 200, "the node was killed too late to show anything");
        server.up();
        wait_until("Slurm to miss the node", || {
            cluster.says("scontrol", &["show", "node"]).contains("State=DOWN")
        });
        cluster.start_node();
        wait_until("all tasks", || done() == 200);
        wait_until("an empty queue", || cluster.says("squeue", &["--noheader"]).trim().is_empty());
        let pushed = told(&server).len();
        let resume = ["campaign", "resume", "sweep.campaign"];
        bench.drivelab_without_store(resume).done().succeeded();
        let there = server.ask("lab", "SELECT count(*), count(DISTINCT task) FROM drivelab.run");
        assert_eq!(there, "200|200", "every task is there, and none twice");
        eprintln!(
            "{before} tasks done when the node was killed; {pushed} of 200 runs in the \
                   database before `campaign resume`"
        );
        let words = ["campaign", "sweep.toml", "--directory", "local", "--store", "own.db"];
        bench.drivelab_without_store(words).done().succeeded();
        let local = hashes(&bench.path("local"), 200, 1);
        assert_eq!(hashes(&directory, 200, 3), local);
        let local: Vec<String> =
            local.into_iter().map(|(task, hash)| format!("{task}|{hash}")).collect();
        assert_eq!(told(&server), local);
        let again = ["campaign", "push", "sweep.campaign"];
        let said = bench.drivelab_without_store(again).done().succeeded().stdout;
        assert!(said.starts_with("pushed 0 runs to postgresql://"), "{said}");
        assert!(said.ends_with("; 200 were there already\n"), "{said}");
    }

    #[test]
    fn a_database_that_is_away_costs_a_campaign_a_sentence_and_what_is_wrong_is_said_before() {
        let Some(server) = Postgresql::start() else { return skip("the package postgresql") };
        let bench = Bench::new();
        let few = SWEEP.replace("repetitions = 20", "repetitions = 1");
        bench.file("few.toml", few);
        let call = |words: &[&str]| bench.drivelab_without_store(words).variable("PGPASSWORD", "");
        let refused = |address: &str, parts: &[&str]| {
            let outcome = call(&["campaign", "few.toml", "--store", address]).done();
            assert_eq!(outcome.code, Some(2), "{outcome:?}");
            common::assert_one_sentence(&outcome.stderr, parts);
            assert!(!bench.path("few.campaign").exists(), "{address}");
        };
        refused(&server.address("nowhere"), &["does not exist", "createdb"]);
        refused(&server.address_of_tcp("lab"), &["does not accept the user", "~/.pgpass"]);
        refused("postgresql://a:b@h/lab", &["seen by all users"]);
        refused("mysql://h/lab", &["--store", "an address of something else"]);
        let store = server.database("lab");
        bench.file("secret.toml", "store = \"postgresql://a:b@h/lab\"\ntargets = [\"null:\"]\n");
        let outcome = call(&["campaign", "secret.toml"]).done();
        common::assert_one_sentence(&outcome.stderr, &["postgresql://a:***@h/lab", ".pgpass"]);
        server.down();
        let away = call(&["campaign", "few.toml", "--store", &store]).start();
        let away = away.wait_within(Duration::from_secs(120)).succeeded();
        assert!(away.stderr.contains("cannot reach the database"), "{}", away.stderr);
        assert!(away.stderr.contains("drivelab campaign push "), "{}", away.stderr);
        assert!(away.stdout.starts_with("few: 10 of 10 tasks complete"), "{}", away.stdout);
        server.up();
        let push = ["campaign", "push", "few.campaign", "--store", &store];
        let said = call(&push).done().succeeded().stdout;
        assert!(said.starts_with("pushed 10 runs to postgresql://"), "{said}");
        assert_eq!(server.ask("lab", "SELECT count(*) FROM drivelab.run"), "10");
        server.ask("lab", "UPDATE drivelab.schema_version SET version = 99");
        let later = call(&push).done();
        assert_eq!(later.code, Some(2), "{later:?}");
        assert!(later.stderr.contains("schema 99"), "{}", later.stderr);
        fs::remove_dir_all(bench.path("few.campaign")).expect("ours");
        refused(&store, &["schema 99", "newer drivelab"]);
        server.ask("lab", "UPDATE drivelab.schema_version SET version = 2");
        refused(&store, &["schema 2", "push --migrate"]);
    }
}
