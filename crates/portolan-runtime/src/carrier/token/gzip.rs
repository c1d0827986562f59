//! The gzip member in a token: any program can unpack it, but only this one can create it.
//!
//! Its first block is stored, not compressed, and contains only the seal. The sealed content follows, compressed. So
//! the seal covers the compressed bytes: the same content compressed differently is another text, and does not open.
//! And no release depends on how the library of another one compresses.

use std::cell::RefCell;
use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc, Decompress, FlushDecompress, Status};

use super::fault::TokenFault;
use super::seal::{SEAL_BYTES, Seal};
use super::text;

/// Deflate; no name, comment or time; no compression level; Unix.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
/// A block that is stored and not the last: its length, and the complement of the length.
const STORED: [u8; 5] = [0, SEAL_BYTES as u8, 0, !(SEAL_BYTES as u8), 0xff];
/// The offset of the compressed part.
const HEAD_BYTES: usize = HEADER.len() + STORED.len() + SEAL_BYTES;
/// The checksum, and the unpacked length.
const TRAILER_BYTES: usize = 8;
const LEVEL: u32 = 6;

/// The maximum number of bytes that a member unpacks to. Unpacking stops there.
pub(super) const MAX_UNPACKED: usize = 1024 * 1024;
/// The bytes that are unpacked at a time. Memory grows only with the unpacked content.
pub(super) const STEP: usize = 8 * 1024;
/// A larger content is not compressed again to explain a wrong signature: that takes longer than all the rest.
const MAX_REPACKED: usize = 16 * 1024;

/// The content of a member.
#[derive(Debug)]
pub(super) struct Member<'b> {
    /// The bytes after the seal, as they are in the member. `None` if the member was not packed by this program.
    pub(super) packed: Option<&'b [u8]>,
    /// The seal and the sealed content.
    unpacked: Vec<u8>,
}

impl Member<'_> {
    pub(super) fn seal(&self) -> Seal {
        Seal::from_bytes(self.unpacked.first_chunk().expect("a shorter member is refused"))
    }

    /// Returns the sealed content.
    pub(super) fn content(&self) -> &[u8] {
        &self.unpacked[SEAL_BYTES..]
    }

    /// Returns the content as this program packs it.
    pub(super) fn repacked(&self) -> Option<Vec<u8>> {
        (self.content().len() <= MAX_REPACKED).then(|| compress(self.content()))
    }
}

/// Compresses the content to be sealed.
pub(super) fn pack(content: &[u8]) -> Result<Vec<u8>, TokenFault> {
    let unpacked = SEAL_BYTES + content.len();
    match unpacked <= MAX_UNPACKED {
        true => Ok(compress(content)),
        false => Err(text::too_large(
            format_args!("{unpacked} bytes"),
            format_args!("{MAX_UNPACKED} bytes before compression"),
        )),
    }
}

thread_local! {
    /// Reused: its tables take three hundred kilobytes, and creating them takes longer than packing a token.
    static ENCODER: RefCell<DeflateEncoder<Vec<u8>>> =
        RefCell::new(DeflateEncoder::new(Vec::new(), Compression::new(LEVEL)));
}

fn compress(content: &[u8]) -> Vec<u8> {
    ENCODER.with_borrow_mut(|encoder| {
        let packed = encoder.write_all(content).and_then(|()| encoder.reset(Vec::new()));
        packed.expect("memory takes everything")
    })
}

/// Returns the whole member for a seal and its content.
pub(super) fn write(seal: &Seal, packed: &[u8], content: &[u8]) -> Vec<u8> {
    let seal = seal.to_bytes();
    [&HEADER[..], &STORED, &seal, packed, &trailer(&[&seal, content])].concat()
}

fn trailer(parts: &[&[u8]]) -> [u8; TRAILER_BYTES] {
    let mut checksum = Crc::new();
    parts.iter().for_each(|part| checksum.update(part));
    let mut trailer = [0; TRAILER_BYTES];
    trailer[..4].copy_from_slice(&checksum.sum().to_le_bytes());
    trailer[4..].copy_from_slice(&checksum.amount().to_le_bytes());
    trailer
}

