//! The statements of a text, in the order in which they run, and what holds where each of them runs: the folders it may
//! be in, and the variables set before it.

use shuck_ast::{
    BinaryCommand, BinaryOp, BuiltinCommand, Command as CommandSyntax, CompoundCommand, Redirect, RedirectKind,
    RedirectTarget, Stmt, StmtSeq, StmtTerminator, Word as Syntax,
};

use std::sync::Arc;

use super::late::{self, Late};
use super::memory::{Declares, Memory, Skipped};
use super::queue::{MAX_COMMANDS, Pending, doubt};
use super::{Assignment, Command, MAX_BYTES, Reading, Why, Word, programs, wrap, writes};

/// The folders that the next statement may run in.
pub(super) type Folders = Vec<Word>;

/// Where a statement leaves the shell: after success, and after failure. None: it does not come back.
pub(super) struct StatementExits {
    pub(super) success: Folders,
    pub(super) failure: Folders,
}

impl StatementExits {
    fn same(folders: &Folders) -> Self {
        Self { success: folders.clone(), failure: folders.clone() }
    }

    fn either(self) -> Folders {
        union(self.success, self.failure)
    }
}

/// What a redirection gives a command.
#[derive(Default)]
struct Redirections {
    writes: Vec<Word>,
    stdin: Option<Word>,
}

/// Goes through one text.
pub(super) struct Walk<'a> {
    pub(super) source: &'a str,
    pub(super) pending: Vec<Pending>,
    reading: &'a mut Reading,
    pub(super) folders: Folders,
    carried: Arc<Vec<Assignment>>,
    after: Arc<Vec<Command>>,
    pub(super) level: usize,
    pub(super) functions: Vec<String>,
    pub(super) memory: Arc<Memory>,
    /// A call of git, or of what stands for it, may have checked out another branch.
    pub(super) switched: bool,
    /// In how many bodies this is that may run at any time, or again.
    pub(super) repeats: usize,
    /// How much text may still be read again for the sake of a loop.
    pub(super) spare: usize,
    pub(super) late: Late,
}

impl<'a> Walk<'a> {
    pub(super) fn new(from: &'a Pending, reading: &'a mut Reading) -> Self {
        Self {
            source: &from.text,
            pending: Vec::new(),
            reading,
            folders: from.folders.clone(),
            carried: from.carried.clone(),
            after: from.after.clone(),
            level: from.level,
            functions: Vec::new(),
            memory: from.memory.clone(),
            switched: false,
            repeats: 0,
            spare: MAX_BYTES,
            late: Late::default(),
        }
    }

    pub(super) fn file(&mut self, body: &StmtSeq) {
        let folders = self.folders.clone();
        self.sequence(body, folders);
    }

    pub(super) fn doubt(&mut self, why: Why, what: &str) {
        if self.reading.doubts.len() < MAX_COMMANDS {
            self.reading.doubts.push(doubt(why, what));
        }
    }

    /// How many commands were told so far.
    pub(super) fn told(&self) -> usize {
        self.reading.commands.len()
    }

    pub(super) fn told_since(&self, before: usize) -> &[Command] {
        &self.reading.commands[before..]
    }

    fn tell(&mut self, command: Command) {
        self.switched |= programs::may_switch(&command);
        match self.reading.commands.len() {
            0..MAX_COMMANDS => self.reading.commands.push(command),
            MAX_COMMANDS if self.reading.doubts.last().is_none_or(|last| last.why != Why::TooLong) => {
                self.reading.doubts.push(doubt(Why::TooLong, self.source));
            }
            _ => {}
        }
    }

    pub(super) fn carry(&mut self, given: impl IntoIterator<Item = Assignment>) {
        // Each command that follows has them all.
        const MAX: usize = 64;
        let carried = Arc::make_mut(&mut self.carried);
        for assignment in given {
            carried.retain(|other| other.name != assignment.name);
            carried.push(assignment);
        }
        if carried.len() > MAX {
            carried.drain(..carried.len() - MAX);
            self.doubt(Why::TooLong, "variables");
        }
    }

    /// How much was told so far.
    pub(super) fn seen(&self) -> usize {
        self.reading.commands.len() + self.reading.doubts.len() + self.pending.len()
    }

    /// Statements that leave the shell as it was.
    pub(super) fn subshell(&mut self, body: &StmtSeq) {
        let (folders, carried, memory) = (self.folders.clone(), self.carried.clone(), self.memory.clone());
        self.sequence(body, folders.clone());
        (self.folders, self.carried, self.memory) = (folders, carried, memory);
    }

    /// A text that another shell, or this one, reads from here.
    pub(super) fn text(&mut self, text: String) {
        let (folders, carried, after) = (self.folders.clone(), self.carried.clone(), self.after.clone());
        let memory = self.memory.clone();
        self.pending.push(Pending { text, folders, carried, after, level: self.level + 1, memory });
    }

