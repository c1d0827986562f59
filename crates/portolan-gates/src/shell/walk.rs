//! The statements of a text in execution order, and the folders that each of them runs in. The value of a variable is
//! known only at run time, except for `HOME`, `PWD` and the settled ones.

use std::sync::Arc;

use shuck_ast::{
    BinaryCommand, BinaryOp, BuiltinCommand, Command as CommandSyntax, Redirect, RedirectKind, RedirectTarget, Stmt,
    StmtSeq, StmtTerminator,
};

use super::read::{Late, MAX_COMMANDS, PendingText, doubt};
use super::{Assignment, Command, Reading, ShellContext, Why, Word, git, programs, variables, wrap, writes};

/// The folders that a statement may run in.
pub(super) type Folders = Vec<Word>;

/// The folders of the shell after a statement has succeeded or failed. Empty if the statement does not return.
pub(super) struct StatementExits {
    pub(super) success: Folders,
    pub(super) failure: Folders,
}

impl StatementExits {
    pub(super) fn same(folders: &Folders) -> Self {
        Self { success: folders.clone(), failure: folders.clone() }
    }

    pub(super) fn either(self) -> Folders {
        union(self.success, self.failure)
    }
}

/// The effects of redirections on a command.
#[derive(Default)]
pub(super) struct Redirections {
    writes: Vec<Word>,
    stdin: Option<Word>,
}

/// The walk through one text.
pub(super) struct Walk<'a> {
    pub(super) source: &'a str,
    pub(super) pending: Vec<PendingText>,
    reading: &'a mut Reading,
    /// The folders that the current statement runs in.
    pub(super) folders: Folders,
    pub(super) carried: Arc<Vec<Assignment>>,
    after: Option<Arc<Command>>,
    number: usize,
    level: usize,
    pub(super) functions: Vec<String>,
    /// Variables with one fixed value from here on.
    pub(super) settled: Vec<(String, String)>,
    /// Whether the current statement is in no branch and no loop, so that it runs.
    pub(super) certain: bool,
    pub(super) around: Arc<ShellContext>,
    pub(super) late: Late,
}

impl<'a> Walk<'a> {
    pub(super) fn new(from: &'a PendingText, number: usize, reading: &'a mut Reading) -> Self {
        Self {
            source: &from.text,
            pending: Vec::new(),
            reading,
            folders: from.folders.clone(),
            carried: from.carried.clone(),
            after: from.after.clone(),
            number,
            level: from.level,
            functions: Vec::new(),
            settled: Vec::new(),
            certain: true,
            around: from.around.clone(),
            late: Late::default(),
        }
    }

    pub(super) fn file(&mut self, body: &StmtSeq) {
        let mut folders = self.folders.clone();
        for statement in body.iter() {
            self.certain = true;
            folders = self.statement(statement, folders).either();
            self.settle(statement);
        }
    }

    pub(super) fn doubt(&mut self, why: Why, what: &str) {
        if self.reading.doubts.len() < MAX_COMMANDS {
            self.reading.doubts.push(doubt(why, what));
        }
    }

    /// Returns the number of commands found so far.
    pub(super) fn found(&self) -> usize {
        self.reading.commands.len()
    }

    pub(super) fn found_since(&self, before: usize) -> &[Command] {
        &self.reading.commands[before..]
    }

    fn push(&mut self, command: Command) {
        match self.reading.commands.len() {
            0..MAX_COMMANDS => self.reading.commands.push(command),
            MAX_COMMANDS if self.reading.doubts.last().is_none_or(|last| last.why != Why::TooLong) => {
                self.reading.doubts.push(doubt(Why::TooLong, self.source));
            }
            _ => {}
        }
    }

    /// Walks statements that leave the shell unchanged.
    pub(super) fn subshell(&mut self, body: &StmtSeq) {
        let (folders, carried) = (self.folders.clone(), self.carried.clone());
        self.sequence(body, folders.clone());
        (self.folders, self.carried) = (folders, carried);
    }

    pub(super) fn sequence(&mut self, body: &StmtSeq, mut folders: Folders) -> Folders {
        for statement in body.iter() {
            folders = self.statement(statement, folders).either();
        }
        folders
    }

    pub(super) fn statement(&mut self, statement: &Stmt, mut folders: Folders) -> StatementExits {
        // Nothing runs after an `exit`, except through a trap or a function.
        if folders.is_empty() {
            folders = vec![Word::Dynamic];
        }
        self.folders.clone_from(&folders);
        let redirections = self.redirections(&statement.redirects);
        let left = self.command(&statement.command, folders.clone(), redirections);
        match (&statement.terminator, statement.negated) {
            (Some(StmtTerminator::Background(_)), _) => StatementExits::same(&folders),
            (_, true) => StatementExits { success: left.failure, failure: left.success },
            (_, false) => left,
        }
    }

