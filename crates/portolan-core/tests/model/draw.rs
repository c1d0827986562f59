//! Choices drawn from a list of bytes, so that a case is found again and made smaller by its bytes alone.

/// What is still to be drawn from. After the last byte every choice is the first one.
pub(crate) struct Draw<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl<'b> Draw<'b> {
    pub(crate) fn from(bytes: &'b [u8]) -> Draw<'b> {
        Draw { bytes: bytes.iter() }
    }

    /// A number from 0 to one less than `choices`.
    pub(crate) fn below(&mut self, choices: usize) -> usize {
        self.bytes.next().map_or(0, |byte| usize::from(*byte) % choices)
    }

    pub(crate) fn one_in(&mut self, choices: usize) -> bool {
        self.below(choices) + 1 == choices
    }

    pub(crate) fn pick<'c, T: ?Sized>(&mut self, choices: &[&'c T]) -> &'c T {
        choices[self.below(choices.len())]
    }
}
