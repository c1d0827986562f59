//! The merge policy of a repository: its zones, the evidence for each shape of change, and the thresholds.

use std::collections::BTreeMap;

use super::shape::Shape;
use super::zone::{Require, Zone};
use portolan_core::diagnostic::{Diagnostic, clip, list};
use portolan_core::source::{self, Entry, Source, Span, Tree, TreeKind};

/// The rules for a merge.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The zones of the repository. A path in no zone needs a person.
    pub zones: Vec<Zone>,
    /// The evidence that each shape of change requires.
    pub shapes: BTreeMap<Shape, Vec<RequiredEvidence>>,
    /// The thresholds.
    pub thresholds: Thresholds,
    /// The changes that may be merged without a person.
    pub auto_merge: AutoMerge,
}

/// A required piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredEvidence {
    /// Its name. The gate itself determines `scope` and `zone`.
    pub name: String,
    /// The line of the policy that requires it.
    pub line: u64,
}

/// The limits of the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// The least share of announced removals. Below it no review helps.
    pub min_scope_match: f64,
    /// The most warnings that pass without a review.
    pub max_findings: u64,
    /// The most files of zones that require a person which may change without one.
    pub max_kernel_changes: u64,
    /// The most lines of a zone that may change without a review.
    pub max_zone_lines: u64,
}

/// The changes that may be merged without a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutoMerge {
    /// Whether any change may be merged so.
    pub enabled: bool,
    /// Whether all other checks must have passed. The caller enforces this.
    pub requires_checks: bool,
    /// The shapes of change that are excluded.
    pub exclude_shapes: Vec<Shape>,
    /// The zones whose changes are excluded.
    pub exclude_zones: Vec<String>,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds { min_scope_match: 0.85, max_findings: 5, max_kernel_changes: 0, max_zone_lines: 200 }
    }
}

impl Default for Policy {
    /// Returns the policy of a repository without one: every removal must be announced, a person reviews the files that
    /// make up the gates, and the gate alone decides about everything else, of any length.
    fn default() -> Policy {
        let everything = Zone {
            name: "default".to_owned(),
            paths: vec!["**".to_owned()],
            require: Require::GatePass,
            rationale: None,
        };
        Policy {
            zones: vec![everything],
            shapes: BTreeMap::new(),
            thresholds: Thresholds { max_zone_lines: u64::MAX, ..Thresholds::default() },
            auto_merge: AutoMerge::default(),
        }
    }
}

/// The evidence that a policy may require.
const EVIDENCE: [&str; 6] = ["scope", "zone", "calibrate-delta", "owasp", "preview-smoke", "visual-diff"];
/// The most zones, and the most texts in one of their lists.
const MAX_ZONES: usize = 1_000;

impl Policy {
    /// Reads a policy. Returns no policy if it has an error, because it could differ from the intended one.
    pub fn read(source: &Source) -> (Option<Policy>, Vec<Diagnostic>) {
        let (tree, faults) = source::parse(source);
        let mut reader = Reader { source, faults };
        let policy = tree.map(|tree| reader.policy(&tree));
        let mut faults = reader.faults;
        faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
        let is_sound = !faults.iter().any(Diagnostic::is_error);
        (policy.filter(|_| is_sound), faults)
    }
}