    pub(super) fn sequence(&mut self, body: &StmtSeq, mut folders: Folders) -> Folders {
        for statement in body.iter() {
            folders = self.statement(statement, folders).either();
        }
        folders
    }

    fn statement(&mut self, statement: &Stmt, mut folders: Folders) -> StatementExits {
        // After an `exit` nothing runs, but a trap or a function may see to it that something does.
        if folders.is_empty() {
            folders = vec![Word::Dynamic];
        }
        self.folders.clone_from(&folders);
        let redirections = self.redirections(&statement.redirects);
        let background = matches!(statement.terminator, Some(StmtTerminator::Background(_)));
        let memory = background.then(|| self.memory.clone());
        let left = self.command(&statement.command, folders.clone(), redirections);
        self.memory = memory.unwrap_or_else(|| self.memory.clone());
        match (background, statement.negated) {
            (true, _) => StatementExits::same(&folders),
            (false, true) => StatementExits { success: left.failure, failure: left.success },
            (false, false) => left,
        }
    }

    fn command(&mut self, command: &CommandSyntax, folders: Folders, redirections: Redirections) -> StatementExits {
        match command {
            CommandSyntax::Simple(simple) => {
                let empty = simple.args.is_empty() && simple.name.span.slice(self.source).is_empty();
                let assignments = self.assignments(&simple.assignments, empty);
                let mut words = if empty { Vec::new() } else { self.program(&simple.name) };
                for word in &simple.args {
                    words.extend(self.fields(word));
                }
                self.simple(words, assignments, redirections, &folders)
            }
            CommandSyntax::Builtin(builtin) => self.leaving(builtin, &folders, redirections),
            CommandSyntax::Decl(declaration) => {
                let mut words = vec![Word::from(declaration.variant.as_str())];
                let how = Declares::of(&declaration.operands, declaration.variant.as_str(), self.source);
                for operand in &declaration.operands {
                    words.push(self.declared(operand, how));
                }
                let assignments = self.assignments(&declaration.assignments, false);
                self.simple(words, assignments, redirections, &folders)
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
                // It runs where it is called, and with what is set by then.
                let (carried, memory) = (self.carried.clone(), self.memory.clone());
                Arc::make_mut(&mut self.memory).forget_all();
                self.repeats += 1;
                self.statement(&function.body, vec![Word::Dynamic]);
                self.repeats -= 1;
                (self.carried, self.memory) = (carried, memory);
                StatementExits::same(&folders)
            }
            CommandSyntax::AnonymousFunction(function) => {
                self.writes_only(redirections, &folders);
                self.statement(&function.body, folders)
            }
        }
    }

