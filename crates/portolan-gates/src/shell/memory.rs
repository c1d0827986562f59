//! What a shell remembers from one statement to the next: the variables whose value the text tells, and the folders that
//! `cd -` and `popd` lead back to. What may be otherwise is not known: a value is only told where no run could have another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shuck_ast::DeclOperand as Declared;

use super::walk::Folders;
use super::{ShellContext, Word};

/// How many variables are known at once, and how long their values may be.
const MAX_VARIABLES: usize = 64;
const MAX_VALUE: usize = 1024;
/// How many folders `pushd` may put aside.
const MAX_STACK: usize = 16;

/// Variables that the shell gives values of its own.
const OWN: &[&str] = &[
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "UID",
    "EUID",
    "PPID",
    "SHELLOPTS",
    "DIRSTACK",
    "GROUPS",
    "FUNCNAME",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "OPTARG",
    "OPTIND",
    "COMP_WORDBREAKS",
    "HISTCMD",
    "_",
];

/// What is remembered at one point of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    variables: BTreeMap<String, Variable>,
    /// Variables whose value is not what they are given: `readonly`, `declare -i`.
    strange: BTreeSet<String>,
    /// No variable is known any more, whatever it is given.
    lost: bool,
    /// Where `cd -` leads.
    previous: Folders,
    /// Where `popd` leads; nothing where that cannot be told.
    stack: Option<Vec<Folders>>,
    around: Arc<ShellContext>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    value: Word,
    exported: bool,
}

impl Memory {
    pub(super) fn new(around: Arc<ShellContext>) -> Self {
        let mut memory = Self {
            variables: BTreeMap::new(),
            strange: BTreeSet::new(),
            lost: false,
            previous: vec![Word::Dynamic],
            stack: Some(Vec::new()),
            around,
        };
        if let Some(home) = memory.around.home.clone() {
            memory.set("HOME", &Word::Known(home), true);
        }
        memory
    }

    /// Where the shell begins.
    pub(super) fn folder(&self) -> Option<&str> {
        self.around.folder.as_deref()
    }

    /// What is known of where the shell begins.
    pub(super) fn around(&self) -> &ShellContext {
        &self.around
    }

    /// What is checked out where the shell begins.
    pub(super) fn branch(&self) -> Option<&str> {
        self.around.branch.as_deref()
    }

    /// What a variable is known to be: a text, or one that matches a pattern.
    pub(super) fn value(&self, name: &str) -> Option<&Word> {
        self.variables.get(name).map(|variable| &variable.value).filter(|_| !self.lost)
    }

    /// Whether the folder is still where `PWD` says, and words still end at spaces.
    pub(super) fn is_usual(&self) -> bool {
        !self.lost && !["PWD", "OLDPWD", "IFS"].iter().any(|name| self.strange.contains(*name))
    }

    pub(super) fn set(&mut self, name: &str, value: &Word, exported: bool) {
        if matches!(name, "PWD" | "OLDPWD" | "IFS") {
            self.strange.insert(name.to_owned());
        }
        let own = OWN.contains(&name) || name.starts_with("BASH");
        let fits = match value {
            Word::Known(text) | Word::Pattern(text) => text.len() <= MAX_VALUE,
            Word::Dynamic | Word::Spread => false,
        };
        let room = self.variables.len() < MAX_VARIABLES || self.variables.contains_key(name);
        if self.lost || own || !fits || !room || self.strange.contains(name) {
            self.variables.remove(name);
            return;
        }
        let exported = exported || self.variables.get(name).is_some_and(|old| old.exported);
        self.variables.insert(name.to_owned(), Variable { value: value.clone(), exported });
    }

    pub(super) fn export(&mut self, name: &str) {
        if let Some(variable) = self.variables.get_mut(name) {
            variable.exported = true;
        }
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.variables.remove(name);
    }

    pub(super) fn forget_all(&mut self) {
        self.variables.clear();
        self.previous = vec![Word::Dynamic];
        self.stack = None;
    }

    /// From here on what the variable is given is not what it has.
    pub(super) fn estrange(&mut self, name: &str) {
        self.variables.remove(name);
        // More than these are not told apart.
        if self.strange.len() < MAX_VARIABLES {
            self.strange.insert(name.to_owned());
        } else {
            self.lost = true;
        }
    }

