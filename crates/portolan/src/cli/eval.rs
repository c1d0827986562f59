//! `portolan eval`: evaluates an expression as a workflow would, over data from a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use portolan_core::diagnostic::Diagnostic;
use portolan_core::expr::{Expr, JsonLogic, Jsonata, ParseFault, Scope, When};
use portolan_core::source::{Source, Span, parse_json};
use portolan_runtime::clock::Clock;
use portolan_runtime::service::ServiceError;
use serde_json::{Map, Value};

use super::check::drawn;
use super::output::{Output, plain, unread};
use super::{Common, Exit};

/// The most data that is read, in bytes.
const MAX_DATA_BYTES: u64 = 64 << 20;

/// Evaluate an expression over data, as a workflow would.
///
/// Example: portolan eval jsonata "$sum([1, 2, 3])"
#[derive(Args)]
#[command(after_help = "The result is printed as JSON; an undefined result prints nothing. Exit code 3 when the \
        expression cannot be read, 1 when it fails. In a shell, put an expression with `$` in single \
        quotes:\n\n  echo '{\"items\": [{\"price\": 2}]}' | portolan eval jsonata '$sum(items.price)' --data -")]
pub(super) struct Eval {
    /// The language.
    #[arg(value_enum)]
    language: Language,
    /// The expression; for JSON Logic, the rule as JSON.
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    expression: String,
    /// A JSON file to evaluate the expression over [default: an empty object].
    /// `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// A JSON file with an object of variables: `{"limit": 3}` defines `$limit`.
    #[arg(long, value_name = "FILE")]
    bindings: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    /// JSONata, for values.
    Jsonata,
    /// JSON Logic, for decisions; the path of a `var` is JSONata.
    Jsonlogic,
    /// Conditions: `state == done && !(retries >= 3)`.
    When,
}

pub(super) fn run(args: &Eval, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let source = Source::new("<expression>", &args.expression);
    let expression = match read(args.language, &source) {
        Ok(expression) => expression,
        Err(fault) => return Ok(unreadable(&output, &source, &fault)),
    };
    let data = match &args.data {
        Some(path) => json_at(path)?,
        None => Value::Object(Map::new()),
    };
    let bindings = match &args.bindings {
        Some(path) => object_at(path)?,
        None => Map::new(),
    };
    let at = Clock::default().now();
    let mut scope = Scope { at, seed: at.0.cast_unsigned(), ..Scope::of(&data) };
    scope.bindings = bindings.iter().map(|(name, value)| (name.as_str(), value)).collect();
    match expression.eval(&scope) {
        Ok(Some(value)) => output.json(&value)?,
        Ok(None) => output.remark("undefined"),
        Err(fault) => {
            output.error(fault.code, &fault.message, "");
            return Ok(Exit::Failed);
        }
    }
    Ok(Exit::Done)
}

fn read(language: Language, source: &Source) -> Result<Expr, Diagnostic> {
    match language {
        Language::Jsonata => {
            Jsonata::parse(&source.text).map(Expr::Jsonata).map_err(|fault| diagnostic(source, &fault))
        }
        Language::When => When::parse(&source.text).map(Expr::When).map_err(|fault| diagnostic(source, &fault)),
        Language::Jsonlogic => {
            parse_json(source)?;
            let rule: Value = serde_json::from_str(&source.text)
                .map_err(|error| Diagnostic::error("syntax", format!("not valid JSON: {error}")))?;
            JsonLogic::parse(&rule).map(Expr::Logic).map_err(|fault| diagnostic(source, &fault))
        }
    }
}

fn diagnostic(source: &Source, fault: &ParseFault) -> Diagnostic {
    let code = fault.code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
    let mut diagnostic = Diagnostic::error("expression-syntax", format!("{}{code}", fault.message));
    if let Some(start) = fault.offset {
        // The position after the last character has no width.
        let width = source.text[start..].chars().next().map_or(0, char::len_utf8);
        diagnostic = diagnostic.at(Span { start, end: start + width });
    }
    match &fault.help {
        Some(help) => diagnostic.help(help.as_str()),
        None => diagnostic,
    }
}

fn unreadable(output: &Output, source: &Source, fault: &Diagnostic) -> Exit {
    if output.is_json() {
        let place = fault.span.map(|span| source.location(span.start));
        let place = place.map(|place| format!("{}:{}: ", place.line, place.column)).unwrap_or_default();
        output.error(fault.code, &format!("{place}{}", fault.message), fault.help.as_deref().unwrap_or_default());
    } else {
        output.remark(drawn(source, fault, output.has_error_colour()));
    }
    Exit::InvalidDefinition
}

fn object_at(path: &Path) -> Result<Map<String, Value>, ServiceError> {
    match json_at(path)? {
        Value::Object(members) => Ok(members),
        _ => Err(ServiceError::refused(
            "bad_bindings",
            format!("`{}` is not a JSON object", path.display()),
            "write the variables as members of an object, without their `$`",
        )),
    }
}

fn json_at(path: &Path) -> Result<Value, ServiceError> {
    let name = path.display();
    let failed = |error: &io::Error| {
        let message = format!("`{name}` cannot be read: {}", plain(error));
        ServiceError::failed("unreadable", message, "name a JSON file, or `-` for standard input")
    };
    let text = if path.as_os_str() == "-" { text(io::stdin().lock()) } else { File::open(path).and_then(text) };
    let text = text.map_err(|error| failed(&error))?;
    if text.len() as u64 > MAX_DATA_BYTES {
        let message = format!("`{name}` is larger than {} MiB", MAX_DATA_BYTES >> 20);
        return Err(ServiceError::refused("too_large", message, "evaluate the expression on part of the data"));
    }
    serde_json::from_str(&text).map_err(|error| {
        ServiceError::refused("bad_data", format!("`{name}` is not valid JSON: {}", unread(&error)), "mend it")
    })
}

fn text(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(MAX_DATA_BYTES + 1).read_to_string(&mut text)?;
    Ok(text)
}
