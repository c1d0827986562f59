//! Durations in arguments.

/// Parses a duration such as `90d`, in milliseconds.
pub(super) fn duration(text: &str) -> Result<i64, String> {
    let wrong = || "write a number and `m`, `h` or `d`, such as `12h`".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let count: i64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let minutes = match unit {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        _ => return Err(wrong()),
    };
    if !(1..=1_000_000).contains(&count) {
        return Err("the number must be at least 1 and at most 1000000".to_owned());
    }
    Ok(count * minutes * 60_000)
}
