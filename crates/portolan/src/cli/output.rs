//! Output: data goes to standard output, everything else to standard error, with colour only on a terminal.

use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::json;

pub(crate) use crate::invisible::{one_line, safe};

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON value.
    Json,
}

const UNWRITABLE: &str = "the output cannot be written";

/// The settings of a command's output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) format: Format,
    colour: bool,
    error_colour: bool,
}

/// The colours, by their meaning.
#[derive(Clone, Copy)]
pub(crate) enum Paint {
    Good,
    Bad,
    Warn,
    Strong,
    Faint,
}

impl Output {
    pub(crate) fn new(format: Format) -> Output {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let (colour, error_colour) = (wanted && io::stdout().is_terminal(), wanted && io::stderr().is_terminal());
        Output { format, colour, error_colour }
    }

    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    pub(crate) fn has_colour(self) -> bool {
        self.colour
    }

    pub(crate) fn has_error_colour(self) -> bool {
        self.error_colour
    }

    /// Prints a line of text.
    pub(crate) fn line(self, text: impl AsRef<str>) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", text.as_ref()).context(UNWRITABLE)
    }

    /// Prints one JSON value.
    pub(crate) fn json(self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, value).context(UNWRITABLE)?;
        writeln!(out).context(UNWRITABLE)
    }

    /// Prints an error on standard error, in both formats.
    pub(crate) fn error(self, code: &str, message: &str, help: &str) {
        let mut err = io::stderr().lock();
        // A closed standard error cannot be reported anywhere.
        let _ = match self.format {
            Format::Json => writeln!(err, "{}", json!({ "error": code, "message": message, "help": help })),
            Format::Text if help.is_empty() => writeln!(err, "error: {}", one_line(message)),
            Format::Text => writeln!(err, "error: {}\nhelp: {}", one_line(message), one_line(help)),
        };
    }

    /// Prints a remark on standard error.
    pub(crate) fn remark(self, text: impl AsRef<str>) {
        let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
    }

    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        painted(self.colour, paint, text)
    }

    /// Colours a text for standard error.
    pub(crate) fn paint_error(self, paint: Paint, text: &str) -> String {
        painted(self.error_colour, paint, text)
    }
}

fn painted(colour: bool, paint: Paint, text: &str) -> String {
    if !colour {
        return text.to_owned();
    }
    let code = match paint {
        Paint::Good => "32",
        Paint::Bad => "31",
        Paint::Warn => "33",
        Paint::Strong => "1",
        Paint::Faint => "2",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Formats a command unambiguously: a word with other than plain characters is quoted and escaped.
pub(crate) fn command_line(argv: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let word = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) { word.clone() } else { one_line(&format!("{word:?}")) }
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Returns the operating system's error message without Rust's error number.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// Returns why a text is not JSON.
pub(crate) fn unread(error: &serde_json::Error) -> String {
    if error.is_eof() {
        format!("it ends unexpectedly at line {} column {}", error.line(), error.column())
    } else {
        error.to_string()
    }
}

/// Formats an error with its causes on one line.
pub(super) fn format_error(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Returns whether an error only says that the reader has closed the pipe.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
            || cause
                .downcast_ref::<serde_json::Error>()
                .is_some_and(|error| error.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}

/// Formats rows as columns, each as wide as its widest cell. The last column is not padded.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
        })
        .collect();
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells: Vec<String> = row
                .iter()
                .enumerate()
                .map(|(column, cell)| {
                    let pad =
                        if column + 1 == row.len() { 0 } else { widths[column].saturating_sub(cell.chars().count()) };
                    format!("{cell}{}", " ".repeat(pad))
                })
                .collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect();
    lines.join("\n")
}
