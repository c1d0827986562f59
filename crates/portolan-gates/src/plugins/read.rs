//! Reads `.portolan/plugins.yaml`. All faults are reported at once, each at its position. An unknown word is a fault,
//! because a misspelt one would not be enforced.

use core::net::IpAddr;

use super::guard::{ARGUMENTS, CALLED, CALLS};
use super::{DeclaredGuard, Driver, Notifier, Plugins, RecordRule, ResultFilter, Total, TotalPer, Way};
use crate::supervisor::{Budget, Scope, Unit, WARN_AT};
use crate::{Decision, guards};
use portolan_core::diagnostic::{Diagnostic, clip, list};
use portolan_core::expr::Jsonata;
use portolan_core::schema::Schema;
use portolan_core::source::{self, Entry, Source, Span, Tree, TreeKind};

/// The most guards, notifiers and drivers each, and the most items of a list.
const MAX_ITEMS: usize = 200;
/// The longest text, in bytes.
const MAX_TEXT: usize = 4_000;

impl Plugins {
    /// Reads the additions of a project. Returns none if there is an error, because they could differ from the intended
    /// ones.
    pub fn read(source: &Source) -> (Option<Plugins>, Vec<Diagnostic>) {
        if source.text.trim().is_empty() {
            return (Some(Plugins::default()), Vec::new());
        }
        let (tree, faults) = source::parse(source);
        let mut reader = Reader { faults };
        let plugins = tree.map(|tree| reader.plugins(&tree));
        let mut faults = reader.faults;
        faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
        let is_sound = !faults.iter().any(Diagnostic::is_error);
        (plugins.filter(|_| is_sound), faults)
    }
}

struct Reader {
    faults: Vec<Diagnostic>,
}

impl Reader {
    fn plugins(&mut self, tree: &Tree) -> Plugins {
        let mut plugins = Plugins::default();
        let known = ["version", "budgets", "guards", "notifiers", "drivers", "results", "records", "allowOverride"];
        for entry in self.fields(tree, "the file of plug-ins", &known) {
            match entry.key.value.as_str() {
                "budgets" => plugins.budgets = self.budgets(&entry.value),
                "guards" => plugins.guards = self.each(&entry.value, "guards", Reader::guard),
                "notifiers" => plugins.notifiers = self.each(&entry.value, "notifiers", Reader::notifier),
                "drivers" => plugins.drivers = self.each(&entry.value, "drivers", Reader::driver),
                "results" => plugins.results = self.each(&entry.value, "results", Reader::filter),
                "records" => plugins.records = self.each(&entry.value, "records", Reader::record),
                "allowOverride" => plugins.allow_override = self.texts(&entry.value, "allowOverride"),
                _ => {}
            }
        }
        self.replacements(tree, &plugins);
        plugins
    }

    /// Reports guards with the name of a built-in one. A built-in guard enforces an invariant, and is not replaced by
    /// accident.
    fn replacements(&mut self, tree: &Tree, plugins: &Plugins) {
        let allowed = |id: &str| plugins.allow_override.iter().any(|allowed| allowed == id);
        let place = tree.get("guards").map_or(tree.head(), Tree::head);
        for id in guards::guards().filter(|id| !allowed(id)) {
            if plugins.guards.iter().any(|guard| guard.id == id) {
                let message = format!("`{id}` is a built-in guard that enforces an invariant");
                let help = format!("give yours another name, or write `allowOverride: [{id}]` to replace it");
                self.faults.push(Diagnostic::error("replaces-built-in", message).at(place).help(help));
            }
        }
        for id in plugins.allow_override.iter().filter(|id| !guards::guards().any(|known| known == id.as_str())) {
            let fault = Diagnostic::error(
                "unknown-guard",
                format!("`allowOverride` names `{}`, which is not a guard", clip(id)),
            );
            let place = tree.get("allowOverride").map_or(tree.head(), Tree::head);
            self.faults.push(fault.at(place).did_you_mean(id, guards::guards()));
        }
    }

