//! Kernels that a killed server may stop.

/// Whether a kernel of this release has CVE-2025-37906: Linux 6.7 to 6.14.5
/// (docs/reference/ublk.md). Distributions may have mended theirs under an older number; that of
/// Debian 13 is not.
#[must_use]
pub fn may_stop_when_killed(release: &str) -> bool {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let mut numbers = release.split('.').map(|part| digits(part).parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    let version = (next(), next(), next());
    ((6, 7, 0)..(6, 14, 6)).contains(&version)
}

#[cfg(test)]
mod tests {
    use super::*;

    // A guest of Debian 13 stopped when its ublk server was killed, and nothing had said before
    // that this kernel may.
    #[test]
    fn kernels_with_the_defect_are_told_by_their_numbers() {
        for release in
            ["6.7.0", "6.12.107+deb13-amd64", "6.14.5-arch1-1", "6.14", "6.8.0-45-generic"]
        {
            assert!(may_stop_when_killed(release), "{release}");
        }
        for release in
            ["6.1.0-44-amd64", "6.6.99", "6.14.6", "6.15.0-rc1", "6.18.4", "7.0", "x", ""]
        {
            assert!(!may_stop_when_killed(release), "{release}");
        }
    }
}
