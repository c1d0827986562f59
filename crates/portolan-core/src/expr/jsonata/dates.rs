//! `$toMillis` with a picture of only part of a date: the rest comes from the scope's time, not from a clock.

use jsonata_core::ast::AstNode;
use jsonata_core::evaluator::{Evaluator, EvaluatorError};
use jsonata_core::value::JValue;

use super::bounds::date_picture;

/// The components of a date and time, largest first, each with its picture.
const LARGER: &[(char, &str)] =
    &[('Y', "[Y0001]"), ('M', "[M01]"), ('D', "[D01]"), ('H', "[H01]"), ('m', "[m01]"), ('s', "[s01]")];

/// Returns the text (0) or its picture (1), prefixed with the components that are larger than all in the picture.
pub(super) fn dated(at: f64, arguments: &[JValue]) -> Result<JValue, EvaluatorError> {
    let [text, picture, part] = arguments else { return Ok(JValue::Undefined) };
    let wants_picture = part.as_f64() == Some(1.0);
    let given = if wants_picture { picture } else { text };
    let (Some(text), Some(shape)) = (text.as_str(), picture.as_str()) else { return Ok(given.clone()) };
    date_picture(picture)?;
    let Some(front) = front(shape) else { return Ok(given.clone()) };
    let dated = if wants_picture { format!("{front}|{shape}") } else { format!("{}|{text}", written(at, &front)?) };
    Ok(JValue::string(dated))
}

/// Returns the picture of the missing prefix; `None` if nothing is missing, or if days are counted in weeks or years.
fn front(picture: &str) -> Option<String> {
    let components: Vec<char> =
        picture.split('[').skip(1).filter_map(|rest| rest.trim_start().chars().next()).collect();
    let largest = components.iter().filter_map(|component| {
        let component = if *component == 'h' { 'H' } else { *component };
        LARGER.iter().position(|(known, _)| *known == component)
    });
    let largest = largest.min()?;
    if largest == 0 || components.iter().any(|component| "XxWwdF".contains(*component)) {
        return None;
    }
    Some(LARGER[..largest].iter().map(|(_, shape)| *shape).collect::<Vec<_>>().join("|"))
}

/// Formats the scope's time with the library.
fn written(at: f64, picture: &str) -> Result<String, EvaluatorError> {
    let args = vec![AstNode::Number(at), AstNode::String(picture.to_owned())];
    let call = AstNode::Function { name: "fromMillis".to_owned(), args, is_builtin: true };
    let written = Evaluator::new().evaluate(&call, &JValue::Undefined)?;
    Ok(written.as_str().unwrap_or_default().to_owned())
}
