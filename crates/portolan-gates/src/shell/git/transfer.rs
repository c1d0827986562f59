//! What comes from other repositories: `fetch`, the first half of `pull`, and what `remote` does to what is known of them.

use super::super::Word;
use super::actions::{Action, ConfigWrite, Fetch, Refspec};
use super::options::CallOptions;

pub(super) const FETCH: &str = "all a,append atomic depth= deepen= shallow-since= shallow-exclude= unshallow update-shallow \
    negotiation-tip= negotiate-only dry-run porcelain write-fetch-head f,force k,keep multiple auto-maintenance auto-gc \
    write-commit-graph prefetch p,prune P,prune-tags n,no-tags t,tags refmap= j,jobs= recurse-submodules? set-upstream \
    submodule-prefix= recurse-submodules-default= u,update-head-ok upload-pack= q,quiet v,verbose progress o,server-option= \
    show-forced-updates 4,ipv4 6,ipv6 stdin filter= refetch bundle-uri= thin include-tag exec=";

pub(super) fn fetch(given: &CallOptions, stdin: Option<&Word>) -> Action {
    Action::Fetch(fetched(given, stdin))
}

/// What is fetched. `stdin` is what arrives there, where it is told.
pub(super) fn fetched(given: &CallOptions, stdin: Option<&Word>) -> Fetch {
    let force = given.on("force");
    let several = given.on("multiple");
    let mut refspecs: Vec<Refspec> = given.values("refmap").iter().filter_map(|word| written(word, false)).collect();
    let mut words = given.operands.iter();
    let remote = words.next().filter(|_| !several).cloned();
    while let Some(word) = words.next().filter(|_| !several) {
        if word.known() == Some("tag") {
            let name = words.next().and_then(Word::known).map(|name| Word::Known(format!("refs/tags/{name}")));
            let name = name.unwrap_or(Word::Dynamic);
            refspecs.push(Refspec { source: Some(name.clone()), target: name, force });
        } else {
            refspecs.extend(written(word, force));
        }
    }
    if given.on("stdin") {
        let lines = stdin.and_then(Word::known).map(|text| text.lines().map(Word::from).collect());
        let lines: Vec<Word> = lines.unwrap_or_else(|| vec![Word::Dynamic]);
        refspecs.extend(lines.iter().filter_map(|line| written(line, force)));
    }
    Fetch {
        remote,
        refspecs,
        tags: given.on("tags"),
        sets_upstream: given.on("set-upstream"),
        dry_run: given.on("dry-run"),
    }
}

/// A refspec of a fetch, where it names what is written: `a:b`.
pub(super) fn written(word: &Word, force: bool) -> Option<Refspec> {
    let Some(text) = word.known() else {
        return Some(Refspec { source: Some(Word::Dynamic), target: Word::Dynamic, force });
    };
    let (force, text) = text.strip_prefix('+').map_or((force, text), |rest| (true, rest));
    let (source, target) = text.split_once(':').filter(|(_, target)| !target.is_empty())?;
    Some(Refspec { source: Some(Word::from(source)), target: Word::from(target), force })
}

/// `git remote`: `operands` has its verb first.
pub(super) fn remote(verb: &str, operands: &[Word]) -> Action {
    match verb {
        "" if operands.is_empty() => Action::Reads,
        "show" | "get-url" => Action::Reads,
        "update" | "prune" => Action::Fetch(Fetch { remote: operands.get(1).cloned(), ..Fetch::default() }),
        _ => Action::Config(ConfigWrite { key: "remote".to_owned(), value: None }),
    }
}
