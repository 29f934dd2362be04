//! Scores of few values by task: counts of each value instead of scores in order.

use crate::arch;

/// Values that are told apart. Their counts of one task fill half a line of the cache.
const VALUES: usize = 16;
/// Slots of the table by hash, enough for one hash in a few to keep sixteen values apart.
const SLOTS: usize = 256;
/// Odd numbers tried before values count as too many.
const TRIES: u64 = 256;

/// How often each task has each of a few scores.
pub(super) struct Repeats {
    values: Values,
    /// A row a task, a column a value as it was met.
    counts: Vec<[u16; VALUES]>,
    /// The columns by ascending value.
    ascending: Vec<usize>,
}

impl Repeats {
    /// Count scores by the codes of their tasks, all below `tasks`; NaN is not scored. None where this does not serve:
    /// tasks are short, values many or not finite, or one is met too often.
    pub(super) fn new(scores: &[f64], codes: &[u32], tasks: usize) -> Option<Self> {
        if scores.len() / VALUES < tasks {
            return None;
        }
        let mut values = Values::default();
        let mut counts = arch::large_pages(vec![[0_u16; VALUES]; tasks]);
        let mut over = false;
        for (&score, &code) in scores.iter().zip(codes) {
            let Some(column) = values.column(score) else {
                if score.is_nan() {
                    continue;
                }
                return None;
            };
            let Some(counts) = counts.get_mut(code as usize) else { continue };
            let count = &mut counts[column % VALUES];
            *count = count.wrapping_add(1);
            over |= *count == 0;
        }
        let mut ascending: Vec<usize> = (0..values.met.len()).collect();
        ascending.sort_unstable_by(|&a, &b| values.met[a].total_cmp(&values.met[b]));
        (!over).then_some(Self { values, counts, ascending })
    }

    /// The columns by ascending score.
    pub(super) fn ascending(&self) -> &[usize] {
        &self.ascending
    }

    /// The score that a column counts.
    pub(super) fn score(&self, column: usize) -> f64 {
        self.values.met[column]
    }

    /// The counts of each task by column.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &[u16; VALUES]> {
        self.counts.iter()
    }
}

/// Values and their columns, by a hash that keeps them apart.
struct Values {
    met: Vec<f64>,
    factor: u64,
    slots: [Slot; SLOTS],
}

#[derive(Clone, Copy)]
struct Slot {
    value: f64,
    column: usize,
}

/// Equal to no value.
const EMPTY: Slot = Slot { value: f64::NAN, column: 0 };

impl Default for Values {
    fn default() -> Self {
        Self { met: Vec::new(), factor: 1, slots: [EMPTY; SLOTS] }
    }
}

impl Values {
    /// The column of a score; none for one that is not finite or is one value too many.
    #[inline]
    fn column(&mut self, score: f64) -> Option<usize> {
        let slot = self.slots[slot(score, self.factor)];
        if slot.value == score { Some(slot.column) } else { self.learn(score) }
    }

    #[cold]
    fn learn(&mut self, score: f64) -> Option<usize> {
        if self.met.len() == VALUES || !score.is_finite() {
            return None;
        }
        // Adding 0.0 turns -0.0 into 0.0.
        self.met.push(score + 0.0);
        for odd in (1..2 * TRIES).step_by(2) {
            let factor = odd.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut slots = [EMPTY; SLOTS];
            let apart = self.met.iter().enumerate().all(|(column, &value)| {
                let slot = &mut slots[slot(value, factor)];
                let free = slot.value.is_nan();
                *slot = Slot { value, column };
                free
            });
            if apart {
                (self.factor, self.slots) = (factor, slots);
                return Some(self.met.len() - 1);
            }
        }
        None
    }
}

#[inline]
fn slot(score: f64, factor: u64) -> usize {
    ((score + 0.0).to_bits().wrapping_mul(factor) >> 56) as usize % SLOTS
}
