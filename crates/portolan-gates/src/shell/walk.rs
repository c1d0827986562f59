//! The statements of a text, in the order in which they run, and where each of them runs. Variables are not followed: what
//! one holds is only known when it runs.

use std::sync::Arc;

use shuck_ast::{
    ArrayElem, Assignment as AssignmentSyntax, AssignmentValue, BinaryCommand, BinaryOp, BuiltinCommand,
    Command as CommandSyntax, CompoundCommand, DeclOperand, Redirect, RedirectKind, RedirectTarget, Stmt, StmtSeq,
    StmtTerminator, Word as Syntax,
};

use super::read::{Late, MAX_COMMANDS, Pending, doubt};
use super::{Assignment, Command, Reading, ShellContext, Why, Word, programs, wrap, writes};

/// The folders that a statement may run in.
pub(super) type Folders = Vec<Word>;

/// Where a statement leaves the shell: after success, and after failure. None: it does not come back.
pub(super) struct StatementExits {
    success: Folders,
    failure: Folders,
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
    /// Where the statement in hand runs.
    pub(super) folders: Folders,
    pub(super) carried: Arc<Vec<Assignment>>,
    after: Arc<Vec<Command>>,
    level: usize,
    functions: Vec<String>,
    /// Variables whose value is the same wherever the text reads them from here on.
    pub(super) settled: Vec<(String, String)>,
    pub(super) around: Arc<ShellContext>,
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
            settled: Vec::new(),
            around: from.around.clone(),
            late: Late::default(),
        }
    }

    pub(super) fn file(&mut self, body: &StmtSeq) {
        let mut folders = self.folders.clone();
        for statement in body.iter() {
            folders = self.statement(statement, folders).either();
            self.settle(statement);
        }
    }

    /// Variables that a statement of the text itself gives a value, and that the text names nowhere else but to read them:
    /// `branch=feat/1; git push origin $branch`.
    fn settle(&mut self, statement: &Stmt) {
        const MAX: usize = 16;
        let CommandSyntax::Simple(simple) = &statement.command else { return };
        if !simple.args.is_empty() || !simple.name.span.slice(self.source).is_empty() || statement.negated {
            return;
        }
        for given in simple.assignments.iter().take(MAX) {
            let name = given.target.name.as_str();
            let value = self.carried.iter().find(|carried| carried.name == name).and_then(|given| given.value.known());
            let plain = |text: &str| !text.is_empty() && !text.contains(|char: char| " \t\n*?[\\".contains(char));
            if let Some(value) = value.filter(|value| plain(value) && names_once(self.source, name)) {
                self.settled.push((name.to_owned(), value.to_owned()));
            }
        }
    }

    pub(super) fn doubt(&mut self, why: Why, what: &str) {
        if self.reading.doubts.len() < MAX_COMMANDS {
            self.reading.doubts.push(doubt(why, what));
        }
    }

    /// How many commands were found so far.
    pub(super) fn found(&self) -> usize {
        self.reading.commands.len()
    }

    pub(super) fn found_since(&self, before: usize) -> &[Command] {
        &self.reading.commands[before..]
    }

    /// How much was found so far.
    pub(super) fn seen(&self) -> usize {
        self.reading.commands.len() + self.reading.doubts.len() + self.pending.len()
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

    fn carry(&mut self, given: impl IntoIterator<Item = Assignment>) {
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

    /// Statements that leave the shell as it was.
    pub(super) fn subshell(&mut self, body: &StmtSeq) {
        let (folders, carried) = (self.folders.clone(), self.carried.clone());
        self.sequence(body, folders.clone());
        (self.folders, self.carried) = (folders, carried);
    }

    /// A text that another shell, or this one, reads from here.
    pub(super) fn text(&mut self, text: String) {
        let (folders, carried, after) = (self.folders.clone(), self.carried.clone(), self.after.clone());
        let around = self.around.clone();
        self.pending.push(Pending { text, folders, carried, after, level: self.level + 1, around });
    }

    fn sequence(&mut self, body: &StmtSeq, mut folders: Folders) -> Folders {
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
                let empty = simple.args.is_empty() && simple.name.span.slice(self.source).is_empty();
                let assignments = self.assignments(&simple.assignments);
                let mut words = if empty { Vec::new() } else { self.fields(&simple.name) };
                for word in &simple.args {
                    words.extend(self.fields(word));
                }
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
            CommandSyntax::Builtin(builtin) => self.leaving(builtin, &folders, redirections),
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
        let before = self.found();
        let mut left = self.statement(&first.left, folders.clone());
        let mut sure: Vec<Command> = self.succeeded(&first.left, before).into_iter().collect();
        for binary in row.iter().rev() {
            let before = self.found();
            left = match binary.op {
                BinaryOp::Pipe | BinaryOp::PipeAll => {
                    // Each part of a pipe is a shell of its own.
                    sure.clear();
                    self.statement(&binary.right, folders.clone());
                    StatementExits::same(&folders)
                }
                BinaryOp::And => {
                    self.after = Arc::new(latest(&outer, &sure));
                    let right = self.statement(&binary.right, left.success);
                    sure.extend(self.succeeded(&binary.right, before));
                    self.after = outer.clone();
                    StatementExits { success: right.success, failure: union(left.failure, right.failure) }
                }
                BinaryOp::Or => {
                    sure.clear();
                    let right = self.statement(&binary.right, left.failure);
                    StatementExits { success: union(left.success, right.success), failure: right.failure }
                }
            };
        }
        left
    }

    /// The call of git that has succeeded when `statement` has, if it is one and nothing else.
    fn succeeded(&self, statement: &Stmt, before: usize) -> Option<Command> {
        let plain = matches!(statement.command, CommandSyntax::Simple(_)) && !statement.negated;
        if !plain || matches!(statement.terminator, Some(StmtTerminator::Background(_))) {
            return None;
        }
        let last = self.found_since(before).last().filter(|command| command.program() == Some("git"))?;
        Some(Command { after: Arc::default(), ..last.clone() })
    }

    fn compound(&mut self, compound: &CompoundCommand, folders: Folders) -> StatementExits {
        let after = match compound {
            CompoundCommand::Subshell(body) => {
                self.subshell(body);
                folders
            }
            CompoundCommand::BraceGroup(body) => return self.last_of(body, folders),
            CompoundCommand::Time(time) => match &time.command {
                Some(command) => return self.statement(command, folders),
                None => folders,
            },
            CompoundCommand::Coproc(coproc) => {
                self.statement(&coproc.body, folders.clone());
                folders
            }
            CompoundCommand::If(branch) => {
                let condition = self.last_of(&branch.condition, folders);
                let mut after = self.sequence(&branch.then_branch, condition.success);
                let mut otherwise = condition.failure;
                for (condition, body) in &branch.elif_branches {
                    let left = self.last_of(condition, otherwise);
                    after = union(after, self.sequence(body, left.success));
                    otherwise = left.failure;
                }
                match &branch.else_branch {
                    Some(body) => union(after, self.sequence(body, otherwise)),
                    None => union(after, otherwise),
                }
            }
            CompoundCommand::Case(case) => {
                self.word(&case.word);
                let mut after = folders;
                for item in &case.cases {
                    item.patterns.iter().for_each(|pattern| self.pattern(pattern));
                    // One may go on in the next.
                    after = union(after.clone(), self.sequence(&item.body, after));
                }
                after
            }
            CompoundCommand::For(each) => {
                let words: Vec<Word> = each.words.iter().flatten().flat_map(|word| self.fields(word)).collect();
                words.iter().for_each(|word| self.holds(word));
                self.again(&[&each.body], folders)
            }
            CompoundCommand::Repeat(each) => {
                self.word(&each.count);
                self.again(&[&each.body], folders)
            }
            CompoundCommand::Foreach(each) => {
                self.all(&each.words);
                self.again(&[&each.body], folders)
            }
            CompoundCommand::Select(each) => {
                self.all(&each.words);
                self.again(&[&each.body], folders)
            }
            CompoundCommand::ArithmeticFor(each) => {
                for span in [each.init_span, each.condition_span, each.step_span].into_iter().flatten() {
                    self.evaluated(span.slice(self.source));
                }
                self.again(&[&each.body], folders)
            }
            CompoundCommand::While(each) => self.again(&[&each.condition, &each.body], folders),
            CompoundCommand::Until(each) => self.again(&[&each.condition, &each.body], folders),
            CompoundCommand::Arithmetic(arithmetic) => {
                self.evaluated(arithmetic.span.slice(self.source));
                // What is no arithmetic is two subshells to other shells than bash.
                if let (None, Some(inner)) = (&arithmetic.expr_ast, arithmetic.expr_span) {
                    self.text(inner.slice(self.source).to_owned());
                }
                folders
            }
            CompoundCommand::Conditional(conditional) => {
                self.conditional(&conditional.expression);
                folders
            }
            CompoundCommand::Always(always) => {
                let after = self.sequence(&always.body, folders);
                self.sequence(&always.always_body, after)
            }
        };
        StatementExits::same(&after)
    }

    /// A group comes to what its last statement comes to.
    fn last_of(&mut self, body: &StmtSeq, mut folders: Folders) -> StatementExits {
        let Some((last, before)) = body.as_slice().split_last() else { return StatementExits::same(&folders) };
        for statement in before {
            folders = self.statement(statement, folders).either();
        }
        self.statement(last, folders)
    }

    /// Statements that run any number of times: a folder that they change may be any when they run again.
    fn again(&mut self, bodies: &[&StmtSeq], mut folders: Folders) -> Folders {
        if bodies.iter().any(|body| programs::may_move(body.span.slice(self.source))) {
            folders = union(folders, vec![Word::Dynamic]);
        }
        let mut after = folders.clone();
        for body in bodies {
            folders = self.sequence(body, folders);
            after = union(after, folders.clone());
        }
        after
    }

    fn all(&mut self, words: &[Syntax]) {
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
        self.assignments(assignments);
        if let Some(word) = word {
            self.word(word);
        }
        self.all(more);
        if leaves { StatementExits { success: Vec::new(), failure: Vec::new() } } else { StatementExits::same(folders) }
    }

    fn redirections(&mut self, given: &[Redirect]) -> Redirections {
        let mut found = Redirections::default();
        for redirect in given {
            match &redirect.target {
                RedirectTarget::Heredoc(heredoc) => found.stdin = Some(self.heredoc(&heredoc.body)),
                // Where a shell takes several, it writes them all.
                RedirectTarget::Word(target) => {
                    for word in self.fields(target) {
                        redirection(redirect.kind, word, &mut found);
                    }
                }
            }
        }
        found
    }

    /// Files that are written without a command: `> file`, or by a whole group.
    fn writes_only(&mut self, redirections: Redirections, folders: &Folders) {
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
            fills: Vec::new(),
            stdin: None,
            after: self.after.clone(),
            level: self.level,
        }
    }

    fn simple(
        &mut self,
        words: Vec<Word>,
        assignments: Vec<Assignment>,
        redirections: Redirections,
        folders: &Folders,
    ) -> StatementExits {
        self.data(&words, redirections.stdin.as_ref());
        self.prompted(&assignments);
        if words.is_empty() {
            // Nothing is left where variables come to nothing; such assignments hold for what follows as well.
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
            self.prompted(&text.assignments);
            let carried = Arc::new(text.carried.iter().cloned().chain(text.assignments).collect());
            let (after, level, around) = (self.after.clone(), self.level + 1, self.around.clone());
            self.pending.push(Pending { text: text.text, folders: text.folders, carried, after, level, around });
        }
        let mut left = StatementExits::same(folders);
        for mut command in started.commands {
            self.prompted(&command.assignments);
            self.carry(set(&command));
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

    /// What a command gives to variables, or to places that a shell evaluates.
    fn data(&mut self, words: &[Word], stdin: Option<&Word>) {
        const SETTING: [&str; 9] =
            ["echo", "printf", "set", "read", "export", "declare", "typeset", "local", "readonly"];
        let Some((program, arguments)) = words.split_first() else { return };
        let program = program.known().unwrap_or_default();
        if SETTING.contains(&program) || self.functions.iter().any(|name| name == program) {
            arguments.iter().for_each(|word| self.holds(word));
        }
        // A loop may read it.
        stdin
            .filter(|_| matches!(program, "cat" | "read" | "mapfile" | "readarray"))
            .into_iter()
            .for_each(|text| self.holds(text));
        let names = matches!(program, "let" | "read" | "mapfile" | "readarray" | "unset" | "wait" | "getopts");
        let named =
            matches!(program, "test" | "[" | "printf") && arguments.iter().any(|word| word.known() == Some("-v"));
        let unknown = arguments.iter().any(|word| word.known().is_none());
        if program == "let" || named || (names && unknown) {
            self.late.place.get_or_insert_with(|| program.to_owned());
        }
        let hidden = |text: &str| text.contains("$(") || text.contains('`');
        let declares = programs::declares(program);
        if (names || named || declares)
            && arguments.iter().filter_map(Word::known).any(|text| hidden(text) && !text.contains('='))
        {
            self.doubt(Why::Hidden, &wrap::text_of(words));
        }
    }

    /// A value that a variable, or an argument of a function, may have. It may be put together from pieces.
    fn holds(&mut self, value: &Word) {
        self.late.holds |= value.known().is_some_and(runs);
    }

    /// Variables whose value the shell, or another that is started, runs by itself.
    fn prompted(&mut self, assignments: &[Assignment]) {
        const PROMPTS: [&str; 8] = ["PS0", "PS1", "PS2", "PS3", "PS4", "RPS1", "PROMPT", "RPROMPT"];
        for given in assignments {
            let hides = PROMPTS.contains(&given.name.as_str()) && given.value.known().is_none_or(runs);
            if hides || given.name == "PROMPT_COMMAND" || given.name.starts_with("BASH_FUNC_") {
                self.doubt(Why::Hidden, &given.name);
            }
        }
    }

    fn assignments(&mut self, given: &[AssignmentSyntax]) -> Vec<Assignment> {
        given.iter().map(|given| self.assignment(given)).collect()
    }

    fn assignment(&mut self, given: &AssignmentSyntax) -> Assignment {
        let subscript = given.target.subscript.is_some();
        if subscript {
            self.evaluated(given.target.span.slice(self.source));
        }
        let value = match &given.value {
            AssignmentValue::Scalar(word) => {
                let value = self.value(word);
                self.holds(&value);
                if given.append { Word::Dynamic } else { value }
            }
            AssignmentValue::Compound(array) => {
                for element in &array.elements {
                    let (key, value) = match element {
                        ArrayElem::Sequential(word) => (None, self.word(word)),
                        ArrayElem::Keyed { key, value } | ArrayElem::KeyedAppend { key, value } => {
                            (Some(key.syntax_text(self.source).to_owned()), self.word(value))
                        }
                    };
                    key.iter().for_each(|key| self.maybe_hidden(key));
                    self.holds(&value);
                }
                Word::Dynamic
            }
        };
        let value = if matches!(value, Word::Known(_)) && !subscript { value } else { Word::Dynamic };
        Assignment { name: given.target.name.as_str().to_owned(), value }
    }

    fn declared(&mut self, operand: &DeclOperand) -> Word {
        match operand {
            DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => {
                let word = self.word(word);
                // Arithmetic, a reference, another case: what such a variable is given is not what it has.
                if word.known().is_none_or(|flag| flag.contains(['i', 'n', 'A', 'u', 'l', 'c'])) {
                    self.late.place.get_or_insert_with(|| "declare".to_owned());
                }
                word
            }
            DeclOperand::Name(reference) => {
                self.maybe_hidden(reference.span.slice(self.source));
                Word::from(reference.name.as_str())
            }
            DeclOperand::Assignment(assignment) => {
                let made = self.assignment(assignment);
                let text = made.value.known().map(|value| format!("{}={value}", made.name));
                self.carry([made]);
                text.map_or(Word::Dynamic, Word::Known)
            }
        }
    }
}

/// Whether a text names a variable once, but for where it reads it as `$name`.
fn names_once(text: &str, name: &str) -> bool {
    let named = |(at, _): &(usize, &str)| !text[..*at].ends_with('$') && !text[..*at].ends_with("${");
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let words = text
        .match_indices(name)
        .filter(named)
        .filter(|(at, _)| !text[..*at].ends_with(is_name) && !text[at + name.len()..].starts_with(is_name));
    words.take(2).count() == 1
}

/// Whether a value would run a command where it is evaluated.
fn runs(text: &str) -> bool {
    text.contains("$(") || text.contains('`') || text.ends_with('$') || text.contains("<(")
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

/// What `builtin export A=b` sets, which the grammar does not see as a declaration, and what programs of the shell give a
/// value that only the run will know, where git or the search for programs goes by it: `read GIT_DIR`, `printf -v PATH`.
fn set(command: &Command) -> Vec<Assignment> {
    let program = command.words.first().and_then(Word::known).unwrap_or_default();
    let leads = |word: &str| word.starts_with("GIT_") || matches!(word, "PATH" | "HOME" | "BASH_ENV" | "LD_PRELOAD");
    let reads = matches!(program, "read" | "mapfile" | "readarray" | "getopts" | "printf");
    let words = command.words.iter().skip(1).filter_map(Word::known);
    let given = words.filter_map(|word| match word.split_once('=') {
        Some((name, value)) if programs::declares(program) => Some((name, Word::from(value))),
        None if reads && leads(word) => Some((word, Word::Dynamic)),
        _ => None,
    });
    given.map(|(name, value)| Assignment { name: name.to_owned(), value }).collect()
}

/// The last ones of both: each command that follows has them all.
fn latest(outer: &[Command], sure: &[Command]) -> Vec<Command> {
    const MAX: usize = 16;
    let older = (outer.len() + sure.len()).saturating_sub(MAX);
    // A long row comes here for each of its commands, and must not copy all that are before it.
    outer.iter().chain(sure).skip(older).cloned().collect()
}

/// A longer folder is not followed.
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
        (Word::Known(from), Word::Pattern(to)) if from == "." || to.starts_with('/') => Word::Pattern(to.clone()),
        (Word::Known(from), Word::Pattern(to)) => Word::Pattern(format!("{from}/{to}")),
        _ => Word::Dynamic,
    }
}

fn union(mut one: Folders, other: Folders) -> Folders {
    /// More folders than this are no longer told apart.
    const MAX: usize = 8;
    for folder in other {
        if !one.contains(&folder) {
            one.push(folder);
        }
    }
    if one.len() > MAX { vec![Word::Dynamic] } else { one }
}
