//! The ruling on a merge, with its reasons.

use std::collections::BTreeMap;

use serde::Serialize;

use super::change::{Diff, FileChange, Text};
use super::declarations::{Declarations, Intent};
use super::facts::knows;
use super::policy::Policy;
use super::removal::{Removal, removals};
use super::shape::Shape;
use super::zone::{self, Require};

/// The verdict on a merge. A later variant outweighs an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeVerdict {
    /// The merge is allowed.
    Pass,
    /// A person decides.
    HumanReview,
    /// The merge is blocked.
    Block,
}

/// Evidence about the branch from other sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The author of the branch. Only a review by another person counts.
    pub author: Option<String>,
    /// The commit that would be merged. A review of another commit does not count.
    pub head: String,
    /// The reviews, the oldest first.
    pub reviews: Vec<PersonReview>,
    /// The findings, by the names that policies use.
    pub findings: BTreeMap<String, MergeFinding>,
}

/// A person's review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonReview {
    /// The reviewer.
    pub by: String,
    /// Whether they approve; otherwise they request changes.
    pub approves: bool,
    /// The reviewed commit.
    pub commit: String,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeFinding {
    /// Whether the check passed.
    pub is_ok: bool,
    /// A description of the result.
    pub summary: String,
}

/// The ruling of the gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    /// The verdict.
    pub verdict: MergeVerdict,
    /// The share of removals that were announced, from 0 to 1.
    pub score: f64,
    /// The shape of the change, if its commits declare one.
    pub shape: Option<Shape>,
    /// The objections, the weightiest first.
    pub reasons: Vec<Reason>,
    /// The changed zones.
    pub zones: BTreeMap<String, ZoneReport>,
    /// Whether it may be merged without a person.
    pub auto_merge: bool,
}

/// An objection to a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Its consequence. One that lets the merge pass is a warning.
    pub verdict: MergeVerdict,
    /// A stable code for programs.
    pub code: &'static str,
    /// One lower-case sentence.
    pub message: String,
    /// The file, or another source: `commit 0a3b87a`.
    pub path: String,
    /// The line.
    pub line: u64,
}

/// The changes in a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ZoneReport {
    /// The requirement of the zone.
    pub require: Require,
    /// The number of its changed files.
    pub files: u64,
    /// The number of its changed lines.
    pub lines: u64,
}

/// Rules on a merge. The result does not depend on the order of the files.
pub fn gate(diff: &Diff, declared: &Declarations, policy: &Policy, evidence: &Evidence) -> Ruling {
    let intent = declared.intent();
    let mut gate = Gate { policy, is_approved: evidence.is_approved(), reasons: Vec::new() };
    let score = gate.removals(diff, &intent);
    let zones = gate.zones(diff);
    gate.unread(diff);
    gate.evidence(&intent, evidence);
    let warnings = gate.reasons.iter().filter(|reason| reason.verdict == MergeVerdict::Pass).count() as u64;
    if warnings > policy.thresholds.max_findings && !gate.is_approved {
        let most = policy.thresholds.max_findings;
        let first = gate.reasons.iter().find(|reason| reason.verdict == MergeVerdict::Pass);
        let (path, line) = first.map_or((String::new(), 1), |reason| (reason.path.clone(), reason.line));
        gate.say(
            MergeVerdict::HumanReview,
            "findings",
            format!("there are {warnings} warnings, more than {most}"),
            &path,
            line,
        );
    }
    let mut reasons = gate.reasons;
    reasons.sort_by(|a, b| {
        let key = |reason: &Reason| (reason.path.clone(), reason.line, reason.code, reason.message.clone());
        b.verdict.cmp(&a.verdict).then_with(|| key(a).cmp(&key(b)))
    });
    let verdict = reasons.first().map_or(MergeVerdict::Pass, |reason| reason.verdict);
    let auto = &policy.auto_merge;
    let is_excluded = intent.shape.is_none_or(|shape| auto.exclude_shapes.contains(&shape))
        || auto.exclude_zones.iter().any(|zone| zones.contains_key(zone));
    let auto_merge = auto.enabled && verdict == MergeVerdict::Pass && !is_excluded;
    Ruling { verdict, score, shape: intent.shape, reasons, zones, auto_merge }
}

impl Evidence {
    /// Checks whether another person approves of this very commit, and nobody requests changes.
    fn is_approved(&self) -> bool {
        let Some(author) = &self.author else { return false };
        let mut latest: BTreeMap<String, &PersonReview> = BTreeMap::new();
        for review in &self.reviews {
            latest.insert(review.by.to_lowercase(), review);
        }
        let others = latest.iter().filter(|(by, _)| **by != author.to_lowercase()).map(|(_, review)| *review);
        let (approving, asking): (Vec<&PersonReview>, Vec<&PersonReview>) = others.partition(|review| review.approves);
        asking.is_empty() && approving.iter().any(|review| !review.commit.is_empty() && review.commit == self.head)
    }
}

struct Gate<'p> {
    policy: &'p Policy,
    is_approved: bool,
    reasons: Vec<Reason>,
}

