//! The values of an evaluation. A value from JSON is converted before the evaluation; cloning a value is cheap.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;

use super::functions::Callable;
use super::meter::{Meter, Run, exceeds, type_error, value_error};
use super::number::whole;
use super::tree::Shape;

/// The maximum depth of a value. What is deeper can be neither compared nor printed nor returned.
const MAX_DEPTH: usize = 200;

/// A value.
#[derive(Clone)]
pub(super) enum Val {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Arc<str>),
    List(Items),
    Tuple(Items),
    Dict(Members),
    /// The items are the keys; the values mean nothing.
    Set(Members),
    View(View, Items),
    Function(&'static Callable),
    /// A list or dict that is too deep and not empty, with the name of its type.
    Deep(&'static str),
}

pub(super) type Items = Arc<Vec<Val>>;

/// The members of a dict or a set in insertion order: each key in its lookup form, then as written with its value.
pub(super) type Members = Arc<IndexMap<Key, (Val, Val)>>;

/// What a dict shows of its members.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Keys,
    Values,
    Items,
}

/// The lookup form of a value in dicts and sets: equal numbers are one key.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Key {
    None,
    Int(i128),
    /// The bits of a number that is not whole.
    Float(u64),
    Text(Arc<str>),
    Tuple(Vec<Key>),
}

impl Val {
    /// Converts a JSON value to Python's. Its depth bounds the recursion of everything that goes through values.
    pub(super) fn of(value: &Value, depth: usize, meter: &Meter) -> Run<Val> {
        meter.items(1)?;
        Ok(match value {
            Value::Null => Val::None,
            Value::Bool(is) => Val::Bool(*is),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => Val::Int(int.into()),
                (None, Some(int)) => Val::Int(int.into()),
                (None, None) => Val::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => {
                meter.made(text.len())?;
                Val::text(text.as_str())
            }
            Value::Array(items) if depth == MAX_DEPTH && !items.is_empty() => Val::Deep("list"),
            Value::Object(members) if depth == MAX_DEPTH && !members.is_empty() => Val::Deep("dict"),
            Value::Array(items) => {
                Val::list(items.iter().map(|item| Val::of(item, depth + 1, meter)).collect::<Run<_>>()?)
            }
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| {
                    let name: Arc<str> = name.as_str().into();
                    Ok((Key::Text(name.clone()), (Val::Text(name), Val::of(value, depth + 1, meter)?)))
                };
                Val::Dict(Arc::new(members.iter().map(member).collect::<Run<_>>()?))
            }
        })
    }

    pub(super) fn text(text: impl Into<Arc<str>>) -> Val {
        Val::Text(text.into())
    }

    pub(super) fn list(items: Vec<Val>) -> Val {
        Val::List(Arc::new(items))
    }

    pub(super) fn tuple(items: Vec<Val>) -> Val {
        Val::Tuple(Arc::new(items))
    }

    /// Makes a collection of items. A generator is read once and at its place, so that its items are a list.
    pub(super) fn made(shape: Shape, items: Vec<Val>, meter: &Meter) -> Run<Val> {
        match shape {
            Shape::List | Shape::Generator => Ok(Val::list(items)),
            Shape::Tuple => Ok(Val::tuple(items)),
            Shape::Set => Ok(Val::Set(set(items, meter)?)),
            Shape::Dict => {
                let members = items.iter().map(|item| pair(item, meter)).collect::<Run<Vec<_>>>()?;
                Ok(Val::Dict(members_of(members, meter)?))
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
            Val::Deep(kind) => kind,
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
            Val::List(items) | Val::Tuple(items) | Val::View(_, items) => !items.is_empty(),
            Val::Dict(members) | Val::Set(members) => !members.is_empty(),
            Val::Function(_) | Val::Deep(_) => true,
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
            Val::Dict(members) | Val::Set(members) => Ok(members.len()),
            Val::Deep(_) => too_deep(),
            other => type_error(format!("`{}` has no length", other.kind())),
        }
    }

    /// Returns its items, one by one.
    pub(super) fn items(&self, meter: &Meter) -> Run<Vec<Val>> {
        if let Val::None | Val::Bool(_) | Val::Int(_) | Val::Float(_) | Val::Function(_) = self {
            return type_error(format!("`{}` has no items to iterate over", self.kind()));
        }
        // They are counted before any is made.
        let length = self.len(meter)?;
        meter.items(length)?;
        meter.steps(length)?;
        Ok(match self {
            Val::Text(text) => text.chars().map(|c| Val::text(c.encode_utf8(&mut [0; 4]) as &str)).collect(),
            Val::List(items) | Val::Tuple(items) | Val::View(_, items) => items.to_vec(),
            Val::Dict(members) | Val::Set(members) => members.values().map(|(key, _)| key.clone()).collect(),
            _ => Vec::new(),
        })
    }

    /// Returns its key in a dict or a set.
    pub(super) fn key(&self, meter: &Meter) -> Run<Key> {
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
                items.iter().map(|item| item.key(meter)).collect::<Run<_>>().map(Key::Tuple)
            }
            other => type_error(format!("`{}` can be neither an item of a set nor a key of a dict", other.kind())),
        }
    }

    /// Returns it as a set, if it is one: keys and items of dicts are set-like.
    pub(super) fn as_set(&self, meter: &Meter) -> Run<Option<Members>> {
        match self {
            Val::Set(set) => Ok(Some(Arc::clone(set))),
            Val::View(View::Keys | View::Items, items) => set(items.iter().cloned(), meter).map(Some),
            _ => Ok(None),
        }
    }
}

/// Makes the set of these items.
pub(super) fn set(items: impl IntoIterator<Item = Val>, meter: &Meter) -> Run<Members> {
    members_of(items.into_iter().map(|item| (item, Val::None)), meter)
}

/// Makes the members of a dict. Of those with the same key, the first gives the key and the last the value.
fn members_of(pairs: impl IntoIterator<Item = (Val, Val)>, meter: &Meter) -> Run<Members> {
    let mut members = IndexMap::new();
    for (key, value) in pairs {
        // One for the item and one for its key.
        meter.items(2)?;
        members.entry(key.key(meter)?).or_insert_with(|| (key, Val::None)).1 = value;
    }
    Ok(Arc::new(members))
}

fn pair(item: &Val, meter: &Meter) -> Run<(Val, Val)> {
    match <[Val; 2]>::try_from(item.items(meter)?) {
        Ok([key, value]) => Ok((key, value)),
        Err(items) => value_error(format!("`dict` takes pairs, but one item has {} items", items.len())),
    }
}

/// Fails at a part of a value that is too deep.
pub(super) fn too_deep<T>() -> Run<T> {
    exceeds(format!("a value nests deeper than {MAX_DEPTH} levels"))
}
