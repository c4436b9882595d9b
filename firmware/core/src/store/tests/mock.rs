//! The flash of these tests: one that loses power when it is told to, in the worst ways that its contract allows.

pub(super) use test_flash::{Flash as Mock, TEARS, Tear};
