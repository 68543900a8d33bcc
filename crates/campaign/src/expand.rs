//! A campaign's file becomes numbered tasks.
//!
//! ```text
//!   targets {words} x methods x settings x hosts = treatments;  x repetitions = tasks, in order
//! ```
//!
//! The same file gives the same tasks on any machine: numbers are what workers agree by.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::{
    CampaignError, CampaignFile,
    file::{Levels, Order, SoakFile},
    task::{Measure, Seeds, Task, Work},
};
use block::{Rng, names::did_you_mean};
use std::collections::BTreeMap;

/// Most tasks of a campaign: more is a mistyped list.
pub const TASKS_MAX: u64 = 100_000;

/// The purpose of the draw that orders all tasks; repetitions have their own number.
const ALL: u64 = u64::MAX;

impl CampaignFile {
    /// All tasks, in the order of work. `method_names` are what the methods are called in the
    /// campaign's directory, in the order of `methods`.
    ///
    /// # Errors
    /// A word of a target that does not vary, one that varies and stands in none, and too many
    /// tasks.
    pub fn expand(
        &self,
        origin: &str,
        method_names: &[String],
    ) -> Result<Vec<Task>, CampaignError> {
        let wrong = |reason: String| CampaignError::File { origin: origin.to_owned(), reason };
        if let Some(soak) = &self.soak {
            return seeds(soak).map_err(wrong);
        }
        let treatments = self.treatments(method_names).map_err(wrong)?;
        let per_repetition = treatments.len();
        let mut tasks = Vec::with_capacity(per_repetition * self.repetitions as usize);
        for repetition in 1..=self.repetitions {
            let mut block = treatments.clone();
            let seed = Rng::new(self.seed, repetition.into()).next() >> 12;
            for task in &mut block {
                task.repetition = repetition;
                if let Work::Measure(measure) = &mut task.work {
                    measure.seed = seed;
                }
            }
            if self.order == Order::Blocks {
                Rng::new(self.seed, (1 << 32) + u64::from(repetition)).shuffle(&mut block);
            }
            tasks.append(&mut block);
        }
        if self.order == Order::Random {
            Rng::new(self.seed, ALL).shuffle(&mut tasks);
        }
        tasks.iter_mut().zip(0..).for_each(|(task, number)| task.task = number);
        Ok(tasks)
    }

    /// One task of each treatment, as they are written: targets outermost.
    fn treatments(&self, method_names: &[String]) -> Result<Vec<Task>, String> {
        let (vary, set) = (self.vary(), self.set());
        self.check_words(&vary)?;
        let hosts: Vec<Option<String>> = match self.hosts.is_empty() {
            true => vec![None],
            false => self.hosts.iter().cloned().map(Some).collect(),
        };
        let mut targets = Vec::new();
        for template in &self.targets {
            let words = words(template);
            let used = vary.iter().filter(|(word, _)| words.contains(&word.as_str()));
            let used: Levels = used.map(|(word, values)| (word.clone(), values.clone())).collect();
            refuse_many(combinations_count(&used))?;
            targets.extend(combinations(&used).map(|words| (filled(template, &words), words)));
        }
        let others = [method_names.len(), hosts.len(), self.repetitions as usize];
        let others = others.iter().map(|&count| count as u64);
        let counts = others.chain([targets.len() as u64, combinations_count(&set)]);
        refuse_many(counts.fold(1, u64::saturating_mul))?;
        let mut treatments = Vec::new();
        for (target, words) in &targets {
            for method in method_names {
                for set in combinations(&set) {
                    let measure = Measure {
                        target: target.clone(),
                        method: method.clone(),
                        vary: words.clone(),
                        set,
                        seed: 0,
                    };
                    treatments.extend(hosts.iter().map(|host| Task {
                        task: 0,
                        repetition: 0,
                        host: host.clone(),
                        work: Work::Measure(measure.clone()),
                    }));
                }
            }
        }
        refuse_twice(&treatments)?;
        Ok(treatments)
    }

