//! Best and worst of k of many short tasks, eight of one length at a time (see [`super::lanes`]); what is left open
//! there goes by its levels, one value at a time.

use super::lanes::{LANES, LONGEST, Left, Plan, Scores};
use super::order::{Level, best, best_of_k, levels_into, worst, worst_of_k};
use super::rows::Order;
use crate::threads;

/// Scores that a thread takes at once, or values if they are more.
const PART: usize = 1 << 16;

/// Tasks that wait for others of their length.
pub(super) struct Blocks<'a> {
    order: Order,
    ks: &'a [u64],
    /// By length.
    waiting: Vec<Option<Box<Waiting>>>,
    spare: (Vec<f64>, Vec<Level>),
}

/// Tasks of one length n.
struct Waiting {
    scores: Scores,
    tasks: [usize; LANES],
    taken: usize,
    /// Made for the first full block: fewer tasks do not pay for it.
    plan: Option<Plan>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(order: Order, ks: &'a [u64]) -> Self {
        Self { order, ks, waiting: Vec::new(), spare: <_>::default() }
    }

    /// Whether this statistic of so many scores can be had here.
    pub(super) fn take(order: Order, n: usize) -> bool {
        matches!(order, Order::Best | Order::Worst) && (1..=LONGEST).contains(&n)
    }

    /// All tasks of `n` scores each as far as whole blocks of them are finite; the other tasks among the first
    /// `out.len() / ks.len()`, whose values are still to be had.
    pub(super) fn rows(&mut self, n: usize, scores: &[f64], out: &mut [f64]) -> Vec<usize> {
        let width = self.ks.len();
        let tasks = scores.len() / n;
        let whole = tasks - tasks % LANES;
        if whole == 0 || width == 0 {
            return (0..tasks).collect();
        }
        let plan = Plan::new(self.order, n, self.ks);
        let step = (PART / n.max(width) / LANES).max(1) * LANES;
        let (read, filled) = (scores[..whole * n].chunks(step * n), out[..whole * width].chunks_mut(step * width));
        let parts: Vec<_> = read.zip(filled).collect();
        let found = threads::map(parts, |(scores, out)| plan.rows(scores, out));
        let mut unread = Vec::new();
        for (part, left) in found.into_iter().enumerate() {
            let Left { open, unread: more } = left;
            unread.extend(more.into_iter().map(|row| part * step + row));
            for row in open.into_iter().map(|row| part * step + row) {
                let scores = scores[row * n..][..n].iter().copied();
                self.patch(Some(&plan), scores, &mut out[row * width..][..width]);
            }
        }
        unread.extend(whole..tasks);
        unread
    }

    /// Add a task of 1 to [`LONGEST`] finite scores; `out` holds the values of all tasks.
    pub(super) fn add(&mut self, task: usize, scores: impl ExactSizeIterator<Item = f64>, out: &mut [f64]) {
        let n = scores.len();
        if self.waiting.len() <= n {
            self.waiting.resize_with(n + 1, || None);
        }
        let waiting = self.waiting[n].get_or_insert_with(|| Box::new(Waiting::new()));
        let lane = waiting.taken;
        for (lanes, score) in waiting.scores.iter_mut().zip(scores) {
            // Adding 0.0 turns -0.0 into 0.0.
            lanes[lane] = score + 0.0;
        }
        waiting.tasks[lane] = task;
        waiting.taken += 1;
        if waiting.taken == LANES {
            self.empty(n, out);
        }
    }

    /// Compute whatever still waits.
    pub(super) fn finish(mut self, out: &mut [f64]) {
        (0..self.waiting.len()).for_each(|n| self.empty(n, out));
    }

    fn empty(&mut self, n: usize, out: &mut [f64]) {
        let Some(mut waiting) = self.waiting.get_mut(n).and_then(Option::take) else { return };
        let taken = std::mem::take(&mut waiting.taken);
        if taken == LANES && waiting.plan.is_none() {
            waiting.plan = Some(Plan::new(self.order, n, self.ks));
        }
        let width = self.ks.len();
        // Lanes that wait for none hold scores of a task that was there before.
        let values = waiting.plan.as_ref().map(|plan| plan.block(&mut waiting.scores)).unwrap_or_default();
        for (lane, &task) in waiting.tasks[..taken].iter().enumerate() {
            let out = &mut out[task * width..][..width];
            out.fill(f64::NAN);
            for (out, values) in out.iter_mut().zip(&values) {
                *out = values[lane];
            }
            self.patch(waiting.plan.as_ref(), waiting.scores[..n].iter().map(|lanes| lanes[lane]), out);
        }
        self.waiting[n] = Some(waiting);
    }

    /// Compute the values of one task that are NaN.
    fn patch(&mut self, plan: Option<&Plan>, task: impl ExactSizeIterator<Item = f64>, out: &mut [f64]) {
        let n = task.len() as u64;
        if !out.iter().zip(self.ks).any(|(out, &k)| out.is_nan() && k <= n) {
            return;
        }
        let (scores, levels) = &mut self.spare;
        scores.clear();
        scores.extend(task);
        levels_into(scores, levels);
        let open = out.iter_mut().zip(self.ks).enumerate().filter(|(_, (out, k))| out.is_nan() && **k <= n);
        for (column, (out, &k)) in open {
            *out = match (self.order, plan) {
                (Order::Best, Some(plan)) => best(levels, k, n, &mut plan.gaps(column)),
                (Order::Worst, Some(plan)) => worst(levels, k, n, &mut plan.gaps(column)),
                (Order::Best, None) => best_of_k(levels, k),
                _ => worst_of_k(levels, k),
            };
        }
    }
}

impl Waiting {
    fn new() -> Self {
        Self { scores: [[f64::INFINITY; LANES]; LONGEST], tasks: [0; LANES], taken: 0, plan: None }
    }
}