    /// `a && b | c …`. A long row nests to the left, so this does not call itself for it.
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
        let before = self.told();
        let start = self.memory.clone();
        let mut left = self.statement(&first.left, folders.clone());
        let mut skipped = Skipped::new(self.only_assigns(&first.left));
        let mut sure: Vec<Command> = self.succeeded(&first.left, before).into_iter().collect();
        for binary in row.iter().rev() {
            let before = self.told();
            left = match binary.op {
                BinaryOp::Pipe | BinaryOp::PipeAll => {
                    // Each part of a pipe is a shell of its own.
                    sure.clear();
                    self.memory = start.clone();
                    self.statement(&binary.right, folders.clone());
                    self.memory = start.clone();
                    skipped = Skipped::new(false);
                    StatementExits::same(&folders)
                }
                BinaryOp::And => {
                    self.after = Arc::new(latest(&outer, &sure));
                    skipped.add(&self.memory, self.only_assigns(&binary.right));
                    let right = self.statement(&binary.right, left.success);
                    sure.extend(self.succeeded(&binary.right, before));
                    self.after = outer.clone();
                    StatementExits { success: right.success, failure: union(left.failure, right.failure) }
                }
                BinaryOp::Or => {
                    sure.clear();
                    skipped.add(&start, false);
                    skipped.add(&self.memory, false);
                    skipped.join(&mut self.memory);
                    let right = self.statement(&binary.right, left.failure);
                    StatementExits { success: union(left.success, right.success), failure: right.failure }
                }
            };
        }
        skipped.join(&mut self.memory);
        left
    }

    /// Whether a statement does nothing but to set variables, which does not fail.
    fn only_assigns(&self, statement: &Stmt) -> bool {
        let CommandSyntax::Simple(simple) = &statement.command else { return false };
        let text = statement.span.slice(self.source);
        simple.args.is_empty() && simple.name.span.slice(self.source).is_empty() && !text.contains(['(', '`', '<', '>'])
    }

    /// The call of git that has succeeded when `statement` has, if it is one and nothing else.
    fn succeeded(&self, statement: &Stmt, before: usize) -> Option<Command> {
        let plain = matches!(statement.command, CommandSyntax::Simple(_)) && !statement.negated;
        if !plain || matches!(statement.terminator, Some(StmtTerminator::Background(_))) {
            return None;
        }
        let last = self.told_since(before).last().filter(|command| command.program() == Some("git"))?;
        Some(Command { after: Arc::default(), ..last.clone() })
    }

    fn compound(&mut self, compound: &CompoundCommand, folders: Folders) -> StatementExits {
        match compound {
            CompoundCommand::Subshell(body) => {
                self.subshell(body);
                return StatementExits::same(&folders);
            }
            CompoundCommand::BraceGroup(body) => return self.last_of(body, folders),
            CompoundCommand::Time(time) => {
                return match &time.command {
                    Some(command) => self.statement(command, folders),
                    None => StatementExits::same(&folders),
                };
            }
            CompoundCommand::Coproc(coproc) => {
                self.statement(&coproc.body, folders.clone());
                return StatementExits::same(&folders);
            }
            _ => {}
        }
        let after = self.branching(compound, folders);
        StatementExits { success: after.clone(), failure: after }
    }

    /// A group comes to what its last statement comes to.
    pub(super) fn last_of(&mut self, body: &StmtSeq, mut folders: Folders) -> StatementExits {
        let Some((last, before)) = body.as_slice().split_last() else { return StatementExits::same(&folders) };
        for statement in before {
            folders = self.statement(statement, folders).either();
        }
        self.statement(last, folders)
    }

    pub(super) fn all(&mut self, words: &[Syntax]) {
        for word in words {
            self.word(word);
        }
    }

    /// `exit` and the like: nothing after them runs, but for what they fail at.
    fn leaving(&mut self, builtin: &BuiltinCommand, folders: &Folders, redirections: Redirections) -> StatementExits {
        let (word, more, assignments, leaves) = match builtin {
            BuiltinCommand::Break(given) => (&given.depth, &given.extra_args, &given.assignments, false),
            BuiltinCommand::Continue(given) => (&given.depth, &given.extra_args, &given.assignments, false),
            BuiltinCommand::Return(given) => (&given.code, &given.extra_args, &given.assignments, true),
            BuiltinCommand::Exit(given) => (&given.code, &given.extra_args, &given.assignments, true),
        };
        self.writes_only(redirections, folders);
        self.assignments(assignments, false);
        if let Some(word) = word {
            self.word(word);
        }
        self.all(more);
        if leaves { StatementExits { success: Vec::new(), failure: Vec::new() } } else { StatementExits::same(folders) }
    }

    fn redirections(&mut self, given: &[Redirect]) -> Redirections {
        let mut told = Redirections::default();
        for redirect in given {
            match &redirect.target {
                RedirectTarget::Heredoc(heredoc) => told.stdin = Some(self.heredoc(&heredoc.body)),
                RedirectTarget::Word(target) => {
                    // Where a shell takes several, it writes them all.
                    for word in self.fields(target) {
                        self.redirection(redirect.kind, word, &mut told);
                    }
                }
            }
        }
        told
    }

    fn redirection(&mut self, kind: RedirectKind, target: Word, told: &mut Redirections) {
        match kind {
            RedirectKind::Output
            | RedirectKind::Clobber
            | RedirectKind::Append
            | RedirectKind::ReadWrite
            | RedirectKind::OutputBoth => told.writes.push(target),
            // `>&2` and `>&-` write no file; `>&name` does.
            RedirectKind::DupOutput => {
                let number = |text: &str| text.trim_end_matches('-').chars().all(|digit| digit.is_ascii_digit());
                if !target.known().is_some_and(number) {
                    told.writes.push(target);
                }
            }
            RedirectKind::HereString => told.stdin = Some(target),
            RedirectKind::Input | RedirectKind::DupInput | RedirectKind::HereDoc | RedirectKind::HereDocStrip => {}
        }
    }

    /// Files that are written without a command: `> file`, or by a whole group.
    fn writes_only(&mut self, redirections: Redirections, folders: &Folders) {
        redirections.stdin.iter().for_each(|text| self.late.holds(text));
        let writes = writes::kept(redirections.writes);
        if !writes.is_empty() {
            let (folders, carried) = (folders.clone(), self.carried.clone());
            let (words, assignments) = (Vec::new(), Vec::new());
            let (stdin, after, level) = (redirections.stdin, self.after.clone(), self.level);
            self.tell(Command { words, assignments, carried, folders, writes, stdin, after, level });
        }
    }

    fn simple(
        &mut self,
        words: Vec<Word>,
        assignments: Vec<Assignment>,
        redirections: Redirections,
        folders: &Folders,
    ) -> StatementExits {
        self.evaluated(&words, &assignments, redirections.stdin.as_ref());
        if words.is_empty() {
            // Nothing is left where variables come to nothing; such assignments hold for what follows as well.
            for given in &assignments {
                let known = self.memory.value(&given.name) == Some(&given.value);
                if !known {
                    Arc::make_mut(&mut self.memory).forget(&given.name);
                }
            }
            self.carry(assignments);
            self.writes_only(redirections, folders);
            return StatementExits::same(folders);
        }
        let command = Command {
            words,
            assignments,
            carried: self.carried.clone(),
            folders: folders.clone(),
            writes: redirections.writes,
            stdin: redirections.stdin,
            after: self.after.clone(),
            level: self.level,
        };
        let told = wrap::unwrap(command);
        for (why, what) in told.doubts {
            self.doubt(why, &what);
        }
        for text in told.texts {
            self.prompted(&text.assignments);
            let memory = self.memory_of(text.own, &text.assignments);
            let carried = Arc::new(text.carried.iter().cloned().chain(text.assignments).collect());
            let (after, level) = (self.after.clone(), self.level + 1);
            self.pending.push(Pending { text: text.text, folders: text.folders, carried, after, level, memory });
        }
        let mut left = StatementExits::same(folders);
        for mut command in told.commands {
            if let Some(success) = self.moved(&command, folders) {
                left = StatementExits { success, failure: folders.clone() };
            }
            self.prompted(&command.assignments);
            self.forgets(&command);
            writes::add(&mut command);
            if programs::exports(&command) {
                self.export(&command);
            }
            let called = command.words.first().and_then(Word::known).unwrap_or_default().to_owned();
            if self.functions.contains(&called) {
                Arc::make_mut(&mut self.memory).forget_all();
                if programs::may_move(self.source) {
                    left = StatementExits::same(&union(folders.clone(), vec![Word::Dynamic]));
                }
            }
            if !programs::only_moves(&command) || !command.writes.is_empty() {
                self.tell(command);
            }
        }
        if told.moves {
            Arc::make_mut(&mut self.memory).forget_all();
            left = StatementExits::same(&union(folders.clone(), vec![Word::Dynamic]));
        }
        left
    }

    /// What a command has the shell evaluate, and what it may give to variables.
    fn evaluated(&mut self, words: &[Word], assignments: &[Assignment], stdin: Option<&Word>) {
        self.late.arguments(words);
        self.prompted(assignments);
        let program = words.first().and_then(Word::known).unwrap_or_default();
        if self.functions.iter().any(|name| name == program) {
            words.iter().for_each(|word| self.late.holds(word));
        }
        // A loop may read it.
        let reads = matches!(program, "" | "cat" | "read" | "mapfile" | "readarray");
        stdin.filter(|_| reads).into_iter().for_each(|text| self.late.holds(text));
    }

    fn prompted(&mut self, assignments: &[Assignment]) {
        for given in assignments.iter().filter(|given| late::is_run(given)) {
            self.doubt(Why::Hidden, &given.name);
        }
    }
}

