//! The valid names of branches, objects and repositories.

/// The longest accepted name, in bytes.
const MAX_BYTES: usize = 255;

/// Checks whether git accepts `name` as the name of a branch, by the rules of `git check-ref-format --branch`. Rejects
/// the names of earlier branches (`@{-1}`), and names that begin with `-`, which must never reach git.
pub fn is_branch(name: &str) -> bool {
    let forbidden = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    name.len() <= MAX_BYTES
        && !name.starts_with('-')
        && !matches!(name, "" | "@" | "HEAD")
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(forbidden)
        && name.split('/').all(is_part)
}

/// Returns the repository at a remote's address: `owner/name` on `github.com`, `host/owner/name` on another forge.
pub fn repository(address: &str) -> Option<String> {
    let (host, path) = match address.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?,
        None => address.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = host.rsplit('@').next()?.split(':').next()?;
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let well = !host.is_empty() && path.split('/').count() == 2 && path.split('/').all(|part| !part.is_empty());
    match (well, host.eq_ignore_ascii_case("github.com")) {
        (true, true) => Some(path.to_owned()),
        (true, false) => Some(format!("{host}/{path}")),
        (false, _) => None,
    }
}

/// Checks whether `text` is the full name of an object: lower-case hexadecimal digits, of SHA-1 or SHA-256.
pub fn is_oid(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::repository;

    #[test]
    fn an_address_tells_the_repository() {
        for address in [
            "https://github.com/o/r.git",
            "git@github.com:o/r.git",
            "ssh://git@github.com:22/o/r",
            "https://GitHub.com/o/r/",
        ] {
            assert_eq!(repository(address).as_deref(), Some("o/r"), "{address}");
        }
        assert_eq!(repository("https://token@ghe.example.com/o/r").as_deref(), Some("ghe.example.com/o/r"));
        assert_eq!(repository("git@work:o/r.git").as_deref(), Some("work/o/r"));
        for address in ["/srv/git/r.git", "../r", "https://example.org/r", "file:///o/r", "https://github.com/o/r/tree"]
        {
            assert_eq!(repository(address), None, "{address}");
        }
    }
}
