//! Days and months in UTC.

use portolan_core::value::Timestamp;

const DAY_MS: i64 = 86_400_000;

/// Returns the day of a time: `2026-11-22`.
pub fn day(at: Timestamp) -> String {
    let (year, month, day) = civil(at);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns the month of a time: `2026-11`.
pub fn month(at: Timestamp) -> String {
    let (year, month, _) = civil(at);
    format!("{year:04}-{month:02}")
}

/// Returns year, month and day in the Gregorian calendar, computed in eras of 400 years that begin in March.
fn civil(at: Timestamp) -> (i64, i64, i64) {
    let days = at.0.div_euclid(DAY_MS) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}
