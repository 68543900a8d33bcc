//! What a stack's drives keep in memory: more than the machine has is refused in a sentence, not
//! found out by a kernel that kills.

use super::{resolve::resolve, text::BadStack, text::Stack};
use crate::catalog::{Catalog, DriveKind};
use block::display_bytes;
use model::flash::page_mapped::State;

/// Memory for a GiB of flash that was written at random: 4 bytes a page of 4 KiB from the address
/// to the page and 4 back, and what its blocks count, with some room. `cargo xtask bench` measures
/// 2.1 to 2.3 MiB. What was written in order, or planted, takes next to none.
const BYTES_PER_GIB: u128 = 5 << 19;

/// What the page-mapped drives of a stack hold; other kinds need next to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flash {
    /// Capacity of all of them, bytes.
    pub capacity_bytes: u64,
    /// Capacity of those that are full from the beginning, bytes.
    pub planted_bytes: u64,
}

impl Flash {
    /// Of the drives of `stack`.
    ///
    /// # Errors
    /// One sentence, when the stack cannot be built.
    pub fn of(stack: &Stack, catalog: &Catalog) -> Result<Self, BadStack> {
        let mut flash = Self { capacity_bytes: 0, planted_bytes: 0 };
        for drive in resolve(stack, catalog, 0)?.all_drives() {
            if drive.entry.kind != DriveKind::PageMapped {
                continue;
            }
            let params = drive.entry.page_mapped(&drive.settings);
            let params = params?;
            flash.capacity_bytes = flash.capacity_bytes.saturating_add(params.capacity_bytes);
            if params.state != State::Fresh {
                flash.planted_bytes = flash.planted_bytes.saturating_add(params.capacity_bytes);
            }
        }
        Ok(flash)
    }

    /// The memory that they take when `span_bytes` of the volume's `volume_bytes` are written at
    /// random: of a drive that is full from the beginning all is moved, sooner or later.
    ///
    /// # Errors
    /// One sentence, when it is more than three quarters of `memory_bytes`: the rest of the machine
    /// wants to live.
    pub fn check_written(
        &self,
        stack: &Stack,
        (span_bytes, volume_bytes): (u64, u64),
        memory_bytes: u64,
    ) -> Result<(), BadStack> {
        let empty_bytes = self.capacity_bytes - self.planted_bytes;
        let share = u128::from(empty_bytes) * u128::from(span_bytes);
        let bytes = (share / u128::from(volume_bytes.max(1))) as u64;
        let cure = match self.planted_bytes {
            0 => "lower --size",
            _ => "take fewer or smaller drives, or leave `state=steady` out",
        };
        check(stack, bytes.saturating_add(self.planted_bytes), memory_bytes, cure)
    }
}

fn check(stack: &Stack, flash_bytes: u64, memory_bytes: u64, cure: &str) -> Result<(), BadStack> {
    let needed = (u128::from(flash_bytes) * BYTES_PER_GIB) >> 30;
    if needed <= u128::from(memory_bytes / 4 * 3) {
        return Ok(());
    }
    Err(BadStack::Text(format!(
        "`model:{stack}`: {} of flash take {} of memory once they are written at random, and this \
         machine has {}: {cure}",
        display_bytes(flash_bytes),
        display_bytes(needed as u64),
        display_bytes(memory_bytes)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flash(text: &str) -> (Stack, Flash) {
        let stack: Stack = text.parse().expect("a stack");
        let flash = Flash::of(&stack, &Catalog::built_in().expect("a catalog")).expect("drives");
        (stack, flash)
    }

    #[test]
    fn only_full_page_mapped_drives_are_counted_from_the_beginning() {
        let (_, fresh) = flash("2xsata-tlc+hdd-7200-cmr/raid5");
        assert_eq!(fresh.planted_bytes, 0);
        assert!((1_000_000_000_000..1_100_000_000_000).contains(&fresh.capacity_bytes));
        let (_, steady) = flash("2xsata-tlc:state=steady+sata-tlc/raid5");
        assert_eq!(steady.planted_bytes * 3, steady.capacity_bytes * 2);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_what_fits_is_not() {
        let (stack, steady) = flash("8xsata-tlc:state=steady/raid0");
        // 8 x 477 GiB x 2.5 MiB = 9.3 GiB.
        let span = (1 << 30, steady.capacity_bytes);
        steady.check_written(&stack, span, 16 << 30).expect("12 GiB are enough");
        let refused = steady.check_written(&stack, span, 8 << 30).expect_err("6 GiB are not");
        let refused = refused.to_string();
        assert!(refused.contains("3.73 TiB") && refused.contains("8 GiB"), "{refused}");
    }

    #[test]
    fn a_span_takes_its_share_of_every_member() {
        let (stack, fresh) = flash("8xsata-tlc/raid0");
        let volume = fresh.capacity_bytes;
        fresh.check_written(&stack, (1 << 30, volume), 1 << 30).expect("a GiB is little");
        let all = fresh.check_written(&stack, (volume, volume), 8 << 30).expect_err("all is much");
        assert!(all.to_string().ends_with("lower --size"), "{all}");
    }
}
