//! Draws the nodes of a run as bars over its time.

use portolan_core::present::TraceRow;

use crate::cli::output::one_line;

/// The most rows that are drawn. `--format json` has all of them.
const MAX_ROWS: usize = 500;
/// The longest name that is shown in full.
const MAX_NAME: usize = 40;
/// The least and the greatest width of the bars.
const BARS: std::ops::RangeInclusive<usize> = 10..=40;

/// Draws one line per row, in the order in which nodes began.
pub(in crate::cli) fn waterfall(rows: &[TraceRow], width: usize) -> String {
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    let cells: Vec<[String; 4]> = shown.iter().map(cells).collect();
    let wide = |at: usize| cells.iter().map(|cell| cell[at].chars().count()).max().unwrap_or_default();
    let widths = [wide(0), wide(1), wide(2), wide(3)];
    let bars = width.saturating_sub(widths.iter().sum::<usize>() + 10).clamp(*BARS.start(), *BARS.end());
    let whole = rows.iter().map(|row| row.start_us + row.took_us).max().unwrap_or_default().max(1);
    let mut text = String::new();
    for (row, [index, at, kind, took]) in shown.iter().zip(&cells) {
        let [i, a, k, t] = widths;
        text += &format!("{index:>i$}  {at:a$}  {kind:k$}  {took:>t$}  |{}|{}\n", bar(row, whole, bars), end(row));
    }
    if rows.len() > MAX_ROWS {
        text += &format!("… and {} more; use `--format json` to see them all\n", rows.len() - MAX_ROWS);
    }
    text
}

fn cells(row: &TraceRow) -> [String; 4] {
    let at = one_line(&row.at);
    let length = at.chars().count();
    let at = if length > MAX_NAME {
        format!("…{}", at.chars().skip(length - MAX_NAME + 1).collect::<String>())
    } else {
        at
    };
    [row.index.to_string(), at, row.kind.to_owned(), milliseconds(row.took_us)]
}

/// Formats a duration, such as `0.4 ms`, `12 ms`, `3.2 s`.
pub(super) fn milliseconds(micros: u64) -> String {
    match micros {
        0..10_000 => format!("{}.{} ms", micros / 1_000, micros % 1_000 / 100),
        10_000..1_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}

fn bar(row: &TraceRow, whole: u64, width: usize) -> String {
    let place = |at: u64| usize::try_from(u128::from(at) * width as u128 / u128::from(whole)).unwrap_or(width);
    let start = place(row.start_us).min(width - 1);
    let length = (place(row.start_us + row.took_us) - start).clamp(1, width - start);
    format!("{}{}{}", " ".repeat(start), "█".repeat(length), " ".repeat(width - start - length))
}

fn end(row: &TraceRow) -> String {
    let retries = match row.retries {
        0 => String::new(),
        1 => " after 1 retry".to_owned(),
        more => format!(" after {more} retries"),
    };
    match (&row.error, row.became) {
        (None, None) => retries,
        (None, Some(became)) => format!("{retries} {became}"),
        (Some(fault), _) => one_line(&format!("{retries} failed ({})", fault.code)),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use portolan_core::run::Fault;

    use super::*;

    fn row(index: u64, at: &str, start_us: u64, took_us: u64) -> TraceRow {
        TraceRow {
            index,
            at: at.to_owned(),
            node: at.into(),
            kind: "mcp",
            start_us,
            took_us,
            retries: 0,
            input: None,
            expression: None,
            output: None,
            error: None,
            became: None,
        }
    }

    #[test]
    fn bars_stand_where_nodes_ran() {
        let code = "tool-error".to_owned();
        let fault = Fault { node: "c".into(), code, message: String::new(), detail: String::new() };
        let rows = [
            row(0, "a", 0, 400),
            TraceRow { error: Some(fault), retries: 2, ..row(1, "c\u{1b}[31m", 1_000, 1_500_000) },
            TraceRow { became: Some("cancelled"), ..row(2, "b/c", 1_000, 500_000) },
            row(3, "d", 1_501_000, 0),
        ];
        expect![[r#"
            0  a            mcp  0.4 ms  |█                                       |
            1  c\u{1b}[31m  mcp   1.5 s  |████████████████████████████████████████| after 2 retries failed (tool-error)
            2  b/c          mcp  500 ms  |█████████████                           | cancelled
            3  d            mcp  0.0 ms  |                                       █|
        "#]]
        .assert_eq(&waterfall(&rows, 80));
        assert_eq!(waterfall(&[], 80), "");
        assert!(waterfall(&[row(0, "a", 0, u64::MAX)], 0).contains("██████████|"));
    }
}
