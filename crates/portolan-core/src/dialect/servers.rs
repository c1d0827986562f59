//! Reads the entries of MCP servers: in a definition, and in the `mcp.json` that a user shares with other clients.
//!
//! Accepts the fields that well-known clients write, even those that only affect them. Variables stay as written: only
//! the starter of the servers has an environment.

use indexmap::IndexMap;

use crate::diagnostic::{Code, Diagnostic, clip, is_unseen, list};
use crate::graph::{Builtin, Server, Transport};
use crate::source::fields::{FaultList, Fields, distinct};
use crate::source::{self, Source, Span, Spanned, Tree, TreeKind, offset_in};

/// The codes that only this module reports.
pub(super) const CODES: &[Code] = &[
    Code {
        code: "bad-server",
        what: "The entry of an MCP server does not define exactly one way to start or reach it, or one of its fields \
               has an invalid value.",
        fix: "Give it exactly one of `command`, `url` and `builtin`, and correct the field as the help says.",
    },
    Code {
        code: "short-timeout",
        what: "A bare number is a time in milliseconds. This `timeout` is below 1000, so seconds were probably \
               intended.",
        fix: "Write the unit, such as `30s`.",
    },
];

/// The maximum number of servers.
const MAX_SERVERS: usize = 1_000;
/// The maximum length of a server's name, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// The maximum timeout of a call, in milliseconds: a day.
const MAX_TIMEOUT_MS: u64 = 86_400_000;
/// The number of milliseconds below which a timeout looks like one in seconds.
const LIKELY_SECONDS: u64 = 1_000;

/// Reads an `mcp.json`: an object with `mcpServers`, or `servers` as some clients name it.
///
/// Returns the servers that could be read, even if others have faults. A field that only affects other clients is no
/// error, because the file is shared with them.
pub fn servers(source: &Source) -> (Vec<Server>, Vec<Diagnostic>) {
    let (tree, found) = source::parse(source);
    let mut faults = FaultList(found);
    let servers = tree.map(|tree| of_file(source, &tree, &mut faults).0).unwrap_or_default();
    let mut faults: Vec<Diagnostic> = faults.0.into_iter().map(Diagnostic::lenient).collect();
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
    (servers, faults)
}

fn of_file(source: &Source, tree: &Tree, faults: &mut FaultList) -> Entries {
    let Some(entries) = tree.entries() else {
        let message = format!("a list of servers must be an object, but is {}", tree.describe());
        faults.push(Diagnostic::error("wrong-type", message).at(tree.span).help(FILE_HELP));
        return Entries::default();
    };
    let found = entries.iter().rfind(|entry| entry.key.value == "mcpServers");
    let Some(entry) = found.or_else(|| entries.iter().rfind(|entry| entry.key.value == "servers")) else {
        let message = "the file has no `mcpServers`, so it names no server";
        faults.push(Diagnostic::warning("missing-field", message).at(tree.head()).help(FILE_HELP));
        return Entries::default();
    };
    read(source, &entry.value, &entry.key.value, faults)
}

const FILE_HELP: &str =
    "write `{\"mcpServers\": {\"files\": {\"command\": \"npx\", \"args\": [\"…\"]}}}`, each server under its name";

/// The servers that could be read, and the names of those that could not.
pub(super) type Entries = (Vec<Server>, Vec<String>);

/// Reads the map of servers under `key`.
pub(super) fn read(source: &Source, tree: &Tree, key: &str, faults: &mut FaultList) -> Entries {
    let mut read = Entries::default();
    let Some(entries) = tree.entries() else {
        if !matches!(tree.kind, TreeKind::Null) {
            let message = format!("`{key}` must be an object from name to server, but is {}", tree.describe());
            faults.push(Diagnostic::error("wrong-type", message).at(tree.span).help(FILE_HELP));
        }
        return read;
    };
    if entries.len() > MAX_SERVERS {
        let message = format!("there are {} servers, more than the limit of {MAX_SERVERS}", entries.len());
        faults.push(Diagnostic::error("too-large", message).at(tree.head()).help("remove those that are not used"));
        return read;
    }
    for entry in distinct(entries, &format!("`{key}`"), faults) {
        let name = &entry.key;
        let server = is_name(name, faults).then(|| read_server(source, name, &entry.value, faults)).flatten();
        match server {
            Some(server) => read.0.push(server),
            None => read.1.push(name.value.clone()),
        }
    }
    read
}

