//! A campaign's directory: the only thing that its workers share.
//!
//! ```text
//!   campaign.json campaign.toml tasks.jsonl methods/   made at once, never changed
//!   claims/K-N.json     attempt N at task K has a worker
//!   results/K.json      task K is complete             the first one counts
//!   failures/K-N.json   attempt N failed
//!   records/K-N.json    what attempt N measured
//!   beats/WORKER        a process lives
//!   hosts/HOST-BOOT.json   what the engines cost there
//!   cancelled           no task is begun any more
//! ```
//!
//! Every file appears whole and once, by link(2). So a worker that is killed anywhere leaves a task
//! that is either answered or open, and of two workers one has it.
//! docs/reference/campaign-format.md has the contents.

use crate::{
    CampaignError, CampaignFile,
    answer::Answer,
    claim::{Beat, Claim, Worker},
    task::Task,
    whole::{self, Lasting, Made},
};
use record::Record;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    fs,
    io::{BufRead, BufReader, ErrorKind},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// `format` of every campaign.
const FORMAT: &str = "drivelab-campaign";
/// `version` of the directories this crate makes.
const VERSION: u32 = 1;

/// What a campaign's directory says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Head {
    format: String,
    version: u32,
    /// What it is called.
    pub name: String,
    /// How many tasks it has.
    pub tasks: u32,
    /// RFC 3339.
    pub created: String,
    /// Where relative paths of targets begin.
    pub working_directory: PathBuf,
}

/// A method's name in the campaign, and its text.
pub type NamedMethod = (String, String);

/// An open campaign.
pub struct Campaign {
    place: PathBuf,
    /// What it says of itself.
    pub head: Head,
    /// What was asked for.
    pub file: CampaignFile,
}

/// What became of the wish to work on a task.
#[derive(Clone, PartialEq, Debug)]
pub enum Claimed {
    /// It is ours.
    Mine {
        /// From 1.
        attempt: u32,
    },
    /// It is complete.
    Done,
    /// It failed, and nobody asked to try again.
    Failed(Box<Answer>),
    /// A living worker has it.
    Busy(Box<Claim>),
}

/// Whether a task that failed is tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failed {
    /// It is.
    Again,
    /// It stays as it is.
    Stays,
}

impl Campaign {
    /// Makes the directory `place` with all tasks, at once: it is made beside and renamed.
    ///
    /// # Errors
    /// Something is there already; the file system.
    pub fn create(
        place: &Path,
        (name, text): (&str, &str),
        methods: &[NamedMethod],
        tasks: &[Task],
    ) -> Result<Self, CampaignError> {
        if fs::symlink_metadata(place).is_ok() {
            return Err(CampaignError::Exists(place.to_owned()));
        }
        let beside = beside(place);
        let io = |error| CampaignError::io("make", place, error);
        let head = Head {
            format: FORMAT.to_owned(),
            version: VERSION,
            name: name.to_owned(),
            tasks: tasks.len() as u32,
            created: host::now(),
            working_directory: std::env::current_dir().map_err(io)?,
        };
        let fill = || -> Result<(), CampaignError> {
            for directory in
                ["claims", "results", "failures", "records", "beats", "methods", "hosts"]
            {
                fs::create_dir_all(beside.join(directory)).map_err(io)?;
            }
            let write = |name: &str, text: &str| {
                let path = beside.join(name);
                whole::make(&path, text.as_bytes(), Lasting::Durable).map(drop)
            };
            for (name, text) in methods {
                write(&format!("methods/{name}"), text)?;
            }
            let lines = tasks.iter().map(|task| json(task) + "\n");
            write("tasks.jsonl", &lines.collect::<String>())?;
            write("campaign.toml", text)?;
            write("campaign.json", &(json(&head) + "\n"))
        };
        let made = fill().and_then(|()| fs::rename(&beside, place).map_err(io));
        if made.is_err() {
            let _ = fs::remove_dir_all(&beside);
        }
        made.and_then(|()| Self::open(place))
    }

