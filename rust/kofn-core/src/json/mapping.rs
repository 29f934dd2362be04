//! What a format looks like, as plain data: which key path is which column, and where the records stand.

use crate::batch::{Status, Verdict};

/// Where the records of a source stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One JSON object a line.
    #[default]
    Lines,
    /// The elements of one array of one document: `[]` for the document itself, `simulations[]`, `results.rows[]`.
    Array(String),
}

/// One key path and what stands there.
///
/// A path is keys joined by dots; `[]` after a key stands for each element of an array, `*` for every key of an object
/// that no other path names: `verifiers[].checks[].label`, `scores.*.value`. The key that a `*` stood for names the
/// verification, check, reading (its metric) or tag that opens there, unless a field says otherwise. Several fields
/// may share a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The path within one record.
    pub path: String,
    /// What stands there.
    pub target: Target,
}

/// Whether a check is required.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Required {
    /// As its `Target::Required` field says, `false` without one.
    #[default]
    Recorded,
    /// Always.
    Always,
    /// When the verification's `Target::RequiredKind` texts name this kind, or when it has none of them at all.
    Kind(String),
}

/// What a value means. Null is the same as absence for every target.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Checked for syntax and UTF-8 only, whatever it is; duplicates of its key are still refused.
    Ignored,
    /// A header: an object that declares the run (spec 7.2); any other value is ignored.
    Header,
    /// The task's id: text or an integer.
    Task,
    /// The rollout's index, counted from `base`.
    Index {
        /// The first index of the format, 0 or 1; what is kept counts from 0.
        base: u64,
    },
    /// The rollout's status, by the format's words; without words the native spellings (spec 4.1).
    Status {
        /// Word and meaning.
        words: Vec<(String, Status)>,
    },
    /// Why the rollout broke: text or an object.
    Error,
    /// Wall-clock duration.
    Duration {
        /// Seconds in its unit: 1 for seconds, 0.001 for milliseconds.
        seconds: f64,
    },
    /// Input tokens, cached ones included unless `CachedTokens` adds them. Repeated token fields are summed.
    InputTokens,
    /// Cached input tokens that the format's input leaves out: added to the input.
    CachedTokens,
    /// Output tokens, reasoning included.
    OutputTokens,
    /// Input and output tokens together.
    TotalTokens,
    /// Tool calls.
    ToolCalls,
    /// Tool calls that failed.
    ToolErrors,
    /// A tag's text; the key is its name.
    Tag,
    /// A verification opens here.
    Verification {
        /// Its name, where neither a `*` nor a `Name` field gives one.
        name: Option<String>,
        /// The recorded score stands, as if a projection were named (spec 3.6).
        score_stands: bool,
        /// The recorded verdict stands, as if a decision rule were named.
        verdict_stands: bool,
    },
    /// The verifier's name.
    Name,
    /// A score: a number or a bool; text by the format's words only. At the top level it belongs to the rollout's one
    /// verification.
    Score {
        /// Word and score.
        words: Vec<(String, f64)>,
    },
    /// A verdict, by the format's words; without words the native spellings (spec 3.7).
    Verdict {
        /// Word and meaning.
        words: Vec<(String, Verdict)>,
    },
    /// A bool that is short for a verdict.
    Passed,
    /// The name of a projection: the recorded score stands.
    Projection,
    /// The name of a decision rule: the recorded verdict stands.
    Decision,
    /// Why a verifier broke: text or an object.
    VerifierError,
    /// A kind of check that is required (see [`Required::Kind`]).
    RequiredKind,
    /// A list of checks: that it is there counts, even empty (spec 3.2).
    Checks,
    /// A check opens here.
    Check {
        /// Its label, where neither a `*` nor a `Label` field gives one.
        label: Option<String>,
        /// Whether it is required.
        required: Required,
    },
    /// A check's label.
    Label,
    /// Whether a check is required.
    Required,
    /// Whether a check passed: a bool, or one of the format's words.
    CheckPassed {
        /// Word and meaning.
        words: Vec<(String, bool)>,
    },
    /// A reading opens here.
    Reading,
    /// A reading's subject.
    Subject,
    /// A reading's metric.
    Metric,
    /// A reading's value: number, bool or text.
    Value,
}