    fn budgets(&mut self, tree: &Tree) -> Vec<Budget> {
        let mut budgets = Vec::new();
        let mut warn_at = WARN_AT;
        let scopes = Scope::ALL.map(Scope::name);
        let units = Unit::ALL.map(Unit::name);
        let known: Vec<&str> = scopes.iter().copied().chain(["warnAt"]).collect();
        for entry in self.fields(tree, "`budgets`", &known) {
            let name = entry.key.value.as_str();
            let Some(scope) = Scope::ALL.into_iter().find(|scope| scope.name() == name) else {
                match number(&entry.value).filter(|percent| percent.fract() == 0.0 && (1.0..=100.0).contains(percent)) {
                    Some(percent) => warn_at = percent as u64,
                    None => self.wrong("`warnAt` must be a whole number from 1 to 100", entry.value.span),
                }
                continue;
            };
            for cap in self.fields(&entry.value, &format!("the budget of a {name}"), &units) {
                let Some(unit) = Unit::ALL.into_iter().find(|unit| unit.name() == cap.key.value) else { continue };
                match number(&cap.value).and_then(|amount| unit.counted(amount)) {
                    Some(cap) => budgets.push(Budget { scope, unit, cap, warn_at }),
                    None => self.wrong(&format!("`{}` must be a number, 0 or more", unit.name()), cap.value.span),
                }
            }
        }
        // It may come after the budgets.
        budgets.iter_mut().for_each(|budget| budget.warn_at = warn_at);
        budgets
    }

    fn guard(&mut self, tree: &Tree) -> Option<DeclaredGuard> {
        let (id, mut reason, mut decision) = (self.id(tree, "guard")?, None, None);
        let (mut tools, mut paths, mut when, mut schema, mut total) = (Vec::new(), Vec::new(), None, None, None);
        let mut exclusive = false;
        let of = format!("guard `{}`", clip(&id));
        let names = ["id", "tools", "paths", "when", "schema", "total", "exclusive", "decision", "reason"];
        for entry in self.fields(tree, &of, &names) {
            match entry.key.value.as_str() {
                "tools" => tools = self.texts(&entry.value, "tools"),
                "paths" => paths = self.texts(&entry.value, "paths"),
                "when" => when = self.condition(&entry.value),
                "schema" => schema = self.schema(&entry.value),
                "total" => total = self.total(&entry.value, &of),
                "exclusive" => exclusive = self.flag(&entry.value, "exclusive").unwrap_or(true),
                "decision" => decision = self.decision(&entry.value),
                "reason" => reason = self.text(&entry.value, "reason"),
                _ => {}
            }
        }
        let has_condition = when.is_some() || schema.is_some() || tree.get("total").is_some() || exclusive;
        if tools.is_empty() && paths.is_empty() && !has_condition {
            let message =
                format!("{of} has none of `tools`, `paths`, `when`, `schema` and `total`, so it applies to everything");
            self.faults.push(Diagnostic::error("missing-field", message).at(tree.head()));
        }
        let reason = self.needed(reason.filter(|reason| !reason.trim().is_empty()), tree, &of, "reason")?;
        // A guard without a decision was meant to block.
        let decision = decision.unwrap_or(Decision::Block);
        Some(DeclaredGuard { id, tools, paths, when, schema, total, exclusive, decision, reason })
    }

    fn total(&mut self, tree: &Tree, of: &str) -> Option<Total> {
        let (mut argument, mut most, mut per) = (None, None, Some(TotalPer::Run));
        let of = format!("the `total` of {of}");
        for entry in self.fields(tree, &of, &["argument", "most", "per"]) {
            match (entry.key.value.as_str(), &entry.value) {
                ("argument", value) => argument = self.text(value, "argument"),
                ("most", value) => {
                    most = number(value).filter(|most| *most >= 0.0);
                    if most.is_none() {
                        self.wrong("`most` must be a number, 0 or more", value.span);
                    }
                }
                ("per", value) => {
                    per = match self.text(value, "per")?.as_str() {
                        "run" => Some(TotalPer::Run),
                        "step" => Some(TotalPer::Step),
                        "day" => Some(TotalPer::Day),
                        other => {
                            let message = format!("`per` cannot be `{}`", clip(other));
                            let fault = Diagnostic::error("unknown-word", message).at(value.span);
                            self.faults.push(fault.help("use `run`, `step` or `day`"));
                            None
                        }
                    }
                }
                _ => {}
            }
        }
        if tree.get("argument").is_some() && argument.is_none() {
            return None;
        }
        // A faulty value was reported.
        if tree.get("most").is_none() {
            self.needed(most, tree, &of, "most")?;
        }
        Some(Total { argument, most: most?, per: per? })
    }

