//! Whether a call of `sqlite3` only asks.

use super::Word;

/// Whether all that the database is told are questions. What SQL writes beside the database, and the commands of the
/// shell of `sqlite3` itself, are none.
pub(super) fn only_asks(arguments: &[Word]) -> bool {
    const SHOWS: [&str; 7] = [".tables", ".schema", ".dump", ".databases", ".indexes", ".headers", ".mode"];
    const WRITES: [&str; 6] = ["writefile", "load_extension", "edit", "into", "pragma", "attach"];
    const FLAGS: [&str; 10] =
        ["readonly", "json", "csv", "header", "noheader", "line", "column", "list", "table", "batch"];
    let known: Option<Vec<&str>> = arguments.iter().map(Word::known).collect();
    let Some(known) = known else { return false };
    let (flags, words): (Vec<&str>, Vec<&str>) = known.into_iter().partition(|word| word.starts_with('-'));
    let asks = |statement: &str| {
        let text = statement.trim().to_lowercase();
        let mut words = text.split(|char: char| !char.is_alphanumeric() && char != '_' && char != '.');
        let first = words.next().unwrap_or_default();
        text.is_empty()
            || SHOWS.contains(&first)
            || (matches!(first, "select" | "explain" | "values") && !words.any(|word| WRITES.contains(&word)))
    };
    let statements = words.get(1..).unwrap_or_default();
    !statements.is_empty()
        && flags.iter().all(|flag| FLAGS.contains(&flag.trim_start_matches('-')))
        && statements.iter().flat_map(|text| text.split([';', '\n'])).all(asks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_told_from_a_change() {
        let asks = |words: &[&str]| only_asks(&words.iter().map(|word| Word::from(*word)).collect::<Vec<_>>());
        assert!(asks(&["x.db", "select 1"]));
        assert!(asks(&["-json", "-readonly", "x.db", "SELECT a FROM b; select 2;", ".tables"]));
        for text in
            ["delete from a", "select 1; drop table a", "select writefile('x', 'y')", ".shell rm x", ".output x"]
        {
            assert!(!asks(&["x.db", text]), "{text}");
        }
        assert!(!asks(&["x.db"]), "it reads its input");
        assert!(!asks(&["-cmd", "delete from a", "x.db", "select 1"]));
    }
}
