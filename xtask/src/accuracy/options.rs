//! What was asked for on the command line, and work shared between threads.

use anyhow::{Context, Result};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    sync::mpsc::channel,
    thread,
};
use study::Group;

/// What was asked for.
#[derive(clap::Args)]
pub struct Options {
    /// Prints every cell.
    #[arg(long)]
    pub cells: bool,
    /// Leaves the fits out that leave a block size out; they take minutes.
    #[arg(long)]
    pub quick: bool,
    /// Only this: fits drives of today without one depth, and asks for it; minutes each. All
    /// without a name.
    #[arg(long, value_name = "UNIT", num_args = 0.., value_delimiter = ',')]
    pub depths: Option<Vec<String>>,
    /// Only this: the generic kinds in place of the drives that they are medians of, in those
    /// drives' capacity and behind their ports; rates, mean latencies and write cliffs.
    #[arg(long, conflicts_with = "depths")]
    pub kinds: bool,
    /// With --kinds: a kind without the drive that it stands for.
    #[arg(long, requires = "kinds")]
    pub leave_one_out: bool,
    /// Threads that share the trials.
    #[arg(long, value_name = "N", default_value_t = processors(), value_parser = 1..=64)]
    threads: i64,
    /// These groups only.
    #[arg(value_name = "GROUP", value_parser = group_named)]
    pub groups: Vec<Group>,
}

impl Options {
    /// Threads that share the trials.
    pub fn threads(&self) -> usize {
        self.threads as usize
    }
}

fn processors() -> i64 {
    thread::available_parallelism().map_or(1, |count| count.get().min(64) as i64)
}

fn group_named(name: &str) -> Result<Group> {
    let group = Group::ALL.into_iter().find(|group| group.name() == name);
    group.with_context(|| format!("there are {}", Group::ALL.map(Group::name).join(", ")))
}

/// Does `work` for every item, on `threads` threads; the results in the order of the items.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let (sink, results) = channel();
    let mut found = thread::scope(|scope| {
        for _ in 0..threads {
            let (sink, next, work) = (sink.clone(), &next, &work);
            scope.spawn(move || {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(item) = items.get(number)
                {
                    if sink.send((number, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sink);
        results.iter().collect::<Vec<_>>()
    });
    found.sort_unstable_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn results_come_in_the_order_of_the_items_on_any_number_of_threads() {
        let items: Vec<u64> = (0..100).collect();
        for threads in [1, 2, 5] {
            let squares = in_parallel(&items, threads, |&item| Ok(item * item)).expect("squares");
            assert!(squares.iter().zip(&items).all(|(square, item)| *square == item * item));
        }
        let failed =
            in_parallel(&items, 2, |&item| if item == 7 { Err(anyhow!("seven")) } else { Ok(()) });
        assert!(failed.is_err());
    }
}
