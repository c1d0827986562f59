//! The layouts of claims as bytes. Every released layout remains readable; the newest one is written.
//!
//! A layout is a number and a function that decodes its bytes to the present claims. If claims change, the present
//! function is kept for the old layout and fills in what it did not have, and the table gets a line.

use super::claims::{Claims, FINGERPRINT_BYTES, Fingerprint};
use super::fault::TokenFault;
use crate::store::RunId;

/// The layout that is written.
pub(super) const PRESENT: u8 = 1;

struct Layout {
    number: u8,
    /// Returns `None` if the bytes do not follow this layout.
    read: fn(&[u8]) -> Option<Claims>,
}

const LAYOUTS: &[Layout] = &[Layout { number: PRESENT, read: read_1 }];

/// Returns the claims of a content whose seal was checked.
pub(super) fn read(number: u8, content: &[u8]) -> Result<Claims, TokenFault> {
    let layout = LAYOUTS.iter().find(|layout| layout.number == number).ok_or_else(|| unknown(number))?;
    (layout.read)(content).ok_or_else(|| TokenFault::damaged(format_args!("does not match layout {number}")))
}

/// Returns the fault of an unknown layout. A key of the user signed it, so a newer release wrote it.
fn unknown(number: u8) -> TokenFault {
    let fault =
        TokenFault::damaged(format_args!("has layout {number}, but this release reads layouts up to {PRESENT}"));
    TokenFault { help: "use the release of Portolan that made it, or a newer one".to_owned(), ..fault }
}

/// Writes the present layout.
pub(super) fn write(claims: &Claims) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64 + claims.workflow.len() + claims.state.len());
    bytes.extend_from_slice(&claims.definition.0);
    bytes.extend_from_slice(claims.run.as_str().as_bytes());
    write_number(&mut bytes, claims.revision);
    write_number(&mut bytes, claims.workflow.len() as u64);
    bytes.extend_from_slice(claims.workflow.as_bytes());
    match &claims.version {
        None => bytes.push(0),
        Some(version) => {
            write_number(&mut bytes, version.len() as u64 + 1);
            bytes.extend_from_slice(version.as_bytes());
        }
    }
    bytes.extend_from_slice(&claims.state);
    bytes
}

fn read_1(bytes: &[u8]) -> Option<Claims> {
    let mut rest = Rest(bytes);
    let definition = Fingerprint(*rest.take(FINGERPRINT_BYTES)?.first_chunk()?);
    let run = rest.run()?;
    let revision = rest.number()?;
    let workflow_bytes = rest.number()?;
    let workflow = rest.text(workflow_bytes)?;
    let version = match rest.number()? {
        0 => None,
        more => Some(rest.text(more - 1)?),
    };
    Some(Claims { workflow, version, definition, run, revision, state: rest.0.to_vec() })
}

/// Writes seven bits in each byte, the lowest first. The highest bit of a byte means that another one follows.
fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The bytes that are not read yet.
struct Rest<'b>(&'b [u8]);

impl<'b> Rest<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads a number in the only form in which it is written.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = *self.take(1)?.first()?;
            let bits = u64::from(byte & 0x7f);
            if (shift > 0 && byte == 0) || (bits << shift) >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self, bytes: u64) -> Option<String> {
        let bytes = self.take(usize::try_from(bytes).ok()?)?;
        String::from_utf8(bytes.to_vec()).ok()
    }

    /// Reads a handle in lower case: no other form is ever written.
    fn run(&mut self) -> Option<RunId> {
        let text = std::str::from_utf8(self.take(HANDLE_BYTES)?).ok()?;
        RunId::parse(text).filter(|run| run.as_str() == text)
    }
}

/// The length of every handle of this layout.
const HANDLE_BYTES: usize = 8;