/// Reads a member that fills `bytes` exactly.
pub(super) fn read(bytes: &[u8]) -> Result<Member<'_>, TokenFault> {
    let rest = behind_header(bytes)?;
    let UnpackResult { content: unpacked, taken, end } = unpack(rest);
    match end {
        End::Reached => {}
        End::CutOff => return Err(cut_off()),
        End::Broken => return Err(TokenFault::damaged("cannot be unpacked: it was changed")),
        End::TooMuch => {
            return Err(TokenFault::damaged(format_args!(
                "unpacks to more than {MAX_UNPACKED} bytes, which is the limit for a token"
            )));
        }
    }
    let behind = bytes.len() - rest.len() + taken;
    let (is, more) = bytes[behind..].split_first_chunk::<TRAILER_BYTES>().ok_or_else(cut_off)?;
    check_trailer(is, trailer(&[&unpacked]))?;
    match more {
        [] => {}
        [0x1f, 0x8b, ..] => return Err(TokenFault::damaged("holds a second gzip member after its own")),
        _ => return Err(TokenFault::damaged(format_args!("has {} bytes after its gzip member", more.len()))),
    }
    if unpacked.len() < SEAL_BYTES {
        return Err(TokenFault::damaged("is too short to hold a seal, which every token has"));
    }
    let is_ours = behind >= HEAD_BYTES && bytes.strip_prefix(&HEADER).is_some_and(|rest| rest.starts_with(&STORED));
    Ok(Member { packed: is_ours.then(|| &bytes[HEAD_BYTES..behind]), unpacked })
}

/// Returns the bytes after the header. Its program and time do not matter yet.
fn behind_header(bytes: &[u8]) -> Result<&[u8], TokenFault> {
    let fixed = &HEADER[..4];
    match bytes.split_at_checked(HEADER.len()) {
        Some((header, rest)) if header.starts_with(fixed) => Ok(rest),
        None if bytes.starts_with(fixed) || fixed.starts_with(bytes) => Err(cut_off()),
        _ => Err(TokenFault::damaged("does not hold a gzip member with a plain header")),
    }
}

fn check_trailer(is: &[u8; TRAILER_BYTES], must: [u8; TRAILER_BYTES]) -> Result<(), TokenFault> {
    let what = match (is[..4] == must[..4], is[4..] == must[4..]) {
        (true, true) => return Ok(()),
        (false, _) => "checksum",
        (true, false) => "length",
    };
    Err(TokenFault::damaged(format_args!("does not have the stated {what} when unpacked: it was changed")))
}

fn cut_off() -> TokenFault {
    TokenFault::damaged("is cut off")
}

/// Returns the fault of a signed content in another packing.
pub(super) fn packed_anew() -> TokenFault {
    TokenFault::damaged(
        "holds the content that was issued, but compressed differently: a program recompressed it, or it was changed",
    )
}

/// The result of unpacking: never more than one step over the limit.
#[derive(Debug)]
pub(super) struct UnpackResult {
    pub(super) content: Vec<u8>,
    /// The number of packed bytes that it took.
    pub(super) taken: usize,
    pub(super) end: End,
}

/// How unpacking ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Reached,
    CutOff,
    Broken,
    TooMuch,
}

/// Unpacks in steps, and stops at the limit.
pub(super) fn unpack(packed: &[u8]) -> UnpackResult {
    let mut inflate = Decompress::new(false);
    let mut content = Vec::new();
    let mut step = [0; STEP];
    let end = loop {
        let (read, written) = (inflate.total_in(), inflate.total_out());
        let status = inflate.decompress(&packed[count(read)..], &mut step, FlushDecompress::None);
        content.extend_from_slice(&step[..count(inflate.total_out() - written)]);
        let stands = inflate.total_in() == read && inflate.total_out() == written;
        match status {
            _ if content.len() > MAX_UNPACKED => break End::TooMuch,
            Ok(Status::StreamEnd) => break End::Reached,
            Ok(Status::Ok | Status::BufError) if stands => break End::CutOff,
            Ok(Status::Ok | Status::BufError) => {}
            Err(_) => break End::Broken,
        }
    };
    UnpackResult { content, taken: count(inflate.total_in()), end }
}

/// Converts a count, which never exceeds the length of a text or the limit.
fn count(bytes: u64) -> usize {
    usize::try_from(bytes).expect("no more is read or written than memory holds")
}
