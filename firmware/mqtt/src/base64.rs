//! Base64 with padding. By hand: the crates take ten times the flash, for constant time, which a public certificate does not
//! need. The tests hold it against one of them.

/// The bytes of the group of four characters with this number, and how many they are: 3, or fewer in the last group.
/// `None` if there is no such group, or it is not what an encoder writes.
pub(super) fn group(text: &[u8], number: usize) -> Option<([u8; 3], usize)> {
    let (groups, []) = text.as_chunks::<4>() else { return None };
    let group = groups.get(number)?;
    let is_last = number + 1 == groups.len();
    let padding = match group {
        [.., b'=', b'='] if is_last => 2,
        [.., b'='] if is_last => 1,
        _ => 0,
    };
    let mut bits = 0;
    for byte in group.iter().take(4 - padding) {
        bits = bits << 6 | digit(*byte)?;
    }
    bits <<= 6 * padding;
    let [_, bytes @ ..] = bits.to_be_bytes();
    // An encoder leaves no bits beyond the last byte.
    let is_whole = bytes.iter().skip(3 - padding).all(|byte| *byte == 0);
    is_whole.then_some((bytes, 3 - padding))
}

fn digit(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}
