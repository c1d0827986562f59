//! Statements that run or do not, or run again: `if`, `case` and the loops. What one of them sets holds afterwards only
//! where it holds on every way through.

use std::sync::Arc;

use shuck_ast::{CompoundCommand, ForCommand, StmtSeq};

use super::memory::Memory;
use super::walk::{Folders, Walk, union};
use super::{Word, programs};

/// For how many words a loop is read anew.
const MAX_TURNS: usize = 64;

impl Walk<'_> {
    pub(super) fn branching(&mut self, compound: &CompoundCommand, folders: Folders) -> Folders {
        match compound {
            CompoundCommand::If(branch) => {
                let condition = self.last_of(&branch.condition, folders);
                let (mut after, mut end) = self.apart(&branch.then_branch, condition.success);
                let mut otherwise = condition.failure;
                for (condition, body) in &branch.elif_branches {
                    let left = self.last_of(condition, otherwise);
                    let (folders, memory) = self.apart(body, left.success);
                    after = union(after, folders);
                    Arc::make_mut(&mut end).join(&memory);
                    otherwise = left.failure;
                }
                let after = match &branch.else_branch {
                    Some(body) => union(after, self.sequence(body, otherwise)),
                    None => union(after, otherwise),
                };
                Arc::make_mut(&mut self.memory).join(&end);
                after
            }
            CompoundCommand::For(each) => self.each(each, folders),
            CompoundCommand::Repeat(each) => {
                self.word(&each.count);
                self.again(&[&each.body], folders)
            }
            CompoundCommand::Foreach(each) => {
                self.all(&each.words);
                self.forget_in(each.span.slice(self.source));
                self.again(&[&each.body], folders)
            }
            CompoundCommand::Select(each) => {
                self.all(&each.words);
                Arc::make_mut(&mut self.memory).forget(each.variable.as_str());
                self.again(&[&each.body], folders)
            }
            CompoundCommand::ArithmeticFor(each) => {
                for span in [each.init_span, each.condition_span, each.step_span].into_iter().flatten() {
                    self.maybe_hidden(span.slice(self.source));
                    self.late.calculates(span.slice(self.source));
                    self.calculated(span.slice(self.source));
                }
                self.again(&[&each.body], folders)
            }
            CompoundCommand::While(each) => self.again(&[&each.condition, &each.body], folders),
            CompoundCommand::Until(each) => self.again(&[&each.condition, &each.body], folders),
            CompoundCommand::Case(case) => {
                self.word(&case.word);
                let mut after = folders.clone();
                for item in &case.cases {
                    for pattern in &item.patterns {
                        self.pattern(pattern);
                    }
                    let start = union(folders.clone(), after.clone());
                    let (left, memory) = self.apart(&item.body, start);
                    after = union(after, left);
                    // One may go on in the next.
                    Arc::make_mut(&mut self.memory).join(&memory);
                }
                after
            }
            CompoundCommand::Arithmetic(arithmetic) => {
                self.maybe_hidden(arithmetic.span.slice(self.source));
                self.late.calculates(arithmetic.span.slice(self.source));
                self.calculated(arithmetic.span.slice(self.source));
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
            CompoundCommand::Subshell(_)
            | CompoundCommand::BraceGroup(_)
            | CompoundCommand::Time(_)
            | CompoundCommand::Coproc(_) => folders,
        }
    }

    /// Statements that run any number of times: a folder that they change may be any when they run again, and what they
    /// set may be set already.
    fn again(&mut self, bodies: &[&StmtSeq], mut folders: Folders) -> Folders {
        let moves = |body: &&StmtSeq| programs::may_move(body.span.slice(self.source));
        if bodies.iter().any(moves) {
            folders = union(folders, vec![Word::Dynamic]);
        }
        for body in bodies {
            self.forget_in(body.span.slice(self.source));
        }
        let before = self.memory.clone();
        let mut after = folders.clone();
        self.repeats += 1;
        for body in bodies {
            folders = self.sequence(body, folders);
            after = union(after, folders.clone());
        }
        self.repeats -= 1;
        Arc::make_mut(&mut self.memory).join(&before);
        after
    }

    /// Forgets what `text` may set.
    fn forget_in(&mut self, text: &str) {
        let calls = self.functions.iter().any(|name| text.contains(name));
        let memory = Arc::make_mut(&mut self.memory);
        if calls || ["eval", "source", ". "].iter().any(|word| text.contains(word)) {
            memory.forget_all();
        } else {
            memory.forget_named(text);
        }
    }

    /// A loop over words: where they are known, it is read once for each of them.
    fn each(&mut self, each: &ForCommand, folders: Folders) -> Folders {
        let given = each.words.as_deref().unwrap_or_default();
        let words: Vec<Word> = given.iter().flat_map(|word| self.fields(word)).collect();
        words.iter().for_each(|word| self.late.holds(word));
        let names: Vec<&str> =
            each.targets.iter().filter_map(|target| target.name.as_ref()).map(|n| n.as_str()).collect();
        for name in &names {
            Arc::make_mut(&mut self.memory).forget(name);
        }
        let body = each.body.span.slice(self.source);
        let told = |word: &Word| matches!(word, Word::Known(_) | Word::Pattern(_));
        let ([name], true) = (&names[..], each.words.is_some() && words.iter().all(told) && words.len() <= MAX_TURNS)
        else {
            return self.again(&[&each.body], folders);
        };
        let used = [format!("${name}"), format!("${{{name}")].iter().any(|use_of| body.contains(use_of));
        let cost = body.len().saturating_mul(words.len());
        if !used || words.is_empty() || cost > self.spare {
            return self.again(&[&each.body], folders);
        }
        self.spare -= cost;
        self.turns(&each.body, name, &words, folders)
    }

    fn turns(&mut self, body: &StmtSeq, name: &str, words: &[Word], mut folders: Folders) -> Folders {
        // A pattern stands for any number of turns.
        let many = words.iter().any(Word::is_several);
        if many {
            self.forget_in(body.span.slice(self.source));
        }
        self.repeats += usize::from(many);
        let before = self.memory.clone();
        for word in words {
            Arc::make_mut(&mut self.memory).set(name, word, false);
            let start = folders.clone();
            // A turn may be left early.
            let early = self.memory.clone();
            folders = union(start, self.sequence(body, folders));
            Arc::make_mut(&mut self.memory).join(&early);
        }
        self.repeats -= usize::from(many);
        let memory = Arc::make_mut(&mut self.memory);
        memory.join(&before);
        memory.forget(name);
        folders
    }

    /// Statements that run or do not: where they leave the shell, and what it remembers then.
    fn apart(&mut self, body: &StmtSeq, folders: Folders) -> (Folders, Arc<Memory>) {
        let before = self.memory.clone();
        let folders = self.sequence(body, folders);
        (folders, std::mem::replace(&mut self.memory, before))
    }
}
