//! What the system said of an operation that failed.

use block::IoError;

/// What the system said, in a few words.
pub(super) fn cause(error: IoError) -> String {
    match error {
        IoError::Medium => "the drive holds no readable data there".to_owned(),
        IoError::Altered => "what was read is not what was written there".to_owned(),
        IoError::Offline => "the drive is gone".to_owned(),
        IoError::Short => "the end of the target was reached".to_owned(),
        IoError::Os(errno) => {
            let text = std::io::Error::from_raw_os_error(errno).to_string();
            let number = format!(" (os error {errno})");
            text.strip_suffix(&number).map_or(text.clone(), str::to_owned)
        }
    }
}
