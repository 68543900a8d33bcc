//! The rules that decide correctness, each of which a test breaks on purpose: what nobody would
//! notice is not tested. Without the feature `broken-rules`, which only tests
//! ask for, no rule can be broken and nothing of this is left.

/// What can be broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(feature = "broken-rules"), allow(dead_code))]
pub enum Rule {
    /// Chunks begin and end at append units.
    Stripe,
    /// Copies are replayed only onto their source.
    CompareAndSet,
    /// An empty segment waits for a checkpoint.
    Prefree,
    /// What a checkpoint frees was emptied before it closed its chunks.
    FreedBeforeDrain,
    /// A checkpoint comes before more segments are opened than recovery looks at.
    Window,
    /// The data of a read are held against their checksum.
    ReadChecksum,
    /// A superblock counts where its own shape puts it, and there is but one volume.
    OwnPlaces,
    /// Creation removes what an earlier volume left.
    Wiped,
    /// An opening takes an epoch that no earlier one, cut off, has written with.
    EpochReserved,
    /// Where the newest root is damaged, the one before it is rolled forward.
    OlderRoot,
    /// And only if nothing that came after it is missing.
    OlderRootWhole,
    /// A root is not written over the one before.
    RootTurns,
    /// On doubt nothing is changed.
    ReadOnlyOnDoubt,
    /// Overwriting needs no room.
    OverwriteHasRoom,
    /// Writes under way have been promised theirs.
    Promise,
    /// The data of the tail are verified.
    TornTail,
    /// What cannot be read at the log's end is no torn tail.
    UnreadableTail,
    /// Corruption of what was flushed is not cut off.
    NoCutBelowDurable,
    /// Chunks of another epoch do not count.
    Epoch,
    /// A flush waits for the chunks.
    Flush,
    /// A chunk with FUA is durable only where all before it are.
    FuaAlone,
    /// A record's slot is used again when its chunk is durable, not before.
    Absorbed,
    /// What a chunk of the log holds is not replayed from the ring.
    ReplayAbsorbed,
    /// Records of another epoch do not count.
    RecordEpoch,
    /// A record is begun when the one before it is durable.
    RecordOrder,
    /// What is missing among the records that were flushed is said to be.
    RecordMissing,
    /// A record whose data are torn does not count.
    RecordTorn,
    /// What a record holds counts, though the other class's chunk is lost.
    RecordedSure,
    /// FUA is a flush.
    Fua,
    /// What a flush covered is soon said in a place of its own.
    Attest,
    /// Nothing is attested that no flush covered.
    AttestDurable,
    /// A failed flush ends it all.
    Latch,
    /// A failed chunk is written elsewhere.
    Elsewhere,
    /// What was lost is said to be.
    LostPages,
    /// The host leaves the reserve alone.
    Reserve,
    /// Readers pin segments.
    Pins,
    /// Chunks in memory answer reads.
    Held,
    /// What one of the host's two open chunks holds does not count without what the other lost
    /// before it.
    Sure,
    /// A block's writes and trims lie in the order in which they came, whatever their class.
    ClassOrder,
    /// Where both copies of a newer superblock may be lost, nothing is changed.
    LostGeneration,
    /// What an opening cut stays cut behind the root before it.
    CutBefore,
    /// Blocks are locked while they are merged.
    Locks,
}

/// Whether the rule is broken on purpose.
#[cfg(not(feature = "broken-rules"))]
#[inline(always)]
pub(crate) const fn broken(_: Rule) -> bool {
    false
}

#[cfg(feature = "broken-rules")]
thread_local! {
    static BROKEN: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

#[cfg(feature = "broken-rules")]
pub(crate) fn broken(rule: Rule) -> bool {
    BROKEN.get() == Some(rule)
}

/// From now on, on this thread.
#[cfg(feature = "broken-rules")]
pub fn break_rule(rule: Option<Rule>) {
    BROKEN.set(rule);
}
