//! Places in bytes on an area that is smaller than the method's own.

use crate::method::{CellSpec, SpanRule};

/// Places that shrink stay on multiples of this.
const PLACE_GRAIN_BYTES: u64 = 4096;

/// On an area that is smaller than the method's own, places that are given in bytes shrink with it.
pub(super) fn narrow_places(cells: &mut [CellSpec], span: SpanRule, span_bytes: u64) {
    let SpanRule::Bytes(own_bytes) = span else { return };
    if span_bytes >= own_bytes {
        return;
    }
    let streams = cells.iter_mut().flat_map(|cell| &mut cell.streams);
    for stream in streams {
        let Some(place) = &mut stream.place else { continue };
        for reach in
            [&mut place.start.bytes, &mut place.length.bytes, &mut stream.offset_increment_bytes]
        {
            let part = u128::from(*reach) * u128::from(span_bytes) / u128::from(own_bytes);
            *reach = part as u64 / PLACE_GRAIN_BYTES * PLACE_GRAIN_BYTES;
        }
    }
}