    fn filter(&mut self, tree: &Tree) -> Option<ResultFilter> {
        let mut filter = ResultFilter { id: self.id(tree, "filter of results")?, ..ResultFilter::default() };
        let of = format!("filter `{}`", clip(&filter.id));
        for entry in self.fields(tree, &of, &["id", "tools", "redact", "dropMedia", "maxBytes"]) {
            match entry.key.value.as_str() {
                "tools" => filter.tools = self.texts(&entry.value, "tools"),
                "redact" => filter.redact = self.flag(&entry.value, "redact")?,
                "dropMedia" => filter.drop_media = self.flag(&entry.value, "dropMedia")?,
                "maxBytes" => filter.max_bytes = Some(self.size(&entry.value, "maxBytes")?),
                _ => {}
            }
        }
        if !filter.redact && !filter.drop_media && filter.max_bytes.is_none() {
            let message = format!("{of} has none of `redact`, `dropMedia` and `maxBytes`, so it does nothing");
            self.faults.push(Diagnostic::error("missing-field", message).at(tree.head()));
        }
        Some(filter)
    }

    fn record(&mut self, tree: &Tree) -> Option<RecordRule> {
        let id = self.id(tree, "rule of records")?;
        let of = format!("record `{}`", clip(&id));
        let mut rule = RecordRule { id, tools: Vec::new(), max_bytes: RecordRule::USUAL_BYTES, keep_days: None };
        for entry in self.fields(tree, &of, &["id", "tools", "maxBytes", "keepDays"]) {
            match entry.key.value.as_str() {
                "tools" => rule.tools = self.texts(&entry.value, "tools"),
                // A faulty value is reported, and the other ones are read as well.
                "maxBytes" => {
                    let size = self.size_up_to(&entry.value, "maxBytes", RecordRule::MOST_BYTES);
                    rule.max_bytes = size.unwrap_or(rule.max_bytes);
                }
                "keepDays" => {
                    rule.keep_days = self.size_up_to(&entry.value, "keepDays", 36_500).map(|days| days as u32)
                }
                _ => {}
            }
        }
        Some(rule)
    }

    fn size_up_to(&mut self, tree: &Tree, of: &str, most: usize) -> Option<usize> {
        let size = self.size(tree, of)?;
        if size > most {
            self.wrong(&format!("`{of}` must be at most {most}"), tree.span);
        }
        (size <= most).then_some(size)
    }

    fn flag(&mut self, tree: &Tree, of: &str) -> Option<bool> {
        if let TreeKind::Bool(flag) = tree.kind {
            return Some(flag);
        }
        self.wrong(&format!("`{of}` must be true or false"), tree.span);
        None
    }

    fn size(&mut self, tree: &Tree, of: &str) -> Option<usize> {
        let size = number(tree).filter(|size| size.fract() == 0.0 && (1.0..=1e9).contains(size));
        if size.is_none() {
            self.wrong(&format!("`{of}` must be a whole number, 1 or more"), tree.span);
        }
        size.map(|size| size as usize)
    }

    fn schema(&mut self, tree: &Tree) -> Option<Schema> {
        match Schema::compile(&tree.value()) {
            Ok(schema) => Some(schema),
            Err(faults) => {
                for fault in faults {
                    let message = format!("`schema` is not a valid JSON Schema: {fault}");
                    self.faults.push(Diagnostic::error("bad-schema", message).at(tree.head()));
                }
                None
            }
        }
    }

    fn condition(&mut self, tree: &Tree) -> Option<Jsonata> {
        const NAMES: [&str; 9] = ["tool", "path", "command", ARGUMENTS, CALLS, CALLED, "branch", "phase", "steps"];
        let text = self.text(tree, "when")?;
        let parsed = match Jsonata::parse(&text) {
            Ok(parsed) => parsed,
            Err(fault) => {
                let message = format!("`when` cannot be read: {}", fault.message);
                let found = Diagnostic::error("bad-expression", message).at(tree.span);
                self.faults.push(match fault.help {
                    Some(help) => found.help(help),
                    None => found,
                });
                return None;
            }
        };
        for root in parsed.roots().iter().filter(|root| !NAMES.contains(&root.as_str())) {
            let message = format!("`{}` is not available in `when`", clip(root));
            let fault = Diagnostic::error("unknown-name", message).at(tree.span);
            self.faults.push(fault.help(format!("the available names are {}", list(&NAMES))).did_you_mean(root, NAMES));
        }
        Some(parsed)
    }

    fn decision(&mut self, tree: &Tree) -> Option<Decision> {
        match self.text(tree, "decision")?.as_str() {
            "block" => Some(Decision::Block),
            "ask" => Some(Decision::Ask),
            other => {
                let message = format!("`decision` cannot be `{}`", clip(other));
                let fault = Diagnostic::error("unknown-word", message).at(tree.span);
                self.faults.push(fault.help("use `block` or `ask`; a guard cannot allow what another one stops"));
                None
            }
        }
    }

