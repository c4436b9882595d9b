//! Reads the parts of an input.

/// The separator of the parts of an input, a byte that UTF-8 never contains.
pub const MARK: u8 = 0xFF;

/// The parts of an input as texts; `None` if one is not UTF-8. Missing parts are empty; the last part may contain
/// separators.
pub fn texts<const N: usize>(input: &[u8]) -> Option<[&str; N]> {
    let mut parts = [""; N];
    for (text, part) in parts.iter_mut().zip(input.splitn(N, |byte| *byte == MARK)) {
        *text = std::str::from_utf8(part).ok()?;
    }
    Some(parts)
}

/// Expands short inputs, so that limits of many thousand bytes are in reach: a separator, a byte and a count become 64
/// times the count of that byte, or one byte if the count is zero. Stops at `most` bytes.
pub fn stretch(input: &[u8], most: usize) -> Vec<u8> {
    let mut long = Vec::new();
    let mut rest = input;
    while let Some((first, after)) = rest.split_first().filter(|_| long.len() < most) {
        rest = match (*first, after) {
            (MARK, [byte, count, after @ ..]) => {
                long.resize(long.len() + (usize::from(*count) * 64).max(1), *byte);
                after
            }
            _ => {
                long.push(*first);
                after
            }
        };
    }
    long.truncate(most);
    long
}
