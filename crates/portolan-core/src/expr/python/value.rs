//! The values of an evaluation. Values from JSON or the expression are borrowed; computed values are shared.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::meter::{Error, Meter, Run};
use super::tree::Type;

/// A value. Cloning it is cheap.
#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Text<'a>),
    List(List<'a>),
    Tuple(Rc<Vec<Val<'a>>>),
    Dict(Dict<'a>),
    Set(Rc<Set<'a>>),
    Series(Rc<Series<'a>>),
}

/// A string.
#[derive(Clone, Debug)]
pub(super) enum Text<'a> {
    Lent(&'a str),
    Made(Rc<str>),
}

#[derive(Clone, Debug)]
pub(super) enum List<'a> {
    Lent(&'a [Value]),
    Made(Rc<Vec<Val<'a>>>),
}

#[derive(Clone, Debug)]
pub(super) enum Dict<'a> {
    Lent(&'a Map<String, Value>),
    Made(Rc<Members<'a>>),
}

/// The members of a computed dict: each key in its lookup form, and as written.
pub(super) type Members<'a> = IndexMap<Key<'a>, (Val<'a>, Val<'a>)>;
/// The items of a set, in insertion order.
pub(super) type Set<'a> = IndexMap<Key<'a>, Val<'a>>;

/// An iterable that is not a list.
#[derive(Debug)]
pub(super) struct Series<'a> {
    pub(super) kind: Kind,
    pub(super) items: Vec<Val<'a>>,
}

/// The origin of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Range {
        start: i128,
        stop: i128,
        step: i128,
    },
    Keys,
    Values,
    Items,
    /// An iterator of Python, with the name of its type.
    Iterator(&'static str),
}

/// The lookup form of a value in dicts and sets: equal numbers are one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key<'a> {
    None,
    Int(i128),
    /// The bits of a number that is not whole.
    Float(u64),
    Text(Text<'a>),
    Tuple(Vec<Key<'a>>),
    /// The number of items of a range, its first item and its step. Two ranges with the same items agree in them.
    Range(usize, Option<i128>, Option<i128>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Lent(text) => text,
            Text::Made(text) => text,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Text<'_>) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<'a> Text<'a> {
    /// Returns the part between two byte offsets.
    pub(super) fn part(&self, from: usize, to: usize) -> Text<'a> {
        match self {
            Text::Lent(text) => Text::Lent(&text[from..to]),
            Text::Made(text) => Text::Made(Rc::from(&text[from..to])),
        }
    }

    /// Returns its characters, each as a string.
    pub(super) fn characters(&self) -> impl Iterator<Item = Text<'a>> {
        self.char_indices().map(|(at, c)| self.part(at, at + c.len_utf8()))
    }
}

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            List::Lent(items) => items.len(),
            List::Made(items) => items.len(),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<Val<'a>> {
        match self {
            List::Lent(items) => items.get(at).map(Val::of),
            List::Made(items) => items.get(at).cloned(),
        }
    }
}

impl<'a> Dict<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Dict::Lent(members) => members.len(),
            Dict::Made(members) => members.len(),
        }
    }

    pub(super) fn get(&self, key: &Key<'a>) -> Option<Val<'a>> {
        match (self, key) {
            (Dict::Lent(members), Key::Text(name)) => members.get(&**name).map(Val::of),
            (Dict::Lent(_), _) => None,
            (Dict::Made(members), key) => members.get(key).map(|(_, value)| value.clone()),
        }
    }

    /// Returns the keys and values in their order.
    pub(super) fn members(&self) -> Vec<(Val<'a>, Val<'a>)> {
        match self {
            Dict::Lent(members) => members.iter().map(|(name, value)| (Val::lent(name), Val::of(value))).collect(),
            Dict::Made(members) => members.values().cloned().collect(),
        }
    }
}

impl<'a> Series<'a> {
    fn range_key(&self) -> Key<'a> {
        let Kind::Range { start, step, .. } = self.kind else { return Key::None };
        let length = self.items.len();
        Key::Range(length, (length > 0).then_some(start), (length > 1).then_some(step))
    }
}

