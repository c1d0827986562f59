//! Compound commands, which run conditionally or repeatedly: `if`, `case`, loops and groups. Each part may run in every
//! folder that one before it may have moved to.

use shuck_ast::{CompoundCommand, StmtSeq};

use super::walk::{Folders, StatementExits, Walk, union};
use super::{Why, Word, programs};

impl Walk<'_> {
    pub(super) fn compound(&mut self, compound: &CompoundCommand, folders: Folders) -> StatementExits {
        self.certain = false;
        let after = match compound {
            CompoundCommand::Subshell(body) => {
                self.subshell(body);
                folders
            }
            CompoundCommand::BraceGroup(body) => self.sequence(body, folders),
            CompoundCommand::Time(time) => match &time.command {
                Some(command) => return self.statement(command, folders),
                None => folders,
            },
            CompoundCommand::Coproc(coproc) => {
                self.statement(&coproc.body, folders.clone());
                folders
            }
            CompoundCommand::If(branch) => {
                let others = branch.elif_branches.iter().flat_map(|(condition, body)| [condition, body]);
                let parts = [&branch.condition, &branch.then_branch].into_iter().chain(others);
                self.parts(parts.chain(&branch.else_branch), folders)
            }
            CompoundCommand::Case(case) => {
                self.word(&case.word);
                case.cases.iter().flat_map(|item| &item.patterns).for_each(|pattern| self.pattern(pattern));
                self.parts(case.cases.iter().map(|item| &item.body), folders)
            }
            CompoundCommand::For(each) => {
                let words: Vec<Word> = each.words.iter().flatten().flat_map(|word| self.fields(word)).collect();
                words.iter().for_each(|word| self.holds(word));
                self.again(&[&each.body], folders)
            }
            CompoundCommand::Select(each) => {
                each.words.iter().for_each(|word| drop(self.word(word)));
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
            // Bash has no such commands.
            CompoundCommand::Repeat(_) | CompoundCommand::Foreach(_) | CompoundCommand::Always(_) => {
                self.doubt(Why::Unparsed, self.source);
                folders
            }
        };
        StatementExits::same(&after)
    }

    fn parts<'s>(&mut self, parts: impl Iterator<Item = &'s StmtSeq>, folders: Folders) -> Folders {
        parts.fold(folders, |folders, part| union(folders.clone(), self.sequence(part, folders)))
    }

    /// Walks statements that run any number of times. If they may change the folder, a later pass may run in any
    /// folder.
    fn again(&mut self, parts: &[&StmtSeq], mut folders: Folders) -> Folders {
        if parts.iter().any(|part| programs::may_move(part.span.slice(self.source))) {
            folders = union(folders, vec![Word::Dynamic]);
        }
        self.parts(parts.iter().copied(), folders)
    }
}
