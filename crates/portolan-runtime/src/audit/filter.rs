//! Filters for the lines of a log.

use std::str::FromStr;

use chrono::{DateTime, NaiveDate};
use portolan_core::diagnostic::{clip, closest};
use portolan_core::value::Timestamp;

use super::kinds::Kind;
use super::line::Line;

/// A filter. A line must match all fields that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The types of the lines.
    pub types: Option<Types>,
    /// The task of the lines.
    pub task: Option<String>,
    /// The run of the lines.
    pub run: Option<String>,
    /// The earliest time of the lines, inclusive.
    pub since: Option<Timestamp>,
    /// The maximum number of lines. The newest are returned.
    pub limit: Option<usize>,
}

/// Types of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Types {
    /// One type.
    One(Kind),
    /// All types whose names have this prefix: `flow.guard.` matches `flow.guard.block` and others.
    Under(String),
}

impl FromStr for Types {
    type Err = String;

    /// Parses a name, or a prefix of names followed by `*`.
    fn from_str(text: &str) -> Result<Types, String> {
        if let Some(begin) = text.strip_suffix('*') {
            return match Kind::ALL.iter().any(|kind| kind.name().starts_with(begin)) {
                true => Ok(Types::Under(begin.to_owned())),
                false => Err(format!("no event type begins with `{}`", clip(begin))),
            };
        }
        let names = Kind::ALL.iter().map(|kind| kind.name());
        Kind::of(text).map(Types::One).ok_or_else(|| match closest(text, names) {
            Some(near) => format!("`{}` is not an event type; did you mean `{near}`?", clip(text)),
            None => format!("`{}` is not an event type; `flow.*` matches all that begin with `flow.`", clip(text)),
        })
    }
}

impl Types {
    fn have(&self, name: &str) -> bool {
        match self {
            Types::One(kind) => kind.name() == name,
            Types::Under(begin) => name.starts_with(begin.as_str()),
        }
    }
}

impl Filter {
    /// Checks whether a line matches, without regard to the limit.
    pub fn lets(&self, line: &Line) -> bool {
        let is = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        self.types.as_ref().is_none_or(|types| types.have(&line.kind))
            && is(&self.task, &line.task)
            && is(&self.run, &line.run)
            && self.since.is_none_or(|since| line.at >= since)
    }
}

/// Parses a point in time: `2026-11-22T10:00:00Z`, `2026-11-22` (in UTC), or a duration before `now`: `90m`, `12h`,
/// `7d`.
///
/// # Errors
/// The text is none of these.
pub fn time_of(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0).map(|time| time.and_utc());
    let moment = || DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc());
    if let Some(time) = moment().or_else(day) {
        return Ok(Timestamp(time.timestamp_millis()));
    }
    let ago = || {
        let (unit, length) = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)]
            .into_iter()
            .find_map(|(unit, length)| Some((text.strip_suffix(unit)?, length)))?;
        let count: u32 = unit.parse().ok()?;
        i64::from(count).checked_mul(length * 1_000)
    };
    let none = || {
        format!(
            "`{}` is not a valid time; write `2026-11-22T10:00:00Z`, `2026-11-22`, or `12h` for 12 hours ago",
            clip(text)
        )
    };
    ago().map(|ago| Timestamp(now.0.saturating_sub(ago))).ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_moment_a_day_or_how_long_ago() {
        let now = Timestamp(1_700_000_000_000);
        let of = |text| time_of(text, now).map(|time| time.0);
        assert_eq!(of("2023-11-14T22:13:20Z"), Ok(now.0));
        assert_eq!(of("2023-11-14T23:13:20.5+01:00"), Ok(now.0 + 500));
        assert_eq!(of("2023-11-14"), Ok(1_699_920_000_000));
        assert_eq!(of("2h"), Ok(now.0 - 7_200_000));
        assert_eq!(of("90m"), Ok(now.0 - 5_400_000));
        for text in ["", "h", "-1h", "+1h ", "2 hours", "99999999999d", "2023-13-01"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
