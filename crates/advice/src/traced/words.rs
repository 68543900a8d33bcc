//! What was taken of a trace and what was not, in sentences.

use super::{Fit, Traced, lengths};
use crate::steady::Order;
use block::one_or;
use lab::workload::{BlockMix, Pattern};
use report::{chart::Unit, number};
use trace::{Op, characterise::BLOCK_BYTES, page};

/// Lengths of a mix that are named.
const LENGTHS_MAX: usize = 3;

fn percent(share: f64) -> String {
    Unit::Percent.text(share * 100.0)
}

impl Traced {
    /// What `advise` took of it, where what must find room is this.
    pub fn taken(&self, room_bytes: Option<u64>) -> Vec<String> {
        let mut sentences = vec![self.whole(), format!("Taken: {}.", self.mix())];
        let share = percent(self.sequential);
        sentences.push(match self.order {
            Order::Random if self.sequential > 0.0 => format!(
                "Taken: {share} of them begin where an earlier one ended; the others lie anywhere."
            ),
            Order::Random => {
                "Taken: none begins where an earlier one ended: they lie anywhere.".to_owned()
            }
            Order::Sequential => format!(
                "Taken: {share} of them begin where an earlier one ended, so that all go in order."
            ),
        });
        if room_bytes == Some(self.room_bytes) {
            sentences.push(format!(
                "Taken: room for {}, up to the last byte that it accessed.",
                number::capacity(self.room_bytes)
            ));
        }
        if let Some(a_day) = self.written_bytes_per_day {
            let a_day = number::capacity(a_day as u64);
            sentences.push(format!("Taken: {a_day} written a day, as in its own time."));
        }
        sentences
    }

    /// What `advise` did not take of it.
    pub fn left_out(&self) -> Vec<String> {
        let mut sentences: Vec<String> = self.times().into_iter().collect();
        let seen = &self.seen;
        let touched = number::size((seen.blocks.unique * BLOCK_BYTES as f64) as u64);
        let hot = seen.blocks.hot_writes.map_or_else(String::new, |[.., twenty]| {
            format!(
                ", and the hottest 20 % of its written blocks take {} of its writes",
                percent(twenty)
            )
        });
        sentences.push(format!(
            "Not taken: which places it asks for again ({touched} are touched{hot}); here all of \
             the room is, each place as often as any, which is harder on cleaners."
        ));
        sentences.extend(self.other_operations());
        sentences.extend(self.long_transfers());
        let written = seen.of(Op::Write).bytes as f64;
        if self.written_bytes_per_day.is_none() && seen.duration_ns > 0 && written > 0.0 {
            let a_day = written / seen.seconds() * super::DAY_SECONDS;
            sentences.push(format!(
                "Not taken: its writes as those of a day, for it is shorter than one; at its rate \
                 {} would be written a day.",
                number::capacity(a_day as u64)
            ));
        }
        sentences
    }

    /// What a managed volume on one drive would do for it.
    pub fn on_drive(&self, fit: &Fit) -> Vec<String> {
        let room = number::size(self.room_bytes);
        let mut sentences = vec![self.whole()];
        if !fit.has_room() {
            sentences.push(format!(
                "Its volume of {room}, up to the last byte that it accessed, does not fit: a \
                 managed volume can fill {} of the drive at most.",
                percent(fit.fullest)
            ));
            return sentences;
        }
        let gain = fit.managed / fit.bare;
        let verdict = if gain > 1.0 { "the layer helps" } else { "the layer harms" };
        sentences.push(format!(
            "Its volume of {room} fills {} of the drive, where each write costs {}: {} operations \
             a second of its mix with the layer, {} without, {} times as many: {verdict}.",
            percent(fit.fill),
            number::significant(fit.write_amplification),
            number::iops(fit.managed),
            number::iops(fit.bare),
            number::significant(gain),
        ));
        sentences
    }

