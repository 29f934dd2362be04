//! Series of readings: which ones a name means, and what is kept of their values (spec 6.2, 6.8).

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use crate::batch::Value;
use crate::exact::{self, Exact};
use crate::plan::{Plan, Statistic};

/// One series that exists: verifier, subject, metric.
pub type Name = (String, String, String);

/// The full name, `verifier/subject/metric`.
#[must_use]
pub fn full(name: &Name) -> String {
    format!("{}/{}/{}", name.0, name.1, name.2)
}

/// Whether a series is meant by `asked`.
#[must_use]
pub fn matches(asked: &str, verifier: &str, subject: &str, metric: &str) -> bool {
    let rest = |text: &str, prefix: &str| -> Option<String> {
        text.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/')).map(str::to_owned)
    };
    asked == metric
        || rest(asked, subject).is_some_and(|rest| rest == metric)
        || rest(asked, verifier).and_then(|tail| rest(&tail, subject)).is_some_and(|tail| tail == metric)
}

/// A value as agreement tells values apart: numbers by value, bools and texts as kinds of their own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The bits of a finite number, never those of -0.0.
    Number(u64),
    /// A bool.
    Bool(bool),
    /// A text.
    Text(String),
}

/// What the statistics of one series need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Sums of values and of their squares, which say how sure a mean is.
    pub sums: bool,
    /// Counts of each value.
    pub agreement: bool,
}

impl Wanted {
    /// What `plan` needs of the series it calls `asked`.
    #[must_use]
    pub fn of(plan: &Plan, asked: &str) -> Self {
        let mut wanted = Self::default();
        for (statistic, _) in &plan.statistics {
            match statistic {
                Statistic::MetricMean(series) | Statistic::MetricVariance(series) if series == asked => {
                    wanted.sums = true;
                }
                Statistic::Agreement(series) if series == asked => wanted.agreement = true,
                _ => {}
            }
        }
        wanted
    }
}

/// What is kept of one series in one task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The series that matched, as positions in [`Series::names`]. More than one is ambiguous.
    pub which: BTreeSet<u32>,
    /// A rollout recorded the series more than once.
    pub repeated: bool,
    /// A text was among the values.
    pub text: bool,
    /// Readings.
    pub n: u64,
    /// Sum of the numbers, bools as 1 and 0.
    pub sum: Exact,
    /// Sum of their squares.
    pub squares: Exact,
    /// How often each value occurred.
    pub kinds: BTreeMap<Kind, u64>,
    /// The last rollout that recorded it, to notice a second reading; meaningless between updates.
    last: u64,
}

impl State {
    /// Whether sums and counts agree with `n`, as decoded bytes must.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        !self.which.is_empty()
            && self.n > 0
            && exact::can_be_squares(&self.sum, &self.squares, self.n)
            && (self.kinds.is_empty()
                || self.kinds.values().try_fold(0u64, |sum, &n| sum.checked_add(n)) == Some(self.n))
    }

    /// Add a reading of the rollout numbered `row`, from 1.
    pub fn add(&mut self, row: u64, series: u32, value: Value, text: impl Fn(u32) -> String, wanted: Wanted) {
        self.which.insert(series);
        self.repeated |= self.last == row;
        self.last = row;
        self.n += 1;
        let number = match value {
            Value::Number(number) => Some(number + 0.0),
            Value::Bool(bool) => Some(f64::from(u8::from(bool))),
            Value::Text(_) => None,
        };
        match number {
            Some(number) => {
                if wanted.sums {
                    self.sum.add(number);
                    self.squares.add_square(number);
                }
            }
            None => self.text = true,
        }
        if wanted.agreement {
            let kind = match value {
                Value::Number(number) => Kind::Number((number + 0.0).to_bits()),
                Value::Bool(bool) => Kind::Bool(bool),
                Value::Text(id) => Kind::Text(text(id)),
            };
            *self.kinds.entry(kind).or_default() += 1;
        }
    }

    fn merge(&mut self, other: &Self, rename: &[u32]) {
        self.which.extend(other.which.iter().map(|&series| rename[series as usize]));
        self.repeated |= other.repeated;
        self.text |= other.text;
        self.n = self.n.saturating_add(other.n);
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
        for (kind, n) in &other.kinds {
            let count = self.kinds.entry(kind.clone()).or_default();
            *count = count.saturating_add(*n);
        }
        // Rollouts of two tallies are different rollouts.
        self.last = 0;
    }
}

