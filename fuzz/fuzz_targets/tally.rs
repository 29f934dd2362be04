//! Any body of an encoded tally under a right checksum: it is refused, or it is a tally whose bytes are read back as
//! themselves and that can be merged. (With the checksum in the input, no mutation would pass it.)

#![no_main]

use kofn_core::tally::Tally;
use libfuzzer_sys::fuzz_target;
use xxhash_rust::xxh3::xxh3_128;

const MAGIC: &[u8] = b"kofn.tally/2\n";

fuzz_target!(|body: &[u8]| {
    let _ = Tally::decode(body);
    let bytes = [MAGIC, body, &xxh3_128(body).to_le_bytes()].concat();
    let Ok(mut tally) = Tally::decode(&bytes) else { return };
    let encoded = tally.encode();
    let mut again = Tally::decode(&encoded).expect("its own bytes");
    assert_eq!(again.encode(), encoded, "bytes are canonical");
    // Refused or not, merging is no panic: the same tally twice is a copy, or has the same keys twice.
    let _ = tally.merge(&again);
});
