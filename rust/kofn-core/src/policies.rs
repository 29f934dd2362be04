//! Versioned rules that say which rollouts are successes (spec 5).

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