    fn command(&mut self, command: &CommandSyntax, folders: Folders, redirections: Redirections) -> StatementExits {
        match command {
            CommandSyntax::Simple(simple) => {
                let assignments = self.assignments(&simple.assignments);
                let words = std::iter::once(&simple.name).chain(&simple.args);
                let words = words.filter_map(|word| self.fields(word)).collect();
                self.simple(words, assignments, redirections, &folders)
            }
            CommandSyntax::Decl(declaration) => {
                let mut words = vec![Word::from(declaration.variant.as_str())];
                for operand in &declaration.operands {
                    words.push(self.declared(operand));
                }
                let assignments = self.assignments(&declaration.assignments);
                self.simple(words, assignments, redirections, &folders)
            }
            CommandSyntax::Builtin(builtin) => {
                self.writes_only(redirections, &folders);
                let (span, leaves) = match builtin {
                    BuiltinCommand::Break(given) => (given.span, false),
                    BuiltinCommand::Continue(given) => (given.span, false),
                    BuiltinCommand::Return(given) => (given.span, true),
                    BuiltinCommand::Exit(given) => (given.span, true),
                };
                self.maybe_hidden(span.slice(self.source));
                // No statement runs after an `exit`.
                StatementExits::same(&if leaves { Vec::new() } else { folders })
            }
            CommandSyntax::Binary(binary) => self.row(binary, folders, redirections),
            CommandSyntax::Compound(compound) => {
                self.writes_only(redirections, &folders);
                self.compound(compound, folders)
            }
            CommandSyntax::Function(function) => {
                self.writes_only(redirections, &folders);
                for name in function.static_names() {
                    if programs::means_much(name.as_str()) {
                        self.doubt(Why::Redefined, &format!("{}()", name.as_str()));
                    }
                    self.functions.push(name.as_str().to_owned());
                }
                // The body runs where it is called, with the variables set by then.
                let carried = self.carried.clone();
                self.statement(&function.body, vec![Word::Dynamic]);
                self.carried = carried;
                StatementExits::same(&folders)
            }
            CommandSyntax::AnonymousFunction(function) => {
                self.writes_only(redirections, &folders);
                self.statement(&function.body, folders)
            }
        }
    }

    /// Walks a chain such as `a && b | c …`. A long chain nests to the left, so this does not recurse for it.
    fn row(&mut self, last: &BinaryCommand, folders: Folders, redirections: Redirections) -> StatementExits {
        self.writes_only(redirections, &folders);
        let mut row = vec![last];
        while let CommandSyntax::Binary(inner) = &row[row.len() - 1].left.command {
            if row[row.len() - 1].left.negated {
                break;
            }
            row.push(inner);
        }
        let first = row[row.len() - 1];
        let outer = self.after.clone();
        let before = self.found();
        let mut left = self.statement(&first.left, folders.clone());
        self.settle(&first.left);
        let mut switched = self.switched(&first.left, before);
        for binary in row.iter().rev() {
            let before = self.found();
            left = match binary.op {
                BinaryOp::Pipe | BinaryOp::PipeAll => {
                    // Each part of a pipe is a shell of its own.
                    switched = None;
                    self.statement(&binary.right, folders.clone());
                    StatementExits::same(&folders)
                }
                BinaryOp::And => {
                    self.after = switched.clone().or_else(|| outer.clone());
                    let right = self.statement(&binary.right, left.success);
                    switched = self.switched(&binary.right, before).or(switched);
                    self.after = outer.clone();
                    StatementExits { success: right.success, failure: union(left.failure, right.failure) }
                }
                BinaryOp::Or => {
                    switched = None;
                    let right = self.statement(&binary.right, left.failure);
                    StatementExits { success: union(left.success, right.success), failure: right.failure }
                }
            };
        }
        left
    }

    /// Returns the switch of branches that has succeeded if `statement` has, if it is one.
    fn switched(&self, statement: &Stmt, before: usize) -> Option<Arc<Command>> {
        let plain = matches!(statement.command, CommandSyntax::Simple(_)) && !statement.negated;
        if !plain || matches!(statement.terminator, Some(StmtTerminator::Background(_))) {
            return None;
        }
        let last = self.found_since(before).last()?;
        let call = git::invocation(last).filter(|call| matches!(call.action, git::Action::Switch(_)));
        call.map(|_| Arc::new(Command { after: None, ..last.clone() }))
    }

    fn redirections(&mut self, given: &[Redirect]) -> Redirections {
        let mut found = Redirections::default();
        for redirect in given {
            match &redirect.target {
                RedirectTarget::Heredoc(heredoc) => found.stdin = Some(self.heredoc(&heredoc.body)),
                RedirectTarget::Word(target) => redirection(redirect.kind, self.word(target), &mut found),
            }
        }
        found
    }

