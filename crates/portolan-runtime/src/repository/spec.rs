//! The files of a claimed specification.

use portolan_gates::acceptance::is_below;
use portolan_gates::facts::{Answer, Claims, FactError, Needs, Spec};

use super::files;
use super::git::Git;

/// The maximum number of files. More would be no answer.
const MOST_FILES: usize = 8;

pub(super) async fn files(git: &Git, claims: &Claims, needs: Needs) -> Answer<Vec<Spec>> {
    match claims.spec_path.as_deref().filter(|path| needs.spec && is_below(path)) {
        None if needs.spec => Answer::Missing,
        None => Answer::NotAsked,
        Some(path) => find(git, path).await.map_or_else(Answer::Unknown, Answer::Found),
    }
}

async fn find(git: &Git, path: &str) -> Result<Vec<Spec>, FactError> {
    let literal = git.project().join(path).symlink_metadata().is_ok();
    let paths = match (literal, path.contains(['*', '?', '['])) {
        (true, _) => vec![path.to_owned()],
        (false, true) => git.tracked(&[&format!(":(glob){path}")]).await?,
        (false, false) => Vec::new(),
    };
    let mut files = Vec::new();
    for path in paths.into_iter().take(MOST_FILES) {
        files.push(look(git, path).await?);
    }
    Ok(files)
}

async fn look(git: &Git, path: String) -> Result<Spec, FactError> {
    let place = git.project().join(&path);
    let real = place.canonicalize().ok();
    let inside = real.as_ref().is_some_and(|real| real.starts_with(&git.top));
    let regular = real.as_ref().is_some_and(|real| real.is_file());
    if !inside || !regular {
        return Ok(Spec { path, inside, regular, tracked: false, ignored: false, text: None });
    }
    let literal = format!(":(literal){path}");
    let tracked = !git.tracked(&[&literal]).await?.is_empty();
    // The target of a symlink must be tracked too.
    let target = real.as_ref().and_then(|real| real.to_str()).map(|real| format!(":(literal){real}"));
    let tracked = match target.filter(|_| tracked && place.is_symlink()) {
        Some(target) => !git.tracked(&[&target]).await?.is_empty(),
        None => tracked,
    };
    let ignored = !tracked && git.is_ignored(&path).await?;
    let text = files::text(&place, &git.top);
    Ok(Spec { path, inside, regular, tracked, ignored, text })
}
