//! Scores by task: a counting sort.

use std::ops::AddAssign;

use crate::arch;

/// Bytes of a large page, on whose bounds the scores stand.
const PAGE: usize = 1 << 21;

/// Scores that stand together by task, in the order in which they came.
pub(super) struct Arranged {
    room: Vec<f64>,
    /// Where the first task starts.
    start: usize,
    /// Where each task ends, from there on.
    ends: Ends,
}

/// Positions, as narrow as they can be: those of many tasks fit a cache then.
enum Ends {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// A position among scores.
trait Position: Copy + Default + AddAssign + From<u8> + TryInto<usize> {
    #[inline]
    fn get(self) -> usize {
        self.try_into().unwrap_or(usize::MAX)
    }
}
impl Position for u32 {}
impl Position for u64 {}

impl Arranged {
    /// Arrange scores by the codes of their tasks, all below `tasks`.
    pub(super) fn new(scores: &[f64], codes: &[u32], tasks: usize) -> Self {
        // Scores of each task are written to a place of its own: small pages would have each write wait for the
        // tables that say where its page is.
        let page = PAGE / size_of::<f64>();
        let spare = if scores.len() > 2 * page { page } else { 0 };
        let mut room = arch::large_pages(vec![0.0; scores.len() + spare]);
        let start = room.as_ptr().align_offset(PAGE).min(spare);
        let out = &mut room[start..][..scores.len()];
        let ends = if u32::try_from(scores.len()).is_ok() {
            Ends::Narrow(scatter(scores, codes, tasks, out))
        } else {
            Ends::Wide(scatter(scores, codes, tasks, out))
        };
        Self { room, start, ends }
    }

    /// The scores of each task.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &[f64]> {
        let tasks = match &self.ends {
            Ends::Narrow(ends) => ends.len(),
            Ends::Wide(ends) => ends.len(),
        };
        let mut rest = &self.room[self.start..];
        let mut start = 0;
        (0..tasks).map(move |task| {
            let end = match &self.ends {
                Ends::Narrow(ends) => ends[task].get(),
                Ends::Wide(ends) => ends[task].get(),
            };
            let (scores, others) = rest.split_at(end - start);
            (rest, start) = (others, end);
            scores
        })
    }
}

/// Where each task ends in `out`, which is filled.
fn scatter<P: Position>(scores: &[f64], codes: &[u32], tasks: usize, out: &mut [f64]) -> Vec<P> {
    let mut places = vec![P::default(); tasks];
    for &code in codes {
        if let Some(count) = places.get_mut(code as usize) {
            *count += P::from(1);
        }
    }
    let mut start = P::default();
    for place in &mut places {
        let count = std::mem::replace(place, start);
        start += count;
    }
    for (&code, &score) in codes.iter().zip(scores) {
        let Some(place) = places.get_mut(code as usize) else { continue };
        if let Some(out) = out.get_mut(place.get()) {
            *out = score;
        }
        *place += P::from(1);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scores_stand_by_task_as_they_came(codes in prop::collection::vec(0u32..7, 0..60)) {
            let scores: Vec<f64> = (0..60u8).map(f64::from).take(codes.len()).collect();
            let arranged = Arranged::new(&scores, &codes, 7);
            let found: Vec<&[f64]> = arranged.tasks().collect();
            prop_assert_eq!(found.len(), 7);
            let mut out = vec![0.0; scores.len()];
            let wide = scatter::<u64>(&scores, &codes, 7, &mut out);
            prop_assert_eq!(&out, &found.concat());
            for (task, found) in (0..).zip(found) {
                let mine = || codes.iter().zip(&scores).filter(|(code, _)| **code <= task);
                prop_assert_eq!(usize::try_from(wide[task as usize]), Ok(mine().count()));
                let mine: Vec<f64> = mine().filter(|(code, _)| **code == task).map(|(_, score)| *score).collect();
                prop_assert_eq!(found, mine);
            }
        }
    }
}
