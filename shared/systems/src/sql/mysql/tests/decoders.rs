//! Decoders on bytes of any kind.

use mysql_common::io::ParseBuf;
use mysql_common::packets::{Column, StmtPacket};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use super::server::column;
use crate::sql::mysql::dial::Greeting;
use crate::sql::mysql::failure::answered;
use crate::sql::mysql::value::Columns;

/// A greeting whose lengths vary.
fn greeting(length: u8, rest: &[u8]) -> Vec<u8> {
    let head = b"\x0a8.0.36\0\x07\0\0\0abcdefgh\0\x00\x82\x2d\x02\0\x08\0";
    [&head[..], &[length], &[0; 10], rest].concat()
}

#[test]
fn no_length_breaks_the_greeting() {
    for length in 0..=u8::MAX {
        for rest in [&b""[..], &[b'a'; 13], &[b'a'; 300]] {
            let _ = Greeting::parse(&greeting(length, rest));
        }
    }
    assert!(Greeting::parse(&greeting(21, b"ijklmnopqrst\0caching_sha2_password\0")).is_some());
}

proptest! {
    #[test]
    fn no_bytes_break_the_packets(length in any::<u8>(), bytes in vec(any::<u8>(), 0..80)) {
        let _ = answered(&bytes);
        let _ = Greeting::parse(&bytes);
        let _ = Greeting::parse(&greeting(length, &bytes));
        let _ = ParseBuf(&bytes).parse::<StmtPacket>(());
        let _ = ParseBuf(&[&b"\x03def"[..], &bytes].concat()).parse::<Column>(());
    }

    #[test]
    fn no_bytes_break_a_row(kinds in vec(any::<u8>(), 1..4), bytes in vec(any::<u8>(), 0..60), is_unsigned in any::<bool>()) {
        let named = kinds.iter().zip([b"a", b"b", b"c"]).map(|(kind, name)| {
            let mut packet = column(*kind, name);
            let flags = packet.len() - 5;
            packet[flags] |= u8::from(is_unsigned) << 5;
            packet
        });
        let columns: Result<Vec<Column>, _> = named.map(|packet| ParseBuf(&packet).parse(())).collect();
        if let Ok(columns) = columns.map(|columns| Columns::of(columns.into())).map_err(|_| "").and_then(|columns| columns) {
            for packet in [bytes.clone(), [&b"\0\0"[..], &bytes].concat()] {
                if let Ok(row) = columns.values_of(&packet) {
                    let _ = columns.json_of(row);
                }
            }
        }
    }
}
