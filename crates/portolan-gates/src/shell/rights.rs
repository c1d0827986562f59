//! What `chmod` does to the rights of files, as far as its mode tells: a hook that its owner may no longer run is none.

use super::{Command, Word};

/// Whether the owner of the files can do with them afterwards all that was possible before. Another owner or group is
/// not known to leave that.
pub(crate) fn only_adds(command: &Command) -> bool {
    let arguments = command.words.get(1..).unwrap_or_default();
    let texts = || arguments.iter().filter_map(Word::known);
    if command.program() != Some("chmod") || texts().any(|text| text.starts_with("--reference")) {
        return false;
    }
    let dashed = texts().find(|text| is_dashed_mode(text));
    let operand = || arguments.iter().find(|word| !word.known().is_some_and(|text| text.starts_with('-')));
    let mode = dashed.map_or_else(|| operand().and_then(Word::known), Some);
    mode.is_some_and(|mode| match mode.bytes().all(|byte| byte.is_ascii_digit()) {
        true => owner_digit(mode) == Some(b'7'),
        false => mode.split(',').all(leaves_the_owner),
    })
}

/// `chmod -x file`: a mode that looks like an option.
pub(super) fn is_dashed_mode(text: &str) -> bool {
    text.len() > 1 && text.strip_prefix('-').is_some_and(|rest| rest.chars().all(|char| "rwxXst".contains(char)))
}

/// What the owner may, of `755` and of `0755`.
fn owner_digit(mode: &str) -> Option<u8> {
    mode.len().checked_sub(3).and_then(|at| mode.as_bytes().get(at).copied())
}

/// Whether a clause such as `g-w` or `+x` takes nothing from the owner.
fn leaves_the_owner(clause: &str) -> bool {
    let Some(at) = clause.find(['+', '-', '=']) else { return false };
    let (who, deed) = clause.split_at(at);
    let others = !who.is_empty() && who.chars().all(|char| matches!(char, 'g' | 'o'));
    let all = ['r', 'w', 'x'].iter().all(|right| deed.contains(*right));
    others || (!deed.contains('-') && (!deed.contains('=') || all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    #[test]
    fn what_takes_a_right_from_the_owner_is_told() {
        let adds = |text: &str| only_adds(&shell::read(text).commands[0]);
        for text in ["+x a", "u+w a", "-R a+rX,g+w a", "755 a", "0700 a", "-R go-w a", "u=rwx,go=rx a", "775 -R a"] {
            assert!(adds(&format!("chmod {text}")), "{text}");
        }
        for text in ["-x a", "000 a", "644 a", "-R a-x a", "u-w a", "=r a", "+x,u-r a", "7 a", "\"$m\" a", "-R -w a"] {
            assert!(!adds(&format!("chmod {text}")), "{text}");
        }
        assert!(!adds("chmod --reference=b a"));
        assert!(!adds("chown me a"));
    }
}