    fn check_words(&self, vary: &Levels) -> Result<(), String> {
        for template in &self.targets {
            if let Some(word) = words(template).into_iter().find(|word| !vary.contains_key(*word)) {
                let near = did_you_mean(word, vary.keys().map(String::as_str));
                return Err(format!(
                    "targets: {template} has {{{word}}}, and [vary] has no `{word}`.{near}"
                ));
            }
        }
        let is_used = |word: &String| {
            self.targets.iter().any(|template| words(template).contains(&word.as_str()))
        };
        match vary.keys().find(|word| !is_used(word)) {
            Some(word) => Err(format!("vary.{word}: no target has {{{word}}}: leave it out")),
            None => Ok(()),
        }
    }
}

/// The same treatment twice would count as one measured twice as often.
fn refuse_twice(treatments: &[Task]) -> Result<(), String> {
    let key = |task: &Task| (task.treatment(), task.host.clone());
    let mut keys: Vec<_> = treatments.iter().map(key).collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!(
            "`{}` stands there twice: `repetitions` says how often each is measured",
            pair[0].0
        )),
        None => Ok(()),
    }
}

fn refuse_many(count: u64) -> Result<(), String> {
    if count > TASKS_MAX {
        return Err(format!("{count} tasks, and a campaign has {TASKS_MAX} at most: split it"));
    }
    Ok(())
}

fn seeds(soak: &SoakFile) -> Result<Vec<Task>, String> {
    let count = soak.seeds.div_ceil(soak.per_task);
    refuse_many(count)?;
    let of = |number: u64| {
        let done = number * soak.per_task;
        let seeds = Seeds { first: soak.first + done, count: soak.per_task.min(soak.seeds - done) };
        Task { task: number as u32, repetition: 1, host: None, work: Work::Seeds(seeds) }
    };
    Ok((0..count).map(of).collect())
}

/// The words in braces.
fn words(template: &str) -> Vec<&str> {
    let parts = template.split('{').skip(1);
    parts.filter_map(|part| Some(part.split_once('}')?.0)).collect()
}

fn filled(template: &str, words: &BTreeMap<String, String>) -> String {
    let mut text = template.to_owned();
    for (word, value) in words {
        text = text.replace(&format!("{{{word}}}"), value);
    }
    text
}

fn combinations_count(levels: &Levels) -> u64 {
    levels.values().fold(1, |count: u64, values| count.saturating_mul(values.len() as u64))
}

