//! Workers and a directory: every task once, whoever dies.

use block::Rng;
use campaign::{
    Answer, Campaign, CampaignFile, Claimed, Failed, Hands, Made, Shift, Standing, Survey, Task,
    Turned, Unmeasured, Worker, Yield,
    answer::{FORMAT, Found, VERSION},
};
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

/// A campaign of so many tasks, which mean nothing.
fn campaign(place: &Path, count: u32) -> Campaign {
    let text = format!("[soak]\nseeds = {count}\n");
    let file = CampaignFile::parse("soak.toml", &text).expect("a campaign");
    let tasks = file.expand("soak.toml", &file.methods).expect("tasks");
    assert_eq!(tasks.len(), count as usize);
    Campaign::create(&place.join("c"), ("soak", &text), &[], &tasks).expect("a directory")
}

fn here() -> Worker {
    Worker::current().expect("/proc")
}

/// A process of this host that has ended.
fn dead(number: u64) -> Worker {
    Worker { started_ticks: number, ..here() }
}

fn answer(task: u32, attempt: u32, error: Option<&str>) -> Answer {
    Answer {
        format: FORMAT.to_owned(),
        version: VERSION,
        task,
        attempt,
        error: error.map(str::to_owned),
        host: "n".to_owned(),
        began_unix_s: 0.0,
        seconds: 1.0,
        work_seconds: 1.0,
        found: Found::default(),
    }
}

#[test]
fn a_claim_of_a_living_worker_is_respected_and_that_of_a_dead_one_is_not() {
    let place = TempDir::new().expect("a directory");
    let campaign = campaign(place.path(), 3);
    let claim = |worker: &Worker| campaign.claim(1, worker, Failed::Stays).expect("claimed");
    assert_eq!(claim(&dead(1)), Claimed::Mine { attempt: 1 });
    assert_eq!(claim(&dead(2)), Claimed::Mine { attempt: 2 }, "the first is dead");
    assert_eq!(claim(&here()), Claimed::Mine { attempt: 3 });
    let busy = |claimed| matches!(claimed, Claimed::Busy(claim) if claim.attempt == 3);
    assert!(busy(claim(&here())));
    assert!(busy(claim(&Worker { pid: 1, ..here() })), "whoever asks");
    campaign.answer(&answer(1, 3, None)).expect("answered");
    assert_eq!(claim(&here()), Claimed::Done);
}

#[test]
fn the_first_of_two_complete_answers_counts() {
    let place = TempDir::new().expect("a directory");
    let campaign = campaign(place.path(), 1);
    let first = Answer { host: "fast".to_owned(), ..answer(0, 2, None) };
    assert_eq!(campaign.answer(&first).expect("answered"), Made::Now);
    let late = Answer { host: "slow".to_owned(), ..answer(0, 1, None) };
    assert_eq!(campaign.answer(&late).expect("answered"), Made::Before);
    let survey = Survey::of(&campaign).expect("a survey");
    assert_eq!(survey.tasks, [Standing::Complete(Box::new(first))]);
}

#[test]
fn a_task_that_failed_is_tried_again_only_when_that_is_asked() {
    let place = TempDir::new().expect("a directory");
    let campaign = campaign(place.path(), 1);
    let claim = |failed| campaign.claim(0, &dead(1), failed).expect("claimed");
    assert_eq!(claim(Failed::Stays), Claimed::Mine { attempt: 1 });
    campaign.answer(&answer(0, 1, Some("no such drive"))).expect("answered");
    assert!(matches!(claim(Failed::Stays), Claimed::Failed(_)));
    assert_eq!(claim(Failed::Again), Claimed::Mine { attempt: 2 });
    // What counts is the last attempt: now its worker is dead.
    assert_eq!(claim(Failed::Stays), Claimed::Mine { attempt: 3 });
    campaign.answer(&answer(0, 3, None)).expect("answered");
    assert_eq!(claim(Failed::Again), Claimed::Done);
}

/// Counts how often each task is done; some fail, and some workers stop in the middle.
#[derive(Default)]
struct Counting {
    done: Mutex<BTreeMap<u32, u32>>,
    begun: AtomicUsize,
}

impl Hands for Counting {
    fn carry_out(
        &self,
        _: &Campaign,
        task: &Task,
        attempt: u32,
        _: &AtomicBool,
    ) -> Result<Yield, Unmeasured> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        if task.task % 10 == 3 && attempt == 1 {
            return Err(Unmeasured::Failed("a drive went away".to_owned(), None));
        }
        *self.done.lock().expect("no panic").entry(task.task).or_default() += 1;
        let counts = [("crash_points".to_owned(), 7)].into();
        Ok(Yield::Counts(Found { counts, ..Found::default() }))
    }
}

