//! Room for the texts of the controller's tools.

use crate::limits;

/// A description and a schema, one after the other, somewhere in [`Texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u16,
    description: u16,
    schema: u16,
}

/// The texts of many tools in fixed room.
#[derive(Debug)]
pub(super) struct Texts {
    bytes: [u8; limits::TOOL_TEXTS],
    used: usize,
}

// Places are counted in two bytes.
const _: () = assert!(limits::TOOL_TEXTS <= u16::MAX as usize);

impl Texts {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; limits::TOOL_TEXTS], used: 0 }
    }

    /// The description and the schema at `span`.
    pub(super) fn get(&self, span: &Span) -> (&str, &str) {
        let start = usize::from(span.start);
        let middle = start + usize::from(span.description);
        let text =
            |from, to| core::str::from_utf8(self.bytes.get(from..to).unwrap_or_default()).unwrap_or_default();
        (text(start, middle), text(middle, middle + usize::from(span.schema)))
    }

    /// Adds a description, which `describe` writes and tells the length of, and a schema. `None` if they do not fit.
    pub(super) fn add(
        &mut self,
        describe: impl FnOnce(&mut [u8]) -> Option<usize>,
        schema: &str,
    ) -> Option<Span> {
        let description = describe(self.bytes.get_mut(self.used..)?)?;
        let middle = self.used + description;
        let end = middle + schema.len();
        self.bytes.get_mut(middle..end)?.copy_from_slice(schema.as_bytes());
        let short = |length: usize| u16::try_from(length).ok();
        let span =
            Span { start: short(self.used)?, description: short(description)?, schema: short(schema.len())? };
        self.used = end;
        Some(span)
    }

    /// Closes the gaps between the texts that are still wanted, in any order.
    pub(super) fn compact(&mut self, wanted: &mut [&mut Span]) {
        wanted.sort_unstable_by_key(|span| span.start);
        self.used = 0;
        for span in wanted {
            let start = usize::from(span.start);
            let length = usize::from(span.description) + usize::from(span.schema);
            self.bytes.copy_within(start..start + length, self.used);
            // It moves towards the start, so it still fits.
            span.start = self.used as u16;
            self.used += length;
        }
    }
}
