//! Encodes numbers, words, texts and JSON values as bytes, and decodes them. Every value is restored exactly: the kind
//! of each number, each bit of a float, and the order of keys.

use serde_json::{Map, Number, Value};

use super::words::{List, Words};

/// A value begins with a number: its lowest bits are the kind, the others are the number, the length or the index.
const KIND_BITS: u32 = 3;
const PLAIN: u8 = 0;
const WHOLE: u8 = 1;
const NEGATIVE: u8 = 2;
const LISTED: u8 = 3;
const TEXT: u8 = 4;
const ARRAY: u8 = 5;
const OBJECT: u8 = 6;

/// The plain values.
const NULL: u64 = 0;
const FALSE: u64 = 1;
const TRUE: u64 = 2;
/// A float whose eight bytes follow.
const FLOAT: u64 = 3;
/// A float whose digits and power of ten follow.
const DECIMAL: u64 = 4;
/// With more digits, the eight bytes are no longer.
const MAX_DIGITS: u64 = 1 << 40;

/// A run may be 150 frames deep, with its loops. Its values are read from texts of at most 256 levels.
pub(super) const MAX_DEPTH: usize = 256;
/// The approximate memory that a state may need: a short state may name long texts of the definition, many times.
pub(super) const ROOM: usize = 16 * 1024 * 1024;

/// The encoder.
pub(super) struct Out<'w> {
    words: &'w Words,
    bytes: Vec<u8>,
}

impl<'w> Out<'w> {
    pub(super) fn new(words: &'w Words) -> Out<'w> {
        Out { words, bytes: Vec::new() }
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes seven bits in each byte, the lowest first. The highest bit of a byte means that another one follows.
    pub(super) fn number(&mut self, number: impl Into<u128>) {
        let mut number = number.into();
        while number >= 0x80 {
            self.bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Writes a signed number. Small numbers of either sign are short.
    pub(super) fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }

    /// Writes flags. The first is the lowest bit.
    pub(super) fn flags<const N: usize>(&mut self, flags: [bool; N]) {
        self.number(bits(flags));
    }

    pub(super) fn own(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub(super) fn name(&mut self, name: &str) {
        let words = self.words;
        self.word(&words.names, name);
    }

    pub(super) fn node(&mut self, node: &str) {
        let words = self.words;
        self.word(&words.nodes, node);
    }

    pub(super) fn text(&mut self, text: &str) {
        let words = self.words;
        self.word(&words.texts, text);
    }

    /// Writes the word's index in the list, counted from 1, or else 0 and the word.
    fn word(&mut self, list: &List, word: &str) {
        match list.number(word) {
            Some(number) => self.number(number as u64 + 1),
            None => {
                self.number(0_u8);
                self.own(word);
            }
        }
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flags([value.is_some()]);
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(super) fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.number(items.len() as u64);
        items.for_each(|item| write(self, item));
    }

    pub(super) fn pairs(&mut self, pairs: &[(&String, &Value)]) {
        self.list(pairs.iter(), |out, (name, value)| {
            out.name(name);
            out.value(value);
        });
    }

    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.headed(PLAIN, NULL),
            Value::Bool(false) => self.headed(PLAIN, FALSE),
            Value::Bool(true) => self.headed(PLAIN, TRUE),
            Value::Number(number) => self.numeric(number),
            Value::String(text) => match self.words.texts.number(text) {
                Some(number) => self.headed(LISTED, number as u64),
                None => {
                    self.headed(TEXT, text.len() as u64);
                    self.bytes.extend_from_slice(text.as_bytes());
                }
            },
            Value::Array(values) => {
                self.headed(ARRAY, values.len() as u64);
                values.iter().for_each(|value| self.value(value));
            }
            Value::Object(values) => {
                self.headed(OBJECT, values.len() as u64);
                for (key, value) in values {
                    self.name(key);
                    self.value(value);
                }
            }
        }
    }

    fn numeric(&mut self, number: &Number) {
        match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => self.headed(WHOLE, number),
            (None, Some(number)) => self.headed(NEGATIVE, !number as u64),
            (None, None) => self.float(number.as_f64().expect("a number that is not whole is a float")),
        }
    }

    fn float(&mut self, float: f64) {
        match decimal(float) {
            Some((digits, power)) => {
                self.headed(PLAIN, DECIMAL);
                self.signed(digits);
                self.signed(power);
            }
            None => {
                self.headed(PLAIN, FLOAT);
                self.bytes.extend_from_slice(&float.to_le_bytes());
            }
        }
    }

    fn headed(&mut self, kind: u8, number: u64) {
        self.number(u128::from(number) << KIND_BITS | u128::from(kind));
    }
}

/// The decoder, with the remaining bytes. Its methods return `None` if the bytes cannot have been written by the
/// encoder.
pub(super) struct In<'w> {
    words: &'w Words,
    rest: &'w [u8],
    room: usize,
    depth: usize,
}

impl<'w> In<'w> {
    pub(super) fn new(words: &'w Words, bytes: &'w [u8]) -> In<'w> {
        In { words, rest: bytes, room: ROOM, depth: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Accounts for memory before it is allocated.
    pub(super) fn spend(&mut self, bytes: usize) -> Option<()> {
        self.room = self.room.checked_sub(bytes)?;
        Some(())
    }

    /// Enters a value that may contain others.
    pub(super) fn enter(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= MAX_DEPTH).then_some(())
    }