#[test]
fn several_shifts_of_several_threads_do_every_task_once() {
    let place = TempDir::new().expect("a directory");
    let campaign = campaign(place.path(), 300);
    let (hands, stop) = (Counting::default(), AtomicBool::new(false));
    let tasks = campaign.tasks().expect("tasks");
    let work = |seed: u64, failed| {
        let mut tasks = tasks.clone();
        Rng::new(seed, 0).shuffle(&mut tasks);
        let shift = Shift::begin(&campaign, &hands, failed, &stop).expect("a shift");
        shift.all(&tasks, 3, &|_, _| {}).expect("worked");
    };
    thread::scope(|scope| {
        (0..4).for_each(|seed| drop(scope.spawn(move || work(seed, Failed::Stays))));
    });
    let counts = Survey::of(&campaign).expect("a survey").counts();
    assert_eq!((counts.complete, counts.failed, counts.open()), (270, 30, 0));
    work(9, Failed::Again);
    let counts = Survey::of(&campaign).expect("a survey").counts();
    assert_eq!((counts.complete, counts.failed), (300, 0));
    let done = hands.done.into_inner().expect("no panic");
    assert!(done.len() == 300 && done.values().all(|&times| times == 1), "{done:?}");
    assert_eq!(hands.begun.into_inner(), 330, "each failure once more, and nothing else");
}

#[test]
fn nothing_is_begun_of_a_cancelled_campaign_until_it_goes_on() {
    let place = TempDir::new().expect("a directory");
    let campaign = campaign(place.path(), 2);
    let (hands, stop) = (Counting::default(), AtomicBool::new(false));
    campaign.cancel().expect("cancelled");
    let shift = Shift::begin(&campaign, &hands, Failed::Stays, &stop).expect("a shift");
    let task = campaign.task(1).expect("a task");
    assert_eq!(shift.turn_to(&task).expect("turned"), Turned::Stopped);
    assert!(Survey::of(&campaign).expect("a survey").is_cancelled);
    campaign.go_on().expect("it goes on");
    assert!(matches!(shift.turn_to(&task).expect("turned"), Turned::Complete(_)));
    assert_eq!(shift.turn_to(&task).expect("turned"), Turned::Done);
}

#[test]
fn what_a_killed_worker_wrote_beside_is_no_answer() {
    let place = TempDir::new().expect("a directory");
    let campaign = campaign(place.path(), 2);
    assert_eq!(
        campaign.claim(0, &dead(1), Failed::Stays).expect("claimed"),
        Claimed::Mine { attempt: 1 }
    );
    for name in ["results/.0.json.n-1", "claims/.1-1.json.n-1", "failures/.0-1.json.n-1"] {
        fs::write(campaign.path(name), "{\"form").expect("a part of a file");
    }
    let survey = Survey::of(&campaign).expect("a survey");
    assert!(matches!(survey.tasks[..], [Standing::Lost(_), Standing::Open]));
    assert_eq!(survey.to_do().collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_directory_is_made_once_and_a_wrong_one_is_refused() {
    let place = TempDir::new().expect("a directory");
    let made = campaign(place.path(), 12);
    let text = "[soak]\nseeds = 1\n";
    let again = Campaign::create(made.place(), ("soak", text), &[], &[]);
    assert!(again.err().expect("refused").to_string().ends_with("/c exists"));
    for wrong in ["nowhere", "c/claims", "c/tasks.jsonl"] {
        let error = Campaign::open(&place.path().join(wrong)).err().expect("no campaign");
        assert!(error.to_string().starts_with("there is no campaign in "), "{error}");
    }
    assert_eq!(made.task(11).expect("the last").task, 11);
    let error = made.task(12).expect_err("beyond").to_string();
    assert_eq!(error, "there is no task 12: this campaign has 12, from 0");
    let head = made.path("campaign.json");
    let newer =
        fs::read_to_string(&head).expect("a head").replace("\"version\":1", "\"version\":2");
    fs::write(&head, newer).expect("written");
    let error = Campaign::open(made.place()).err().expect("newer").to_string();
    assert!(error.contains("newer drivelab (version 2"), "{error}");
}

/// A writer that is killed leaves its file under a name with a dot; one that lives has such a file
/// for a moment.
#[test]
fn what_a_dead_writer_left_is_swept_and_what_a_living_one_writes_stays() {
    let place = TempDir::new().expect("a directory");
    let campaign = campaign(place.path(), 2);
    campaign.answer(&answer(0, 1, None)).expect("answered");
    fs::create_dir_all(campaign.path("together/1-0")).expect("a directory");
    let old = SystemTime::now() - Duration::from_secs(181);
    let write = |name: &str, written: SystemTime| {
        let file = fs::File::create(campaign.path(name)).expect("a file");
        file.set_modified(written).expect("ours");
    };
    let left = ["results/.1.json.00-1", "claims/.1-1.json.00-2", "together/1-0/.1.00-1", ".c.00-1"];
    left.iter().for_each(|name| write(name, old));
    write("records/.1-1.json.00-3", SystemTime::now());
    write("results/0.json", old);
    assert_eq!(campaign.sweep(), left.len());
    assert!(left.iter().all(|name| !campaign.path(name).exists()));
    assert!(campaign.path("records/.1-1.json.00-3").exists(), "its writer may live");
    assert!(campaign.path("results/0.json").exists());
    assert_eq!(campaign.sweep(), 0);
}