/// Every choice of one value a name; the last name changes fastest.
fn combinations(levels: &Levels) -> impl Iterator<Item = BTreeMap<String, String>> {
    let levels = levels.clone();
    (0..combinations_count(&levels)).map(move |number| {
        let mut rest = number;
        let chosen = levels.iter().rev().map(|(name, values)| {
            let value = values[(rest % values.len() as u64) as usize].clone();
            rest /= values.len() as u64;
            (name.clone(), value)
        });
        chosen.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn expanded(text: &str) -> Result<Vec<Task>, String> {
        let file = CampaignFile::parse("c", text).map_err(|error| error.to_string())?;
        file.expand("c", &file.methods).map_err(|error| error.to_string())
    }

    const TEXT: &str = "targets = [\"model:{drive}/raid5:chunk={chunk}\", \"model:{drive}\"]\n\
                        methods = [\"quick\", \"oltp\"]\nrepetitions = 3\n\
                        [vary]\ndrive = [\"a\", \"b\"]\nchunk = [\"64K\", \"1M\"]\n\
                        [set]\ndepth = [1, 4]\nblock = \"4K\"\n";

    /// (2 drives x 2 chunks + 2 drives) x 2 methods x 2 depths = 24 treatments, three times.
    #[test]
    fn every_treatment_is_in_every_block_once() {
        let tasks = expanded(TEXT).expect("tasks");
        assert_eq!(tasks.len(), 72);
        for (at, block) in tasks.chunks(24).enumerate() {
            assert!(block.iter().all(|task| task.repetition as usize == at + 1));
            let treatments: BTreeSet<_> = block.iter().map(Task::treatment).collect();
            assert_eq!(treatments.len(), 24);
            assert!(treatments.contains("model:b/raid5:chunk=1M oltp block=4K depth=4"));
        }
        assert!(tasks.iter().zip(0..).all(|(task, number)| task.task == number));
        let orders: BTreeSet<Vec<String>> =
            tasks.chunks(24).map(|block| block.iter().map(Task::treatment).collect()).collect();
        assert_eq!(orders.len(), 3, "each block has an order of its own");
        assert_eq!(expanded(TEXT), Ok(tasks), "and the same one again");
    }

    #[test]
    fn a_word_that_does_not_vary_and_one_that_is_not_used_are_refused() {
        let said = expanded("targets = [\"model:{drve}\"]\n[vary]\ndrive = \"a\"").expect_err("no");
        assert!(said.contains("{drve}") && said.contains("`drive`"), "{said}");
        let said = expanded("targets = [\"null:\"]\n[vary]\nchunk = \"a\"").expect_err("no");
        assert!(said.contains("vary.chunk: no target has {chunk}"), "{said}");
        let said = expanded("targets = [\"null:\", \"null:\"]").expect_err("no");
        assert!(said.contains("twice") && said.contains("`repetitions`"), "{said}");
        let many = "targets = [\"null:\"]\nrepetitions = 4000000000\n[set]\ndepth = [1, 2]";
        assert!(expanded(many).expect_err("no").contains("8000000000 tasks"));
    }

    #[test]
    fn a_task_is_read_back_from_its_line() {
        let tasks = expanded(TEXT).expect("tasks");
        let soak = expanded("[soak]\nseeds = 10\nper_task = 4\nfirst = 5").expect("tasks");
        assert_eq!(soak[2].work, Work::Seeds(Seeds { first: 13, count: 2 }));
        for task in tasks.into_iter().chain(soak) {
            let line = serde_json::to_string(&task).expect("JSON");
            assert_eq!(serde_json::from_str::<Task>(&line).expect("a task"), task);
        }
    }

    proptest! {
        /// Whatever stands in a file, it is refused or becomes tasks; nothing panics.
        #[test]
        fn any_text_is_tasks_or_a_sentence(
            lines in prop::collection::vec(prop::sample::select(vec![
                "targets = [\"model:{a}{b}\", \"x{\", \"}{a}\"]", "targets = []", "[vary]",
                "a = [1, 2.5, true, \"{b}\"]", "b = \"{a}\"", "[set]", "[soak]", "seeds = 7",
                "per_task = 0", "per_task = 9223372036854775807", "first = -1", "[run]",
                "repetitions = 4294967295", "hosts = [\"\", \"n\"]", "order = \"random\"",
                "methods = []", "agree = true", "{", "= 1", "seed = 9223372036854775807",
            ]), 0..12),
        ) {
            if let Ok(tasks) = expanded(&lines.join("\n")) {
                prop_assert!((1..=TASKS_MAX).contains(&(tasks.len() as u64)));
            }
        }

        /// Whatever the order: the same tasks, and seeds that all treatments of a repetition share.
        #[test]
        fn an_order_loses_and_doubles_nothing(
            seed in any::<u32>(), repetitions in 1u32..6,
            order in prop::sample::select(vec!["blocks", "random", "listed"]),
        ) {
            let text = format!(
                "targets = [\"null:\", \"model:{{d}}\"]\nseed = {seed}\n\
                 repetitions = {repetitions}\n\
                 order = \"{order}\"\nhosts = [\"n1\", \"n2\"]\n[vary]\nd = [\"x\", \"y\", \"z\"]\n"
            );
            let tasks = expanded(&text).expect("tasks");
            let keys: BTreeSet<_> = tasks.iter()
                .map(|task| (task.treatment(), task.host.clone(), task.repetition)).collect();
            prop_assert_eq!((keys.len(), tasks.len()), (8 * repetitions as usize, keys.len()));
            let mut seeds = BTreeMap::new();
            for task in &tasks {
                let Work::Measure(measure) = &task.work else { unreachable!("it has targets") };
                let seed = *seeds.entry(task.repetition).or_insert(measure.seed);
                prop_assert_eq!(measure.seed, seed);
            }
        }
    }
}
