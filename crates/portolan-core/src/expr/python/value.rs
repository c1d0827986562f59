//! The values of an evaluation. Values from JSON or the expression are borrowed; computed values are shared.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::functions::Callable;
use super::meter::{Meter, Run, type_error, value_error};
use super::number::whole;
use super::tree::Shape;

/// A value. Cloning it is cheap.
#[derive(Clone)]
pub(super) enum Val<'a> {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Text<'a>),
    List(Items<'a>),
    Tuple(Items<'a>),
    Dict(Dict<'a>),
    /// The items are the keys; the values mean nothing.
    Set(Rc<Members<'a>>),
    View(View, Items<'a>),
    Function(&'static Callable),
}

/// A string.
#[derive(Clone)]
pub(super) enum Text<'a> {
    Lent(&'a str),
    Made(Rc<str>),
}

/// The items of a list or a tuple.
#[derive(Clone)]
pub(super) enum Items<'a> {
    Lent(&'a [Value]),
    Made(Rc<Vec<Val<'a>>>),
}

#[derive(Clone)]
pub(super) enum Dict<'a> {
    Lent(&'a Map<String, Value>),
    Made(Rc<Members<'a>>),
}

/// The members of a dict or a set in insertion order: each key in its lookup form, then as written with its value.
pub(super) type Members<'a> = IndexMap<Key<'a>, (Val<'a>, Val<'a>)>;

/// What a dict shows of its members.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Keys,
    Values,
    Items,
}

/// The lookup form of a value in dicts and sets: equal numbers are one key.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Key<'a> {
    None,
    Int(i128),
    /// The bits of a number that is not whole.
    Float(u64),
    Text(Text<'a>),
    Tuple(Vec<Key<'a>>),
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
    fn characters(&self) -> impl Iterator<Item = Text<'a>> {
        self.char_indices().map(|(at, c)| self.part(at, at + c.len_utf8()))
    }
}

impl<'a> Items<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Items::Lent(items) => items.len(),
            Items::Made(items) => items.len(),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<Val<'a>> {
        match self {
            Items::Lent(items) => items.get(at).map(Val::of),
            Items::Made(items) => items.get(at).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Val<'a>> {
        (0..self.len()).filter_map(|at| self.get(at))
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
            Value::Array(items) => Val::List(Items::Lent(items)),
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
        Val::List(Items::Made(Rc::new(items)))
    }

    pub(super) fn tuple(items: Vec<Val<'a>>) -> Val<'a> {
        Val::Tuple(Items::Made(Rc::new(items)))
    }

    /// Makes a collection of items. A generator is read once and at its place, so that its items are a list.
    pub(super) fn made(shape: Shape, items: Vec<Val<'a>>, meter: &Meter) -> Run<Val<'a>> {
        match shape {
            Shape::List | Shape::Generator => Ok(Val::list(items)),
            Shape::Tuple => Ok(Val::tuple(items)),
            Shape::Set => Ok(Val::Set(set(items, meter)?)),
            Shape::Dict => {
                let members = items.iter().map(|item| pair(item, meter)).collect::<Run<Vec<_>>>()?;
                Ok(Val::Dict(Dict::Made(members_of(members, meter)?)))
            }
        }
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
            Val::View(View::Keys, _) => "dict_keys",
            Val::View(View::Values, _) => "dict_values",
            Val::View(View::Items, _) => "dict_items",
            Val::Function(_) => "function",
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
            Val::List(items) | Val::Tuple(items) | Val::View(_, items) => items.len() > 0,
            Val::Dict(dict) => dict.len() > 0,
            Val::Set(set) => !set.is_empty(),
            Val::Function(_) => true,
        }
    }

    /// Returns it as a whole number; `True` and `False` are one and zero.
    pub(super) fn whole(&self) -> Option<i128> {
        match self {
            Val::Int(int) => Some(*int),
            Val::Bool(is) => Some((*is).into()),
            _ => None,
        }
    }

    /// Returns its number of items or characters.
    pub(super) fn len(&self, meter: &Meter) -> Run<usize> {
        match self {
            Val::Text(text) => {
                meter.looks(text.len())?;
                Ok(text.chars().count())
            }
            Val::List(items) | Val::Tuple(items) | Val::View(_, items) => Ok(items.len()),
            Val::Dict(dict) => Ok(dict.len()),
            Val::Set(set) => Ok(set.len()),
            other => type_error(format!("`{}` has no length", other.kind())),
        }
    }

    /// Returns its items, one by one.
    pub(super) fn items(&self, meter: &Meter) -> Run<Vec<Val<'a>>> {
        if let Val::None | Val::Bool(_) | Val::Int(_) | Val::Float(_) | Val::Function(_) = self {
            return type_error(format!("`{}` has no items to iterate over", self.kind()));
        }
        // They are counted before any is made.
        let length = self.len(meter)?;
        meter.items(length)?;
        meter.steps(length)?;
        Ok(match self {
            Val::Text(text) => text.characters().map(Val::Text).collect(),
            Val::List(items) | Val::Tuple(items) | Val::View(_, items) => items.iter().collect(),
            Val::Dict(dict) => dict.members().into_iter().map(|(key, _)| key).collect(),
            Val::Set(set) => set.values().map(|(item, _)| item.clone()).collect(),
            _ => Vec::new(),
        })
    }

    /// Returns its key in a dict or a set.
    pub(super) fn key(&self, meter: &Meter) -> Run<Key<'a>> {
        meter.step()?;
        match self {
            Val::None => Ok(Key::None),
            Val::Bool(is) => Ok(Key::Int((*is).into())),
            Val::Int(int) => Ok(Key::Int(*int)),
            Val::Float(float) => Ok(whole(*float).map_or(Key::Float(float.to_bits()), Key::Int)),
            Val::Text(text) => {
                meter.looks(text.len())?;
                Ok(Key::Text(text.clone()))
            }
            Val::Tuple(items) => {
                meter.items(items.len())?;
                items.iter().map(|item| item.key(meter)).collect::<Run<Vec<Key<'a>>>>().map(Key::Tuple)
            }
            other => type_error(format!("`{}` can be neither an item of a set nor a key of a dict", other.kind())),
        }
    }

    /// Returns it as a set, if it is one: keys and items of dicts are set-like.
    pub(super) fn as_set(&self, meter: &Meter) -> Run<Option<Rc<Members<'a>>>> {
        match self {
            Val::Set(set) => Ok(Some(Rc::clone(set))),
            Val::View(View::Keys | View::Items, items) => set(items.iter(), meter).map(Some),
            _ => Ok(None),
        }
    }
}

/// Makes the set of these items.
pub(super) fn set<'a>(items: impl IntoIterator<Item = Val<'a>>, meter: &Meter) -> Run<Rc<Members<'a>>> {
    members_of(items.into_iter().map(|item| (item, Val::None)), meter)
}

/// Makes the members of a dict. Of those with the same key, the first gives the key and the last the value.
fn members_of<'a>(pairs: impl IntoIterator<Item = (Val<'a>, Val<'a>)>, meter: &Meter) -> Run<Rc<Members<'a>>> {
    let mut members = Members::default();
    for (key, value) in pairs {
        // One for the item and one for its key.
        meter.items(2)?;
        members.entry(key.key(meter)?).or_insert_with(|| (key, Val::None)).1 = value;
    }
    Ok(Rc::new(members))
}

fn pair<'a>(item: &Val<'a>, meter: &Meter) -> Run<(Val<'a>, Val<'a>)> {
    match <[Val<'a>; 2]>::try_from(item.items(meter)?) {
        Ok([key, value]) => Ok((key, value)),
        Err(items) => value_error(format!("`dict` takes pairs, but one item has {} items", items.len())),
    }
}