    fn notifier(&mut self, tree: &Tree) -> Option<Notifier> {
        let id = self.id(tree, "notifier")?;
        let of = format!("notifier `{}`", clip(&id));
        let (mut ways, mut private) = (Vec::new(), None);
        for entry in self.fields(tree, &of, &["id", "command", "webhook", "file", "github", "allowPrivate"]) {
            match entry.key.value.as_str() {
                "command" => ways.extend(self.argv(&entry.value, "command").map(|argv| Way::Command { argv })),
                "webhook" => {
                    ways.extend(self.address(&entry.value).map(|url| Way::Webhook { url, allow_private: false }));
                }
                "file" => ways.extend(self.inside(&entry.value).map(|path| Way::File { path })),
                "github" => ways.extend(self.issue(&entry.value).map(|issue| Way::GitHub { issue })),
                "allowPrivate" => match &entry.value.kind {
                    TreeKind::Bool(flag) => private = Some((*flag, entry.key.span)),
                    _ => self.wrong("`allowPrivate` must be true or false", entry.value.span),
                },
                _ => {}
            }
        }
        let way = match ways.len() {
            1 => ways.pop(),
            _ => None,
        };
        let way = self.needed(way, tree, &of, "command`, `webhook`, `file` or `github")?;
        match (way, private) {
            (Way::Webhook { url, .. }, private) => {
                let allow_private = private.is_some_and(|(flag, _)| flag);
                Some(Notifier { id, way: Way::Webhook { url, allow_private } })
            }
            (_, Some((_, span))) => {
                self.wrong("`allowPrivate` applies only to a webhook", span);
                None
            }
            (way, None) => Some(Notifier { id, way }),
        }
    }

    fn driver(&mut self, tree: &Tree) -> Option<Driver> {
        let id = self.id(tree, "driver")?;
        let of = format!("driver `{}`", clip(&id));
        let mut argv = None;
        for entry in self.fields(tree, &of, &["id", "argv"]) {
            if entry.key.value == "argv" {
                argv = self.argv(&entry.value, "argv");
            }
        }
        Some(Driver { argv: self.needed(argv, tree, &of, "argv")?, id })
    }

    fn address(&mut self, tree: &Tree) -> Option<String> {
        let url = self.text(tree, "webhook")?;
        let authority = url.strip_prefix("http://").and_then(|rest| rest.split(['/', '?', '#']).next());
        if url.starts_with("https://") || authority.is_some_and(is_this_machine) {
            return Some(url);
        }
        self.wrong("`webhook` must begin with `https://`; `http://` is only for this machine", tree.span);
        None
    }

    fn inside(&mut self, tree: &Tree) -> Option<String> {
        let path = self.text(tree, "file")?;
        let is_inside = !path.starts_with('/') && !path.is_empty() && path.split('/').all(|part| part != "..");
        if !is_inside {
            self.wrong("`file` must be a path inside the project", tree.span);
        }
        is_inside.then_some(path)
    }

    fn issue(&mut self, tree: &Tree) -> Option<Option<u64>> {
        match &tree.kind {
            TreeKind::Bool(true) => Some(None),
            TreeKind::Number(text) if text.parse::<u64>().is_ok_and(|number| number > 0) => Some(text.parse().ok()),
            _ => {
                self.wrong("`github` must be the number of an issue, or `true` for the issue of the task", tree.span);
                None
            }
        }
    }

    fn argv(&mut self, tree: &Tree, of: &str) -> Option<Vec<String>> {
        if !matches!(tree.kind, TreeKind::Array(_)) {
            self.wrong(
                &format!("`{of}` must be a list: a program, then its arguments; it is not run in a shell"),
                tree.span,
            );
            return None;
        }
        let argv = self.texts(tree, of);
        match argv.first().is_some_and(|program| !program.is_empty() && !program.starts_with('{')) {
            true => Some(argv),
            false => {
                self.wrong(&format!("`{of}` does not name a program"), tree.span);
                None
            }
        }
    }

