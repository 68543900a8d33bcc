//! On a disk, where order is time.

use super::rig::{policies, read};
use crate::disk::rig::sata_7200;
use block::{Actor, Command, Drive, Engine, Instant, Request, Rng, Stack, Tag};
use model::{Disk, Elevator, ElevatorParams, Sim, elevator::Policy};

fn stack(policy: Policy) -> Stack<Elevator, Sim<Disk>> {
    let sim = Sim::new(Disk::new(sata_7200(), 64));
    let below = sim.geometry(Drive(0));
    Stack::new(Elevator::new(ElevatorParams::of(policy, 1), below, 64), sim)
}

/// Seconds that `count` reads take, `depth` at a time, each by its place in the queue as actor.
fn seconds(policy: Policy, depth: u16, count: u64, mut next: impl FnMut(u16) -> Command) -> f64 {
    let mut stack = stack(policy);
    let mut ask = |stack: &mut Stack<Elevator, Sim<Disk>>, actor: u16| {
        let (tag, command) = (Tag(actor.into()), next(actor));
        stack.submit(Request { tag, actor: Actor(actor), drive: Drive(0), command });
    };
    (0..depth).for_each(|actor| ask(&mut stack, actor));
    let (mut done, mut completed) = (Vec::new(), 0);
    while completed < count {
        stack.wait(Instant::NEVER, &mut done);
        for completion in done.drain(..) {
            completed += 1;
            ask(&mut stack, completion.tag.0 as u16);
        }
    }
    stack.now().0 as f64 / 1e9
}

#[test]
fn random_reads_in_order_gain_over_first_come_first_served() {
    let of = |policy| {
        let mut rng = Rng::new(3, 0);
        seconds(policy, 32, 2000, |_| read(rng.below(240_000_000) * 4096, 4096))
    };
    let [noop, deadline, cfq, anticipatory] = policies().map(of);
    println!(
        "2000 reads: noop {noop:.1}, deadline {deadline:.1}, cfq {cfq:.1} s, {anticipatory:.1}"
    );
    assert!(deadline < 0.8 * noop);
    // Who is known to go farther than the next request lies is not waited for.
    assert!(anticipatory < 0.8 * noop);
    // A slice belongs to one reader, and its reads are at random.
    assert!(cfq > deadline);
}

#[test]
fn streams_side_by_side_stay_streams_where_the_next_read_is_waited_for() {
    // Four readers in order, 300 GB apart, 64 KiB each: alone one has 107 MB/s.
    let of = |policy| {
        let mut next = [0, 1, 2, 3].map(|reader| reader * 240_000_000_000u64 / 4096 * 4096);
        let count = 2000;
        let seconds = seconds(policy, 4, count, |actor| {
            let offset = &mut next[usize::from(actor)];
            *offset += 65_536;
            read(*offset - 65_536, 65_536)
        });
        count as f64 * 65_536.0 / seconds / 1e6
    };
    let [noop, deadline, cfq, anticipatory] = policies().map(of);
    println!("MB/s: noop {noop:.1}, deadline {deadline:.1}, cfq {cfq:.1}, as {anticipatory:.1}");
    assert!(cfq > 3.0 * noop.max(deadline) && anticipatory > 3.0 * noop.max(deadline));
}

#[test]
fn the_same_requests_take_the_same_time_again() {
    for policy in policies() {
        let of = |policy| {
            let mut rng = Rng::new(5, 0);
            seconds(policy, 8, 300, |_| read(rng.below(1 << 20) * 65_536, 65_536))
        };
        assert_eq!(of(policy.clone()), of(policy));
    }
}
