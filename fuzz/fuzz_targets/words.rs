//! What users type: sizes, targets, patterns, operations, axes.
#![no_main]

use lab::{
    method::Axis,
    workload::{Contents, EngineChoice, Io, Op, Pattern},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(bytes) = block::parse_bytes(text) {
        let _ = block::display_bytes(bytes);
    }
    let _ = text.parse::<target::TargetText>();
    let _ = Axis::parse(text);
    // What is understood is written back in the same words.
    if let Some(pattern) = Pattern::parse(text) {
        assert_eq!(Pattern::parse(&pattern.to_string()), Some(pattern));
    }
    if let Some(op) = Op::parse(text) {
        assert_eq!(Op::parse(&op.to_string()), Some(op));
    }
    if let Some(contents) = Contents::parse(text) {
        assert_eq!(Contents::parse(&contents.to_string()), Some(contents));
    }
    if let Some(io) = Io::parse(text) {
        assert_eq!(Io::parse(&io.to_string()), Some(io));
    }
    let _ = EngineChoice::parse(text);
});