    /// Leaves it.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn take(&mut self, count: usize) -> Option<&'w [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads a number in the only form in which it is written.
    fn wide(&mut self) -> Option<u128> {
        let mut number = 0_u128;
        for shift in (0..u64::BITS + KIND_BITS).step_by(7) {
            let byte = *self.take(1)?.first()?;
            if shift > 0 && byte == 0 {
                return None;
            }
            number |= u128::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn number<T: TryFrom<u128>>(&mut self) -> Option<T> {
        self.wide()?.try_into().ok()
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let number: u64 = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(super) fn flags<const N: usize>(&mut self) -> Option<[bool; N]> {
        flags(self.number()?)
    }

    pub(super) fn own(&mut self) -> Option<String> {
        let length = self.number()?;
        self.letters(length).map(str::to_owned)
    }

    fn letters(&mut self, length: usize) -> Option<&'w str> {
        let text = std::str::from_utf8(self.take(length)?).ok()?;
        self.spend(text.len())?;
        Some(text)
    }

    pub(super) fn name(&mut self) -> Option<&'w str> {
        let words = self.words;
        self.word(&words.names)
    }

    pub(super) fn node<T: From<&'w str>>(&mut self) -> Option<T> {
        let words = self.words;
        self.word(&words.nodes).map(T::from)
    }

    pub(super) fn text<T: From<&'w str>>(&mut self) -> Option<T> {
        let words = self.words;
        self.word(&words.texts).map(T::from)
    }

    fn word(&mut self, list: &'w List) -> Option<&'w str> {
        match self.number::<usize>()? {
            0 => {
                let length = self.number()?;
                self.letters(length)
            }
            number => self.listed(list, number - 1),
        }
    }

    fn listed(&mut self, list: &'w List, number: usize) -> Option<&'w str> {
        let word = list.word(number)?;
        self.spend(word.len())?;
        Some(word)
    }

    pub(super) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        let [is_some] = self.flags()?;
        if is_some { read(self).map(Some) } else { Some(None) }
    }

    /// Reads a list. Memory grows with the items read, because the count may be any number.
    pub(super) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count: u64 = self.number()?;
        self.items(count, &mut read)
    }

    fn items<T>(&mut self, count: u64, read: &mut dyn FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        for _ in 0..count {
            self.spend(size_of::<T>())?;
            items.push(read(self)?);
        }
        Some(items)
    }

    /// Puts pairs into an object. The value of an existing key is replaced in its place.
    pub(super) fn pairs(&mut self, object: &mut Map<String, Value>) -> Option<()> {
        let count = self.number()?;
        self.put(object, count)
    }

    fn put(&mut self, object: &mut Map<String, Value>, count: u64) -> Option<()> {
        for _ in 0..count {
            let name = self.name()?;
            self.spend(size_of::<(String, Value)>())?;
            object.insert(name.to_owned(), self.value()?);
        }
        Some(())
    }

    pub(super) fn value(&mut self) -> Option<Value> {
        self.enter()?;
        let headed = self.wide()?;
        let number = u64::try_from(headed >> KIND_BITS).ok()?;
        let kind = (headed & ((1 << KIND_BITS) - 1)) as u8;
        let value = self.rest_of(kind, number)?;
        self.leave();
        Some(value)
    }

    fn rest_of(&mut self, kind: u8, number: u64) -> Option<Value> {
        match kind {
            PLAIN => self.plain(number),
            WHOLE => Some(number.into()),
            NEGATIVE => i64::try_from(number).ok().map(|number| (!number).into()),
            LISTED => {
                let words = self.words;
                self.listed(&words.texts, usize::try_from(number).ok()?).map(Value::from)
            }
            TEXT => self.letters(usize::try_from(number).ok()?).map(Value::from),
            ARRAY => self.items(number, &mut Self::value).map(Value::Array),
            OBJECT => {
                let mut object = Map::new();
                self.put(&mut object, number)?;
                Some(Value::Object(object))
            }
            _ => None,
        }
    }

    fn plain(&mut self, number: u64) -> Option<Value> {
        match number {
            NULL => Some(Value::Null),
            FALSE => Some(false.into()),
            TRUE => Some(true.into()),
            FLOAT => {
                let bytes = self.take(size_of::<f64>())?.first_chunk()?;
                Number::from_f64(f64::from_le_bytes(*bytes)).map(Value::Number)
            }
            DECIMAL => {
                let (digits, power) = (self.signed()?, self.signed()?);
                Number::from_f64(undecimal(digits, power)?).map(Value::Number)
            }
            _ => None,
        }
    }
}

/// Returns flags as the bits of a number.
pub(super) fn bits<const N: usize>(flags: [bool; N]) -> u64 {
    flags.into_iter().rev().fold(0, |bits, flag| bits << 1 | u64::from(flag))
}

/// Returns the flags in a number, if it has no other bits.
pub(super) fn flags<const N: usize>(bits: u64) -> Option<[bool; N]> {
    (bits >> N == 0).then(|| std::array::from_fn(|nth| bits >> nth & 1 == 1))
}

/// Returns the digits and the power of ten of a float's decimal form, if these give exactly the same float.
fn decimal(float: f64) -> Option<(i64, i64)> {
    let text = format!("{float:e}");
    let (number, power) = text.split_once('e')?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits: i64 = format!("{whole}{part}").parse().ok()?;
    let power = power.parse::<i64>().ok()? - i64::try_from(part.len()).ok()?;
    let is_same = undecimal(digits, power).is_some_and(|same| same.to_bits() == float.to_bits());
    (digits.unsigned_abs() < MAX_DIGITS && is_same).then_some((digits, power))
}

fn undecimal(digits: i64, power: i64) -> Option<f64> {
    format!("{digits}e{power}").parse().ok()
}
