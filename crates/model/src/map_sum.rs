//! The sum of a page of a layer's map on flash.

/// Multiply and fold over all words but the one at byte `sum_at`, which holds the sum: a torn or
/// foreign page is told apart; no one forges it.
pub(crate) fn sum(bytes: &[u8], sum_at: usize) -> u64 {
    let words = bytes.chunks_exact(8).enumerate().filter(|(number, _)| *number != sum_at / 8);
    words.fold(0x6472_6976_656c_6162, |hash, (_, word)| {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
        (product as u64 ^ (product >> 64) as u64).wrapping_add(word)
    })
}
