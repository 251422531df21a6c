//! Decompresses a gzip body piece by piece.
//!
//! A small response can decompress to a huge one. So each output piece is limited, and the reader counts them.

use std::io::{self, Write};

use bytes::{Buf, Bytes};
use flate2::write::MultiGzDecoder;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};

/// Maximum bytes of input beyond twice the output. Data that does not compress grows by less than a percent. Tiny members
/// cost far more time than their bytes: 1 MB of empty ones took most of a second.
const MAX_OVERHEAD: usize = 64 * 1024;

/// Decompresses a body.
#[derive(Default)]
pub(in crate::http) struct Unpacking {
    /// The decoder writes at most 32 KiB at once, the size of its buffer.
    decoder: Option<MultiGzDecoder<Vec<u8>>>,
    /// Bytes of input and of output so far.
    taken: usize,
    given: usize,
}

impl Unpacking {
    /// Returns a decompressor if these headers announce gzip. Removes them, because they describe the compressed body.
    pub(in crate::http) fn of(headers: &mut HeaderMap) -> Option<Self> {
        let encoding = headers.get(CONTENT_ENCODING)?.as_bytes();
        if !encoding.eq_ignore_ascii_case(b"gzip") && !encoding.eq_ignore_ascii_case(b"x-gzip") {
            return None;
        }
        headers.remove(CONTENT_ENCODING);
        headers.remove(CONTENT_LENGTH);
        Some(Self::default())
    }

    /// Returns the next piece, and consumes its input from `packed`.
    pub(in crate::http) fn next(&mut self, packed: &mut Bytes) -> io::Result<&[u8]> {
        let decoder = self.decoder.get_or_insert_with(|| MultiGzDecoder::new(Vec::new()));
        decoder.get_mut().clear();
        let taken = decoder.write(packed)?;
        if taken == 0 && !packed.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        packed.advance(taken);
        self.taken += taken;
        self.given += decoder.get_ref().len();
        if self.taken > self.given * 2 + MAX_OVERHEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(decoder.get_ref())
    }

    /// Returns the last piece. An empty input is complete, because a response without a body may have the header too.
    pub(in crate::http) fn end(self) -> io::Result<Vec<u8>> {
        let Some(mut decoder) = self.decoder else { return Ok(Vec::new()) };
        decoder.get_mut().clear();
        decoder.finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    fn packed(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    /// Returns the output for input in pieces of this size, and the largest piece.
    fn unpacked(packed: &[u8], at_once: usize) -> io::Result<(Vec<u8>, usize)> {
        let (mut unpacking, mut whole, mut largest) = (Unpacking::default(), Vec::new(), 0);
        for chunk in packed.chunks(at_once) {
            let mut chunk = Bytes::copy_from_slice(chunk);
            while !chunk.is_empty() {
                let piece = unpacking.next(&mut chunk)?;
                largest = largest.max(piece.len());
                whole.extend_from_slice(piece);
            }
        }
        let piece = unpacking.end()?;
        largest = largest.max(piece.len());
        whole.extend(piece);
        Ok((whole, largest))
    }

    #[test]
    fn no_piece_is_large_however_it_comes() {
        let body: Vec<u8> = (0..2_000_000_u32).map(|number| (number / 5_000) as u8).collect();
        let packed = packed(&body);
        assert!(packed.len() < 50_000, "{}", packed.len());
        for at_once in [1, 7, 1_000, packed.len()] {
            let (whole, largest) = unpacked(&packed, at_once).unwrap();
            assert!(whole == body && largest <= 64 * 1024, "{at_once} at once: {} bytes, {largest}", whole.len());
        }
    }

    #[test]
    fn one_body_may_come_in_several_members() {
        let both = [packed(b"first, "), packed(b"second")].concat();
        for at_once in [1, 5, both.len()] {
            assert_eq!(unpacked(&both, at_once).unwrap().0, b"first, second");
        }
    }

    #[test]
    fn members_that_hold_little_are_an_error() {
        for body in [&b""[..], b"x"] {
            let many = packed(body).repeat(20_000);
            let mut unpacking = Unpacking::default();
            let mut left = Bytes::from(many.clone());
            let mut pieces = std::iter::from_fn(|| (!left.is_empty()).then(|| unpacking.next(&mut left).map(|_| ())));
            assert!(pieces.any(|piece| piece.is_err()), "{body:?}");
            assert!(many.len() - left.len() < 100_000, "{body:?}");
        }
        let random: Vec<u8> =
            (0..1_000_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        assert!(unpacked(&packed(&random), 1_000).unwrap().0 == random);
    }

    #[test]
    fn what_is_cut_off_or_spoiled_is_an_error() {
        let whole = packed(&[7; 4096]);
        for kept in 1..whole.len() {
            assert!(unpacked(&whole[..kept], 10).is_err(), "{kept} of {} bytes", whole.len());
        }
        let mut spoiled = whole.clone();
        *spoiled.last_mut().unwrap() ^= 1;
        assert!(unpacked(&spoiled, 10).is_err());
        assert!(unpacked(&[whole, b"more".to_vec()].concat(), 10).is_err());
    }
}
