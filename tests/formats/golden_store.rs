//! Stores that are kept for golden values.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use flate2::bufread::GzDecoder;

/// Unpacks one.
pub(crate) fn unpack(packed: &Path, store: &Path) {
    let mut packed = GzDecoder::new(BufReader::new(File::open(packed).unwrap()));
    io::copy(&mut packed, &mut File::create(store).unwrap()).unwrap();
}
