//! Reads `.portolan/plugins.yaml`. All faults are reported at once, each at its position. An unknown word is a fault,
//! because a misspelt one would not be enforced.

use core::net::IpAddr;

use super::{DeclaredGuard, Driver, Notifier, Plugins, RecordRule, ResultFilter, Way};
use crate::guards;
use crate::supervisor::{Budget, Scope, Unit, WARN_AT};
use portolan_core::diagnostic::{Diagnostic, clip, list};
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

/// Reads what a project or a definition adds, and collects the faults.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) faults: Vec<Diagnostic>,
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

    pub(super) fn each<T>(&mut self, tree: &Tree, of: &str, read: impl Fn(&mut Reader, &Tree) -> Option<T>) -> Vec<T>
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

    pub(super) fn id(&mut self, tree: &Tree, of: &str) -> Option<String> {
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

    pub(super) fn needed<T>(&mut self, value: Option<T>, tree: &Tree, of: &str, name: &str) -> Option<T> {
        if value.is_none() {
            let message = format!("{of} needs exactly one `{name}`");
            self.faults.push(Diagnostic::error("missing-field", message).at(tree.head()));
        }
        value
    }

    pub(super) fn fields<'t>(&mut self, tree: &'t Tree, of: &str, known: &[&str]) -> Vec<&'t Entry> {
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

    pub(super) fn texts(&mut self, tree: &Tree, of: &str) -> Vec<String> {
        let items = match &tree.kind {
            TreeKind::Array(items) => items.as_slice(),
            _ => std::slice::from_ref(tree),
        };
        if items.len() > MAX_ITEMS {
            self.wrong(&format!("`{of}` has more than {MAX_ITEMS} items"), tree.head());
        }
        items.iter().take(MAX_ITEMS).filter_map(|item| self.text(item, of)).collect()
    }

    pub(super) fn text(&mut self, tree: &Tree, of: &str) -> Option<String> {
        let text = tree.as_str().filter(|text| text.len() <= MAX_TEXT && !text.contains('\0'));
        if text.is_none() {
            self.wrong(&format!("`{of}` must be a text of at most {MAX_TEXT} bytes"), tree.span);
        }
        text.map(str::to_owned)
    }

    pub(super) fn wrong(&mut self, message: &str, span: Span) {
        self.faults.push(Diagnostic::error("wrong-type", message).at(span));
    }
}

pub(super) fn number(tree: &Tree) -> Option<f64> {
    match &tree.kind {
        TreeKind::Number(text) => text.parse().ok(),
        _ => None,
    }
}

/// An item with a unique name in its list.
pub(super) trait NamedItem {
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