    /// What of it went into a forecast, and what did not, where `is_of_run` rates are of a run.
    pub fn in_forecast(&self, is_of_run: bool, skew: Pattern) -> Vec<String> {
        let read = percent(self.reads);
        let mut sentences = vec![match is_of_run {
            true => format!("Taken: {read} read; not its lengths: a run's rates are of 4 KiB."),
            false => format!(
                "Taken: {read} read; of its lengths the means in whole blocks, {}.",
                self.blocks().words()
            ),
        }];
        let hot = match self.skew {
            Pattern::HotCold { hot_percent, access_percent } => format!(
                "{hot_percent} % of its room takes {access_percent} % of its writes, so that the \
                 layer does better than said"
            ),
            _ => "it writes to all of its room alike".to_owned(),
        };
        sentences.push(match skew {
            skew if skew != Pattern::Random && skew == self.skew => {
                format!("Taken, where it is measured: `{skew}`, as it writes.")
            }
            _ => format!("Not taken: which blocks it writes again; {hot}."),
        });
        if self.sequential > 0.0 {
            sentences.push(format!(
                "Not taken: that {} of its transfers begin where an earlier one ended; all count \
                 as the others.",
                percent(self.sequential)
            ));
        }
        sentences.extend(self.times());
        sentences.extend(self.other_operations());
        sentences.extend(self.long_transfers());
        sentences
    }

    /// `web.csv (MSR Cambridge): 3.99M accesses in 7.00 days.`
    fn whole(&self) -> String {
        format!("{}: {}.", self.title, page::sentence(&self.seen))
    }

    /// `64.5 % read; reads are of 8 KiB 60 %, 4 KiB 40 %; writes of 4 KiB`
    fn mix(&self) -> String {
        let read = percent(self.reads);
        let Some(lengths) = &self.lengths else {
            return format!("{read} read; all are of {}", number::size(self.block_bytes.into()));
        };
        let mut text = format!("{read} read");
        for (name, op, mix) in
            [("reads", Op::Read, &lengths.reads), ("writes", Op::Write, &lengths.writes)]
        {
            if self.seen.of(op).operations > 0 {
                text += &format!("; {name} are of {}", named(mix));
            }
        }
        let between = self.lengths_between();
        if between { text + " (lengths between as shares of both, with their mean)" } else { text }
    }

    /// Whether a length is none that a mix has.
    fn lengths_between(&self) -> bool {
        let smallest = lengths::smallest_bytes(&self.seen);
        let is_between =
            |bytes: u64| !(bytes.is_multiple_of(smallest) && (bytes / smallest).is_power_of_two());
        self.seen.sizes.iter().flat_map(|sizes| &sizes.counts).any(|size| is_between(size.bytes))
    }

    fn times(&self) -> Option<String> {
        let mean = self.seen.per_second(self.seen.operations())?;
        let [.., second] = &self.seen.bursts;
        let rates = match self.seen.seconds() >= 1.0 {
            true => format!(
                " ({} a second in the mean, {} in its busiest second)",
                number::iops(mean),
                number::iops(second.peak as f64)
            ),
            false => String::new(),
        };
        Some(format!("Not taken: when it asks{rates}; rates are the most that a drive does."))
    }

    fn other_operations(&self) -> Option<String> {
        let all = [(Op::Flush, "flush", "flushes"), (Op::Trim, "trim", "trims")];
        let some = all.into_iter().filter_map(|(op, one, more)| {
            let count = self.seen.of(op).operations;
            (count > 0).then(|| format!("{count} {}", one_or(&count, one, more)))
        });
        let some: Vec<String> = some.collect();
        (!some.is_empty()).then(|| format!("Not taken: {}.", some.join(" and ")))
    }

    fn long_transfers(&self) -> Option<String> {
        let largest = lengths::LARGEST_BYTES;
        let lengths = self.seen.sizes.iter().flat_map(|sizes| &sizes.counts);
        let long: u64 = lengths.filter(|at| at.bytes > largest).map(|at| at.count).sum();
        (long > 0).then(|| {
            let share = percent(long as f64 / self.seen.transfers() as f64);
            format!("Transfers of more than 1 MiB ({share}) count as of 1 MiB.")
        })
    }
}

/// `4 KiB 60 %, 64 KiB 30 %, 8 KiB 5 % and 3 more`, the most frequent first.
fn named(mix: &BlockMix) -> String {
    let mut sizes = mix.sizes().to_vec();
    sizes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let shown = sizes.iter().take(LENGTHS_MAX);
    let shown: Vec<String> = shown
        .map(|(bytes, of)| format!("{} {}", number::size(u64::from(*bytes)), percent(of / 100.0)))
        .collect();
    match sizes.len().saturating_sub(LENGTHS_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
