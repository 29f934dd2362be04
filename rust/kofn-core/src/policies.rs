//! Versioned rules that say which rollouts are successes, and the registry projection beside them (spec 5).
//!
//! A policy turns each rollout into a word of [`flags`] and a score. The registry projection is computed from the
//! verdicts alone, never from a policy, and no policy is computed from it.

use crate::batch::{Batch, Status};
use crate::error::{Error, Result};
use crate::exact;
use crate::tally::Floats;

/// The bits of one rollout's word.
pub mod flags {
    /// The status, one bit each in the order of [`crate::batch::Status::ALL`]; every word has one of them.
    pub const STATUS: [u16; 4] = [1 << 0, 1 << 1, 1 << 2, 1 << 3];
    /// The policy calls it a success.
    pub const SUCCESS: u16 = 1 << 4;
    /// The policy can decide it (spec 4.5).
    pub const SCORABLE: u16 = 1 << 5;
    /// It has an indeterminate verdict.
    pub const INDETERMINATE: u16 = 1 << 6;
    /// It has a verdict of any kind.
    pub const VERDICT: u16 = 1 << 7;
    /// It has a score.
    pub const SCORED: u16 = 1 << 8;
    /// It has a score or a determinate verdict, so its task is not `unscorable` (spec 6.9).
    pub const JUDGED: u16 = 1 << 9;
    /// Registry outcome `Passed` (spec 5.5); with none of the three it is not terminal.
    pub const PASSED: u16 = 1 << 10;
    /// Registry outcome `Failed`.
    pub const FAILED: u16 = 1 << 11;
    /// Registry outcome `Unscorable`.
    pub const UNSCORABLE: u16 = 1 << 12;
    /// A user's policy called it a success although it did not succeed: it is none (spec 4.2).
    pub const OVERRULED: u16 = 1 << 13;
    /// How many bits there are.
    pub const COUNT: usize = 14;
}

/// A success policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// `verifier_verdict.v1`: at least one verdict, and every verdict is `pass`.
    VerifierVerdict,
    /// `score_threshold.v1`: the mean of the scores reaches the threshold, and no verdict is indeterminate.
    ScoreThreshold(f64),
    /// A user's own: its successes come as a mask.
    Custom {
        /// Versioned id.
        id: String,
        /// Parameters as JSON text.
        parameters: String,
    },
}

/// Relative slack at a threshold, so that float noise at the boundary does not decide (spec 5.2).
const SLACK: f64 = 1e-12;

impl Policy {
    /// `score_threshold.v1`; the threshold is finite.
    pub fn score_threshold(threshold: f64) -> Result<Self> {
        if threshold.is_finite() {
            Ok(Self::ScoreThreshold(threshold))
        } else {
            Err(Error::argument("threshold", format!("{threshold} is not a finite number")))
        }
    }

    /// The versioned id.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::VerifierVerdict => "verifier_verdict.v1",
            Self::ScoreThreshold(_) => "score_threshold.v1",
            Self::Custom { id, .. } => id,
        }
    }

    /// The least mean score that counts as reaching the threshold.
    fn bar(&self) -> f64 {
        match self {
            Self::ScoreThreshold(threshold) => threshold - SLACK * threshold.abs().max(1.0),
            _ => f64::INFINITY,
        }
    }

    fn flags(&self, rollout: &Facts, masked: bool, bar: f64) -> u16 {
        let mut word = flags::STATUS[rollout.status as usize];
        let succeeded = rollout.status == Status::Succeeded;
        let verdicts = rollout.pass + rollout.fail + rollout.indeterminate;
        let scored = !rollout.score.is_nan();
        let decisive = verdicts > 0 && (rollout.indeterminate == 0 || rollout.fail > 0);
        let mut set = |bit: u16, on: bool| word |= if on { bit } else { 0 };
        set(flags::INDETERMINATE, rollout.indeterminate > 0);
        set(flags::VERDICT, verdicts > 0);
        set(flags::SCORED, scored);
        set(flags::JUDGED, scored || rollout.pass + rollout.fail > 0);

        let failed = succeeded && rollout.fail > 0;
        let passed = succeeded && verdicts > 0 && rollout.fail == 0 && rollout.indeterminate == 0;
        set(flags::FAILED, failed);
        set(flags::PASSED, passed);
        set(flags::UNSCORABLE, rollout.status != Status::Unfinished && !failed && !passed);

        let (success, scorable) = match self {
            Self::VerifierVerdict => (passed, succeeded && decisive),
            Self::ScoreThreshold(_) => {
                let scorable = succeeded && scored && rollout.indeterminate == 0;
                (scorable && rollout.score >= bar, scorable)
            }
            Self::Custom { .. } => {
                set(flags::OVERRULED, masked && !succeeded);
                let success = masked && succeeded;
                let judged = scored && rollout.indeterminate == 0;
                (success, success || (succeeded && (decisive || judged)))
            }
        };
        set(flags::SUCCESS, success);
        set(flags::SCORABLE, scorable);
        word
    }
}

