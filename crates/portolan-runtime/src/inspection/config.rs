//! The configuration of one repository, as far as guards need it. Included files and the user's own are not read:
//! without their values, the guards are only stricter.

/// The values of a configuration file, in order: section and key in lower case, a subsection as it is written.
pub(super) struct Config {
    values: Vec<(String, String)>,
}

impl Config {
    pub(super) fn parse(text: &str) -> Config {
        let mut values = Vec::new();
        let mut section = String::new();
        let joined = text.replace("\r\n", "\n").replace("\\\n", "");
        for line in joined.lines() {
            let line = line.trim();
            let line = match line.strip_prefix('[').and_then(header) {
                Some((name, rest)) => {
                    section = name;
                    rest.trim()
                }
                None => line,
            };
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let (key, raw) = line.split_once('=').map_or((line, "true"), |(key, value)| (key, value));
            values.push((format!("{section}.{}", key.trim().to_lowercase()), value(raw.trim())));
        }
        Config { values }
    }

    /// Returns the last value of a key.
    pub(super) fn last(&self, key: &str) -> Option<&str> {
        self.values.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Returns the subsections that have `key`, and its values.
    pub(super) fn each<'a>(&'a self, section: &str, key: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let (before, after) = (format!("{section}."), format!(".{key}"));
        self.values.iter().filter_map(move |(known, value)| {
            let name = known.strip_prefix(&before)?.strip_suffix(&after)?;
            Some((name, value.as_str()))
        })
    }
}

/// Parses `section "sub"] rest`, after its bracket.
fn header(line: &str) -> Option<(String, &str)> {
    let Some((name, rest)) = line.split_once('"') else {
        let (name, rest) = line.split_once(']')?;
        return Some((name.trim().to_lowercase(), rest));
    };
    let mut sub = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => sub.extend(chars.next().map(|(_, char)| char)),
            '"' => {
                let (_, rest) = rest[at + 1..].split_once(']')?;
                return Some((format!("{}.{sub}", name.trim().to_lowercase()), rest));
            }
            char => sub.push(char),
        }
    }
    None
}

/// Returns a value without its quotes, escapes and comment.
fn value(raw: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = raw.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(char) => out.push(char),
                None => {}
            },
            char => out.push(char),
        }
    }
    if quoted || raw.ends_with('"') { out } else { out.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_is_read() {
        let config = Config::parse(
            "[core]\n\tbare = false # no\n[remote \"origin\"]\n\turl = \"https://x/#y\"\n\tfetch=+a:b\n\tpush = c:d\n\
             [branch \"feat/a.\\\"b\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[Push] Default = current\n[extensions]\n\
             refStorage = reftable\n[x]\nflag\nlong = a\\\nb\n[broken \"x\nkey=1",
        );
        assert_eq!(config.last("core.bare"), Some("false"));
        assert_eq!(config.last("remote.origin.url"), Some("https://x/#y"));
        assert_eq!(config.last("push.default"), Some("current"));
        assert_eq!(config.last("extensions.refstorage"), Some("reftable"));
        assert_eq!(config.last("x.flag"), Some("true"));
        assert_eq!(config.last("x.long"), Some("ab"));
        assert_eq!(config.each("branch", "merge").collect::<Vec<_>>(), [("feat/a.\"b", "refs/heads/main")]);
    }
}
