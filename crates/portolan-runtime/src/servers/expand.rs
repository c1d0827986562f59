//! Expands `${VAR}` and `${VAR:-default}` in the texts of a server's entry, from the environment at its start.

/// Reads a variable. `None` if it is not set.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Expands variables, and remembers which ones it used: their values may be secrets.
pub(super) struct Expander<'a> {
    lookup: Lookup<'a>,
    /// The names and values of the variables that were used.
    pub(super) used: Vec<(String, String)>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(lookup: Lookup<'a>) -> Expander<'a> {
        Expander { lookup, used: Vec::new() }
    }

    /// Returns `text` with its variables expanded, or the name of a variable that is not set and has no default. A text
    /// that is no such reference, such as `$HOME` or `${1}`, does not change.
    pub(super) fn fill(&mut self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            filled.push_str(before);
            match reference(from) {
                Some((name, default, length)) => {
                    filled.push_str(&self.value(name, default)?);
                    rest = &from[length..];
                }
                None => {
                    filled.push_str("${");
                    rest = &from[2..];
                }
            }
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// Returns the value of a reference. As in a shell, `:-` also replaces an empty variable.
    fn value(&mut self, name: &str, default: Option<&str>) -> Result<String, String> {
        match ((self.lookup)(name), default) {
            (Some(value), default) if !value.is_empty() || default.is_none() => {
                self.used.push((name.to_owned(), value.clone()));
                Ok(value)
            }
            (_, Some(default)) => Ok(default.to_owned()),
            (_, None) => Err(name.to_owned()),
        }
    }
}

/// Returns the name, default and length of the reference at the start of `text`, which begins with `${`.
fn reference(text: &str) -> Option<(&str, Option<&str>, usize)> {
    let end = text.find('}')?;
    let inside = &text[2..end];
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let first = name.chars().next()?;
    let named = (first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    named.then_some((name, default, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str) -> Result<String, String> {
        let lookup = |name: &str| match name {
            "TOKEN" => Some("t0p".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        Expander::new(&lookup).fill(text)
    }

    #[test]
    fn variables_are_filled_in() {
        for (text, filled) in [
            ("plain", "plain"),
            ("Bearer ${TOKEN}!", "Bearer t0p!"),
            ("${TOKEN}${TOKEN}", "t0pt0p"),
            ("${NOPE:-else}", "else"),
            ("${NOPE:-}", ""),
            ("${EMPTY:-else}", "else"),
            ("${EMPTY}", ""),
            ("${TOKEN:-else}", "t0p"),
            ("${NOPE:-a:-b}", "a:-b"),
        ] {
            assert_eq!(fill(text).as_deref(), Ok(filled), "{text}");
        }
    }

    #[test]
    fn what_is_no_variable_stays() {
        for text in ["$TOKEN", "${", "${}", "${1}", "${a b}", "${TOKEN", "$${", "é${é}"] {
            assert_eq!(fill(text).as_deref(), Ok(text), "{text}");
        }
    }

    #[test]
    fn one_that_is_not_set_is_named() {
        assert_eq!(fill("a ${NOPE} b"), Err("NOPE".to_owned()));
    }
}
