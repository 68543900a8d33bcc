//! The first steps: the newest superblock, its root, the pages of the map.

use super::{Located, OpenError, Opening, Step};
use crate::{
    broken::{Rule, broken},
    format::{Found, Superblock, decode_root},
    layout::{BLOCK_BYTES, Layout, STREAMS, copies},
    map::Map,
};
use block::IoError;

impl Opening {
    pub(super) fn ask_superblocks(&mut self) {
        let places = match self.newest() {
            None => copies(self.below.capacity_bytes, BLOCK_BYTES).to_vec(),
            Some(Superblock { shape, .. }) => {
                copies(shape.device_bytes, shape.unit_bytes()).to_vec()
            }
        };
        let whole = self.below.capacity_bytes / BLOCK_BYTES * BLOCK_BYTES;
        for offset in places {
            if offset < whole
                && !self.found.contains_key(&offset)
                && !self.read.contains_key(&offset)
            {
                self.found.insert(offset, Found::Nothing);
                self.send_read(offset, offset, BLOCK_BYTES);
            }
        }
    }

    pub(super) fn newest(&self) -> Option<Superblock> {
        let valid = self.found.values().filter_map(|found| match found {
            Found::Valid(superblock) => Some(*superblock),
            _ => None,
        });
        valid.max_by_key(|superblock| superblock.generation)
    }

    pub(super) fn take_superblocks(&mut self) -> Result<Step, OpenError> {
        let news = !self.read.is_empty();
        for (offset, read) in std::mem::take(&mut self.read) {
            let found = match read {
                Ok(buffer) => Superblock::decode(offset, buffer.bytes()),
                Err(IoError::Offline) => return Err(OpenError::Io(IoError::Offline)),
                Err(_) => Found::Nothing,
            };
            self.found.insert(offset, found);
        }
        if news && self.newest().is_some() {
            // Now that the unit is known, the other two are.
            return Ok(Step::Superblocks);
        }
        let unknown = self.found.values().find_map(|found| match found {
            Found::Unknown { version, features } => {
                Some(OpenError::Unknown { version: *version, features: *features })
            }
            _ => None,
        });
        let superblock = self.newest().ok_or(unknown.unwrap_or(OpenError::NoVolume))?;
        let (created_bytes, bytes) = (superblock.shape.device_bytes, self.below.capacity_bytes);
        if bytes < created_bytes {
            return Err(OpenError::Shrunk { created_bytes, bytes });
        }
        let transfer_bytes_max = u64::from(self.below.transfer_bytes_max);
        let layout =
            Layout::with_root_areas(superblock.shape, superblock.root_bytes, transfer_bytes_max)
                .map_err(OpenError::Shape)?;
        let whole = |(copy, offset): (u64, u64)| {
            let generation = superblock.generation - (superblock.generation + copy) % 2;
            matches!(self.found.get(&offset), Some(Found::Valid(found)) if found.generation == generation)
        };
        let copies = (0..).zip(layout.copies());
        self.report.superblocks_damaged = copies.filter(|&copy| !whole(copy)).count() as u32;
        self.report.clean = superblock.clean;
        self.durable_seq = superblock.durable_seq;
        self.volume = Some(Located { superblock, layout });
        Ok(Step::Root)
    }

    pub(super) fn ask_root(&mut self) {
        let (offset, bytes) = {
            let layout = self.layout();
            (layout.root_offset(self.superblock().root_generation), layout.root_bytes)
        };
        let part = self.layout().shape.chunk_bytes;
        for start in (0..bytes).step_by(part as usize) {
            self.send_read(start, offset + start, part.min(bytes - start));
        }
    }

    pub(super) fn take_root(&mut self) -> Result<Step, OpenError> {
        let (superblock, layout) = (*self.superblock(), *self.layout());
        let offset = layout.root_offset(superblock.root_generation);
        let mut image = vec![0; layout.root_bytes as usize];
        for (start, read) in std::mem::take(&mut self.read) {
            // What cannot be read stays zero, which is no root.
            if let Ok(buffer) = read {
                let start = start as usize;
                let length = buffer.bytes().len().min(image.len() - start);
                image[start..start + length].copy_from_slice(&buffer.bytes()[..length]);
            }
        }
        let root = decode_root(superblock.id, offset, superblock.root_generation, &image)
            .map_err(|offset| OpenError::Root { offset })?;
        let known = |&segment: &u32| segment < layout.segments;
        let sane = root.directory.len() == layout.pages as usize
            && root.segments.len() == layout.segments as usize
            && root.open.len() == STREAMS
            && root.free.iter().all(known)
            && root.open.iter().all(|(segment, _)| *segment == u32::MAX || known(segment))
            && root.directory.iter().all(|page| page.0 == 0 || layout.contains(page.0));
        if !sane {
            return Err(OpenError::Root { offset });
        }
        self.durable_seq = self.durable_seq.max(root.seq);
        self.root = root;
        Ok(Step::Pages)
    }

    pub(super) fn ask_pages(&mut self) {
        let mut map = Map::new(self.layout());
        map.directory = self.root.directory.clone();
        for (page, &(location, _)) in (0..).zip(&self.root.directory.clone()) {
            if location != 0 {
                self.send_read(page, Layout::offset(location), BLOCK_BYTES);
            }
        }
        self.map = Some(map);
    }

    pub(super) fn take_pages(&mut self) -> Result<Step, OpenError> {
        let layout = *self.layout();
        let map = self.map.as_mut().expect("the pages were asked for");
        for (page, read) in std::mem::take(&mut self.read) {
            let page = page as u32;
            self.report.pages_read += 1;
            let good = read.is_ok_and(|buffer| map.decode(&layout, page, buffer.bytes()));
            if !good {
                self.report.pages_lost += 1;
                if !broken(Rule::LostPages) {
                    map.lose(page, layout.exported_blocks);
                }
            }
        }
        Ok(Step::Walk)
    }
}
