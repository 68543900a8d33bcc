//! What was asked for on the command line, and work shared between threads.

use anyhow::{Context, Result, bail};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    sync::mpsc::channel,
    thread,
};
use study::Group;

/// What was asked for.
pub struct Options {
    /// Print every cell.
    pub cells: bool,
    /// Leave the fits out that leave a block size out.
    pub quick: bool,
    /// Threads that share the trials.
    pub threads: usize,
    /// These groups only; all when empty.
    pub groups: Vec<Group>,
}

impl Options {
    /// Reads the words after `accuracy`.
    pub fn parse(arguments: &[String]) -> Result<Self> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let mut options = Self { cells: false, quick: false, threads, groups: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--cells" => options.cells = true,
                "--quick" => options.quick = true,
                "--threads" => {
                    let text = arguments.next().map_or("", String::as_str);
                    let threads = text.parse().ok().filter(|threads| (1..=64).contains(threads));
                    options.threads =
                        threads.with_context(|| format!("--threads `{text}`: 1 to 64"))?;
                }
                word => {
                    let Some(group) = Group::ALL.into_iter().find(|group| group.name() == word)
                    else {
                        let names = Group::ALL.map(Group::name).join(", ");
                        bail!("`{word}`: --cells, --quick, --threads N, or a group: {names}");
                    };
                    options.groups.push(group);
                }
            }
        }
        Ok(options)
    }
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

    #[test]
    fn results_come_in_the_order_of_the_items_on_any_number_of_threads() {
        let items: Vec<u64> = (0..100).collect();
        for threads in [1, 2, 5] {
            let squares = in_parallel(&items, threads, |&item| Ok(item * item)).expect("squares");
            assert!(squares.iter().zip(&items).all(|(square, item)| *square == item * item));
        }
        let failed =
            in_parallel(&items, 2, |&item| if item == 7 { bail!("seven") } else { Ok(()) });
        assert!(failed.is_err());
    }
}
