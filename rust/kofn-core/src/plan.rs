//! What is asked for, compiled once: it says which fields a reader decodes and which state a tally keeps.

use std::fmt;

use crate::error::{Error, Result};

/// A named figure (spec 6). `Display` gives its canonical label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Statistic {
    /// At least one of k passes.
    PassAtK(u64),
    /// All of k pass.
    PassHatK(u64),
    /// c / n.
    PassRate,
    /// 4 (c/n) (1 - c/n).
    Learnability,
    /// Scorable rollouts / requested.
    Coverage,
    /// Mean score.
    MeanScore,
    /// Expected best score of k.
    BestOfK(u64),
    /// Expected worst score of k.
    WorstOfK(u64),
    /// Mean wall-clock seconds.
    MeanDuration,
    /// Mean input + output tokens.
    MeanTotalTokens,
    /// Mean of one numeric series.
    MetricMean(String),
    /// Population variance of one numeric series.
    MetricVariance(String),
    /// Share of the modal value of one series.
    Agreement(String),
}

/// Spellings of the labels that take k: prefix, canonical form first, and what they make.
type WithK = (&'static [&'static str], fn(u64) -> Statistic);
const WITH_K: [WithK; 4] = [
    (&["pass@", "pass_at_"], Statistic::PassAtK),
    (&["pass^", "pass_hat_"], Statistic::PassHatK),
    (&["best_of_", "best@"], Statistic::BestOfK),
    (&["worst_of_", "worst@"], Statistic::WorstOfK),
];
const PLAIN: [(&str, Statistic); 6] = [
    ("pass_rate", Statistic::PassRate),
    ("learnability", Statistic::Learnability),
    ("coverage", Statistic::Coverage),
    ("mean_score", Statistic::MeanScore),
    ("mean_duration", Statistic::MeanDuration),
    ("mean_total_tokens", Statistic::MeanTotalTokens),
];
type WithSeries = (&'static str, fn(String) -> Statistic);
const WITH_SERIES: [WithSeries; 3] = [
    ("metric_mean:", Statistic::MetricMean),
    ("metric_variance:", Statistic::MetricVariance),
    ("agreement:", Statistic::Agreement),
];
/// Counts stay exact in f64 up to here.
pub const MAX_COUNT: u64 = 1 << 53;

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PassAtK(k) => write!(f, "pass@{k}"),
            Self::PassHatK(k) => write!(f, "pass^{k}"),
            Self::BestOfK(k) => write!(f, "best_of_{k}"),
            Self::WorstOfK(k) => write!(f, "worst_of_{k}"),
            Self::MetricMean(s) => write!(f, "metric_mean:{s}"),
            Self::MetricVariance(s) => write!(f, "metric_variance:{s}"),
            Self::Agreement(s) => write!(f, "agreement:{s}"),
            plain => {
                let word = PLAIN.iter().find(|(_, statistic)| statistic == plain).map_or("", |(word, _)| word);
                f.write_str(word)
            }
        }
    }
}

impl Statistic {
    /// The key for experiment trackers, which reject `@` and `^`: `pass_at_5`, `pass_hat_5`.
    #[must_use]
    pub fn ascii(&self) -> String {
        match self {
            Self::PassAtK(k) => format!("pass_at_{k}"),
            Self::PassHatK(k) => format!("pass_hat_{k}"),
            other => other.to_string(),
        }
    }

    /// The label's k, if it has one.
    #[must_use]
    pub const fn k(&self) -> Option<u64> {
        match self {
            Self::PassAtK(k) | Self::PassHatK(k) | Self::BestOfK(k) | Self::WorstOfK(k) => Some(*k),
            _ => None,
        }
    }

    /// The label's series, if it has one.
    #[must_use]
    pub fn series(&self) -> Option<&str> {
        match self {
            Self::MetricMean(s) | Self::MetricVariance(s) | Self::Agreement(s) => Some(s),
            _ => None,
        }
    }

    /// Whether it counts successes, and so needs a policy and n (spec 4.4, 5.3).
    #[must_use]
    pub const fn needs_successes(&self) -> bool {
        matches!(self, Self::PassAtK(_) | Self::PassHatK(_) | Self::PassRate | Self::Learnability)
    }

