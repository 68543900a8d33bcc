//! What is said of a job file that became a method: a sentence each.

use crate::job::{Distribution, Engine, Job};

/// Names that a sentence lists before it says how many more there are.
const NAMED: usize = 4;

/// The sentences.
pub(super) struct Notes(Vec<String>);

impl Notes {
    /// What follows from the jobs alone.
    pub fn new(jobs: &[Job]) -> Self {
        let mut notes = Self(Vec::new());
        notes.replaced(jobs);
        notes.without_effect(jobs);
        notes.taken_for(jobs);
        notes
    }

    /// Adds one.
    pub fn say(&mut self, sentence: String) {
        if !self.0.contains(&sentence) {
            self.0.push(sentence);
        }
    }

    /// As an array of a method.
    pub fn array(&self) -> String {
        let values = self.0.iter().cloned().map(toml::Value::String).collect();
        toml::Value::Array(values).to_string()
    }

    fn replaced(&mut self, jobs: &[Job]) {
        let named = |job: &Job| [job.filename.clone(), job.directory.clone()];
        let names = distinct(jobs.iter().flat_map(named).flatten());
        if !names.is_empty() {
            self.say(format!("the target takes the place of {}", listed(&names)));
        }
    }

    fn without_effect(&mut self, jobs: &[Job]) {
        let names = distinct(jobs.iter().flat_map(|job| &job.no_effect).map(|key| (*key).into()));
        if !names.is_empty() {
            self.say(format!("accepted without effect: {}", names.join(", ")));
        }
    }

    fn taken_for(&mut self, jobs: &[Job]) {
        for job in jobs {
            if let Distribution::Pareto(power) = job.distribution {
                let (hot, access) = (power * 100.0, (1.0 - power) * 100.0);
                self.say(format!(
                    "random_distribution=pareto:{power} is taken for {access} % of the accesses \
                     to {hot} % of the blocks"
                ));
            }
            if job.ramp_s > 0.0 {
                self.say(format!(
                    "ramp_time={}s is added to the time; what of it is a warm-up is found and cut",
                    job.ramp_s
                ));
            }
            if job.steady.is_some() {
                self.say("ss: the grade's own rule says when a rate is steady".to_owned());
            }
            if job.engine_name == "null" {
                self.say(
                    "ioengine=null: operations are carried out on the target; `null:` is a target \
                     that does nothing"
                        .to_owned(),
                );
            }
            if job.files > 1 {
                self.say(format!(
                    "nrfiles={}: the files lie side by side, and a job goes through all of them",
                    job.files
                ));
            }
            if job.contents.as_deref() == Some("zeros") {
                self.say("buffers of one pattern are taken for zeroes".to_owned());
            }
            if job.rate.iter().chain(&job.rate_iops).any(Option::is_some) {
                self.say(
                    "a rate is a schedule that is kept whatever the target does; latency counts \
                     from it"
                        .to_owned(),
                );
            }
        }
        if jobs.iter().any(|job| job.verify) {
            self.say(
                "verify: every eight bytes that are written follow from their place; what is read \
                 is compared, and a difference is an error of its cell"
                    .to_owned(),
            );
        }
        if jobs.iter().any(|job| job.is_aligned_otherwise) {
            self.say(
                "blockalign: operations lie on multiples of the smallest block size".to_owned(),
            );
        }
        if jobs.iter().any(|job| job.has_map && (job.is_part_random() || !job.mix.is_empty())) {
            self.say(
                "with percentage_random or several block sizes, blocks are drawn without a map of \
                 those used"
                    .to_owned(),
            );
        }
        if jobs.iter().any(|job| job.engine == Engine::Asynchronous && !job.direct) {
            self.say(
                "libaio without direct=1 waits for each operation in fio; here as many as \
                 iodepth says are in flight"
                    .to_owned(),
            );
        }
    }

    /// Jobs of a group that end at different times.
    pub fn unlike_times(&mut self, jobs: &[Job]) {
        let first = jobs[0].runtime_s;
        if jobs.iter().any(|job| job.runtime_s != first) {
            let names: Vec<String> = distinct(jobs.iter().map(|job| job.name.clone()));
            let names = listed(&names);
            self.say(format!("{names} run together until the first of them would end"));
        }
    }

    /// Jobs of a group that end after different numbers of operations.
    pub fn unlike_ends(&mut self, jobs: &[Job]) {
        let names = listed(&distinct(jobs.iter().map(|job| job.name.clone())));
        self.say(format!(
            "{names}: how many operations end a job depends on the target or on the job; all run \
             together until their rates are known"
        ));
    }
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names.filter(|name| !name.is_empty()) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

fn listed(names: &[String]) -> String {
    match names.len() {
        0..=NAMED => names.join(", "),
        more => format!("{} and {} more", names[..NAMED].join(", "), more - NAMED),
    }
}