    /// Opens a campaign.
    ///
    /// # Errors
    /// There is none, or one of a newer format.
    pub fn open(place: &Path) -> Result<Self, CampaignError> {
        let not_there = |error: CampaignError| match error {
            CampaignError::Io { source, .. }
                if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                CampaignError::NotThere(place.to_owned())
            }
            error => error,
        };
        // Workers may be started in another directory.
        let place = fs::canonicalize(place)
            .map_err(|error| not_there(CampaignError::io("open", place, error)))?;
        let path = place.join("campaign.json");
        let text = read(&path).map_err(not_there)?;
        let version = |text: &str| -> Option<u64> {
            let value: serde_json::Value = serde_json::from_str(text).ok()?;
            (value["format"] == FORMAT).then_some(value["version"].as_u64())?
        };
        match version(&text) {
            None => return Err(CampaignError::damaged(path, "it is not a campaign's")),
            Some(found) if found > u64::from(VERSION) => {
                return Err(CampaignError::Newer { path: place, found: found as u32 });
            }
            Some(_) => {}
        }
        let head =
            serde_json::from_str(&text).map_err(|error| CampaignError::damaged(path, error))?;
        let path = place.join("campaign.toml");
        let file = CampaignFile::parse(&path.display().to_string(), &read(&path)?)?;
        Ok(Self { place, head, file })
    }

    /// Where it is.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// All tasks.
    ///
    /// # Errors
    /// A list that is damaged.
    pub fn tasks(&self) -> Result<Vec<Task>, CampaignError> {
        let path = self.path("tasks.jsonl");
        let text = read(&path)?;
        let tasks: Result<Vec<Task>, _> = text.lines().map(serde_json::from_str).collect();
        let tasks = tasks.map_err(|error| CampaignError::damaged(&path, error))?;
        if tasks.len() != self.head.tasks as usize {
            let reason = format!("{} tasks of {}", tasks.len(), self.head.tasks);
            return Err(CampaignError::damaged(path, reason));
        }
        Ok(tasks)
    }

    /// One task. The others' lines are passed over: a worker that is started for one of a hundred
    /// thousand must not read them all.
    ///
    /// # Errors
    /// There is none of this number; a list that is damaged.
    pub fn task(&self, number: u32) -> Result<Task, CampaignError> {
        if number >= self.head.tasks {
            return Err(CampaignError::NoTask { number, count: self.head.tasks });
        }
        let path = self.path("tasks.jsonl");
        let io = |error| CampaignError::io("read", &path, error);
        let mut list = BufReader::with_capacity(1 << 16, fs::File::open(&path).map_err(io)?);
        for _ in 0..number {
            list.skip_until(b'\n').map_err(io)?;
        }
        let mut line = String::new();
        list.read_line(&mut line).map_err(io)?;
        let task: Task =
            serde_json::from_str(&line).map_err(|error| CampaignError::damaged(&path, error))?;
        if task.task != number {
            return Err(CampaignError::damaged(path, format!("no task {number} at its place")));
        }
        Ok(task)
    }

    /// The text of one of its methods.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn method_text(&self, name: &str) -> Result<String, CampaignError> {
        read(&self.path(&format!("methods/{name}")))
    }

    /// Asks for a task. Attempts are numbered, and each has one worker: who finds the last one's
    /// dead makes the next. Nothing is ever taken away, so nobody can take what is not dead.
    ///
    /// # Errors
    /// The file system.
    pub fn claim(
        &self,
        number: u32,
        here: &Worker,
        failed: Failed,
    ) -> Result<Claimed, CampaignError> {
        for attempt in 1.. {
            if self.path(&format!("results/{number}.json")).exists() {
                return Ok(Claimed::Done);
            }
            let path = self.path(&format!("claims/{number}-{attempt}.json"));
            let claim = Claim { task: number, attempt, worker: here.clone(), claimed: host::now() };
            let made = match path.exists() {
                true => Made::Before,
                false => whole::make(&path, json(&claim).as_bytes(), Lasting::Cached)?,
            };
            if made == Made::Now {
                return Ok(Claimed::Mine { attempt });
            }
            if let Some(answer) = self.failure(number, attempt)? {
                match failed {
                    Failed::Again => continue,
                    Failed::Stays if self.has_claim(number, attempt + 1) => continue,
                    Failed::Stays => return Ok(Claimed::Failed(Box::new(answer))),
                }
            }
            let Some(claim) = self.claim_at(number, attempt)? else { continue };
            if claim.worker.is_alive(here, || self.beat(&claim.worker)) {
                // Its answer may have come between the first look and this one.
                let is_done = self.path(&format!("results/{number}.json")).exists();
                return Ok(if is_done { Claimed::Done } else { Claimed::Busy(Box::new(claim)) });
            }
        }
        unreachable!("attempts have no end")
    }

    /// An attempt's claim; none where a power cut left its file without contents, and its worker
    /// with it.
    pub(crate) fn claim_at(
        &self,
        number: u32,
        attempt: u32,
    ) -> Result<Option<Claim>, CampaignError> {
        match read_json(&self.path(&format!("claims/{number}-{attempt}.json"))) {
            Err(CampaignError::Damaged { .. }) => Ok(None),
            read => read.map(Some),
        }
    }

    fn has_claim(&self, number: u32, attempt: u32) -> bool {
        self.path(&format!("claims/{number}-{attempt}.json")).exists()
    }

    /// Why an attempt failed, if it did.
    pub(crate) fn failure(
        &self,
        number: u32,
        attempt: u32,
    ) -> Result<Option<Answer>, CampaignError> {
        let path = self.path(&format!("failures/{number}-{attempt}.json"));
        if !path.exists() {
            return Ok(None);
        }
        read_json(&path).map(Some)
    }

    /// Keeps the record of an attempt; its path in the directory. That lasts when the task is
    /// answered for.
    ///
    /// # Errors
    /// The file system.
    pub fn keep_record(
        &self,
        number: u32,
        attempt: u32,
        record: &Record,
    ) -> Result<String, CampaignError> {
        let name = format!("records/{number}-{attempt}.json");
        let text = json(record) + "\n";
        whole::make_unsynced(&self.path(&name), text.as_bytes(), Lasting::Durable)?;
        Ok(name)
    }

    /// Answers for a task. Of two complete answers the first counts: a worker that was taken for
    /// dead and was not comes too late. No answer is there without the record that it names, power
    /// cuts included.
    ///
    /// # Errors
    /// The file system.
    pub fn answer(&self, answer: &Answer) -> Result<Made, CampaignError> {
        let name = match answer.error {
            None => format!("results/{}.json", answer.task),
            Some(_) => format!("failures/{}-{}.json", answer.task, answer.attempt),
        };
        let (path, text) = (self.path(&name), json(answer) + "\n");
        match &answer.found.record {
            Some(record) => whole::make_after(&self.path(record), &path, text.as_bytes()),
            None => whole::make(&path, text.as_bytes(), Lasting::Durable),
        }
    }

    /// The complete answer for a task, if there is one.
    ///
    /// # Errors
    /// It is damaged, or cannot be read.
    pub fn complete(&self, number: u32) -> Result<Option<Answer>, CampaignError> {
        let path = self.path(&format!("results/{number}.json"));
        if !path.exists() {
            return Ok(None);
        }
        read_json(&path).map(Some)
    }

    /// Whether no task is to be begun any more.
    pub fn is_cancelled(&self) -> bool {
        self.path("cancelled").exists()
    }

    /// Lets no task be begun any more.
    ///
    /// # Errors
    /// The file system.
    pub fn cancel(&self) -> Result<(), CampaignError> {
        let text = format!("{}\n", host::now());
        whole::make(&self.path("cancelled"), text.as_bytes(), Lasting::Durable).map(drop)
    }

    /// Takes a cancellation back.
    ///
    /// # Errors
    /// The file system.
    pub fn go_on(&self) -> Result<(), CampaignError> {
        let path = self.path("cancelled");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(CampaignError::io("remove", path, error))
            }
            _ => Ok(()),
        }
    }

    /// What the beat of a worker says, by the clock of the directory's own file system.
    pub(crate) fn beat(&self, worker: &Worker) -> Beat {
        let path = self.path("beats").join(worker.name());
        let touched = match fs::metadata(path).and_then(|meta| meta.modified()) {
            Ok(touched) => touched,
            Err(error) if error.kind() == ErrorKind::NotFound => return Beat::None,
            // Whoever cannot look does not know that it is dead.
            Err(_) => return Beat::Old(Duration::ZERO),
        };
        let age = self.now().duration_since(touched).unwrap_or(Duration::ZERO);
        Beat::Old(age)
    }

    /// Now, as the directory's file system tells time; hosts may differ.
    pub(crate) fn now(&self) -> SystemTime {
        let probe = || {
            let path = self.path("beats").join(format!(".now-{}", host::entropy()));
            fs::write(&path, "")?;
            let now = fs::metadata(&path).and_then(|meta| meta.modified());
            let _ = fs::remove_file(&path);
            now
        };
        probe().unwrap_or_else(|_: std::io::Error| SystemTime::now())
    }
}

fn beside(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.{:016x}", host::entropy()))
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data with string keys")
}

pub(crate) fn read(path: &Path) -> Result<String, CampaignError> {
    fs::read_to_string(path).map_err(|error| CampaignError::io("read", path, error))
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, CampaignError> {
    serde_json::from_str(&read(path)?).map_err(|error| CampaignError::damaged(path, error))
}
