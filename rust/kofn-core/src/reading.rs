//! What a read found beside rollouts: nothing that was read is lost without being counted here.

use crate::error::{Error, Place, Result};
use crate::header::Header;

/// How many skipped records are listed with their reasons.
pub const LISTED: usize = 20;

/// The account of one or several reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The header, merged over all sources.
    pub header: Option<Header>,
    /// Each source's name, and the xxh3-64 of its bytes as stored (none for tables and arrays), sorted by name.
    pub sources: Vec<(String, Option<u64>)>,
    /// Bad records that `on_error="skip"` passed over.
    pub skipped: u64,
    /// The first [`LISTED`] of them in source order, as messages.
    pub skipped_first: Vec<String>,
    /// Half-written last lines.
    pub cut: Vec<Place>,
    /// Copies that `on_duplicate` dropped.
    pub dropped: u64,
    /// Durations in [-1, 0) s: clock skew, not recorded.
    pub skewed_durations: u64,
    /// Rollouts that report only one half of their tokens: not recorded.
    pub half_usages: u64,
}

impl Reading {
    /// Take in the account of another read of the same report. On error nothing has changed.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        let [skipped, dropped, skewed_durations, half_usages] = [
            (self.skipped, other.skipped),
            (self.dropped, other.dropped),
            (self.skewed_durations, other.skewed_durations),
            (self.half_usages, other.half_usages),
        ]
        .map(|(mine, theirs)| mine.checked_add(theirs));
        // No read counts as far, but a file may say so.
        let (Some(skipped), Some(dropped), Some(skewed_durations), Some(half_usages)) =
            (skipped, dropped, skewed_durations, half_usages)
        else {
            return Err(Error::merge("more remarks on records than 64 bits count; one of the tallies is damaged"));
        };
        match (&mut self.header, other.header) {
            (Some(mine), Some(theirs)) => mine.merge(theirs)?,
            (mine @ None, theirs) => *mine = theirs,
            (Some(_), None) => {}
        }
        self.sources.extend(other.sources);
        self.sources.sort_unstable();
        self.sources.dedup();
        self.skipped = skipped;
        self.skipped_first.extend(other.skipped_first);
        self.skipped_first.truncate(LISTED);
        self.cut.extend(other.cut);
        self.cut.sort_by(|a, b| (&a.source, a.number).cmp(&(&b.source, b.number)));
        self.dropped = dropped;
        self.skewed_durations = skewed_durations;
        self.half_usages = half_usages;
        Ok(())
    }

    /// The error of sources without rollouts; what was met instead is most likely why.
    pub(crate) fn nothing(&self) -> Error {
        let sources: Vec<String> = self.sources.iter().map(|(name, _)| name.clone()).collect();
        let mut notes = self.notes();
        notes.truncate(3);
        Error::NoRollouts { sources: if sources.is_empty() { vec!["what was added".into()] } else { sources }, notes }
    }

    /// What to say about it, in a fixed order.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.skipped > 0 {
            let listed =
                if self.skipped > LISTED as u64 { format!(" (the first {LISTED} follow)") } else { String::new() };
            notes.push(format!("{} skipped{listed}", count(self.skipped, "bad record")));
            notes.extend(self.skipped_first.iter().map(|message| format!("skipped: {message}")));
        }
        notes.extend(self.cut.iter().map(|place| format!("{place} is cut off: its rollout is missing")));
        let mut remark = |n: u64, one: &str, many: &str, rest: &str| {
            if n > 0 {
                notes.push(format!("{n} {} {rest}", if n == 1 { one } else { many }));
            }
        };
        remark(self.dropped, "copy", "copies", "of rollouts dropped, as on_duplicate says");
        remark(self.skewed_durations, "duration", "durations", "in [-1, 0) s not recorded: clock skew");
        remark(self.half_usages, "rollout", "rollouts", "reported only half of the token usage: not recorded");
        notes
    }
}

/// "1 task", "2 tasks".
pub(crate) fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}