/// A format, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// The format's name, for messages.
    pub name: String,
    /// Where the records of a source stand.
    pub layout: Layout,
    /// Where a source may be a zip archive: its members by name, with at most one `*`; the first pattern that matches
    /// any member counts, and several members follow each other in the order of their names, numbers by value. Empty:
    /// an archive is refused.
    pub members: Vec<String>,
    /// The fields.
    pub fields: Vec<Field>,
    /// The name of the verification that top-level scores, verdicts, checks and readings form.
    pub verifier: String,
    /// A recorded error always means `errored`; the native form says so only of rollouts without a verification.
    pub error_means_errored: bool,
    /// A record without any outcome, but with a key that looks like one, is refused with a hint (spec 7.3).
    pub hints: bool,
}

impl Mapping {
    /// The native form (spec 7.3).
    #[must_use]
    pub fn native() -> Self {
        let fields: Vec<(&str, Target)> = vec![
            ("run", Target::Header),
            ("task", Target::Task),
            ("rollout", Target::Index { base: 0 }),
            ("status", Target::Status { words: Vec::new() }),
            ("error", Target::Error),
            ("verifiers[]", Target::Verification { name: None, score_stands: false, verdict_stands: false }),
            ("verifiers[].name", Target::Name),
            ("verifiers[].checks", Target::Checks),
            ("verifiers[].checks[]", Target::Check { label: None, required: Required::Recorded }),
            ("verifiers[].checks[].label", Target::Label),
            ("verifiers[].checks[].required", Target::Required),
            ("verifiers[].checks[].passed", Target::CheckPassed { words: Vec::new() }),
            ("verifiers[].score", Target::Score { words: Vec::new() }),
            ("verifiers[].reward", Target::Score { words: Vec::new() }),
            ("verifiers[].verdict", Target::Verdict { words: Vec::new() }),
            ("verifiers[].passed", Target::Passed),
            ("verifiers[].projection", Target::Projection),
            ("verifiers[].decision", Target::Decision),
            ("verifiers[].error", Target::VerifierError),
            ("verifiers[].readings[]", Target::Reading),
            ("verifiers[].readings[].subject", Target::Subject),
            ("verifiers[].readings[].metric", Target::Metric),
            ("verifiers[].readings[].value", Target::Value),
            ("checks", Target::Checks),
            ("checks[]", Target::Check { label: None, required: Required::Recorded }),
            ("checks[].label", Target::Label),
            ("checks[].required", Target::Required),
            ("checks[].passed", Target::CheckPassed { words: Vec::new() }),
            ("score", Target::Score { words: Vec::new() }),
            ("reward", Target::Score { words: Vec::new() }),
            ("verdict", Target::Verdict { words: Vec::new() }),
            ("passed", Target::Passed),
            ("duration_s", Target::Duration { seconds: 1.0 }),
            ("usage.input_tokens", Target::InputTokens),
            ("usage.output_tokens", Target::OutputTokens),
            ("usage.total_tokens", Target::TotalTokens),
            ("tool_calls", Target::ToolCalls),
            ("toolCalls", Target::ToolCalls),
            ("tool_errors", Target::ToolErrors),
            ("toolErrors", Target::ToolErrors),
            ("tags.*", Target::Tag),
            ("stop_reason", Target::Ignored),
            ("meta", Target::Ignored),
        ];
        Self {
            name: "kofn".to_owned(),
            layout: Layout::Lines,
            members: Vec::new(),
            fields: fields.into_iter().map(|(path, target)| Field { path: path.to_owned(), target }).collect(),
            verifier: "verifier".to_owned(),
            error_means_errored: false,
            hints: true,
        }
    }
}