impl Gate<'_> {
    fn say(&mut self, verdict: MergeVerdict, code: &'static str, message: String, path: &str, line: u64) {
        self.reasons.push(Reason { verdict, code, message, path: path.to_owned(), line });
    }

    /// Compares the removals with the announcements. Returns the share that was announced.
    fn removals(&mut self, diff: &Diff, intent: &Intent) -> f64 {
        let (removals, mut gained) = removals(diff);
        let mut used = vec![false; intent.items.len()];
        let unannounced: Vec<&Removal> =
            removals.iter().filter(|removal| !intent.announces(removal, &mut gained, &mut used)).collect();
        let announced = removals.len() - unannounced.len();
        let score = if removals.is_empty() { 1.0 } else { announced as f64 / removals.len() as f64 };
        let is_enough = score >= self.policy.thresholds.min_scope_match;
        for removal in unannounced {
            let require = zone::of(&self.policy.zones, &removal.path).require;
            let verdict = match require {
                Require::GatePassOrHuman if is_enough && self.is_approved => MergeVerdict::Pass,
                Require::GatePassOrHuman if is_enough => MergeVerdict::HumanReview,
                Require::GatePassOrHuman | Require::GatePass | Require::HumanReview => MergeVerdict::Block,
            };
            let message = format!("{}, which is not announced", removal.description());
            self.say(verdict, "unannounced", message, &removal.path, removal.line);
        }
        for (item, used) in intent.items.iter().zip(used) {
            if item.is_blanket() {
                let message = format!("`{}` is too general to announce anything", item.text);
                self.say(MergeVerdict::Pass, "blanket", message, &item.place, item.line);
            } else if !used {
                let message =
                    format!("`{}` was announced as a removal, but nothing of that name is removed", item.text);
                self.say(MergeVerdict::Pass, "unmatched", message, &item.place, item.line);
            }
        }
        (score * 100.0).round() / 100.0
    }

    fn zones(&mut self, diff: &Diff) -> BTreeMap<String, ZoneReport> {
        let mut zones: BTreeMap<String, ZoneReport> = BTreeMap::new();
        let mut kernel: Vec<(&str, &str)> = Vec::new();
        for change in &diff.files {
            let paths = [Some(change.path.as_str()), change.from.as_deref()];
            let strictest = paths.into_iter().flatten().map(|path| (zone::of(&self.policy.zones, path), path));
            let Some((belongs, path)) = strictest.reduce(|a, b| if b.0.require > a.0.require { b } else { a }) else {
                continue;
            };
            let report = ZoneReport { require: belongs.require, files: 0, lines: 0 };
            let report = zones.entry(belongs.zone.to_owned()).or_insert(report);
            report.files += 1;
            report.lines += change.added + change.deleted;
            if belongs.require == Require::HumanReview {
                kernel.push((path, belongs.zone));
            }
        }
        if self.is_approved {
            return zones;
        }
        if kernel.len() as u64 > self.policy.thresholds.max_kernel_changes {
            for (path, zone) in kernel {
                let message = format!(
                    "`{path}` belongs to the zone `{zone}`, and this commit has not been approved by anyone else"
                );
                self.say(MergeVerdict::HumanReview, "kernel", message, path, 1);
            }
        }
        self.long_zones(diff, &zones);
        zones
    }

    fn long_zones(&mut self, diff: &Diff, zones: &BTreeMap<String, ZoneReport>) {
        let most = self.policy.thresholds.max_zone_lines;
        for (name, report) in zones.iter().filter(|(_, report)| report.lines > most) {
            let of_zone = |change: &&FileChange| zone::of(&self.policy.zones, &change.path).zone == name;
            let path = diff.files.iter().filter(of_zone).map(|change| change.path.clone()).min().unwrap_or_default();
            let message = format!("{} lines of the zone `{name}` change, more than {most}", report.lines);
            self.say(MergeVerdict::HumanReview, "zone-lines", message, &path, 1);
        }
    }

    /// Reports files that could not be compared, because they may be harmful.
    fn unread(&mut self, diff: &Diff) {
        for change in &diff.files {
            let unread = change.before == Text::Unread || change.after == Text::Unread && change.before != Text::Absent;
            if unread && !change.is_deleted() && (knows(&change.path) || knows(change.old_path())) && !self.is_approved
            {
                let message = format!("`{}` cannot be compared: it is not text, or is too long", change.path);
                self.say(MergeVerdict::HumanReview, "unread", message, &change.path, 1);
            }
        }
    }

    fn evidence(&mut self, intent: &Intent, evidence: &Evidence) {
        let wanted = intent.shape.and_then(|shape| self.policy.shapes.get(&shape));
        for wanted in wanted.into_iter().flatten().filter(|wanted| !["scope", "zone"].contains(&wanted.name.as_str())) {
            let (verdict, message) = match evidence.findings.get(&wanted.name) {
                Some(found) if found.is_ok => continue,
                Some(found) => (MergeVerdict::Block, format!("`{}` failed: {}", wanted.name, found.summary)),
                None => (MergeVerdict::HumanReview, format!("the evidence `{}` is missing", wanted.name)),
            };
            self.say(verdict, "evidence", message, POLICY, wanted.line);
        }
    }
}

/// The policy file of a repository, relative to its root.
pub const POLICY: &str = ".portolan/merge-policy.yaml";