fn is_name(name: &Spanned<String>, faults: &mut FaultList) -> bool {
    let text = &name.value;
    let sound = !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.contains(is_unseen);
    if !sound {
        let message = format!("`{}` cannot be the name of a server", clip(text));
        faults.push(Diagnostic::error("bad-id", message).at(name.span).help(format!(
            "a name has 1 to {MAX_NAME_BYTES} bytes and no control characters; prefer letters, digits, `_` and `-`"
        )));
    }
    sound
}

/// The entry of one server while it is read.
struct Entry<'f> {
    source: &'f Source,
    name: &'f Spanned<String>,
    faults: &'f mut FaultList,
}

fn read_server(source: &Source, name: &Spanned<String>, tree: &Tree, faults: &mut FaultList) -> Option<Server> {
    let before = faults.0.len();
    let mut fields = Fields::of(tree, format!("server `{}`", clip(&name.value)), faults)?;
    let mut entry = Entry { source, name, faults };
    let transport = entry.transport(&mut fields, tree);
    let disabled = entry.sure(|faults| fields.flag("disabled", faults)).is_some_and(|flag| flag.value);
    let timeout = fields.duration_ms("timeout", 1..=MAX_TIMEOUT_MS, entry.faults);
    if let (Some(time), Some(TreeKind::Number(_))) = (&timeout, fields.optional("timeout").map(|tree| &tree.kind))
        && time.value < LIKELY_SECONDS
    {
        let message = format!("server `{}` has a timeout of {} milliseconds", clip(&name.value), time.value);
        let help = format!("a bare number is in milliseconds, as in most clients: write `{}s` for seconds", time.value);
        entry.faults.push(Diagnostic::warning("short-timeout", message).at(time.span).help(help));
    }
    entry.foreign(&mut fields);
    fields.finish(entry.faults);
    // An unknown field does not change the server; any other fault might make it a different one.
    let spoilt = faults.0[before..].iter().any(|fault| fault.is_error() && fault.repair.is_none());
    let transport = transport.filter(|_| !spoilt)?;
    Some(Server {
        name: name.value.clone(),
        span: name.span,
        transport,
        timeout_ms: timeout.map(|time| time.value),
        disabled,
    })
}

/// The transport that `type` names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TransportType {
    Stdio,
    Http,
    Sse,
}

const TYPES: [(&str, TransportType); 5] = [
    ("stdio", TransportType::Stdio),
    ("http", TransportType::Http),
    ("streamableHttp", TransportType::Http),
    ("streamable-http", TransportType::Http),
    ("sse", TransportType::Sse),
];

/// Fields of other clients that are only for people.
const FOR_PEOPLE: [&str; 7] = ["description", "icon", "title", "name", "displayName", "homepage", "tags"];
/// Fields of other clients that control those clients.
const FOR_OTHERS: [&str; 5] = ["autoApprove", "alwaysAllow", "trust", "gallery", "dev"];