    /// Records files that are written without a command: `> file`, or by a whole group.
    pub(super) fn writes_only(&mut self, redirections: Redirections, folders: &Folders) {
        redirections.stdin.iter().for_each(|text| self.holds(text));
        let writes = writes::kept(redirections.writes);
        if !writes.is_empty() {
            let command = self.bare(Vec::new(), Vec::new(), folders);
            self.push(Command { writes, stdin: redirections.stdin, ..command });
        }
    }

    fn bare(&self, words: Vec<Word>, assignments: Vec<Assignment>, folders: &Folders) -> Command {
        Command {
            words,
            assignments,
            carried: self.carried.clone(),
            folders: folders.clone(),
            writes: Vec::new(),
            stdin: None,
            after: self.after.clone(),
            text: self.number,
        }
    }

    fn simple(
        &mut self,
        words: Vec<Word>,
        assignments: Vec<Assignment>,
        redirections: Redirections,
        folders: &Folders,
    ) -> StatementExits {
        self.data(&words);
        if words.is_empty() {
            // No words remain if variables expand to nothing. Such assignments apply to the following commands as well.
            self.carry(assignments);
            self.writes_only(redirections, folders);
            return StatementExits::same(folders);
        }
        let command = self.bare(words, assignments, folders);
        let command = Command { writes: redirections.writes, stdin: redirections.stdin, ..command };
        let started = wrap::unwrap(command);
        for (why, what) in started.doubts {
            self.doubt(why, &what);
        }
        for text in started.texts {
            let (after, level, around) = (self.after.clone(), self.level + 1, self.around.clone());
            let (text, folders, carried) = (text.text, text.folders, text.carried);
            self.pending.push(PendingText { text, folders, carried, after, level, around });
        }
        let mut left = StatementExits::same(folders);
        for mut command in started.commands {
            self.carry(variables::set(&command));
            command.words.iter().skip(1).chain(&command.stdin).for_each(|data| self.holds(data));
            writes::add(&mut command);
            let to = programs::moves_to(&command);
            if let Some(to) = &to {
                let to = to.clone().or_else(|| self.around.home.as_deref().map(Word::from)).unwrap_or(Word::Dynamic);
                let success = folders.iter().map(|from| join(from, &to)).collect();
                left = StatementExits { success, failure: folders.clone() };
            }
            let called = command.words.first().and_then(Word::known).unwrap_or_default();
            let moving = self.functions.iter().any(|name| name == called) && programs::may_move(self.source);
            if moving {
                left = StatementExits::same(&union(folders.clone(), vec![Word::Dynamic]));
            }
            if to.is_none() || !command.writes.is_empty() {
                self.push(command);
            }
        }
        if started.moves {
            left = StatementExits::same(&union(folders.clone(), vec![Word::Dynamic]));
        }
        left
    }
}

fn redirection(kind: RedirectKind, target: Word, found: &mut Redirections) {
    match kind {
        RedirectKind::Output
        | RedirectKind::Clobber
        | RedirectKind::Append
        | RedirectKind::ReadWrite
        | RedirectKind::OutputBoth => found.writes.push(target),
        // `>&2` and `>&-` write no file; `>&name` does.
        RedirectKind::DupOutput => {
            let number = |text: &str| text.trim_end_matches('-').chars().all(|digit| digit.is_ascii_digit());
            if !target.known().is_some_and(number) {
                found.writes.push(target);
            }
        }
        RedirectKind::HereString => found.stdin = Some(target),
        RedirectKind::Input | RedirectKind::DupInput | RedirectKind::HereDoc | RedirectKind::HereDocStrip => {}
    }
}

/// The longest folder that is tracked.
const MAX_PATH: usize = 1024;

/// Resolves `to` relative to `from`.
pub(super) fn join(from: &Word, to: &Word) -> Word {
    match (from, to) {
        (_, Word::Known(to)) if to.len() > MAX_PATH => Word::Dynamic,
        (_, Word::Known(to)) if to.starts_with('/') => Word::Known(to.clone()),
        (from, Word::Known(to)) if to == "." || to.is_empty() => from.clone(),
        (Word::Known(from), Word::Known(to)) if from == "." => Word::Known(to.clone()),
        (Word::Known(from), Word::Known(to)) if from.len() + to.len() > MAX_PATH => Word::Dynamic,
        (Word::Known(from), Word::Known(to)) => Word::Known(format!("{}/{to}", from.trim_end_matches('/'))),
        (Word::Known(from), Word::Pattern(to)) if from == "." || to.starts_with('/') => Word::Pattern(to.clone()),
        (Word::Known(from), Word::Pattern(to)) => Word::Pattern(format!("{from}/{to}")),
        _ => Word::Dynamic,
    }
}

pub(super) fn union(mut one: Folders, other: Folders) -> Folders {
    /// The most folders that are distinguished.
    const MAX: usize = 8;
    for folder in other {
        if !one.contains(&folder) {
            one.push(folder);
        }
    }
    if one.len() > MAX { vec![Word::Dynamic] } else { one }
}
