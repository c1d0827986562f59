//! Matches members before and after a change: members of objects by their names, items of lists by their `id` or
//! `name`, or else by position.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Returns, for each wanted item, the index of the present item that becomes it.
pub(super) fn aligned(present: &[Value], wanted: &[Value]) -> Vec<Option<usize>> {
    let keyed = ["id", "name"].into_iter().find_map(|key| Some((keys(present, key)?, keys(wanted, key)?)));
    match keyed {
        Some((present, wanted)) => by_key(&present, &wanted),
        None => by_place(present, wanted),
    }
}

/// A member of the resulting object: the index of the present member it comes from, its name and its value.
pub(super) type Member<'w> = (Option<usize>, &'w str, &'w Value);

/// Orders the members of an object. The present ones keep their order, and each new one follows the member that it
/// follows in `wanted`. Members in `brought` come from a merge key and are not written here.
pub(super) fn ordered<'w>(
    present: &[&str],
    wanted: &'w Map<String, Value>,
    brought: &BTreeSet<&str>,
) -> Vec<Member<'w>> {
    let places: BTreeMap<&str, usize> = present.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let mut behind: BTreeMap<Option<usize>, Vec<Member<'w>>> = BTreeMap::new();
    let mut before = None;
    for (name, value) in wanted {
        match places.get(name.as_str()) {
            Some(at) => {
                before = Some(*at);
                behind.entry(before).or_default().insert(0, (before, name, value));
            }
            None if brought.contains(name.as_str()) => {}
            None => behind.entry(before).or_default().push((None, name, value)),
        }
    }
    // New members before any present one come last.
    let last = behind.remove(&None).unwrap_or_default();
    behind.into_values().flatten().chain(last).collect()
}

/// Returns the keys of all items, if each has a distinct one.
fn keys<'v>(items: &'v [Value], key: &str) -> Option<Vec<&'v str>> {
    let keys: Vec<&str> = items.iter().map(|item| item.get(key)?.as_str()).collect::<Option<_>>()?;
    let mut distinct = keys.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.len() == keys.len()).then_some(keys)
}

fn by_key(present: &[&str], wanted: &[&str]) -> Vec<Option<usize>> {
    let mut places: BTreeMap<&str, usize> = present.iter().enumerate().map(|(at, key)| (*key, at)).collect();
    let mut aligned: Vec<Option<usize>> = wanted.iter().map(|key| places.remove(key)).collect();
    let new = aligned.iter().filter(|place| place.is_none()).count();
    if new == places.len() {
        // As many are missing as are new, so treat them as renamed.
        let mut left: Vec<usize> = places.into_values().collect();
        left.sort_unstable();
        let mut left = left.into_iter();
        aligned.iter_mut().filter(|place| place.is_none()).for_each(|place| *place = left.next());
    }
    aligned
}

/// Matches equal items at both ends, and those between by position.
fn by_place(present: &[Value], wanted: &[Value]) -> Vec<Option<usize>> {
    let same = |pair: &(&Value, &Value)| pair.0 == pair.1;
    let before = present.iter().zip(wanted).take_while(same).count();
    let (rest, wanted_rest) = (&present[before..], &wanted[before..]);
    let after = rest.iter().rev().zip(wanted_rest.iter().rev()).take_while(same).count();
    let middle = rest.len().min(wanted_rest.len()) - after;
    let place = |at: usize| match at {
        _ if at < before + middle => Some(at),
        _ if at >= wanted.len() - after => Some(at + present.len() - wanted.len()),
        _ => None,
    };
    (0..wanted.len()).map(place).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::aligned;

    fn alignment(present: Value, wanted: Value) -> String {
        let (present, wanted) = (present.as_array().expect("a list"), wanted.as_array().expect("a list"));
        let places = aligned(present, wanted).into_iter();
        places.map(|place| place.map_or("+".to_owned(), |place| place.to_string())).collect()
    }

    #[test]
    fn items_are_known_by_their_key_or_their_place() {
        let node = |id: &str| json!({ "id": id });
        assert_eq!(alignment(json!([node("a"), node("b")]), json!([node("b"), node("c"), node("a")])), "1+0");
        assert_eq!(alignment(json!([node("a"), node("b")]), json!([node("a"), node("c")])), "01", "renamed");
        assert_eq!(alignment(json!([1, 2, 3]), json!([1, 9, 2, 3])), "0+12");
        assert_eq!(alignment(json!([1, 2, 3]), json!([1, 3])), "02");
        assert_eq!(alignment(json!([1, 2, 3]), json!([1, 8, 3, 4])), "012+");
        assert_eq!(alignment(json!([1, 1]), json!([1, 1, 1])), "01+");
    }
}
