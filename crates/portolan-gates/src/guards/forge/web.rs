//! Programs that send requests: what they write on the interface of a forge.

use super::programs::attached;
use super::{ForgeAction, Request};
use crate::shell::Word;

/// What the addresses of such interfaces have.
const FORGES: [&str; 7] = [
    "api.github.com",
    "uploads.github.com",
    "/api/graphql",
    "/api/v3/",
    "/api/v4/",
    "api.bitbucket.org",
    "/api/v1/repos",
];

const METHODS: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

/// What a request of `program` does; `whole` is the text that it stands in.
pub(super) fn deed(program: &str, arguments: &[Word], whole: &str) -> ForgeAction {
    let is_forge = |text: &str| FORGES.iter().any(|forge| text.to_ascii_lowercase().contains(forge));
    let address = arguments.iter().filter_map(Word::known).find(|text| is_forge(text) && !text.starts_with('-'));
    // Of an address with a variable in it nothing is known here, but it is written somewhere.
    let hidden = arguments.iter().any(|word| word.known().is_none()) && is_forge(whole);
    if address.is_none() && !hidden {
        return ForgeAction::Fine;
    }
    let mut request = match program {
        "curl" => match curl(arguments) {
            Some(request) => request,
            None => return ForgeAction::Unknown(program.to_owned()),
        },
        "wget" => wget(arguments),
        _ => httpie(arguments),
    };
    request.address = address;
    request.deed(program)
}

/// Nothing where a file says the rest.
fn curl(arguments: &[Word]) -> Option<Request<'_>> {
    const BODIES: [&str; 8] = [
        "--data",
        "--data-raw",
        "--data-binary",
        "--data-urlencode",
        "--data-ascii",
        "--json",
        "--form",
        "--upload-file",
    ];
    let (mut request, mut gets) = (Request::default(), false);
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else { continue };
        if text == "--get" {
            gets = true;
        } else if text == "--request" {
            request.method = rest.next().cloned();
        } else if let Some(method) = attached(text, &["--request"]) {
            request.method = Some(Word::from(method));
        } else if text.starts_with("--config") {
            return None;
        } else if BODIES.contains(&text) || text.starts_with("--form") || text.starts_with("--data") {
            request.sends = true;
            request.body.extend(rest.next());
        } else if attached(text, &BODIES).is_some() {
            request.sends = true;
            request.body.push(word);
        } else if let Some(bundle) = text.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')) {
            match short(bundle) {
                Short::Get => gets = true,
                Short::Config => return None,
                Short::Method("") => request.method = rest.next().cloned(),
                Short::Method(method) => request.method = Some(Word::from(method)),
                Short::Body(attached) => {
                    request.sends = true;
                    request.body.push(if attached { word } else { rest.next().unwrap_or(word) });
                }
                Short::Valued => drop(rest.next()),
                Short::Other => {}
            }
        }
    }
    request.sends &= !gets;
    Some(request)
}

/// What a bundle of short options of `curl` comes to.
enum Short<'a> {
    Get,
    Config,
    Method(&'a str),
    /// Whether the body is attached.
    Body(bool),
    /// The next word is a value.
    Valued,
    Other,
}

fn short(bundle: &str) -> Short<'_> {
    let mut told = Short::Other;
    for (at, letter) in bundle.char_indices() {
        let rest = &bundle[at + letter.len_utf8()..];
        match letter {
            'G' => told = Short::Get,
            'K' => return Short::Config,
            'X' => return Short::Method(rest),
            'd' | 'F' | 'T' => return Short::Body(!rest.is_empty()),
            letter if "AbcCDeEhHmoPQrtuUwxyYz".contains(letter) => {
                return if rest.is_empty() { Short::Valued } else { told };
            }
            _ => {}
        }
    }
    told
}

fn wget(arguments: &[Word]) -> Request<'_> {
    const BODIES: [&str; 4] = ["--post-data", "--post-file", "--body-data", "--body-file"];
    let mut request = Request::default();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else { continue };
        if text == "--method" {
            request.method = rest.next().cloned();
        } else if let Some(method) = attached(text, &["--method"]) {
            request.method = Some(Word::from(method));
        } else if BODIES.contains(&text) {
            request.sends = true;
            request.body.extend(rest.next());
        } else if attached(text, &BODIES).is_some() {
            request.sends = true;
            request.body.push(word);
        }
    }
    request
}

/// `http PUT api.github.com/… a=b`
fn httpie(arguments: &[Word]) -> Request<'_> {
    let mut request = Request::default();
    for word in arguments {
        let Some(text) = word.known().filter(|text| !text.starts_with('-')) else { continue };
        if METHODS.contains(&text) || text == "GET" {
            request.method = Some(word.clone());
        } else if text.contains('=') && !text.contains("==") && !text.contains("://") {
            request.sends = true;
            request.body.push(word);
        }
    }
    request
}