/// The series of a tally: all that exist by name, and the state of those that were asked for.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Every series that exists, for the message when a name matches none.
    pub names: Vec<Name>,
    known: HashMap<Name, u32>,
    /// By position in `Plan::series`, the state of each task that has the series.
    pub states: Vec<HashMap<u32, State>>,
}

impl Series {
    /// Empty state for a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self { states: vec![HashMap::new(); plan.series.len()], ..Self::default() }
    }

    /// The number of a series that exists.
    pub fn intern(&mut self, name: Name) -> u32 {
        if let Some(&number) = self.known.get(&name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.clone());
        self.known.insert(name, number);
        number
    }

    /// Take in another tally's series, whose task `t` is `tasks[t]` here.
    pub fn merge(&mut self, other: &Self, tasks: &[u32]) {
        let rename: Vec<u32> = other.names.iter().map(|name| self.intern(name.clone())).collect();
        for (mine, theirs) in self.states.iter_mut().zip(&other.states) {
            for (task, state) in theirs {
                mine.entry(tasks[*task as usize]).or_default().merge(state, &rename);
            }
        }
    }

    /// Full names of all series, sorted.
    #[must_use]
    pub fn existing(&self) -> Vec<String> {
        let mut names: Vec<String> = self.names.iter().map(full).collect();
        names.sort_unstable();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(readings: &[(u64, Value)]) -> State {
        let mut state = State::default();
        for &(row, value) in readings {
            state.add(row, 0, value, |id| format!("text {id}"), Wanted { sums: true, agreement: true });
        }
        state
    }

    #[test]
    fn a_plan_keeps_what_its_statistics_of_a_series_need() {
        let labels = ["metric_mean:a", "metric_variance:b", "agreement:c"].map(str::to_owned);
        let plan = Plan::new(Some(&labels), &[], None).expect("labels");
        let wanted = ["a", "b", "c", "d"].map(|asked| Wanted::of(&plan, asked));
        let parts = wanted.map(|wanted| [wanted.sums, wanted.agreement]);
        assert_eq!(parts, [[true, false], [true, false], [false, true], [false; 2]]);
    }

    #[test]
    fn a_second_reading_and_a_text_are_remembered_over_merges() {
        let number = Value::Number(1.0);
        let (plain, twice) = (state(&[(1, number), (2, number)]), state(&[(1, number), (1, number), (2, number)]));
        let text = state(&[(1, number), (2, Value::Text(7)), (3, Value::Bool(true))]);
        assert_eq!(
            [&plain, &twice, &text].map(|state| (state.repeated, state.text)),
            [(false, false), (true, false), (false, true)]
        );
        for (left, right) in [(&plain, &twice), (&twice, &plain), (&twice, &text), (&text, &text), (&twice, &twice)] {
            let mut merged = left.clone();
            merged.merge(right, &[0]);
            assert_eq!(merged.repeated, left.repeated || right.repeated);
            assert_eq!(merged.text, left.text || right.text);
            assert_eq!(merged.n, left.n + right.n);
            assert!(merged.is_sound());
        }
        assert!(state(&[(1, number), (1, number), (1, number)]).repeated);
        // The last row of one tally and the first of another are two rollouts.
        let mut merged = state(&[(1, number)]);
        merged.merge(&state(&[(1, number)]), &[0]);
        assert!(!merged.repeated);
    }

    #[test]
    fn numbers_that_contradict_each_other_are_not_sound() {
        let sound = state(&[(1, Value::Number(1.0)), (2, Value::Number(2.0))]);
        assert!(sound.is_sound());
        assert!(!State { which: BTreeSet::new(), ..sound.clone() }.is_sound());
        assert!(!State { n: 3, ..sound.clone() }.is_sound());
        assert!(!State { squares: Exact::of_integer(4), ..sound.clone() }.is_sound());
        assert!(!State { n: 0, kinds: BTreeMap::new(), ..sound.clone() }.is_sound());
        assert!(State { kinds: BTreeMap::new(), ..sound.clone() }.is_sound());
    }

    #[test]
    fn a_name_means_metric_subject_metric_or_all_three() {
        assert!(matches("latency", "judge", "final", "latency"));
        assert!(matches("final/latency", "judge", "final", "latency"));
        assert!(matches("judge/final/latency", "judge", "final", "latency"));
        assert!(!matches("judge/latency", "judge", "final", "latency"));
        assert!(!matches("late", "judge", "final", "latency"));
        // An absent subject is empty, and a metric may hold a slash itself.
        assert!(matches("judge//latency", "judge", "", "latency"));
        assert!(matches("a/b", "v", "s", "a/b"));
        assert!(matches("v/s/a/b", "v", "s", "a/b"));
    }
}
