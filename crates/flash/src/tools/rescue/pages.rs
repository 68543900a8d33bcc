//! What the map's own pages still tell: those that the newest root means, or the newest that lie
//! about.
//!
//! A page in a chunk of number s was copied after the meta stream's chunk before it was closed,
//! with number m. So it knows everything up to m, nothing that came after s, and of what lies
//! between it may know a part.

use super::{
    count::{Counted, headers},
    survey::{ChunkAt, Debris},
};
use crate::{
    format::{Kind, Root, VolumeId, block_crc, decode_root},
    layout::Layout,
    map::{LOST, UNMAPPED},
    shape::{BLOCK_BYTES, Checksums},
    tools::{ToolError, scan::Reader},
    volume::Stream,
};
use block::IoError;
use std::{collections::BTreeMap, ops::ControlFlow};

/// Pages and blocks of each that are looked at to tell one kind of page from the other.
const SAMPLES: usize = 8;

/// What is known of a page of the map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Version {
    /// Where it is; 0: nothing in it is mapped.
    pub location: u32,
    pub crc: u32,
    /// It knows every chunk up to this one,
    pub floor: u64,
    /// and none after this one.
    pub seal: u64,
}

/// The newest whole root of a volume, with its generation.
pub(super) fn newest_root(
    reader: &mut Reader,
    debris: &Debris,
    id: VolumeId,
) -> Result<Option<Root>, ToolError> {
    let mut starts = debris.roots.clone();
    starts.sort_unstable_by_key(|&(_, generation)| std::cmp::Reverse(generation));
    for (offset, generation) in starts {
        let mut image = Vec::new();
        let mut root = None;
        // A root does not say beforehand how long it is.
        let blocks = (offset..).step_by(BLOCK_BYTES as usize);
        let ranges = blocks.map(|offset| ((), offset..offset + BLOCK_BYTES));
        let read = reader.scan(ranges.take(1 << 20), &mut |(), _, read| {
            let Ok(bytes) = read else { return ControlFlow::Break(()) };
            image.extend_from_slice(bytes);
            match decode_root(id, offset, generation, &image) {
                Ok(whole) => root = Some(whole),
                // More is wanted only where all was good so far.
                Err(place) if place == offset + image.len() as u64 => {
                    return ControlFlow::Continue(());
                }
                Err(_) => {}
            }
            ControlFlow::Break(())
        });
        match read {
            Err(ToolError::Io(IoError::Offline)) => return Err(ToolError::Io(IoError::Offline)),
            _ if root.is_some() => return Ok(root),
            _ => {}
        }
    }
    Ok(None)
}

/// The pages that a root means: they know exactly what is in front of its C.
pub(super) fn of_root(root: &Root) -> BTreeMap<u32, Version> {
    let version =
        |&(location, crc): &(u32, u32)| Version { location, crc, floor: root.seq, seal: root.seq };
    (0..).zip(root.directory.iter().map(version)).collect()
}

/// The newest page of each number that is in a chunk; where none is, what the root meant.
pub(super) fn newest(
    reader: &mut Reader,
    id: VolumeId,
    counted: &Counted,
    root: Option<&Root>,
) -> Result<BTreeMap<u32, Version>, ToolError> {
    let mut versions = root.map(of_root).unwrap_or_default();
    let meta: Vec<_> = counted
        .chunks
        .iter()
        .filter(|chunk| chunk.header.stream == Stream::Meta.number())
        .copied()
        .collect();
    let mut floor = 0;
    headers(reader, id, counted.header_blocks, &meta, &mut |chunk, entries| {
        let places = chunk.location + counted.header_blocks..;
        for (entry, location) in entries.iter().filter(|entry| entry.kind == Kind::Page).zip(places)
        {
            let (crc, seal) = (entry.crc, chunk.header.seq);
            let known = versions.get(&entry.block).map_or(0, |version| version.seal);
            if seal > known {
                versions.insert(entry.block, Version { location, crc, floor, seal });
            }
        }
        floor = chunk.header.seq;
    })?;
    Ok(versions)
}

