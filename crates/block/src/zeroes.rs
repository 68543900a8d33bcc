//! Bytes that are all zero.

static ZEROES: [u8; 4096] = [0; 4096];

/// Whether all of `bytes` are zero. Compared as memory is: many times faster than byte by byte.
pub fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(ZEROES.len()).all(|piece| piece == &ZEROES[..piece.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_anywhere_is_seen() {
        for length in [0, 1, 7, 4095, 4096, 4097, 10_000] {
            let mut bytes = vec![0u8; length];
            assert!(is_zero(&bytes), "{length}");
            for at in [0, length / 2, length.saturating_sub(1)] {
                let Some(byte) = bytes.get_mut(at) else { continue };
                *byte = 1;
                assert!(!is_zero(&bytes), "{at} of {length}");
                bytes[at] = 0;
            }
        }
    }
}