/// What a policy looks at in one rollout.
#[derive(Default)]
struct Facts {
    status: Status,
    pass: u32,
    fail: u32,
    indeterminate: u32,
    /// Mean of the verifiers' scores, or NaN.
    score: f64,
}

/// A word of [`flags`] and a score (NaN for none) a rollout.
#[derive(Clone, Debug, Default)]
pub struct Classified {
    /// Words of [`flags`].
    pub flags: Vec<u16>,
    /// Mean verifier scores.
    pub score: Vec<f64>,
}

/// Classify a batch. `mask` holds a custom policy's successes and is not looked at otherwise.
#[must_use]
pub fn classify(batch: &Batch, policy: &Policy, mask: Option<&[bool]>) -> Classified {
    let bar = policy.bar();
    let verifications = &batch.verifications;
    let mut out = Classified { flags: Vec::with_capacity(batch.len()), score: Vec::with_capacity(batch.len()) };
    // A word depends on eight bits, and most rollouts are of few kinds. None is 0: each has a status.
    let mut words = [0; 256];
    for (i, &status) in batch.status.iter().enumerate() {
        let range = batch.verifications_of(i);
        // A bit each for passes, failures and indeterminate ones; that of absent ones is shifted out.
        let met = verifications.verdict[range.clone()].iter().fold(0, |met, &verdict| met | 1 << verdict as usize) >> 1;
        let scores = &verifications.score[range];
        let score = match scores {
            [] => f64::NAN,
            &[one] => one + 0.0,
            several => exact::mean(several.iter().copied().filter(|score| !score.is_nan())),
        };
        let masked = mask.is_some_and(|mask| mask.get(i) == Some(&true));
        let bits = [!score.is_nan(), score >= bar, masked];
        let kind = bits.iter().fold(met, |kind, &bit| kind << 1 | usize::from(bit)) << 2 | status as usize;
        let word = &mut words[kind % 256];
        if *word == 0 {
            let [pass, fail, indeterminate] = [0, 1, 2].map(|bit| u32::from(met >> bit & 1 == 1));
            *word = policy.flags(&Facts { status, pass, fail, indeterminate, score }, masked, bar);
        }
        out.flags.push(*word);
        out.score.push(score);
    }
    out
}

/// What a policy makes of a rollout given as arrays, which is one of nine kinds: a verdict (none, fail, pass) and a
/// score (none, below the bar, at least the bar).
pub(crate) struct Kinds {
    bar: f64,
    /// The word of [`flags`] of each kind.
    pub words: [u16; 9],
}

impl Kinds {
    /// A rollout of which neither verdict nor score was obtained.
    pub const NONE: usize = 0;

    pub fn new(policy: &Policy) -> Self {
        let bar = policy.bar();
        let words = std::array::from_fn(|kind| {
            let facts = Facts {
                status: Status::Succeeded,
                pass: u32::from(kind / 3 == 2),
                fail: u32::from(kind / 3 == 1),
                indeterminate: 0,
                score: [f64::NAN, f64::MIN, f64::MAX][kind % 3],
            };
            policy.flags(&facts, false, bar)
        });
        Self { bar, words }
    }

