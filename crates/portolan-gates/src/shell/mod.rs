//! What a shell command would do, told without running it: every simple command that could run, wherever it stands, and
//! what each of them means to a git repository. Text that is only data is no command, and what cannot be told is said
//! to be so. Nothing is decided here, and nothing is known of the world but what the text says.
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
pub(crate) use programs::{is_inert, is_interpreter, lists, only_prints, starts_others, writes_are_known};
pub(crate) use writes::links;

/// The longest text that is read.
pub const MAX_BYTES: usize = 64 * 1024;

/// A word, as far as the text tells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// Exactly this text.
    Known(String),
    /// One word that only the run will know, such as `"$x"`.
    Dynamic,
    /// Any number of words that only the run will know, such as `$x`.
    Spread,
    /// Any number of files whose names match, such as `*.rs`. What stands behind a backslash is meant as it is.
    Pattern(String),
}

impl Word {
    /// Its text, where that is known.
    #[must_use]
    pub fn known(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            Self::Dynamic | Self::Spread | Self::Pattern(_) => None,
        }
    }

    /// Whether any number of words may come of it.
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

/// A variable that is given a value.
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
    /// What is set for this command alone: leading assignments, also those of `env`.
    pub assignments: Vec<Assignment>,
    /// What the text has set before it, exported or not, the last value of a variable last.
    pub carried: Arc<Vec<Assignment>>,
    /// Every folder that it may run in, seen from where the shell begins, which is `.`.
    pub folders: Vec<Word>,
    /// The files that it writes, seen from the folder it runs in: redirections, and what the program is known to write.
    pub writes: Vec<Word>,
    /// What it copies, moves or unpacks into folders.
    pub fills: Vec<Fill>,
    /// What it reads from its standard input, where the text says so: a heredoc or a here-string.
    pub stdin: Option<Word>,
    /// The calls of git that have succeeded when it runs, in order: those before it in a row of `&&`.
    pub after: Arc<Vec<Command>>,
    /// How many texts it is away from the one that was given. Commands of other texts are told behind all of this one,
    /// wherever they run.
    pub level: usize,
}

impl Command {
    /// The name of the program without its path, where it is known.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::known).map(programs::base_name)
    }
}

/// Something that comes into a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The folder.
    pub to: Word,
    /// What it is called there; nothing where another folder, or an archive, says that.
    pub name: Option<String>,
}

/// Something that cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Why not.
    pub why: Why,
    /// The words in question, cut short where they are long.
    pub what: String,
}

/// Why something cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The text is longer than [`MAX_BYTES`], or what it leads to is.
    TooLong,
    /// It nests deeper than is read.
    TooDeep,
    /// A command stands where none is looked for: in a pattern, a subscript, arithmetic, or deep within expansions.
    Hidden,
    /// It is no text of a shell.
    Unparsed,
    /// The program is only known when it runs.
    DynamicCommand,
    /// Text that is to be run is only known when it runs.
    DynamicText,
    /// A file, or what arrives on standard input, is run as a script.
    Script,
    /// The program runs other programs, which a file or its own language names: `make`, `npm run`, `python`.
    RunsPrograms,
    /// An option of a program that starts others is not known here.
    UnknownOption,
    /// From here on a name may mean something else: `alias`, `enable`, `hash -p`.
    Redefined,
    /// An alias of git leads back to itself, or on and on.
    AliasLoop,
}

/// All that a text would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Every simple command that could run.
    pub commands: Vec<Command>,
    /// What cannot be told.
    pub doubts: Vec<Doubt>,
}

/// What a shell finds where it is started, as far as somebody knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellContext {
    /// The folder that it begins in, from the root.
    pub folder: Option<String>,
    /// The folder that `~` and `$HOME` lead to.
    pub home: Option<String>,
    /// The worktree around `folder`.
    pub root: Option<String>,
}

/// Every simple command that could run when a shell is given `text`.
#[must_use]
pub fn read(text: &str) -> Reading {
    read_in(text, &ShellContext::default())
}

/// The same, where more is known than the text says.
///
/// ```
/// use portolan_gates::shell::{self, ShellContext, Word};
///
/// let around = ShellContext { home: Some("/home/me".into()), ..ShellContext::default() };
/// let reading = shell::read_in("rm ~/x/{a,b}", &around);
/// assert_eq!(reading.commands[0].words[1..], [Word::from("/home/me/x/a"), Word::from("/home/me/x/b")]);
/// ```
#[must_use]
pub fn read_in(text: &str, around: &ShellContext) -> Reading {
    read::read(read::Pending::new(text, around.clone()))
}
