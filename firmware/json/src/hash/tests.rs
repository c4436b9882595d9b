use core::fmt::Write as _;

use super::{Fingerprint, Fnv32};

#[test]
fn fnv32_matches_the_published_vectors() {
    for (text, hash) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
        assert_eq!(Fnv32::of(text.bytes()), hash, "{text}");
        assert_eq!(Fnv32::of(text.chars()), hash, "{text}");
        let mut pieces = Fnv32::new();
        text.chars().for_each(|letter| pieces.write_char(letter).unwrap());
        assert_eq!(pieces.finish(), hash, "{text}");
    }
    // One character, two bytes.
    assert_ne!(Fnv32::of("é".bytes()), Fnv32::of("é".chars()));
}

#[test]
fn fingerprints_keep_parts_apart() {
    assert_ne!(Fingerprint::of(&[b"ab", b"c"]), Fingerprint::of(&[b"a", b"bc"]));
    assert_ne!(Fingerprint::of(&[b"", b"x"]), Fingerprint::of(&[b"x", b""]));
}

/// Discovery topics on a board contain this value. The length of a part is written in the word size of the machine.
#[cfg(target_pointer_width = "64")]
#[test]
fn fingerprints_never_change() {
    assert_eq!(Fingerprint::of(&[b"a.b"]), 0xc201_cfd2_5260_1b49);
}
