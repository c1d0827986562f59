//! What is trusted, as a person sees it: the commands with their secrets masked, and the lists of them.

use portolan_core::present::MASK;
use portolan_runtime::clock::rfc3339;
use portolan_runtime::trust::{Acceptance, GivenTrust, Trust, TrustEntry, TrustedCommand};
use serde_json::json;

use super::super::Exit;
use super::super::output::{Output, command_line, one_line};
use super::shared;

pub(super) fn line(command: &TrustedCommand) -> String {
    if command.node.is_empty() {
        return format!("{}: {}", one_line(&format!("server {}", command.check)), command_line(&command.argv));
    }
    let at = one_line(&format!("{}/{}", command.node, command.check));
    if command.timeout_seconds == 0 {
        return format!("{at}: {}", command_line(&command.argv));
    }
    format!("{at}: {}  (at most {} s)", command_line(&command.argv), command.timeout_seconds)
}

/// Masks the values of a command's variables and headers, which are often secrets. Names stay, and so do references to
/// variables of the environment.
pub(super) fn masked(command: &TrustedCommand) -> TrustedCommand {
    let is_server = command.node.is_empty();
    let argv = match command.argv.split_first() {
        Some((first, rest)) if is_server && first == "env" => {
            let pairs = rest.iter().take_while(|word| word.contains('=')).count();
            let (pairs, program) = rest.split_at(pairs);
            [std::slice::from_ref(first), &pairs.iter().map(|pair| unspoken(pair)).collect::<Vec<_>>(), program]
                .concat()
        }
        Some((url, headers)) if url.contains("://") => {
            std::iter::once(masked_url(url)).chain(headers.iter().map(|header| unspoken(header))).collect()
        }
        _ => command.argv.clone(),
    };
    TrustedCommand { argv, ..command.clone() }
}

/// Masks a pair as `NAME=[redacted]`, unless the value only names a variable of the environment.
fn unspoken(pair: &str) -> String {
    let Some((name, value)) = pair.split_once('=') else { return pair.to_owned() };
    // In `Bearer ${TOKEN}` the first word is the kind of the secret.
    let value_alone = value.split_once(' ').map_or(value, |(word, rest)| if is_word(word) { rest } else { value });
    let inner = value_alone.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let shown = name == "--chdir" || value.is_empty() || inner.is_some_and(is_word);
    if shown { pair.to_owned() } else { format!("{name}={MASK}") }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Masks the credentials of a URL, and the values of its query.
fn masked_url(url: &str) -> String {
    let (address, query) = url.split_once('?').map_or((url, None), |(address, query)| (address, Some(query)));
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit_once('@').map_or_else(|| host.to_owned(), |(_, host)| format!("{MASK}@{host}"));
    let query = query.map(|query| format!("?{}", query.split('&').map(unspoken).collect::<Vec<_>>().join("&")));
    format!("{scheme}://{host}{path}{}", query.unwrap_or_default())
}

pub(super) fn list(output: &Output, trust: &Trust, with_store: bool) -> anyhow::Result<Exit> {
    let (mut entries, mut faults) = trust.list();
    for entry in &mut entries {
        entry.runs = entry.runs.iter().map(masked).collect();
    }
    let (accepted, given, unread) = trust.list_stores();
    faults.extend(unread);
    // Without `--shared`, the store is only asked if what it says counts here.
    let is_counted = trust.accepts_shared().unwrap_or(false);
    let in_store = match with_store || is_counted {
        true => Some(shared::decisions(trust)?),
        false => None,
    };
    let (decisions, damaged) = in_store.unwrap_or_default();
    faults.extend(damaged);
    let is_empty = entries.is_empty() && accepted.is_empty() && given.is_empty() && decisions.is_empty();
    if output.is_json() {
        let mut listed = json!({ "trusted": entries });
        if !accepted.is_empty() {
            listed["accepted"] = json!(accepted);
        }
        if !given.is_empty() {
            listed["given"] = json!(given);
        }
        if !decisions.is_empty() {
            listed["shared"] = json!({
                "store": trust.shared_address(), "counts": is_counted, "trusted": decisions,
            });
        }
        output.json(&listed)?;
    } else if is_empty && faults.is_empty() {
        output.remark("nothing is trusted");
    } else {
        for entry in &entries {
            list_entry(output, entry, "")?;
        }
        for GivenTrust { store, entry } in &given {
            list_entry(output, entry, &format!("  shared in {}", one_line(store)))?;
        }
        for Acceptance { project, store, at } in &accepted {
            let project = project.to_string_lossy();
            output.line(format!(
                "{}  all that is trusted in {}  in {}",
                rfc3339(*at),
                one_line(store),
                one_line(&project)
            ))?;
        }
        shared::list(output, trust, &decisions, is_counted)?;
    }
    for fault in &faults {
        output.error(fault.code(), &fault.message, &fault.help);
    }
    Ok(if faults.is_empty() { Exit::Done } else { Exit::Failed })
}

fn list_entry(output: &Output, entry: &TrustEntry, suffix: &str) -> anyhow::Result<()> {
    let project = entry.project.to_string_lossy();
    output.line(format!("{}  {}  in {}{suffix}", rfc3339(entry.at), one_line(&entry.path), one_line(&project)))?;
    list_runs(output, &entry.runs)
}

pub(super) fn list_runs(output: &Output, runs: &[TrustedCommand]) -> anyhow::Result<()> {
    for command in runs {
        output.line(format!("  {}", line(command)))?;
    }
    if runs.is_empty() {
        output.line("  its phases")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked_line(argv: &[&str]) -> String {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let (flow, node) = (String::new(), String::new());
        line(&masked(&TrustedCommand { flow, node, check: "s".to_owned(), argv, timeout_seconds: 0 }))
    }

    #[test]
    fn values_of_variables_and_headers_are_not_shown() {
        let env = masked_line(&["env", "TOKEN=s3cret", "B=${B}", "C=${C:-s3cret}", "--chdir=x", "npx", "--key=k"]);
        assert_eq!(env, r#"server s: env "TOKEN=[redacted]" "B=${B}" "C=[redacted]" --chdir=x npx --key=k"#);
        let web =
            masked_line(&["https://u:s3cret@h/mcp?key=s3cret&v=${V}", "Authorization=Bearer ${T}", "X=Bearer s3cret"]);
        assert_eq!(
            web,
            r#"server s: "https://[redacted]@h/mcp?key=[redacted]&v=${V}" "Authorization=Bearer ${T}" "X=[redacted]""#
        );
        assert_eq!(masked_line(&["npx", "A=b"]), "server s: npx A=b");
    }
}
