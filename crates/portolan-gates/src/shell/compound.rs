//! Compound commands, which run conditionally or repeatedly: `if`, `case`, loops and groups.

use shuck_ast::{CompoundCommand, StmtSeq, Word as Syntax};

use super::walk::{Folders, StatementExits, Walk, union};
use super::{Word, programs};

impl Walk<'_> {
    pub(super) fn compound(&mut self, compound: &CompoundCommand, folders: Folders) -> StatementExits {
        self.certain = false;
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
                    // A case may fall through to the next one.
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
                // Other shells than bash read it as two subshells if it is not arithmetic.
                self.arithmetic(arithmetic.span.slice(self.source), arithmetic.expr_ast.is_some());
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

    /// Walks a group. Its exits are those of its last statement.
    pub(super) fn last_of(&mut self, body: &StmtSeq, mut folders: Folders) -> StatementExits {
        let Some((last, before)) = body.as_slice().split_last() else { return StatementExits::same(&folders) };
        for statement in before {
            folders = self.statement(statement, folders).either();
        }
        self.statement(last, folders)
    }

    /// Walks statements that run any number of times. If they may change the folder, a later pass may run in any
    /// folder.
    pub(super) fn again(&mut self, bodies: &[&StmtSeq], mut folders: Folders) -> Folders {
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

    pub(super) fn all(&mut self, words: &[Syntax]) {
        for word in words {
            self.word(word);
        }
    }
}
