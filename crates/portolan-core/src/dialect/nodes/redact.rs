//! Names of fields and pointers whose values are hidden wherever values are shown.

use crate::diagnostic::{Diagnostic, clip};
use crate::source::fields::{FaultList, Fields};

/// Reads `redact`. Reports pointers that hide nothing: malformed ones, and those that begin at a node instead of in a
/// value.
pub(in crate::dialect) fn redact(
    fields: &mut Fields<'_>,
    is_node: impl Fn(&str) -> bool,
    faults: &mut FaultList,
) -> Vec<String> {
    let redact = fields.strings("redact", faults);
    for place in &redact {
        let text = place.value.as_str();
        if is_broken(text) {
            let message = format!("`{}` in `redact` is neither the name of a field nor a JSON pointer", clip(text));
            let fault = Diagnostic::error("bad-pointer", message).at(place.span);
            faults.push(fault.help(
                "write the name alone, or a pointer such as `/user/token`; in a pointer, `~0` means `~` and `~1` means `/`",
            ));
            continue;
        }
        let Some((first, rest)) = text.strip_prefix('/').and_then(|way| way.split_once('/')) else { continue };
        if is_node(first) {
            let message = format!(
                "`{}` in `redact` starts with the id of a node, but a pointer starts inside a value, so it hides nothing",
                clip(text)
            );
            let fault = Diagnostic::warning("inert-pointer", message).at(place.span);
            let help = format!("write `/{}`, which hides it in the inputs and outputs of every node", clip(rest));
            faults.push(fault.help(help));
        }
    }
    redact.into_iter().map(|place| place.value).collect()
}

/// Returns whether a text is neither the name of a field nor a valid pointer.
fn is_broken(text: &str) -> bool {
    let bad_escape = || text.split('~').skip(1).any(|after| !after.starts_with(['0', '1']));
    text.is_empty() || text.starts_with("#/") || text.starts_with("$.") || (text.starts_with('/') && bad_escape())
}