    /// Read a label, canonical or ASCII; the letter k stands for each of `ks`.
    fn parse(label: &str, ks: &[u64], used_k: &mut bool) -> Result<Vec<Self>> {
        if let Some((_, statistic)) = PLAIN.iter().find(|(word, _)| *word == label) {
            return Ok(vec![statistic.clone()]);
        }
        for (prefix, make) in WITH_SERIES {
            if let Some(series) = label.strip_prefix(prefix) {
                if series.is_empty() {
                    return Err(Error::argument("statistics", format!("{label:?} names no series after the colon")));
                }
                return Ok(vec![make(series.to_owned())]);
            }
        }
        for (prefixes, make) in WITH_K {
            let Some(rest) = prefixes.iter().find_map(|prefix| label.strip_prefix(prefix)) else { continue };
            if rest == "k" {
                if ks.is_empty() {
                    return Err(Error::argument(
                        "k",
                        format!("{label:?} needs a list of k, such as k=[1, 5] (--k 1,5)"),
                    ));
                }
                *used_k = true;
                return Ok(ks.iter().map(|&k| make(k)).collect());
            }
            let digits = !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
            return match rest.parse::<u64>() {
                Ok(k) if digits && (1..=MAX_COUNT).contains(&k) => Ok(vec![make(k)]),
                _ => Err(Error::argument("statistics", format!("{label:?}: k must be a whole number from 1 to 2^53"))),
            };
        }
        Err(Error::argument(
            "statistics",
            format!(
                "{label:?} is no statistic; there are pass@k, pass^k, pass_rate, learnability, coverage, mean_score, \
                 best_of_k, worst_of_k, mean_duration, mean_total_tokens, metric_mean:S, metric_variance:S, agreement:S"
            ),
        ))
    }
}

/// Which fields a reader must decode beyond those the counts always need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent columns, each decoded or not")]
pub struct Needs {
    /// Check labels and flags as columns (they are always read and graded).
    pub checks: bool,
    /// Readings.
    pub readings: bool,
    /// Durations.
    pub durations: bool,
    /// Token usage.
    pub tokens: bool,
    /// Tags.
    pub tags: bool,
    /// Tool calls and errors.
    pub tools: bool,
    /// A hash of each record.
    pub hashes: bool,
}

impl Needs {
    /// Everything: what a `Run` keeps.
    pub const ALL: Self =
        Self { checks: true, readings: true, durations: true, tokens: true, tags: true, tools: true, hashes: true };
}

/// The statistics of a report, compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Statistics in the order they were asked for, each once, and whether it was asked for by name (a default one
    /// that is refused goes to `omitted`, an asked one fails the report).
    pub statistics: Vec<(Statistic, bool)>,
    /// Whether pass@n and pass^n for the smallest n > 1 are to be added (no list was given).
    pub defaults: bool,
    /// The series asked for, each once.
    pub series: Vec<String>,
    /// The tag to group by.
    pub by: Option<String>,
    /// The tag whose values are clusters of tasks: these are not independent of each other.
    pub cluster: Option<String>,
}

impl Plan {
    /// Compile labels. Without `labels`: pass@1, pass@n and pass^n, mean score, duration and tokens (spec 6.10), and
    /// pass@k and pass^k for each `k` given.
    pub fn new(labels: Option<&[String]>, ks: &[u64], by: Option<String>) -> Result<Self> {
        if let Some(k) = ks.iter().find(|k| !(1..=MAX_COUNT).contains(*k)) {
            return Err(Error::argument("k", format!("{k} is not from 1 to 2^53")));
        }
        let mut plan = Self { defaults: labels.is_none(), by, ..Self::default() };
        if let Some(labels) = labels {
            if labels.is_empty() {
                return Err(Error::argument(
                    "statistics",
                    "the list is empty; leave it out for the default statistics",
                ));
            }
            let mut used_k = false;
            for label in labels {
                for statistic in Statistic::parse(label, ks, &mut used_k)? {
                    plan.add(statistic, true);
                }
            }
            if !ks.is_empty() && !used_k {
                return Err(Error::argument(
                    "k",
                    "no statistic has the letter k to put these values in; write \"pass@k\", \"pass^k\", \"best_of_k\" or \"worst_of_k\"",
                ));
            }
        } else {
            for &k in ks {
                plan.add(Statistic::PassAtK(k), true);
            }
            for &k in ks {
                plan.add(Statistic::PassHatK(k), true);
            }
            plan.add(Statistic::PassAtK(1), false);
            plan.add(Statistic::MeanScore, false);
            plan.add(Statistic::MeanDuration, false);
            plan.add(Statistic::MeanTotalTokens, false);
        }
        Ok(plan)
    }

    /// Add labels beside the list or the defaults, as asked for by name: what a gate rests on (spec 8.1).
    pub fn also(mut self, labels: &[String]) -> Result<Self> {
        for label in labels {
            for statistic in Statistic::parse(label, &[], &mut false)? {
                self.add(statistic, true);
            }
        }
        Ok(self)
    }

    /// The same, where the values of a tag are clusters of tasks.
    #[must_use]
    pub fn clustered(self, cluster: Option<String>) -> Self {
        Self { cluster, ..self }
    }

    /// A plan from its own labels, as an encoded tally holds them; none where one is not canonical.
    #[must_use]
    pub fn restore(statistics: &[(String, bool)], defaults: bool, by: Option<String>) -> Option<Self> {
        let mut plan = Self { defaults, by, ..Self::default() };
        for (label, asked) in statistics {
            let statistic = Statistic::parse(label, &[], &mut false).ok()?.pop()?;
            if statistic.to_string() != *label {
                return None;
            }
            plan.add(statistic, *asked);
        }
        (plan.statistics.len() == statistics.len()).then_some(plan)
    }