    /// The kind of a rollout; `passed` is 1, 0 or -1 for none.
    #[inline]
    pub fn of(&self, passed: i8, score: f64) -> usize {
        let verdict = usize::from(passed >= 0) + usize::from(passed > 0);
        3 * verdict + usize::from(!score.is_nan()) + usize::from(self.reached(score))
    }

    /// Whether a score is at least the bar.
    #[inline(always)]
    pub fn reached(&self, score: f64) -> bool {
        score >= self.bar
    }
}

/// Classify rollouts given as arrays: each is `succeeded` with at most one verification. `passed` is 1, 0 or -1 for
/// none; `valid` false means neither verdict nor score was obtained. Missing columns are empty.
#[must_use]
pub fn classify_arrays(len: usize, passed: &[i8], scores: Floats<'_>, valid: &[bool], policy: &Policy) -> Classified {
    match scores {
        Floats::F64(scores) => classify_columns(len, passed, scores, valid, policy),
        Floats::F32(scores) => classify_columns(len, passed, scores, valid, policy),
    }
}

fn classify_columns<T: Copy + Into<f64>>(
    len: usize,
    passed: &[i8],
    scores: &[T],
    valid: &[bool],
    policy: &Policy,
) -> Classified {
    let kinds = Kinds::new(policy);
    // Adding 0.0 turns -0.0 into 0.0: one value, one level.
    if passed.is_empty() && valid.is_empty() && scores.len() == len {
        let score: Vec<f64> = scores.iter().map(|&score| score.into() + 0.0).collect();
        return Classified { flags: score.iter().map(|&score| kinds.words[kinds.of(-1, score)]).collect(), score };
    }
    let mut out = Classified { flags: Vec::with_capacity(len), score: Vec::with_capacity(len) };
    for i in 0..len {
        let valid = valid.get(i).copied().unwrap_or(true);
        let score = scores.get(i).filter(|_| valid).map_or(f64::NAN, |&score| score.into() + 0.0);
        let passed = passed.get(i).filter(|_| valid).copied().unwrap_or(-1);
        out.flags.push(kinds.words[kinds.of(passed, score)]);
        out.score.push(score);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Verdict;

    fn one(status: Status, verdicts: [u32; 3], score: f64) -> Facts {
        Facts { status, pass: verdicts[0], fail: verdicts[1], indeterminate: verdicts[2], score }
    }

    #[test]
    fn verdicts_decide() {
        let policy = Policy::VerifierVerdict;
        let flags_of = |verdicts| policy.flags(&one(Status::Succeeded, verdicts, f64::NAN), false, 0.0);
        let has = |word: u16, bits: u16| word & bits == bits;
        assert!(has(flags_of([2, 0, 0]), flags::SUCCESS | flags::SCORABLE | flags::PASSED | flags::JUDGED));
        assert!(has(flags_of([1, 1, 0]), flags::SCORABLE | flags::FAILED));
        assert_eq!(flags_of([1, 0, 1]) & (flags::SUCCESS | flags::SCORABLE), 0);
        assert!(has(flags_of([1, 0, 1]), flags::UNSCORABLE | flags::INDETERMINATE | flags::JUDGED));
        // A fail decides beside an indeterminate verdict.
        assert!(has(flags_of([0, 1, 1]), flags::SCORABLE | flags::FAILED));
        assert!(has(flags_of([0, 0, 0]), flags::UNSCORABLE));
        assert_eq!(flags_of([0, 0, 0]) & (flags::SUCCESS | flags::SCORABLE | flags::JUDGED | flags::VERDICT), 0);
        assert_eq!(flags_of([0, 0, 1]) & flags::JUDGED, 0);
    }

    #[test]
    fn only_succeeded_rollouts_succeed_and_unfinished_ones_are_not_terminal() {
        for status in [Status::Errored, Status::Cancelled, Status::Unfinished] {
            for policy in [Policy::VerifierVerdict, Policy::ScoreThreshold(0.0)] {
                let word = policy.flags(&one(status, [1, 0, 0], 1.0), false, policy.bar());
                assert_eq!(word & (flags::SUCCESS | flags::SCORABLE | flags::PASSED | flags::FAILED), 0);
                assert_eq!(word & flags::UNSCORABLE != 0, status != Status::Unfinished);
                assert_ne!(word & flags::STATUS[status as usize], 0);
            }
        }
    }

    #[test]
    fn a_threshold_of_zero_is_a_threshold_and_noise_does_not_decide() {
        let reached = |threshold, score| {
            let policy = Policy::ScoreThreshold(threshold);
            policy.flags(&one(Status::Succeeded, [0, 0, 0], score), false, policy.bar()) & flags::SUCCESS != 0
        };
        assert!(reached(0.0, 0.0));
        assert!(!reached(0.0, -1e-9));
        assert!(reached(0.3, 0.1 + 0.2 - 1e-16));
        assert!(reached(0.7, 0.7 - 5e-13));
        assert!(!reached(0.7, 0.7 - 5e-12));
        assert!(reached(1e6, 1e6 - 5e-7));
        assert!(!reached(1e6, 1e6 - 5e-6));
        assert!(!reached(0.0, f64::NAN));
        let policy = Policy::ScoreThreshold(0.0);
        let word = policy.flags(&one(Status::Succeeded, [1, 0, 1], 1.0), false, policy.bar());
        assert_eq!(word & (flags::SUCCESS | flags::SCORABLE), 0);
    }

    #[test]
    fn a_users_mask_cannot_make_a_broken_rollout_succeed() {
        let policy = Policy::Custom { id: "mine.v1".into(), parameters: "{}".into() };
        let word = policy.flags(&one(Status::Errored, [0, 0, 0], f64::NAN), true, policy.bar());
        assert_eq!(word & (flags::SUCCESS | flags::OVERRULED), flags::OVERRULED);
        let word = policy.flags(&one(Status::Errored, [0, 0, 0], f64::NAN), false, policy.bar());
        assert_eq!(word & (flags::SUCCESS | flags::OVERRULED), 0);
        let word = policy.flags(&one(Status::Succeeded, [0, 0, 0], f64::NAN), true, policy.bar());
        assert_eq!(word & (flags::SUCCESS | flags::SCORABLE), flags::SUCCESS | flags::SCORABLE);
        let word = policy.flags(&one(Status::Succeeded, [0, 0, 0], 0.3), false, policy.bar());
        assert_eq!(word & (flags::SUCCESS | flags::SCORABLE), flags::SCORABLE);
    }

    #[test]
    fn arrays_know_absent_verdicts_and_invalid_rollouts() {
        let out = classify_arrays(
            4,
            &[1, 0, -1, 1],
            Floats::F64(&[1.0, -0.0, f64::NAN, 1.0]),
            &[true, true, true, false],
            &Policy::VerifierVerdict,
        );
        let bits: Vec<u16> =
            out.flags.iter().map(|word| word & (flags::SUCCESS | flags::SCORABLE | flags::SCORED)).collect();
        assert_eq!(bits, [flags::SUCCESS | flags::SCORABLE | flags::SCORED, flags::SCORABLE | flags::SCORED, 0, 0]);
        assert!(out.score[1].is_sign_positive());
    }

    #[test]
    fn ids_are_versioned() {
        let custom = Policy::Custom { id: "mine.v1".into(), parameters: "{}".into() };
        let ids = [Policy::VerifierVerdict, Policy::ScoreThreshold(0.5), custom].map(|policy| policy.id().to_owned());
        assert_eq!(ids, ["verifier_verdict.v1", "score_threshold.v1", "mine.v1"]);
    }

    #[test]
    fn what_a_threshold_and_a_users_policy_can_decide() {
        let threshold = Policy::ScoreThreshold(0.5);
        let custom = Policy::Custom { id: "mine.v1".into(), parameters: "{}".into() };
        for (verdicts, score, by_threshold, by_custom) in [
            ([0, 0, 0], f64::NAN, false, false),
            ([1, 0, 0], f64::NAN, false, true),
            ([0, 1, 0], f64::NAN, false, true),
            ([0, 0, 0], 0.5, true, true),
            ([1, 0, 0], 0.1, true, true),
            ([0, 0, 1], f64::NAN, false, false),
            ([0, 0, 1], 0.5, false, false),
            ([0, 1, 1], 0.5, false, true),
        ] {
            for (policy, expected) in [(&threshold, by_threshold), (&custom, by_custom)] {
                let scorable =
                    |status| policy.flags(&one(status, verdicts, score), false, policy.bar()) & flags::SCORABLE != 0;
                assert_eq!(scorable(Status::Succeeded), expected, "{policy:?} {verdicts:?} {score}");
                assert!(!scorable(Status::Errored), "{policy:?} {verdicts:?} {score}");
            }
        }
    }

    #[test]
    fn a_word_said_again_is_that_of_the_rollout() {
        let verdicts = [Verdict::Absent, Verdict::Pass, Verdict::Fail, Verdict::Indeterminate];
        let scores = [f64::NAN, 0.25, 0.5, 0.75];
        let mut batch = Batch::default();
        let (mut mask, mut facts) = (Vec::new(), Vec::new());
        batch.verifications.offsets.push(0);
        // Every status with every two verdicts and one score, masked and not, and twice.
        for kind in (0..4 * 16 * 4 * 2).flat_map(|kind| [kind, kind]) {
            let (first, second) = (verdicts[kind >> 2 & 3], verdicts[kind >> 4 & 3]);
            let (status, score) = (Status::ALL[kind & 3], scores[kind >> 6 & 3]);
            batch.task.push(0);
            batch.status.push(status);
            batch.verifications.verdict.extend([first, second]);
            batch.verifications.score.extend([f64::NAN, score]);
            batch.verifications.offsets.push(u32::try_from(batch.verifications.verdict.len()).expect("few"));
            mask.push(kind >> 8 == 1);
            let count = |wanted| [first, second].iter().map(|&verdict| u32::from(verdict == wanted)).sum();
            let (pass, fail) = (count(Verdict::Pass), count(Verdict::Fail));
            facts.push(Facts { status, pass, fail, indeterminate: count(Verdict::Indeterminate), score });
        }
        let custom = Policy::Custom { id: "mine.v1".into(), parameters: "{}".into() };
        for policy in [Policy::VerifierVerdict, Policy::ScoreThreshold(0.5), custom] {
            let found = classify(&batch, &policy, Some(&mask)).flags;
            let expected = facts.iter().zip(&mask).map(|(facts, &masked)| policy.flags(facts, masked, policy.bar()));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{policy:?}");
        }
    }

    #[test]
    fn a_batch_gives_means_of_scores_and_takes_a_mask() {
        let mut batch = Batch { task: vec![0; 4], status: vec![Status::Succeeded; 4], ..Batch::default() };
        batch.verifications.offsets = vec![0, 1, 4, 4, 5];
        batch.verifications.name = vec![0; 5];
        batch.verifications.score = vec![-0.0, 0.25, f64::NAN, 0.75, f64::NAN];
        batch.verifications.verdict = vec![Verdict::Absent; 5];
        let policy = Policy::Custom { id: "mine.v1".into(), parameters: "{}".into() };
        let out = classify(&batch, &policy, Some(&[true, false, true]));
        assert_eq!(out.score.iter().map(|score| score.to_bits()).collect::<Vec<_>>()[..2], [0, 0.5f64.to_bits()]);
        assert!(out.score[2..].iter().all(|score| score.is_nan()));
        let successes: Vec<bool> = out.flags.iter().map(|word| word & flags::SUCCESS != 0).collect();
        assert_eq!(successes, [true, false, true, false]);
    }

    #[test]
    fn absent_columns_of_arrays_say_nothing() {
        let policy = Policy::ScoreThreshold(0.5);
        let out = classify_arrays(2, &[], Floats::F32(&[0.5, 0.25]), &[], &policy);
        let bits: Vec<u16> = out.flags.iter().map(|word| word & (flags::SUCCESS | flags::VERDICT)).collect();
        assert_eq!(bits, [flags::SUCCESS, 0]);
        let out = classify_arrays(2, &[1, 0], Floats::default(), &[], &Policy::VerifierVerdict);
        let bits: Vec<u16> = out.flags.iter().map(|word| word & (flags::SUCCESS | flags::SCORED)).collect();
        assert_eq!(bits, [flags::SUCCESS, 0]);
        assert!(out.score.iter().all(|score| score.is_nan()));
    }
}
