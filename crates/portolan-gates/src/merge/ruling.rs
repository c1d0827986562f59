//! The ruling, and its reasons.

use std::collections::BTreeMap;

use serde::Serialize;

use super::change::{Diff, FileChange, Text};
use super::declared::{Declared, Intent};
use super::facts::knows;
use super::policy::Policy;
use super::removal::{Removal, removals};
use super::shape::Shape;
use super::zone::{self, Require};

/// What may become of a merge. The later one outweighs the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeVerdict {
    /// It may be merged.
    Pass,
    /// A person decides.
    HumanReview,
    /// It may not be merged.
    Block,
}

/// What was found out about the branch elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Who made the branch; a review by anybody else counts.
    pub author: Option<String>,
    /// The commit that would be merged: a review of another one does not count.
    pub head: String,
    /// The reviews, the oldest first.
    pub reviews: Vec<PersonReview>,
    /// What was looked at, by the names that policies know it by.
    pub findings: BTreeMap<String, MergeFinding>,
}

/// A person's review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonReview {
    /// Who.
    pub by: String,
    /// They approve of it; otherwise they ask for changes.
    pub approves: bool,
    /// The commit that they looked at.
    pub commit: String,
}

/// What came of looking at something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeFinding {
    /// It is as it should be.
    pub is_ok: bool,
    /// In words.
    pub summary: String,
}

/// What the gate says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    /// What may become of it.
    pub verdict: MergeVerdict,
    /// The share of what is taken away that was announced, from 0 to 1.
    pub score: f64,
    /// What sort of change it is, where its commits say so.
    pub shape: Option<Shape>,
    /// What speaks against it, the weightiest first.
    pub reasons: Vec<Reason>,
    /// The zones that it changes.
    pub zones: BTreeMap<String, ZoneReport>,
    /// Whether it may be merged without anybody.
    pub auto_merge: bool,
}

/// What speaks against a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// What follows from it: one that lets it pass is a warning.
    pub verdict: MergeVerdict,
    /// A stable word for programs.
    pub code: &'static str,
    /// One lower-case sentence.
    pub message: String,
    /// The file, or where else it is said: `commit 0a3b87a`.
    pub path: String,
    /// The line.
    pub line: u64,
}

/// What a zone has to do with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ZoneReport {
    /// What a change in it needs.
    pub require: Require,
    /// How many of its files change.
    pub files: u64,
    /// How many of its lines.
    pub lines: u64,
}

/// Rules on a merge. The same things come to the same ruling, in whichever order the files are told.
pub fn gate(diff: &Diff, declared: &Declared, policy: &Policy, evidence: &Evidence) -> Ruling {
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
    /// Whether somebody else looked at this very commit and approves of it, and nobody asks for changes.
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

    /// Holds what is taken away against what was announced; the share of it that was.
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
            let message = format!("{}, which nothing announces", removal.told());
            self.say(verdict, "unannounced", message, &removal.path, removal.line);
        }
        for (item, used) in intent.items.iter().zip(used) {
            if item.is_blanket() {
                let message = format!("`{}` would announce anything, and announces nothing", item.text);
                self.say(MergeVerdict::Pass, "blanket", message, &item.place, item.line);
            } else if !used {
                let message = format!("`{}` was announced to go, and nothing of that name does", item.text);
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
                let message =
                    format!("`{path}` belongs to the zone `{zone}`, and nobody else has approved of this commit");
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

    /// What could not be compared is not known to be harmless.
    fn unread(&mut self, diff: &Diff) {
        for change in &diff.files {
            let unread = change.before == Text::Unread || change.after == Text::Unread && change.before != Text::Absent;
            if unread && !change.is_deleted() && (knows(&change.path) || knows(change.old_path())) && !self.is_approved
            {
                let message = format!("`{}` cannot be compared: it is no text, or too long", change.path);
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

/// Where the policy of a repository is, from its root.
pub const POLICY: &str = ".portolan/merge-policy.yaml";