struct Reader<'s> {
    source: &'s Source,
    faults: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn policy(&mut self, tree: &Tree) -> Policy {
        let mut policy = Policy { zones: Vec::new(), thresholds: Thresholds::default(), ..Policy::default() };
        for entry in self.fields(tree, "a merge policy", &["zones", "shapes", "verdicts", "version"]) {
            match entry.key.value.as_str() {
                "zones" => policy.zones = self.zones(&entry.value),
                "shapes" => policy.shapes = self.shapes(&entry.value),
                "verdicts" => self.verdicts(&entry.value, &mut policy),
                _ => {}
            }
        }
        let names: Vec<&str> = policy.zones.iter().map(|zone| zone.name.as_str()).collect();
        for name in &policy.auto_merge.exclude_zones {
            if !names.contains(&name.as_str()) {
                let message = format!("`excludeZones` names `{}`, which is not a zone", clip(name));
                let fault = Diagnostic::error("unknown-zone", message).at(tree.head());
                self.faults.push(fault.did_you_mean(name, names.iter().copied()));
            }
        }
        policy
    }

    fn zones(&mut self, tree: &Tree) -> Vec<Zone> {
        let mut zones = Vec::new();
        for entry in self.members(tree, "`zones`").iter().take(MAX_ZONES) {
            let of = format!("zone `{}`", clip(&entry.key.value));
            let (mut paths, mut require, mut rationale) = (Vec::new(), None, None);
            for field in self.fields(&entry.value, &of, &["paths", "require", "rationale"]) {
                match field.key.value.as_str() {
                    "paths" => paths = self.texts(&field.value, "paths"),
                    "require" => {
                        let words = Require::ALL.map(|require| (require.name(), require));
                        require = self.word(&field.value, "require", &words);
                    }
                    _ => rationale = self.text(&field.value, "rationale"),
                }
            }
            if paths.is_empty() {
                self.error("missing-field", format!("{of} has no `paths`, so nothing belongs to it"), entry.key.span);
            }
            // A zone without a requirement was probably meant to have one.
            let require = require.unwrap_or(Require::HumanReview);
            zones.push(Zone { name: entry.key.value.clone(), paths, require, rationale });
        }
        zones
    }

    fn shapes(&mut self, tree: &Tree) -> BTreeMap<Shape, Vec<RequiredEvidence>> {
        let mut shapes = BTreeMap::new();
        let names = Shape::ALL.map(Shape::name);
        for entry in self.fields(tree, "`shapes`", &names) {
            let Some(shape) = Shape::ALL.into_iter().find(|shape| shape.name() == entry.key.value) else { continue };
            for field in self.fields(&entry.value, &format!("shape `{}`", shape.name()), &["evidence"]) {
                let wanted = self.items(&field.value, "evidence");
                let wanted = wanted.iter().filter_map(|item| self.wanted(item)).collect();
                shapes.insert(shape, wanted);
            }
        }
        shapes
    }

    fn wanted(&mut self, tree: &Tree) -> Option<RequiredEvidence> {
        let words = EVIDENCE.map(|name| (name, name));
        let name = self.word(tree, "evidence", &words)?.to_owned();
        Some(RequiredEvidence { name, line: self.source.location(tree.span.start).line as u64 })
    }

    fn verdicts(&mut self, tree: &Tree, policy: &mut Policy) {
        for entry in self.fields(tree, "`verdicts`", &["thresholds", "autoMerge"]) {
            match entry.key.value.as_str() {
                "thresholds" => self.thresholds(&entry.value, &mut policy.thresholds),
                _ => self.auto_merge(&entry.value, &mut policy.auto_merge),
            }
        }
    }

    fn thresholds(&mut self, tree: &Tree, limits: &mut Thresholds) {
        let names = ["minScopeMatch", "maxFindings", "maxKernelChanges", "maxZoneLines"];
        for entry in self.fields(tree, "`thresholds`", &names) {
            let name = entry.key.value.as_str();
            let number = match &entry.value.kind {
                TreeKind::Number(text) => text.parse::<f64>().ok(),
                _ => None,
            };
            let whole = || number.filter(|n| n.fract() == 0.0 && (0.0..=1e12).contains(n)).map(|n| n as u64);
            match (name, number.filter(|n| (0.0..=1.0).contains(n)), whole()) {
                ("minScopeMatch", Some(share), _) => limits.min_scope_match = share,
                ("maxFindings", _, Some(most)) => limits.max_findings = most,
                ("maxKernelChanges", _, Some(most)) => limits.max_kernel_changes = most,
                ("maxZoneLines", _, Some(most)) => limits.max_zone_lines = most,
                ("minScopeMatch", ..) => {
                    self.error(
                        "wrong-type",
                        "`minScopeMatch` must be a number from 0 to 1".to_owned(),
                        entry.value.span,
                    );
                }
                _ => self.error("wrong-type", format!("`{name}` must be a whole number, 0 or more"), entry.value.span),
            }
        }
    }

    fn auto_merge(&mut self, tree: &Tree, auto: &mut AutoMerge) {
        let names = ["enabled", "requireChecksPass", "excludeShapes", "excludeZones"];
        for entry in self.fields(tree, "`autoMerge`", &names) {
            match (entry.key.value.as_str(), &entry.value.kind) {
                ("enabled", TreeKind::Bool(flag)) => auto.enabled = *flag,
                ("requireChecksPass", TreeKind::Bool(flag)) => auto.requires_checks = *flag,
                ("excludeShapes", _) => {
                    let words = Shape::ALL.map(|shape| (shape.name(), shape));
                    let items = self.items(&entry.value, "excludeShapes");
                    auto.exclude_shapes =
                        items.iter().filter_map(|item| self.word(item, "excludeShapes", &words)).collect();
                }
                ("excludeZones", _) => auto.exclude_zones = self.texts(&entry.value, "excludeZones"),
                (name, _) => self.error("wrong-type", format!("`{name}` must be true or false"), entry.value.span),
            }
        }
    }

    /// Returns the members of an object, and reports unknown ones: a misspelt word would not be enforced.
    fn fields<'t>(&mut self, tree: &'t Tree, of: &str, known: &[&str]) -> Vec<&'t Entry> {
        let (found, unknown): (Vec<&Entry>, Vec<&Entry>) =
            self.members(tree, of).iter().partition(|entry| known.contains(&entry.key.value.as_str()));
        for entry in unknown {
            let word = &entry.key.value;
            let fault = Diagnostic::error("unknown-field", format!("{of} has no `{}`", clip(word))).at(entry.key.span);
            let fault = fault.help(format!("the allowed fields are {}", list(known)));
            self.faults.push(fault.did_you_mean(word, known.iter().copied()));
        }
        found
    }

    fn members<'t>(&mut self, tree: &'t Tree, of: &str) -> &'t [Entry] {
        match tree.entries() {
            Some(entries) => entries,
            None if matches!(tree.kind, TreeKind::Null) => &[],
            None => {
                self.error("wrong-type", format!("{of} must be an object, but is {}", tree.describe()), tree.span);
                &[]
            }
        }
    }

    fn items<'t>(&mut self, tree: &'t Tree, of: &str) -> &'t [Tree] {
        match &tree.kind {
            TreeKind::Array(items) => items,
            TreeKind::String(_) => std::slice::from_ref(tree),
            _ => {
                self.error(
                    "wrong-type",
                    format!("`{of}` must be a list of texts, but is {}", tree.describe()),
                    tree.span,
                );
                &[]
            }
        }
    }

    fn texts(&mut self, tree: &Tree, of: &str) -> Vec<String> {
        let items = self.items(tree, of);
        items.iter().take(MAX_ZONES).filter_map(|item| self.text(item, of)).collect()
    }

    fn text(&mut self, tree: &Tree, of: &str) -> Option<String> {
        let text = tree.as_str().filter(|text| text.len() <= 1_000);
        if text.is_none() {
            self.error("wrong-type", format!("`{of}` must be a text of at most 1000 bytes"), tree.span);
        }
        text.map(str::to_owned)
    }

    fn word<T: Copy>(&mut self, tree: &Tree, of: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(tree, of)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meant)| *meant);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let fault = Diagnostic::error("unknown-word", format!("`{of}` cannot be `{}`", clip(&text))).at(tree.span);
            let fault = fault.help(format!("use one of {}", list(&known)));
            self.faults.push(fault.did_you_mean(&text, known.iter().copied()));
        }
        found
    }

    fn error(&mut self, code: &'static str, message: String, span: Span) {
        self.faults.push(Diagnostic::error(code, message).at(span));
    }
}
