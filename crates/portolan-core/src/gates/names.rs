//! What may be the name of a branch.

/// The longest name that is looked at, in bytes.
const MAX_BYTES: usize = 255;

/// Whether git takes `name` for the name of a branch, by the rules of `git check-ref-format --branch`. Names of earlier
/// branches (`@{-1}`) are none, and one that begins with `-` never reaches git.
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

/// Whether `text` is the full name of an object: hexadecimal digits, of SHA-1 or SHA-256.
pub fn is_oid(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}
