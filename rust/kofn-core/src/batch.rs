//! Columns of rollouts, as every reader produces them and every policy reads them.
//!
//! A batch is plain data. What a plan does not need stays empty: `checks`, `readings` and `tags` columns may be
//! missing altogether (their offsets then have length 0), never half filled.

/// "No index was recorded": the rollout is numbered within its task.
pub const NO_INDEX: u64 = u64::MAX;
/// "No count was recorded", for tokens and tool calls.
pub const NO_COUNT: i64 = -1;

/// What became of a rollout; says nothing about passing (spec 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Status {
    /// It ran and was verified.
    #[default]
    Succeeded = 0,
    /// The rollout itself broke.
    Errored = 1,
    /// It was stopped from outside.
    Cancelled = 2,
    /// It has not ended.
    Unfinished = 3,
}

impl Status {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Succeeded, Self::Errored, Self::Cancelled, Self::Unfinished];

    /// The word used in files and reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Errored => "errored",
            Self::Cancelled => "cancelled",
            Self::Unfinished => "unfinished",
        }
    }
}

/// What one verifier decided, if it decided anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// None was recorded.
    #[default]
    Absent = 0,
    /// It passed.
    Pass = 1,
    /// It failed.
    Fail = 2,
    /// The verifier could not tell.
    Indeterminate = 3,
}

impl Verdict {
    /// The word used in files and reports; none for `Absent`.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Absent => None,
            Self::Pass => Some("pass"),
            Self::Fail => Some("fail"),
            Self::Indeterminate => Some("indeterminate"),
        }
    }
}

/// A recorded metric value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A finite number.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// Text, by its id in `Dictionary::texts`.
    Text(u32),
}

/// Where a rollout was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Position in `Dictionary::sources`.
    pub source: u32,
    /// Length in bytes of the record.
    pub length: u32,
    /// Number of its line or record, from 1, or of its row, from 0.
    pub line: u64,
    /// Byte offset of the record in the decompressed source.
    pub offset: u64,
}

/// Bit of [`Checks::flags`]: the check is required.
pub const REQUIRED: u8 = 1;
/// Bit of [`Checks::flags`]: the check passed.
pub const PASSED: u8 = 2;

/// Verifications, flattened over the rollouts of a batch.
#[derive(Clone, Debug, Default)]
pub struct Verifications {
    /// Rollout `i` owns verifications `offsets[i]..offsets[i + 1]`.
    pub offsets: Vec<u32>,
    /// Verifier's name, an id in `Dictionary::texts`.
    pub name: Vec<u32>,
    /// Score, or NaN for none.
    pub score: Vec<f64>,
    /// Verdict.
    pub verdict: Vec<Verdict>,
}

/// Checks, flattened over the verifications of a batch.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Verification `v` owns checks `offsets[v]..offsets[v + 1]`.
    pub offsets: Vec<u32>,
    /// Label, an id in `Dictionary::texts`.
    pub label: Vec<u32>,
    /// [`REQUIRED`] and [`PASSED`].
    pub flags: Vec<u8>,
}

/// Readings, flattened over the verifications of a batch. NaN and null values are not readings and never stand here.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// Verification `v` owns readings `offsets[v]..offsets[v + 1]`.
    pub offsets: Vec<u32>,
    /// Subject, an id in `Dictionary::texts`.
    pub subject: Vec<u32>,
    /// Metric, an id in `Dictionary::texts`.
    pub metric: Vec<u32>,
    /// Value.
    pub value: Vec<Value>,
}

/// Tags, flattened over the rollouts of a batch.
#[derive(Clone, Debug, Default)]
pub struct Tags {
    /// Rollout `i` owns tags `offsets[i]..offsets[i + 1]`.
    pub offsets: Vec<u32>,
    /// Tag name, an id in `Dictionary::texts`.
    pub name: Vec<u32>,
    /// Tag value, an id in `Dictionary::texts`.
    pub value: Vec<u32>,
}

/// Columns of rollouts. Every vector without a comment on emptiness has one entry a rollout.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Task, an id in `Dictionary::tasks`.
    pub task: Vec<u32>,
    /// Index within the task, or [`NO_INDEX`].
    pub index: Vec<u64>,
    /// Status.
    pub status: Vec<Status>,
    /// Verifications (always decoded: the counts need them).
    pub verifications: Verifications,
    /// Checks; empty offsets where the plan does not need them.
    pub checks: Checks,
    /// Readings; empty offsets where the plan does not need them.
    pub readings: Readings,
    /// Tags; empty offsets where the plan does not need them.
    pub tags: Tags,
    /// Wall-clock seconds, or NaN; empty where the plan does not need them.
    pub duration: Vec<f64>,
    /// Input + output tokens, or [`NO_COUNT`]; empty where the plan does not need them.
    pub tokens: Vec<i64>,
    /// Tool calls, or [`NO_COUNT`]; empty where the plan does not need them.
    pub tool_calls: Vec<i64>,
    /// Tool calls that failed, or [`NO_COUNT`]; empty where the plan does not need them.
    pub tool_errors: Vec<i64>,
    /// Where each rollout was read.
    pub origin: Vec<Origin>,
    /// Hash of each record's bytes; empty unless copies must be told from contradictions.
    pub hash: Vec<u64>,
}

impl Batch {
    /// How many rollouts it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.task.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.task.is_empty()
    }

    /// Make room for as much as another holds, and a little more: batches of one source are about alike.
    pub fn reserve_like(&mut self, other: &Self) {
        fn like<T>(mine: &mut Vec<T>, theirs: &[T]) {
            mine.reserve(theirs.len() + theirs.len() / 16);
        }
        like(&mut self.task, &other.task);
        like(&mut self.index, &other.index);
        like(&mut self.status, &other.status);
        like(&mut self.verifications.offsets, &other.verifications.offsets);
        like(&mut self.verifications.name, &other.verifications.name);
        like(&mut self.verifications.score, &other.verifications.score);
        like(&mut self.verifications.verdict, &other.verifications.verdict);
        like(&mut self.checks.offsets, &other.checks.offsets);
        like(&mut self.checks.label, &other.checks.label);
        like(&mut self.checks.flags, &other.checks.flags);
        like(&mut self.readings.offsets, &other.readings.offsets);
        like(&mut self.readings.subject, &other.readings.subject);
        like(&mut self.readings.metric, &other.readings.metric);
        like(&mut self.readings.value, &other.readings.value);
        like(&mut self.tags.offsets, &other.tags.offsets);
        like(&mut self.tags.name, &other.tags.name);
        like(&mut self.tags.value, &other.tags.value);
        like(&mut self.duration, &other.duration);
        like(&mut self.tokens, &other.tokens);
        like(&mut self.tool_calls, &other.tool_calls);
        like(&mut self.tool_errors, &other.tool_errors);
        like(&mut self.origin, &other.origin);
        like(&mut self.hash, &other.hash);
    }

    /// The verifications of rollout `i`.
    #[must_use]
    pub fn verifications_of(&self, i: usize) -> std::ops::Range<usize> {
        range(&self.verifications.offsets, i)
    }
}

/// Segment `i` of an offsets column; empty where the column was not decoded.
#[must_use]
pub fn range(offsets: &[u32], i: usize) -> std::ops::Range<usize> {
    match (offsets.get(i), offsets.get(i + 1)) {
        (Some(&start), Some(&end)) => start as usize..end as usize,
        _ => 0..0,
    }
}