    fn add(&mut self, statistic: Statistic, asked: bool) {
        if let Some((_, known)) = self.statistics.iter_mut().find(|(known, _)| *known == statistic) {
            *known |= asked;
            return;
        }
        if let Some(series) = statistic.series()
            && !self.series.iter().any(|known| known == series)
        {
            self.series.push(series.to_owned());
        }
        self.statistics.push((statistic, asked));
    }

    /// Whether some statistic satisfies `test`.
    pub fn any(&self, test: impl Fn(&Statistic) -> bool) -> bool {
        self.statistics.iter().any(|(statistic, _)| test(statistic))
    }

    /// What a reader must decode.
    #[must_use]
    pub fn needs(&self) -> Needs {
        Needs {
            readings: !self.series.is_empty(),
            durations: self.any(|s| *s == Statistic::MeanDuration),
            tokens: self.any(|s| *s == Statistic::MeanTotalTokens),
            tags: self.by.is_some() || self.cluster.is_some(),
            ..Needs::default()
        }
    }
}

/// Why a statistic cannot be given, with the ways on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// How many rollouts were requested is neither given, declared, nor safe to infer (spec 4.4).
    UnknownRequested {
        /// What stands against inferring it.
        because: String,
    },
    /// The run holds scores, not one verdict, and no policy was chosen (spec 5.3).
    NoPolicy,
    /// A task has fewer than k rollouts (spec 6.1).
    Short {
        /// The task.
        task: String,
        /// Its n.
        n: u64,
        /// The label's k.
        k: u64,
        /// Tasks that fall short in all.
        tasks: u64,
    },
    /// More than one series of a task matches the name (spec 6.2).
    Ambiguous {
        /// The task.
        task: String,
        /// The series that match, as verifier/subject/metric.
        candidates: Vec<String>,
    },
    /// One rollout recorded the series more than once (spec 6.2).
    Repeated {
        /// The task.
        task: String,
        /// The series as verifier/subject/metric.
        series: String,
    },
    /// The run has no such series (spec 6.2).
    NoSeries {
        /// The series it has, as verifier/subject/metric.
        existing: Vec<String>,
    },
    /// A numeric statistic of a series that holds text (spec 6.8).
    Text {
        /// The task.
        task: String,
        /// The series as verifier/subject/metric.
        series: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRequested { because } => write!(
                f,
                "how many rollouts were requested is unknown ({because}); give requested=N, or denominator=\"recorded\" to count what there is (--requested N, --denominator recorded)"
            ),
            Self::NoPolicy => f.write_str(
                "the run holds scores and no verdict, so nothing says what a success is; give threshold=X (a score that passes), or policy=\"verifier_verdict.v1\" to count verdicts all the same",
            ),
            Self::Short { task, n, k, tasks } => {
                write!(f, "task {task:?} has n = {n} rollouts, k = {k} needs at least as many")?;
                if *tasks > 1 {
                    write!(f, " ({tasks} tasks fall short)")?;
                }
                f.write_str("; ask for a smaller k, or on_short=\"omit\" (--on-short omit) to leave such tasks out")
            }
            Self::Ambiguous { task, candidates } => write!(
                f,
                "task {task:?} has more than one such series: {}; name one in full",
                candidates.join(", ")
            ),
            Self::Repeated { task, series } => {
                write!(f, "a rollout of task {task:?} recorded {series} more than once; one value a rollout is needed")
            }
            Self::NoSeries { existing } if existing.is_empty() => f.write_str("the run recorded no readings"),
            Self::NoSeries { existing } => write!(f, "no such series; the run has {}", existing.join(", ")),
            Self::Text { task, series } => {
                write!(f, "{series} holds text in task {task:?}; only agreement:S takes text")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(plan: &Plan, label: &str) -> Option<bool> {
        plan.statistics.iter().find(|(statistic, _)| statistic.to_string() == label).map(|(_, asked)| *asked)
    }

    #[test]
    fn gated_labels_join_the_defaults_as_asked_for() {
        let gated = ["mean_score", "pass_hat_5", "agreement:answer"].map(str::to_owned);
        let plan = Plan::new(None, &[], None).and_then(|plan| plan.also(&gated)).expect("labels");
        assert!(plan.defaults);
        assert_eq!(asked(&plan, "pass@1"), Some(false));
        assert_eq!(asked(&plan, "mean_score"), Some(true));
        assert_eq!(asked(&plan, "pass^5"), Some(true));
        assert_eq!(plan.series, ["answer"]);
        assert!(Plan::default().also(&["pass@k".to_owned()]).is_err());
    }
}