/// The last ones of both: each command that follows has them all.
fn latest(outer: &[Command], sure: &[Command]) -> Vec<Command> {
    const MAX: usize = 16;
    let older = (outer.len() + sure.len()).saturating_sub(MAX);
    // A long row comes here for each of its commands, and must not copy all that are before it.
    outer.iter().chain(sure).skip(older).cloned().collect()
}

/// A longer folder is not told.
const MAX_PATH: usize = 1024;

/// `to`, seen from `from`.
pub(super) fn join(from: &Word, to: &Word) -> Word {
    match (from, to) {
        (_, Word::Known(to)) if to.len() > MAX_PATH => Word::Dynamic,
        (_, Word::Known(to)) if to.starts_with('/') => Word::Known(to.clone()),
        (from, Word::Known(to)) if to == "." || to.is_empty() => from.clone(),
        (Word::Known(from), Word::Known(to)) if from == "." => Word::Known(to.clone()),
        (Word::Known(from), Word::Known(to)) if from.len() + to.len() > MAX_PATH => Word::Dynamic,
        (Word::Known(from), Word::Known(to)) => Word::Known(format!("{}/{to}", from.trim_end_matches('/'))),
        _ => Word::Dynamic,
    }
}

pub(super) fn union(mut one: Folders, other: Folders) -> Folders {
    /// More folders than this are no longer told apart.
    const MAX: usize = 8;
    for folder in other {
        if !one.contains(&folder) {
            one.push(folder);
        }
    }
    if one.len() > MAX { vec![Word::Dynamic] } else { one }
}
