//! Reads a shell command without running it: every simple command that could run, at any depth, and its effect on a git
//! repository. Text that is only data is not a command, and whatever cannot be determined is a doubt. This module makes
//! no decisions, and knows only the text and the [`ShellContext`].
//!
//! ```
//! use portolan_gates::shell::{self, Word, git};
//!
//! let reading = shell::read("cd web && env CI=1 git commit -m 'git push is only text'");
//! let [command] = &reading.commands[..] else { panic!("`cd` is where the others run") };
//! assert_eq!(command.folders, [Word::from("web")]);
//! let commit = git::invocation(command).expect("a call of git");
//! assert!(matches!(commit.action, git::Action::Commit(_)));
//! assert!(reading.doubts.is_empty());
//! ```

use std::sync::Arc;

mod compound;
pub mod git;
pub mod patches;
mod programs;
mod read;
mod variables;
mod walk;
mod words;
mod wrap;
mod writes;

pub use git::alias::expand;
pub(crate) use programs::{is_inert, is_interpreter, lists, only_prints, writes_are_known};
pub(crate) use writes::links;

/// The longest text that is read, in bytes.
pub const MAX_BYTES: usize = 64 * 1024;

/// A word, as far as the text determines it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// Exactly this text.
    Known(String),
    /// One word that is known only at run time, such as `"$x"`.
    Dynamic,
    /// Any number of words that are known only at run time, such as `$x`.
    Spread,
    /// Any number of files whose names match, such as `*.rs`. A character after a backslash is literal.
    Pattern(String),
}

impl Word {
    /// Returns its text, if known.
    #[must_use]
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Dynamic | Self::Spread | Self::Pattern(_) => None,
        }
    }

    /// Checks whether it may expand to any number of words.
    #[must_use]
    pub fn is_several(&self) -> bool {
        match self {
            Self::Spread | Self::Pattern(_) => true,
            Self::Known(_) | Self::Dynamic => false,
        }
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self::Known(text.to_owned())
    }
}

/// An assignment to a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: Word,
}

/// A simple command that could run, without the programs that only start it (`env`, `sudo`, `xargs`, …).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// The assignments for this command alone: leading ones, also those of `env`.
    pub assignments: Vec<Assignment>,
    /// The assignments that the text makes before it, exported or not, with the last value of a variable last.
    pub carried: Arc<Vec<Assignment>>,
    /// Every folder that it may run in, relative to the folder where the shell starts, which is `.`.
    pub folders: Vec<Word>,
    /// The files that it writes, relative to its folder: by redirections, and those that the program is known to write.
    pub writes: Vec<Word>,
    /// Its standard input, if the text contains it: a heredoc or a here-string.
    pub stdin: Option<Word>,
    /// The last switch of branches that has succeeded when it runs: one before it in a chain of `&&`.
    pub after: Option<Arc<Command>>,
    /// The number of its text, 0 for the given one. Commands of nested texts come after all commands of this text,
    /// whenever they run.
    pub text: usize,
}

impl Command {
    /// Returns the name of the program without its path, if known.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::known).map(programs::base_name)
    }

    /// Returns every variable that is set when it runs.
    pub fn set(&self) -> impl Iterator<Item = &Assignment> {
        self.carried.iter().chain(&self.assignments)
    }
}

/// Something that cannot be determined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The reason.
    pub why: Why,
    /// The words in question, truncated if they are long.
    pub what: String,
}

/// The reason why something cannot be determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The text, or the texts that it leads to, are longer than [`MAX_BYTES`] or another limit.
    TooLong,
    /// It is nested too deep.
    TooDeep,
    /// A command is in a place that is not parsed: a pattern, a subscript, arithmetic, or a deeply nested expansion.
    Hidden,
    /// It is not valid shell text.
    Unparsed,
    /// The program is known only at run time.
    DynamicCommand,
    /// A text to be run is known only at run time.
    DynamicText,
    /// Standard input, or a file without a name, is run as a script.
    Script,
    /// An option of a program that starts others is unknown.
    UnknownOption,
    /// A name may have another meaning from here on: `alias`, `enable`, `hash -p`.
    Redefined,
    /// A git alias leads back to itself, is not only words, or is set by the text.
    Alias,
}

/// Everything that a text would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Every simple command that could run.
    pub commands: Vec<Command>,
    /// Everything that cannot be determined.
    pub doubts: Vec<Doubt>,
}

/// The environment that a shell starts in, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellContext {
    /// The folder that it starts in, absolute.
    pub folder: Option<String>,
    /// The folder of `~` and `$HOME`.
    pub home: Option<String>,
    /// The worktree around `folder`.
    pub root: Option<String>,
}

/// Returns every simple command that could run when a shell is given `text`.
#[must_use]
pub fn read(text: &str) -> Reading {
    read_in(text, &ShellContext::default())
}

/// Like `read`, with a known environment.
///
/// ```
/// use portolan_gates::shell::{self, ShellContext, Word};
///
/// let around = ShellContext { home: Some("/home/me".into()), ..ShellContext::default() };
/// let reading = shell::read_in("rm ~/x/a", &around);
/// assert_eq!(reading.commands[0].words[1..], [Word::from("/home/me/x/a")]);
/// ```
#[must_use]
pub fn read_in(text: &str, around: &ShellContext) -> Reading {
    read::read(read::PendingText::new(text, around.clone()))
}