/// Hands over the mappings of every page that is whole, and names those that are not.
pub(super) fn read(
    reader: &mut Reader,
    versions: &BTreeMap<u32, Version>,
    checksums: Checksums,
    device_blocks: u32,
    mapping: &mut dyn FnMut(u32, u32, Option<u32>),
) -> Result<Vec<u32>, ToolError> {
    let meant = versions.iter().filter(|(_, version)| version.location != 0);
    let (inside, beyond): (Vec<_>, Vec<_>) =
        meant.partition(|(_, version)| version.location < device_blocks);
    let mut damaged: Vec<u32> = beyond.into_iter().map(|(&page, _)| page).collect();
    let ranges = inside.into_iter().map(|(&page, version)| {
        let offset = Layout::offset(version.location);
        ((page, version.crc), offset..offset + BLOCK_BYTES)
    });
    reader.scan(ranges, &mut |&(page, crc), _, read| {
        match read.ok().filter(|bytes| block_crc(page, bytes) == crc) {
            None => damaged.push(page),
            Some(bytes) => mappings(page, bytes, checksums)
                .for_each(|(block, location, crc)| mapping(block, location, crc)),
        }
        ControlFlow::Continue(())
    })?;
    Ok(damaged)
}

/// Blocks, locations and checksums in a page.
pub(super) fn mappings(
    page: u32,
    bytes: &[u8],
    checksums: Checksums,
) -> impl Iterator<Item = (u32, u32, Option<u32>)> {
    let (words, entries) = match checksums {
        Checksums::OnRead => (2, 512),
        Checksums::OnCleaning => (1, 1024),
    };
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let blocks = bytes.chunks_exact(words * 4).zip(page.saturating_mul(entries)..=u32::MAX);
    blocks
        .map(move |(entry, block)| {
            let crc = (words == 2).then(|| word(&entry[4..]));
            (block, word(&entry[..4]), crc)
        })
        .filter(|&(_, location, _)| location != UNMAPPED)
        .map(|(block, location, crc)| (block, location, crc.filter(|_| location != LOST)))
}

/// Whether pages have checksums, by what makes more sense of some of them.
pub(super) fn tell_checksums(
    reader: &mut Reader,
    id: VolumeId,
    counted: &Counted,
    versions: &BTreeMap<u32, Version>,
) -> Result<Checksums, ToolError> {
    let mut by_place = counted.chunks.clone();
    by_place.sort_unstable_by_key(|chunk| chunk.location);
    let mut votes = [0u32; 2];
    let kinds = [Checksums::OnRead, Checksums::OnCleaning];
    let mut samples: Vec<(usize, u32, ChunkAt, u32)> = Vec::new();
    let ranges = versions.iter().filter(|(_, version)| version.location != 0).take(SAMPLES);
    let ranges = ranges.map(|(&page, version)| {
        let offset = Layout::offset(version.location);
        ((page, version.crc), offset..offset + BLOCK_BYTES)
    });
    reader.scan(ranges, &mut |&(page, crc), _, read| {
        let Some(bytes) = read.ok().filter(|bytes| block_crc(page, bytes) == crc) else {
            return ControlFlow::Continue(());
        };
        for (kind, &checksums) in kinds.iter().enumerate() {
            for (block, location, _) in mappings(page, bytes, checksums).take(SAMPLES) {
                let behind = by_place.partition_point(|chunk| chunk.location <= location);
                if let Some(chunk) = behind.checked_sub(1).map(|at| by_place[at])
                    && location < chunk.location + chunk.header.blocks
                {
                    samples.push((kind, block, chunk, location));
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    for (kind, block, chunk, location) in samples {
        headers(reader, id, counted.header_blocks, &[chunk], &mut |chunk, entries| {
            let data = entries.iter().filter(|entry| entry.kind.has_data());
            let mut places = data.zip(chunk.location + counted.header_blocks..);
            let says_so = places.any(|(entry, at)| at == location && entry.block == block);
            votes[kind] += u32::from(says_so);
        })?;
    }
    Ok(if votes[1] > votes[0] { Checksums::OnCleaning } else { Checksums::OnRead })
}
