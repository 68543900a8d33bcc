//! Where data and parity lie: arithmetic only.
//!
//! ```text
//!   RAID-5, four members, left-symmetric:      RAID-10, four members, near-2:
//!     0   1   2   P                              0   0   1   1
//!     4   5   P   3                              2   2   3   3
//!     8   P   6   7
//!     P   9  10  11
//! ```

use super::{ArrayParams, Level};

/// A set of members, one bit each.
pub(super) type Members = u64;

/// The map of one array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) level: Level,
    pub(super) members: u64,
    pub(super) chunk_bytes: u64,
    /// Whole rows on the smallest member.
    pub(super) rows: u64,
}

impl Layout {
    pub(super) fn new(params: &ArrayParams, members: u64, member_bytes: u64) -> Self {
        let chunk_bytes = u64::from(params.chunk_bytes);
        let rows = member_bytes / chunk_bytes;
        assert!(rows > 0, "members smaller than a chunk");
        Self { level: params.level, members, chunk_bytes, rows }
    }

    /// Parity chunks a row.
    pub(super) fn parities(&self) -> u64 {
        match self.level {
            Level::Raid5 => 1,
            Level::Raid6 => 2,
            Level::Raid0 | Level::Raid1 | Level::Raid10 => 0,
        }
    }

    /// Data chunks a row of a parity level, and of RAID-0.
    pub(super) fn data(&self) -> u64 {
        self.members - self.parities()
    }

    /// What the array offers, bytes.
    pub(super) fn capacity_bytes(&self) -> u64 {
        let chunks = match self.level {
            Level::Raid0 | Level::Raid5 | Level::Raid6 => self.rows * self.data(),
            Level::Raid1 => self.rows,
            Level::Raid10 => self.rows * self.members / 2,
        };
        chunks * self.chunk_bytes
    }

    /// How many members may be lost, whichever they are.
    pub(super) fn losses(&self) -> u64 {
        match self.level {
            Level::Raid0 => 0,
            Level::Raid1 => self.members - 1,
            Level::Raid5 | Level::Raid10 => 1,
            Level::Raid6 => 2,
        }
    }

    /// Which member holds the `index`th data chunk of `row`.
    ///
    /// Left-symmetric as in Linux md, `raid5_compute_sector` with `ALGORITHM_LEFT_SYMMETRIC`: the
    /// parity moves one member to the left a row, and data begins on the member after the last
    /// parity, so that consecutive chunks visit all members in turn.
    pub(super) fn data_member(&self, row: u64, index: u64) -> u64 {
        match self.level {
            Level::Raid5 | Level::Raid6 => {
                (self.parity_member(row, 0) + self.parities() + index) % self.members
            }
            Level::Raid0 | Level::Raid1 | Level::Raid10 => index,
        }
    }

    /// Which member holds parity P (0) or Q (1) of `row`.
    pub(super) fn parity_member(&self, row: u64, number: u64) -> u64 {
        (self.members - 1 - row % self.members + number) % self.members
    }

    /// Row and member of copy 0 or 1 of a RAID-10 chunk (md's near layout: the copies of a chunk
    /// are neighbours in reading order).
    pub(super) fn near_copy(&self, chunk: u64, copy: u64) -> (u64, u64) {
        let position = chunk * 2 + copy;
        (position / self.members, position % self.members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(level: Level, members: u64) -> Layout {
        Layout { level, members, chunk_bytes: 65_536, rows: 1000 }
    }

    /// The rows of a table: data chunk numbers, `P` and `Q`.
    fn drawn(map: Layout, rows: u64) -> Vec<String> {
        let row = |row: u64| {
            let mut cells = vec![String::new(); map.members as usize];
            for index in 0..map.data() {
                let chunk = row * map.data() + index;
                cells[map.data_member(row, index) as usize] = chunk.to_string();
            }
            for (number, name) in (0..map.parities()).zip(["P", "Q"]) {
                cells[map.parity_member(row, number) as usize] = name.to_owned();
            }
            cells.join(" ")
        };
        (0..rows).map(row).collect()
    }

    /// The tables are md's default layout as its documentation draws it (md(4), "left-symmetric";
    /// Linux drivers/md/raid5.c, `raid5_compute_sector`, case `ALGORITHM_LEFT_SYMMETRIC`: parity on
    /// disk `raid_disks - 1 - stripe % raid_disks`, data from the next disk on, wrapping), written
    /// out.
    #[test]
    fn raid_5_lies_as_md_lays_it() {
        let three = ["0 1 P", "3 P 2", "P 4 5", "6 7 P", "9 P 8", "P 10 11"];
        assert_eq!(drawn(layout(Level::Raid5, 3), 6), three);
        let four = [
            "0 1 2 P",
            "4 5 P 3",
            "8 P 6 7",
            "P 9 10 11",
            "12 13 14 P",
            "16 17 P 15",
            "20 P 18 19",
        ];
        assert_eq!(drawn(layout(Level::Raid5, 4), 7), four);
        let eight = [
            "0 1 2 3 4 5 6 P",
            "8 9 10 11 12 13 P 7",
            "16 17 18 19 20 P 14 15",
            "24 25 26 27 P 21 22 23",
            "32 33 34 P 28 29 30 31",
            "40 41 P 35 36 37 38 39",
            "48 P 42 43 44 45 46 47",
            "P 49 50 51 52 53 54 55",
            "56 57 58 59 60 61 62 P",
        ];
        assert_eq!(drawn(layout(Level::Raid5, 8), 9), eight);
    }

    /// Linux drivers/md/raid5.c, level 6, `ALGORITHM_LEFT_SYMMETRIC`: Q on the disk after P, data
    /// after Q.
    #[test]
    fn raid_6_lies_as_md_lays_it() {
        let five = ["Q 0 1 2 P", "3 4 5 P Q", "7 8 P Q 6", "11 P Q 9 10", "P Q 12 13 14"];
        assert_eq!(drawn(layout(Level::Raid6, 5), 5), five);
    }

    /// md(4), RAID10, near layout with two copies: on an odd number of members a chunk's copies may
    /// lie in two rows.
    #[test]
    fn raid_10_keeps_its_copies_side_by_side() {
        let map = layout(Level::Raid10, 4);
        assert_eq!((map.near_copy(3, 0), map.near_copy(3, 1)), ((1, 2), (1, 3)));
        let odd = layout(Level::Raid10, 3);
        assert_eq!((odd.near_copy(1, 0), odd.near_copy(1, 1)), ((0, 2), (1, 0)));
        assert_eq!(odd.capacity_bytes(), 1500 * 65_536);
    }
}
