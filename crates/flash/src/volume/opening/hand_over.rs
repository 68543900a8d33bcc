//! The last step: what was found becomes the open volume, its segments as root and chunks say.

use super::{Located, Opening, Purpose, Start, Step};
use crate::{
    layout::Layout,
    map::{LOST, Map},
    segments::{Segment, Segments, State},
    shape::STREAMS,
    volume::{blocks::Opened, log::Places, mode, stream::Stream},
};

impl Opening {
    /// Everything is known: the open volume takes over.
    pub(super) fn hand_over(&mut self) {
        let created = self.step == Step::CreateSuperblocks;
        let volume = self.volume.take().expect("the superblock is known");
        let Located { mut superblock, layout } = volume;
        if created {
            superblock.generation += 1;
            self.report.first_seq = 1;
            self.map = Some(Map::new(&layout));
        }
        let map = self.map.take().expect("the pages were read");
        let unclean = !created && !self.report.clean;
        let older_root = self.report.root_damaged.is_some();
        self.root.lifetime.unclean_openings += u64::from(unclean);
        let (segments, places, opened) = self.segments(&layout, &map);
        let reads = self.purpose == Purpose::Read || self.damaged();
        self.start = Some(Start {
            layout,
            superblock,
            map,
            segments,
            last_seq: self.report.first_seq - 1,
            places,
            state: if reads { mode::State::ReadOnly } else { mode::State::Open },
            report: self.report,
            opened,
            lifetime: self.root.lifetime,
            needs_checkpoint: unclean || older_root,
            // Never over the root in use, nor under the number of a damaged one, of which blocks
            // may be left.
            next_root: superblock.root_generation + if older_root { 2 } else { 1 },
            before: self.before,
            replays: std::mem::take(&mut self.replays),
        });
    }

    /// The segments as root and chunks say, live blocks counted, and where each stream goes on.
    pub(super) fn segments(&mut self, layout: &Layout, map: &Map) -> (Segments, Places, Opened) {
        let records = self.root.segments.iter().map(Segment::from_record);
        let mut table: Vec<Segment> = records.map(Option::unwrap_or_default).collect();
        // The table is younger than C: a chunk that it speaks of may not have arrived, and what
        // waits for a checkpoint behind that one would wait in vain.
        let last_seq = self.report.first_seq - 1;
        table.iter_mut().for_each(|entry| entry.last_seq = entry.last_seq.min(last_seq));
        table.resize(layout.segments as usize, Segment::default());
        for &segment in &self.root.free {
            let entry = &mut table[segment as usize];
            if entry.state != State::Retired {
                entry.state = State::Free;
            }
        }
        let mut places: Places = [None; STREAMS];
        for (&(segment, at), place) in self.root.open.iter().zip(&mut places) {
            if segment != u32::MAX && table[segment as usize].state != State::Retired {
                // Neither may have what it counts beyond.
                let entry = &mut table[segment as usize];
                (entry.state, entry.blocks) = (State::Open, at);
                *place = Some((segment, at));
            }
        }
        let mut opened = self.take_chunks(&mut table, &mut places);
        let mut taken = Vec::new();
        for place in &mut places {
            // A chunk that names another stream than its segment's leaves two of them there. One
            // goes on, behind all that is in the segment.
            *place = place.filter(|&(segment, at)| {
                at == table[segment as usize].blocks && !taken.contains(&segment)
            });
            taken.extend(place.map(|(segment, _)| segment));
            *place = place.filter(|(_, at)| layout.segment_blocks - at >= layout.least_blocks());
        }
        let mapped = map.iter().map(|(_, location)| location);
        let pages = map.directory().iter().map(|page| page.0);
        for location in mapped.chain(pages).filter(|&location| location > LOST) {
            table[layout.segment_of(location) as usize].live += 1;
        }
        if self.report.root_damaged.is_some() {
            // The bound is that of recovery from the newest root.
            opened = Opened::default();
        }
        self.close_segments(&mut table, &places);
        (Segments::restore(layout, table, &self.root.free), places, opened)
    }

    /// What the chunks behind C say of their segments. Says how many of these were opened.
    fn take_chunks(&self, table: &mut [Segment], places: &mut Places) -> Opened {
        let mut opened = Opened::default();
        for (&seq, chunk) in &self.candidates {
            let entry = &mut table[chunk.segment as usize];
            // Behind an older root it may be full by the table, and have been freed and taken
            // since.
            let again =
                self.report.root_damaged.is_some() && entry.state == State::Closed && chunk.at == 0;
            if entry.state == State::Free || again {
                (entry.state, entry.stream, entry.blocks) = (State::Open, chunk.header.stream, 0);
                opened.all += 1;
                opened.window += u32::from(chunk.header.stream != Stream::Meta.number());
            }
            entry.blocks = entry.blocks.max(chunk.at + chunk.header.blocks);
            entry.last_seq = seq;
            if entry.state != State::Retired {
                places[usize::from(chunk.header.stream)] = Some((chunk.segment, entry.blocks));
            }
        }
        opened
    }

    /// Closes those where no stream goes on, and those that should be free and are not.
    fn close_segments(&mut self, table: &mut [Segment], places: &Places) {
        let going_on: Vec<u32> = places.iter().flatten().map(|(segment, _)| *segment).collect();
        for (segment, entry) in (0..).zip(table) {
            if entry.state == State::Free && entry.live > 0 {
                // Root and map cannot both be right: nobody writes there.
                self.report.segments_contradictory += 1;
                self.contradictory.push(segment);
                entry.state = State::Closed;
            } else if entry.state == State::Open && !going_on.contains(&segment)
                || entry.state == State::Closed
            {
                entry.state = if entry.live == 0 { State::Prefree } else { State::Closed };
            }
        }
    }
}
