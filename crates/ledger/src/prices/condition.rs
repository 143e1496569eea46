//! When a price of the table is valid: from a day on, at hours of the day, for a service tier.

/// The conditions of one price. All of them must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    /// First day, in days since the epoch (UTC).
    pub(crate) from_day: Option<i64>,
    /// Minutes of the UTC day, from and until; may pass midnight.
    pub(crate) minutes: Option<(u16, u16)>,
    /// The service tier that the request named.
    pub(crate) tier: Option<String>,
}

impl Condition {
    /// Whether the price is valid at this Unix time, ignoring the service tier.
    pub(crate) fn holds_at(&self, seconds: i64) -> bool {
        let day = seconds.div_euclid(86_400);
        let minute = seconds.rem_euclid(86_400) / 60;
        let from = self.from_day.is_none_or(|from| day >= from);
        from && self.minutes.is_none_or(|(start, end)| {
            let (start, end) = (i64::from(start), i64::from(end));
            if end < start {
                minute >= start || minute < end
            } else {
                (start..end).contains(&minute)
            }
        })
    }
}