    /// From here on nothing is known of any variable.
    pub(super) fn lose(&mut self) {
        self.forget_all();
        self.lost = true;
    }

    /// Forgets each variable that `text` may change: those that it names other than by `$name`.
    pub(super) fn forget_named(&mut self, text: &str) {
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let mut rest = text;
        while let Some(start) = rest.find(is_name) {
            let before = &rest[..start];
            let read = before.ends_with('$') || before.ends_with("${");
            let end = rest[start..].find(|char| !is_name(char)).map_or(rest.len(), |length| start + length);
            if !read {
                self.variables.remove(&rest[start..end]);
            }
            rest = &rest[end..];
        }
    }

    /// What another program started from here knows: what is exported.
    pub(super) fn of_child(&self) -> Self {
        let mut child = self.clone();
        child.variables.retain(|_, variable| variable.exported);
        child.strange.clear();
        child.lost = false;
        child.previous = vec![Word::Dynamic];
        child.stack = Some(Vec::new());
        child
    }

    /// Keeps what holds in both.
    pub(super) fn join(&mut self, other: &Self) {
        self.variables.retain(|name, variable| {
            let same = other.variables.get(name).filter(|same| same.value == variable.value);
            same.inspect(|same| variable.exported &= same.exported).is_some()
        });
        self.strange.extend(other.strange.iter().cloned());
        self.lost |= other.lost;
        if self.previous != other.previous {
            self.previous = vec![Word::Dynamic];
        }
        if self.stack != other.stack {
            self.stack = None;
        }
    }

    /// The shell leaves these folders; `pushed` when it will come back to them by `popd`.
    pub(super) fn leave(&mut self, folders: &Folders, pushed: bool) {
        self.previous.clone_from(folders);
        if pushed && let Some(stack) = &mut self.stack {
            stack.push(folders.clone());
            if stack.len() > MAX_STACK {
                self.stack = None;
            }
        }
    }

    /// Where `cd -` leads.
    pub(super) fn previous(&self) -> Folders {
        self.previous.clone()
    }

    /// Where `popd` leads.
    pub(super) fn pop(&mut self) -> Option<Folders> {
        self.stack.as_mut().and_then(Vec::pop)
    }
}

/// How variables are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declares {
    /// For this shell.
    Plain,
    /// For what it starts as well.
    Exported,
    /// With a value that is not what is given, or that never changes.
    Strange,
    /// As another name for something, or in a way that is not known.
    Other,
}

impl Declares {
    pub(super) fn of(operands: &[Declared], variant: &str, source: &str) -> Self {
        let mut how = match variant {
            "export" => Self::Exported,
            "readonly" => Self::Strange,
            _ => Self::Plain,
        };
        for operand in operands {
            let Declared::Flag(word) = operand else { continue };
            for letter in word.span.slice(source).chars().skip(1) {
                how = match (letter, how) {
                    (_, Self::Other) | ('n', _) => Self::Other,
                    ('x', Self::Plain) => Self::Exported,
                    ('x' | 'g' | 'p' | '-', how) => how,
                    _ => Self::Strange,
                };
            }
        }
        how
    }
}

/// What is remembered where the rest of a row of `&&` and `||` does not run.
pub(super) struct Skipped {
    memory: Option<Memory>,
    /// Nothing that could fail has run yet.
    certain: bool,
}

impl Skipped {
    pub(super) fn new(certain: bool) -> Self {
        Self { memory: None, certain }
    }

    /// The row may end here; `certain` when what comes next cannot fail either.
    pub(super) fn add(&mut self, memory: &Memory, certain: bool) {
        if !self.certain {
            match &mut self.memory {
                Some(known) => known.join(memory),
                None => self.memory = Some(memory.clone()),
            }
        }
        self.certain &= certain;
    }

    pub(super) fn join(&self, memory: &mut Arc<Memory>) {
        if let Some(skipped) = &self.memory
            && skipped != &**memory
        {
            Arc::make_mut(memory).join(skipped);
        }
    }
}