impl<'a> Val<'a> {
    /// Converts a JSON value to Python's.
    pub(super) fn of(value: &'a Value) -> Val<'a> {
        match value {
            Value::Null => Val::None,
            Value::Bool(is) => Val::Bool(*is),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => Val::Int(int.into()),
                (None, Some(int)) => Val::Int(int.into()),
                (None, None) => Val::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Val::lent(text),
            Value::Array(items) => Val::List(List::Lent(items)),
            Value::Object(members) => Val::Dict(Dict::Lent(members)),
        }
    }

    pub(super) fn lent(text: &'a str) -> Val<'a> {
        Val::Text(Text::Lent(text))
    }

    pub(super) fn text(text: String) -> Val<'a> {
        Val::Text(Text::Made(text.into()))
    }

    pub(super) fn list(items: Vec<Val<'a>>) -> Val<'a> {
        Val::List(List::Made(Rc::new(items)))
    }

    pub(super) fn tuple(items: Vec<Val<'a>>) -> Val<'a> {
        Val::Tuple(Rc::new(items))
    }

    pub(super) fn series(kind: Kind, items: Vec<Val<'a>>) -> Val<'a> {
        Val::Series(Rc::new(Series { kind, items }))
    }

    /// Returns the name of its type.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Val::None => "NoneType",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Float(_) => "float",
            Val::Text(_) => "str",
            Val::List(_) => "list",
            Val::Tuple(_) => "tuple",
            Val::Dict(_) => "dict",
            Val::Set(_) => "set",
            Val::Series(series) => match series.kind {
                Kind::Range { .. } => "range",
                Kind::Keys => "dict_keys",
                Kind::Values => "dict_values",
                Kind::Items => "dict_items",
                Kind::Iterator(name) => name,
            },
        }
    }

    /// Checks whether `isinstance` holds.
    pub(super) fn is(&self, wanted: Type) -> bool {
        match self {
            Val::None => wanted == Type::None,
            Val::Bool(_) => matches!(wanted, Type::Bool | Type::Int),
            Val::Int(_) => wanted == Type::Int,
            Val::Float(_) => wanted == Type::Float,
            Val::Text(_) => wanted == Type::Str,
            Val::List(_) => wanted == Type::List,
            Val::Tuple(_) => wanted == Type::Tuple,
            Val::Dict(_) => wanted == Type::Dict,
            Val::Set(_) => wanted == Type::Set,
            Val::Series(_) => false,
        }
    }

    /// Checks whether it is true in Python.
    pub(super) fn truth(&self) -> bool {
        match self {
            Val::None => false,
            Val::Bool(is) => *is,
            Val::Int(int) => *int != 0,
            Val::Float(float) => *float != 0.0,
            Val::Text(text) => !text.is_empty(),
            Val::List(items) => items.len() > 0,
            Val::Tuple(items) => !items.is_empty(),
            Val::Dict(dict) => dict.len() > 0,
            Val::Set(set) => !set.is_empty(),
            Val::Series(series) => matches!(series.kind, Kind::Iterator(_)) || !series.items.is_empty(),
        }
    }

    /// Returns its number of items or characters.
    pub(super) fn len(&self, meter: &Meter) -> Run<usize> {
        match self {
            Val::Text(text) => {
                meter.looks(text.len())?;
                Ok(text.chars().count())
            }
            Val::List(items) => Ok(items.len()),
            Val::Tuple(items) => Ok(items.len()),
            Val::Dict(dict) => Ok(dict.len()),
            Val::Set(set) => Ok(set.len()),
            Val::Series(series) if !matches!(series.kind, Kind::Iterator(_)) => Ok(series.items.len()),
            other => Error::Type.raise(format!("`{}` has no length", other.kind())),
        }
    }

    /// Returns its items, one by one.
    pub(super) fn items(&self, meter: &Meter) -> Run<Vec<Val<'a>>> {
        if let Val::Text(text) = self {
            // Each character becomes a string: count them before any is made.
            meter.items(self.len(meter)?)?;
            return Ok(text.characters().map(Val::Text).collect());
        }
        let items: Vec<Val<'a>> = match self {
            Val::List(List::Lent(items)) => items.iter().map(Val::of).collect(),
            Val::List(List::Made(items)) | Val::Tuple(items) => items.to_vec(),
            Val::Dict(dict) => dict.members().into_iter().map(|(key, _)| key).collect(),
            Val::Set(set) => set.values().cloned().collect(),
            Val::Series(series) => series.items.clone(),
            other => return Error::Type.raise(format!("`{}` has no items to iterate over", other.kind())),
        };
        meter.items(items.len())?;
        meter.steps(items.len())?;
        Ok(items)
    }

    /// Returns its key in a dict or a set.
    pub(super) fn key(&self, meter: &Meter) -> Run<Key<'a>> {
        meter.step()?;
        match self {
            Val::None => Ok(Key::None),
            Val::Bool(is) => Ok(Key::Int((*is).into())),
            Val::Int(int) => Ok(Key::Int(*int)),
            Val::Float(float) => Ok(match super::number::whole(*float) {
                Some(int) => Key::Int(int),
                None => Key::Float(float.to_bits()),
            }),
            Val::Text(text) => {
                meter.looks(text.len())?;
                Ok(Key::Text(text.clone()))
            }
            Val::Tuple(items) => {
                meter.items(items.len())?;
                items.iter().map(|item| item.key(meter)).collect::<Run<Vec<Key<'a>>>>().map(Key::Tuple)
            }
            Val::Series(series) if matches!(series.kind, Kind::Range { .. }) => Ok(series.range_key()),
            other => {
                Error::Type.raise(format!("`{}` can be neither an item of a set nor a key of a dict", other.kind()))
            }
        }
    }

    /// Returns it as a set. Keys and items of dicts are set-like.
    pub(super) fn as_set(&self, meter: &Meter) -> Option<Run<Rc<Set<'a>>>> {
        match self {
            Val::Set(set) => Some(Ok(Rc::clone(set))),
            Val::Series(series) if matches!(series.kind, Kind::Keys | Kind::Items) => {
                Some(set(series.items.iter().cloned(), meter).map(Rc::new))
            }
            _ => None,
        }
    }
}

/// Makes the set of these items.
pub(super) fn set<'a>(items: impl IntoIterator<Item = Val<'a>>, meter: &Meter) -> Run<Set<'a>> {
    let mut set = Set::default();
    for item in items {
        // One for the item and one for its key.
        meter.items(2)?;
        set.entry(item.key(meter)?).or_insert(item);
    }
    Ok(set)
}

/// Makes the dict of these members. Of members with the same key, the first gives the key and the last the value.
pub(super) fn dict<'a>(members: impl IntoIterator<Item = (Val<'a>, Val<'a>)>, meter: &Meter) -> Run<Val<'a>> {
    let mut dict = Members::default();
    for (key, value) in members {
        meter.items(2)?;
        let found = dict.entry(key.key(meter)?).or_insert_with(|| (key, Val::None));
        found.1 = value;
    }
    Ok(Val::Dict(Dict::Made(Rc::new(dict))))
}
