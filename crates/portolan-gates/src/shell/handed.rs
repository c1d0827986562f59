//! Texts that programs hand to a shell, now or later: `su -c`, `ssh localhost`, `at`, `npx -c`.

use super::wrap::{WrapperResult, run_words, text_of};
use super::{Command, Why, Word};

/// `su -c text`, `sg group text`: the text after the option, also in a bundle.
pub(super) fn option_text(command: &Command, told: &mut WrapperResult) {
    let attached = |word: &Word| {
        let text = word.known()?;
        // Options may be cut short.
        let long = text.split_once('=').filter(|(name, _)| name.len() > 3 && "--command".starts_with(name));
        long.map(|(_, value)| value).or_else(|| text.strip_prefix("-c").filter(|rest| !rest.is_empty())).map(Word::from)
    };
    if let Some(text) = command.words.iter().find_map(attached) {
        run_words(&[text], command, told);
        return;
    }
    let takes = |word: &Word| {
        word.known().is_some_and(|text| {
            text.starts_with('-') && text.ends_with('c') || (text.len() > 3 && "--command".starts_with(text))
        })
    };
    match command.words.iter().position(takes) {
        Some(at) => run_words(
            &command.words[(at + 1).min(command.words.len())..(at + 2).min(command.words.len())],
            command,
            told,
        ),
        None => told.doubts.push((Why::RunsPrograms, text_of(&command.words))),
    }
}

/// Texts that a program hands to a shell, here or later.
pub(super) fn handed(name: &str, command: &Command, told: &mut WrapperResult) {
    let arguments = &command.words[1..];
    let has = |names: &[&str]| arguments.iter().filter_map(Word::known).any(|word| names.contains(&word));
    match name {
        "ssh" if let Some(rest) = on_this_machine(arguments) => {
            let elsewhere = Command { folders: vec![Word::Dynamic], ..command.clone() };
            run_words(rest, &elsewhere, told);
        }
        "npx" | "npm" if name == "npx" || has(&["exec", "x"]) => {
            let at = arguments.iter().position(|word| matches!(word.known(), Some("-c" | "--call")));
            if let Some(at) = at {
                run_words(&arguments[(at + 1).min(arguments.len())..(at + 2).min(arguments.len())], command, told);
            }
            told.doubts.push((Why::RunsPrograms, text_of(&command.words)));
        }
        "at" | "batch" | "crontab" if !has(&["-l", "-r", "-d", "-c", "-e", "-V"]) => {
            let file =
                if name == "crontab" { arguments.iter().any(|word| word.known() != Some("-")) } else { has(&["-f"]) };
            match &command.stdin {
                _ if file => told.doubts.push((Why::RunsPrograms, text_of(&command.words))),
                Some(text) => run_words(std::slice::from_ref(text), command, told),
                None => told.doubts.push((Why::DynamicText, text_of(&command.words))),
            }
        }
        _ => told.doubts.push((Why::RunsPrograms, text_of(&command.words))),
    }
}

/// What `ssh` runs on the machine that it is called on.
fn on_this_machine(arguments: &[Word]) -> Option<&[Word]> {
    let mut at = 0;
    while let Some(text) = arguments.get(at)?.known() {
        match text.strip_prefix('-') {
            // Its options with a value have one letter each.
            Some(rest) if rest.len() == 1 && "BbcDEeFIiJLlmOoPpRSWw".contains(rest) => at += 2,
            Some(_) => at += 1,
            None => break,
        }
    }
    let host = arguments.get(at)?.known()?;
    let host = host.rsplit('@').next().unwrap_or(host);
    let local = matches!(host, "localhost" | "::1" | "0.0.0.0" | "ip6-localhost") || host.starts_with("127.");
    local.then(|| &arguments[at + 1..]).filter(|rest| !rest.is_empty())
}