    fn each<T>(&mut self, tree: &Tree, of: &str, read: impl Fn(&mut Reader, &Tree) -> Option<T>) -> Vec<T>
    where
        T: NamedItem,
    {
        let TreeKind::Array(items) = &tree.kind else {
            if !matches!(tree.kind, TreeKind::Null) {
                self.wrong(&format!("`{of}` must be a list, but is {}", tree.describe()), tree.span);
            }
            return Vec::new();
        };
        if items.len() > MAX_ITEMS {
            self.wrong(&format!("`{of}` has more than {MAX_ITEMS} items"), tree.head());
        }
        let mut found: Vec<T> = Vec::new();
        for item in items.iter().take(MAX_ITEMS) {
            let Some(read) = read(self, item) else { continue };
            if found.iter().any(|known| known.name() == read.name()) {
                let message = format!("`{of}` has two items with the name `{}`", clip(read.name()));
                self.faults.push(Diagnostic::error("duplicate-id", message).at(item.head()));
            }
            found.push(read);
        }
        found
    }

    fn id(&mut self, tree: &Tree, of: &str) -> Option<String> {
        let id = tree.get("id").and_then(Tree::as_str);
        let is_word = |id: &&str| {
            let known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            (1..=100).contains(&id.len()) && id.chars().all(known)
        };
        let Some(id) = id.filter(is_word) else {
            self.wrong(&format!("a {of} needs an `id` of letters, digits, `.`, `_` and `-`"), tree.head());
            return None;
        };
        Some(id.to_owned())
    }

    fn needed<T>(&mut self, value: Option<T>, tree: &Tree, of: &str, name: &str) -> Option<T> {
        if value.is_none() {
            let message = format!("{of} needs exactly one `{name}`");
            self.faults.push(Diagnostic::error("missing-field", message).at(tree.head()));
        }
        value
    }

    fn fields<'t>(&mut self, tree: &'t Tree, of: &str, known: &[&str]) -> Vec<&'t Entry> {
        let entries: &[Entry] = match tree.entries() {
            Some(entries) => entries,
            None if matches!(tree.kind, TreeKind::Null) => &[],
            None => {
                self.wrong(&format!("{of} must be an object, but is {}", tree.describe()), tree.span);
                &[]
            }
        };
        let (found, unknown): (Vec<&Entry>, Vec<&Entry>) =
            entries.iter().partition(|entry| known.contains(&entry.key.value.as_str()));
        for entry in unknown {
            let word = &entry.key.value;
            let fault = Diagnostic::error("unknown-field", format!("{of} has no `{}`", clip(word))).at(entry.key.span);
            self.faults.push(
                fault.help(format!("the allowed fields are {}", list(known))).did_you_mean(word, known.iter().copied()),
            );
        }
        found
    }

    fn texts(&mut self, tree: &Tree, of: &str) -> Vec<String> {
        let items = match &tree.kind {
            TreeKind::Array(items) => items.as_slice(),
            _ => std::slice::from_ref(tree),
        };
        if items.len() > MAX_ITEMS {
            self.wrong(&format!("`{of}` has more than {MAX_ITEMS} items"), tree.head());
        }
        items.iter().take(MAX_ITEMS).filter_map(|item| self.text(item, of)).collect()
    }

    fn text(&mut self, tree: &Tree, of: &str) -> Option<String> {
        let text = tree.as_str().filter(|text| text.len() <= MAX_TEXT && !text.contains('\0'));
        if text.is_none() {
            self.wrong(&format!("`{of}` must be a text of at most {MAX_TEXT} bytes"), tree.span);
        }
        text.map(str::to_owned)
    }

    fn wrong(&mut self, message: &str, span: Span) {
        self.faults.push(Diagnostic::error("wrong-type", message).at(span));
    }
}

fn number(tree: &Tree) -> Option<f64> {
    match &tree.kind {
        TreeKind::Number(text) => text.parse().ok(),
        _ => None,
    }
}

/// An item with a unique name in its list.
trait NamedItem {
    fn name(&self) -> &str;
}

impl NamedItem for DeclaredGuard {
    fn name(&self) -> &str {
        &self.id
    }
}

impl NamedItem for RecordRule {
    fn name(&self) -> &str {
        &self.id
    }
}

impl NamedItem for ResultFilter {
    fn name(&self) -> &str {
        &self.id
    }
}

impl NamedItem for Notifier {
    fn name(&self) -> &str {
        &self.id
    }
}

impl NamedItem for Driver {
    fn name(&self) -> &str {
        &self.id
    }
}

/// Returns whether the authority of a URL, with or without a port, names this machine. A user name names another host.
fn is_this_machine(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    !authority.contains('@') && host.is_some_and(is_loopback_name)
}

/// Returns whether a host, with or without the brackets of IPv6, is this machine by its name alone: another name that
/// resolves to this machine is not.
#[must_use]
pub fn is_loopback_name(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
