//! Messages in the format of Conventional Commits 1.0.0: `type(scope)!: description`, a body, footers.

use crate::guidelines::Commits;
use portolan_core::diagnostic::list;

/// Returns how to fix a message, or `None` if it is valid.
pub(super) fn fault(subject: &str, body: &str, rules: &Commits) -> Option<String> {
    header(subject, rules).or_else(|| below(body))
}

fn header(subject: &str, rules: &Commits) -> Option<String> {
    let form = || {
        Some(
            "write `type(scope): description`; the scope is optional, `!` before the colon marks a breaking change"
                .to_owned(),
        )
    };
    let Some((head, description)) = subject.split_once(':') else { return form() };
    let head = head.strip_suffix('!').unwrap_or(head);
    let (kind, scope) = match head.split_once('(') {
        None => (head, None),
        Some((kind, rest)) => match rest.strip_suffix(')') {
            Some(scope) if !scope.trim().is_empty() && !scope.contains(['(', ')']) => (kind, Some(scope)),
            _ => return form(),
        },
    };
    let is_word = !kind.is_empty() && kind.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    if !is_word || !description.starts_with(' ') || description.trim().is_empty() {
        return form();
    }
    let known = |words: &[String], word: &str| words.is_empty() || words.iter().any(|known| known == word);
    let listed = |words: &[String]| list(&words.iter().map(String::as_str).collect::<Vec<_>>());
    match scope {
        _ if !known(&rules.types, kind) => Some(format!("use one of the types {}", listed(&rules.types))),
        Some(scope) if !known(&rules.scopes, scope) => Some(format!("use one of the scopes {}", listed(&rules.scopes))),
        None if rules.require_scope => Some("give a scope: `type(scope): description`".to_owned()),
        _ => too_long(subject, rules.max_header),
    }
}

fn too_long(subject: &str, most: Option<usize>) -> Option<String> {
    let most = most.filter(|most| subject.chars().nth(*most).is_some())?;
    Some(format!("keep the first line within {most} characters"))
}

/// Checks body and footers. A breaking-change footer is recognized by capitals, so other spellings of it are faults.
fn below(body: &str) -> Option<String> {
    if body.lines().next().is_some_and(|line| !line.trim().is_empty()) {
        return Some("leave a blank line after the first one".to_owned());
    }
    let mut before_blank = true;
    let mut in_footers = false;
    for line in body.lines() {
        let footer = footer(line);
        in_footers |= before_blank && footer.is_some();
        before_blank = line.trim().is_empty();
        let Some((token, value)) = footer.filter(|_| in_footers) else { continue };
        let breaks = ["breaking change", "breaking-change"].iter().any(|name| token.eq_ignore_ascii_case(name));
        if breaks && token.chars().any(|c| c.is_ascii_lowercase()) {
            return Some("write `BREAKING CHANGE` in capitals".to_owned());
        }
        if breaks && value.trim().is_empty() {
            return Some("say what breaks after `BREAKING CHANGE:`".to_owned());
        }
    }
    None
}

/// Returns a footer's token and the beginning of its value: `Token: value` or `Token #value`.
fn footer(line: &str) -> Option<(&str, &str)> {
    let is_token = |token: &str| {
        let spaced = token.eq_ignore_ascii_case("breaking change");
        spaced || (!token.is_empty() && token.chars().all(|c| c.is_alphanumeric() || c == '-'))
    };
    let colon = line.split_once(": ").or_else(|| line.strip_suffix(':').map(|token| (token, "")));
    [colon, line.split_once(" #")].into_iter().flatten().find(|(token, _)| is_token(token))
}

#[cfg(test)]
mod tests {
    use super::fault;
    use crate::Guidelines;

    fn message_fault(message: &str) -> Option<String> {
        let mut rules = Guidelines::default().commits;
        rules.max_header = Some(60);
        let (subject, body) = message.split_once('\n').unwrap_or((message, ""));
        fault(subject, body, &rules)
    }

    #[test]
    fn messages_in_the_form_are_right() {
        for message in [
            "feat: add it",
            "fix(core)!: mend it",
            "feat(a b/c): x: y",
            "feat: x\n\nBody: with a colon\nand more\n\nBREAKING CHANGE: all of it\nRefs #12",
            "chore: x\n\nit is no breaking change: really",
            "docs: ünï",
        ] {
            assert_eq!(message_fault(message), None, "{message}");
        }
    }

    #[test]
    fn others_are_told_what_to_do() {
        for (message, help) in [
            ("add it", "write `type"),
            ("feat add it", "write `type"),
            ("feat:add it", "write `type"),
            ("feat:  ", "write `type"),
            ("feat(): x", "write `type"),
            ("feat(a: x", "write `type"),
            ("feat !: x", "write `type"),
            (": x", "write `type"),
            ("Feat: x", "use one of the types"),
            ("wip: x", "use one of the types"),
            ("feat: x\nno blank", "leave a blank line"),
            ("feat: x\n\nBreaking change: y", "write `BREAKING CHANGE`"),
            ("feat: x\n\nBREAKING CHANGE:", "say what breaks"),
            ("feat: 1234567890123456789012345678901234567890123456789012345", "keep the first line"),
        ] {
            let said = message_fault(message).unwrap_or_default();
            assert!(said.starts_with(help), "{message}: {said}");
        }
    }
}
