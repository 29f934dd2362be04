//! How sure a figure is: intervals, noise and decomposition of a column of task values.
//!
//! A [`Sample`] is such a column: the values of a statistic, or the differences of two. Everything here reads it
//! through exact sums, so the bits depend on the values alone, never on their order.

pub mod bootstrap;
pub mod convolution;
pub mod counts;
pub mod intervals;
pub mod lattice;
pub mod moments;
pub mod multiple;
pub mod paired;
pub mod planning;
pub mod posterior;
pub mod scores;
pub mod sign_flip;
pub mod special;
pub mod stratified;
pub mod tables;
pub mod wanted;

pub use intervals::{Interval, Method, Range, mean_interval};
pub use moments::Moments;
pub use wanted::Wanted;

use crate::exact::Exact;

/// "A cluster of its own", among the clusters of tasks.
pub const ALONE: u32 = u32::MAX;

/// Task values, one a task or dictionary-coded; NaN is "none" and counts nowhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample<'a> {
    /// Distinct values, or one a task.
    values: &'a [f64],
    /// Which of `values` each task has; none: each its own.
    codes: Option<&'a [u32]>,
    /// How many tasks have each of `values`, where that is known beforehand.
    counts: Option<&'a [u64]>,
    /// The tasks that count; none for all.
    rows: Option<&'a [u32]>,
    /// The cluster of each task, or [`ALONE`].
    clusters: Option<&'a [u32]>,
}

impl<'a> Sample<'a> {
    /// One value a task.
    #[must_use]
    pub fn of(values: &'a [f64]) -> Self {
        Self { values, ..Self::default() }
    }

    /// Values that many tasks share: task t has `values[codes[t]]`, and `counts[v]` tasks have `values[v]`.
    #[must_use]
    pub fn coded(values: &'a [f64], codes: &'a [u32], counts: &'a [u64]) -> Self {
        Self { values, codes: Some(codes), counts: Some(counts), ..Self::default() }
    }

    /// The same over some tasks alone.
    #[must_use]
    pub fn within(self, rows: Option<&'a [u32]>) -> Self {
        Self { rows, ..self }
    }

    /// The same where tasks of one cluster are not independent of each other. One cluster a task, or [`ALONE`].
    #[must_use]
    pub fn clustered(self, clusters: Option<&'a [u32]>) -> Self {
        Self { clusters, ..self }
    }

    /// How many tasks there are, with or without a value.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.rows.map_or_else(|| self.codes.map_or(self.values.len(), <[u32]>::len), <[u32]>::len)
    }

    /// The exact sum and the number of the finite values.
    #[must_use]
    pub fn total(&self) -> (Exact, u64) {
        let (mut sum, mut tasks) = (Exact::default(), 0);
        self.for_each(|value, count| {
            if value.is_finite() {
                sum.add_times(value, count);
                tasks += count;
            }
        });
        (sum, tasks)
    }

    /// The value of task `at` of those that count; NaN for none.
    #[must_use]
    pub fn at(&self, at: usize) -> f64 {
        let task = self.task(at);
        self.values[self.codes.map_or(task, |codes| codes[task] as usize)]
    }

    /// The number of the task at position `at` of those that count.
    fn task(&self, at: usize) -> usize {
        self.rows.map_or(at, |rows| rows[at] as usize)
    }

    /// Each value with how many tasks have it; distinct ones where they are coded, in no order that matters.
    fn for_each(&self, mut take: impl FnMut(f64, u64)) {
        let mut present = |value: f64, count: u64| {
            if !value.is_nan() && count > 0 {
                take(value, count);
            }
        };
        match (self.codes, self.counts, self.rows) {
            (Some(_), Some(counts), None) => {
                self.values.iter().zip(counts).for_each(|(&value, &count)| present(value, count));
            }
            (Some(codes), ..) => {
                let mut counts = vec![0u64; self.values.len()];
                (0..self.tasks()).for_each(|at| counts[codes[self.task(at)] as usize] += 1);
                self.values.iter().zip(counts).for_each(|(&value, count)| present(value, count));
            }
            (None, ..) => (0..self.tasks()).for_each(|at| present(self.at(at), 1)),
        }
    }
}