impl Entry<'_> {
    fn transport(&mut self, fields: &mut Fields<'_>, tree: &Tree) -> Option<Transport> {
        let key = if fields.has("type") { "type" } else { "transport" };
        let transport_type = self.sure(|faults| fields.choice(key, &TYPES, faults));
        let unknown = fields.has(key) && transport_type.is_none();
        fields.ignored(&["type", "transport"]);
        let ways: Vec<&str> = ["command", "url", "builtin"].into_iter().filter(|way| fields.has(way)).collect();
        let way = match ways.as_slice() {
            [way] => Some(*way),
            [] => {
                self.bad(tree.head(), "says neither how to start it nor how to reach it", HOW);
                None
            }
            _ => {
                let both = format!("has {} at once", list(&ways));
                self.bad(tree.head(), &both, HOW);
                None
            }
        };
        // Read all of them in any case: each has faults of its own.
        let stdio = self.stdio(fields);
        let (url, headers) = self.http(fields);
        let builtin = self.builtin(fields);
        let fits = match (transport_type, way) {
            (Some(TransportType::Stdio), Some("url")) => Err("is of the type `stdio`, but has a `url`"),
            (Some(TransportType::Http | TransportType::Sse), Some("command")) => {
                Err("has a `command`, but a type that requires a `url`")
            }
            (Some(_), Some("builtin")) => Err("is built in, and needs no `type`"),
            _ => Ok(()),
        };
        if let Err(what) = fits {
            let span = fields.optional(key).map_or(tree.head(), |tree| tree.span);
            self.bad(span, what, "remove the `type`: it follows from the other fields");
        }
        if unknown || fits.is_err() {
            return None;
        }
        match way? {
            "command" => stdio,
            "builtin" => builtin.map(Transport::Builtin),
            _ if transport_type == Some(TransportType::Sse) => Some(Transport::Sse { url: url?, headers }),
            _ => Some(Transport::Http { url: url?, headers, either: transport_type.is_none() }),
        }
    }

    fn stdio(&mut self, fields: &mut Fields<'_>) -> Option<Transport> {
        let command = self.text(fields, "command");
        let args = self.texts_in_list(fields, "args");
        let cwd = self.text(fields, "cwd");
        let env = self.map(fields, "env", |key| !key.is_empty() && !key.contains(['=', '\0']));
        let command = command?;
        if command.value.trim().is_empty() {
            self.bad(command.span, "has an empty `command`", HOW);
            return None;
        }
        Some(Transport::Stdio { command: command.value, args, cwd: cwd.map(|cwd| cwd.value), env })
    }

    fn http(&mut self, fields: &mut Fields<'_>) -> (Option<String>, IndexMap<String, String>) {
        let url = self.text(fields, "url").filter(|url| {
            let sound = ["http://", "https://", "${"].iter().any(|start| url.value.starts_with(start));
            if !sound {
                let what = format!("has the url `{}`, which is not an HTTP URL", clip(&url.value));
                self.bad(url.span, &what, "begin it with `https://` or `http://`");
            }
            sound
        });
        let mut headers = IndexMap::new();
        for key in ["eventSourceInit", "requestInit"] {
            if let Some(tree) = fields.optional(key)
                && let Some(mut inner) =
                    Fields::of(tree, format!("`{key}` of server `{}`", clip(&self.name.value)), self.faults)
            {
                headers.extend(self.map(&mut inner, "headers", is_header));
                inner.finish(self.faults);
            }
        }
        headers.extend(self.map(fields, "headers", is_header));
        (url.map(|url| url.value), headers)
    }

    fn builtin(&mut self, fields: &mut Fields<'_>) -> Option<Builtin> {
        let builtin = self.sure(|faults| fields.choice("builtin", &[("filesystem", true), ("echo", false)], faults));
        let root = self.text(fields, "root");
        match (builtin?, root) {
            (true, Some(root)) => Some(Builtin::Filesystem { root: root.value }),
            (true, None) => {
                let span = fields.optional("builtin").map_or(self.name.span, |tree| tree.span);
                self.bad(span, "has no `root`", "name the folder that it may read, for example `root: ./data`");
                None
            }
            (false, Some(root)) => {
                self.bad(root.span, "has a `root`, which `echo` does not use", "remove it");
                None
            }
            (false, None) => Some(Builtin::Echo),
        }
    }

    /// Accepts fields of other clients: silently if they are for people, with a warning if they control those clients.
    fn foreign(&mut self, fields: &mut Fields<'_>) {
        fields.ignored(&FOR_PEOPLE);
        for key in FOR_OTHERS {
            if let Some(tree) = fields.optional(key) {
                let message =
                    format!("`{key}` of server `{}` controls other clients, not this one", clip(&self.name.value));
                let help = "permission to start servers is asked for once and remembered; remove the field if no \
                    other client reads it";
                self.faults.push(Diagnostic::warning("inert-field", message).at(tree.head()).help(help));
            }
        }
    }

    fn bad(&mut self, span: Span, what: &str, help: &str) {
        let message = format!("server `{}` {what}", clip(&self.name.value));
        self.faults.push(Diagnostic::error("bad-server", message).at(span).help(help));
    }

    fn text(&mut self, fields: &mut Fields<'_>, key: &'static str) -> Option<Spanned<String>> {
        let text = self.sure(|faults| fields.string(key, faults));
        self.variables(fields.optional(key)?);
        text
    }

    fn texts_in_list(&mut self, fields: &mut Fields<'_>, key: &'static str) -> Vec<String> {
        let texts = self.sure(|faults| fields.strings(key, faults));
        if let Some(Tree { kind: TreeKind::Array(items), .. }) = fields.optional(key) {
            items.iter().for_each(|item| self.variables(item));
        }
        texts.into_iter().map(|text| text.value).collect()
    }

    fn map(
        &mut self,
        fields: &mut Fields<'_>,
        key: &'static str,
        is_key: fn(&str) -> bool,
    ) -> IndexMap<String, String> {
        let texts = self.sure(|faults| fields.texts(key, faults));
        let mut map = IndexMap::new();
        for (name, tree) in texts {
            if !is_key(&name.value) {
                let what = format!("has `{}` in its `{key}`, which is not a valid name there", clip(&name.value));
                self.bad(name.span, &what, "use letters, digits, `_` and `-`");
            }
            self.variables(tree);
            let text = tree.as_str().unwrap_or_default();
            if text.contains(['\0', '\n', '\r']) && key == "headers" || text.contains('\0') {
                self.bad(tree.head(), &format!("has a control character in its `{key}`"), "remove it");
            }
            map.insert(name.value, text.to_owned());
        }
        map
    }

    /// Reads a field that determines which server it is. A fault in it has no repair: without the field it would be
    /// another server.
    fn sure<T>(&mut self, read: impl FnOnce(&mut FaultList) -> T) -> T {
        let before = self.faults.0.len();
        let value = read(self.faults);
        self.faults.0[before..].iter_mut().for_each(|fault| fault.repair = None);
        value
    }

    /// Reports text that begins like a variable and is none.
    fn variables(&mut self, tree: &Tree) {
        let Some(text) = tree.as_str() else { return };
        let mut from = 0;
        while let Some(found) = text[from..].find("${") {
            let at = from + found;
            from = at + 2;
            let inner = text[from..].find('}').map(|end| &text[from..from + end]);
            let name = inner.map(|inner| inner.split_once(":-").map_or(inner, |(name, _)| name));
            if name.is_some_and(is_variable) {
                continue;
            }
            let help = match inner.and_then(|inner| inner.strip_prefix("env:")).filter(|name| is_variable(name)) {
                Some(name) => format!("write `${{{name}}}`"),
                None => "write `${NAME}`, or `${NAME:-text}` with a default for when it is not set; a name has \
                    letters, digits and `_`"
                    .to_owned(),
            };
            let what = match inner {
                Some(inner) => format!("names the variable `${{{}}}`, which is not a valid name", clip(inner)),
                None => "has a `${` without a closing `}`".to_owned(),
            };
            let start = offset_in(self.source, tree, at);
            let end = if start == tree.span.start && at > 0 { tree.span.end } else { (start + 2).min(tree.span.end) };
            self.bad(Span { start, end }, &what, &help);
        }
    }
}

const HOW: &str = "give it one of `command` (the program to start), `url` (its address) and `builtin`";

fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns whether a word can be the name of a header according to RFC 9110.
fn is_header(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
}

#[cfg(test)]
mod tests;
