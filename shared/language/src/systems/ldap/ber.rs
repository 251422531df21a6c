//! Writes elements in BER, the encoding of LDAP messages (RFC 4511, section 5.1).

/// Tag of an OCTET STRING.
pub const OCTETS: u8 = 0x04;
/// Tag of a SEQUENCE.
pub const SEQUENCE: u8 = 0x30;

/// Returns an element with this tag and content.
#[must_use]
pub fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut written = vec![tag];
    let length = content.len().to_be_bytes();
    match u8::try_from(content.len()) {
        Ok(short) if short < 0x80 => written.push(short),
        _ => {
            let digits: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
            // At most eight digits, the size of `usize`.
            written.push(0x80 | digits.len().to_le_bytes()[0]);
            written.extend(digits);
        }
    }
    written.extend_from_slice(content);
    written
}

/// Returns a non-negative number as the content of an INTEGER or ENUMERATED.
#[must_use]
pub fn number(value: u32) -> Vec<u8> {
    // A leading zero keeps the number positive.
    let digits: Vec<u8> = [0].into_iter().chain(value.to_be_bytes()).collect();
    let is_needed = |at: usize| digits[at] != 0 || digits.get(at + 1).is_none_or(|next| *next >= 0x80);
    let first = (0..digits.len()).find(|at| is_needed(*at)).unwrap_or_default();
    digits[first..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_numbers_have_the_shortest_form() {
        assert_eq!(element(0x04, b"ab"), [4, 2, b'a', b'b']);
        assert_eq!(element(0x04, &[0; 127])[..2], [4, 127]);
        assert_eq!(element(0x04, &[0; 128])[..3], [4, 0x81, 128]);
        assert_eq!(element(0x04, &[0; 256])[..4], [4, 0x82, 1, 0]);
        let table: [(u32, &[u8]); 5] =
            [(0, &[0]), (127, &[127]), (128, &[0, 128]), (256, &[1, 0]), (u32::MAX, &[0, 255, 255, 255, 255])];
        for (value, expected) in table {
            assert_eq!(number(value), expected, "{value}");
        }
    }
}
