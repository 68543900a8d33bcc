//! One thing that serves one job at a time, as two dates: a plane, a channel.

/// Work that was taken in and is not done. Reads go first, as in every controller whose users
/// measure latency: a read waits for the job that runs and for reads before it, never for the queue
/// of programs.
#[derive(Clone, Copy, Default, Debug)]
pub struct Lane {
    /// When the queued jobs will all be done.
    queue_ends: u64,
    /// When the last read will be done.
    reads_end: u64,
}

impl Lane {
    /// A read that arrives at `at` and takes `ns`; when it is done. Queued jobs take about `job_ns`
    /// each: what is left of the one that runs is the queue's rest modulo that.
    #[inline]
    pub fn read(&mut self, at: u64, ns: u64, job_ns: u64) -> u64 {
        let queued = self.queue_ends.saturating_sub(at);
        let mut start = at + queued;
        if queued > job_ns {
            start = at + queued % job_ns;
            self.queue_ends += ns;
        }
        self.reads_end = start.max(self.reads_end) + ns;
        self.reads_end
    }

    /// The same where a job that runs is set aside for the read, which takes `suspend_ns`, and goes
    /// on after it.
    #[inline]
    pub fn read_suspending(&mut self, at: u64, ns: u64, job_ns: u64, suspend_ns: u64) -> u64 {
        let queued = self.queue_ends.saturating_sub(at);
        let left = if queued > job_ns { queued % job_ns } else { queued };
        if left <= suspend_ns {
            return self.read(at, ns, job_ns);
        }
        // Reads that come while others are served find the job set aside already.
        let start = if self.reads_end > at { self.reads_end } else { at + suspend_ns };
        self.queue_ends += start.saturating_sub(self.reads_end.max(at)) + ns;
        self.reads_end = start + ns;
        self.reads_end
    }

    /// The same while no job runs, whatever is queued for later.
    #[inline]
    pub fn read_in_pause(&mut self, at: u64, ns: u64) -> u64 {
        self.reads_end = self.reads_end.max(at) + ns;
        self.reads_end
    }

    /// When a job that comes at `at` would begin.
    #[inline]
    pub fn next(&self, at: u64) -> u64 {
        self.queue_ends.max(self.reads_end).max(at)
    }

    /// A job for the queue that could start at `at` and takes `ns`; when it is done.
    #[inline]
    pub fn queue(&mut self, at: u64, ns: u64) -> u64 {
        self.queue_ends = self.next(at) + ns;
        self.queue_ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_waits_for_the_job_that_runs_and_the_rest_of_the_queue_for_the_read() {
        let mut lane = Lane::default();
        assert_eq!([1, 2, 3].map(|_| lane.queue(0, 200)), [200, 400, 600]);
        assert_eq!(lane.read(150, 50, 200), 250);
        assert_eq!(lane.queue(150, 200), 850);
    }

    #[test]
    fn a_read_sets_the_job_aside_that_runs_and_those_with_it_do_not_again() {
        let mut lane = Lane::default();
        lane.queue(0, 200);
        assert_eq!(lane.read_suspending(50, 40, 200, 10), 100);
        assert_eq!(lane.read_suspending(60, 40, 200, 10), 140);
        assert_eq!(lane.queue(60, 200), 490);
        // What is all but done is waited for.
        assert_eq!(lane.read_suspending(485, 40, 200, 10), 530);
    }

    #[test]
    fn nothing_overtakes_on_an_idle_lane() {
        let mut lane = Lane::default();
        assert_eq!([lane.read(10, 50, 200), lane.read(10, 50, 200)], [60, 110]);
        assert_eq!(lane.queue(20, 200), 310);
        assert_eq!(lane.read(320, 50, 200), 370);
    }
}
