//! What is printed: data on standard output, everything else on standard error, colour only on a terminal.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::json;

/// How to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON value.
    Json,
}

/// Where a command prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) format: Format,
    colour: bool,
}

/// The colours that are used, by what they mean.
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
        Output { format, colour: wanted && io::stdout().is_terminal() }
    }

    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    pub(crate) fn has_colour(self) -> bool {
        self.colour
    }

    /// Prints a line of text, or nothing more where a program reads.
    pub(crate) fn line(self, text: impl AsRef<str>) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", text.as_ref())?;
        Ok(())
    }

    /// Prints one JSON value.
    pub(crate) fn json(self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, value)?;
        writeln!(out)?;
        Ok(())
    }

    /// Prints what went wrong, on standard error in both formats.
    pub(crate) fn error(self, code: &str, message: &str, help: &str) {
        let mut err = io::stderr().lock();
        // Nothing more can be done about a standard error that is closed.
        let _ = match self.format {
            Format::Json => writeln!(err, "{}", json!({ "error": code, "message": message, "help": help })),
            Format::Text if help.is_empty() => writeln!(err, "error: {message}"),
            Format::Text => writeln!(err, "error: {message}\nhelp: {help}"),
        };
    }

    /// A remark for the person at the terminal.
    pub(crate) fn remark(self, text: impl AsRef<str>) {
        let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
    }

    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.colour {
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
}

/// Whether an error is only that nobody reads any more.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
            || cause
                .downcast_ref::<serde_json::Error>()
                .is_some_and(|error| error.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}

/// Columns of text, each as wide as its widest cell; the last one is not padded.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
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
