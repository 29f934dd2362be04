//! The estimators of counts over many tasks at once: checked in one pass, then a row of values a task.
//!
//! Values are those of the single functions to the last bit. What differs is how often they are computed: once a
//! distinct (n, c) where those repeat, and from shared tables of binomials where they do not.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::binomials::Binomials;
use super::domain::check;
use super::hypergeometric::Kind;
use crate::error::{Error, Result};
use crate::plan::MAX_COUNT;

/// n and c of each task; a slice of length 1 stands for every task.
#[derive(Clone, Copy, Debug)]
pub struct Counts<'a> {
    /// Rollouts.
    pub n: &'a [i64],
    /// Successes.
    pub c: &'a [i64],
}

/// The smallest and largest n.
#[derive(Clone, Copy)]
struct Span {
    least: usize,
    most: usize,
}

impl Counts<'_> {
    /// How many tasks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        if self.n.len() == 1 { self.c.len() } else { self.n.len() }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn at(&self, i: usize) -> (i64, i64) {
        let pick = |values: &[i64]| if let [only] = values { *only } else { values[i] };
        (pick(self.n), pick(self.c))
    }

    /// (n, c) of task i once all were checked.
    fn cell(&self, i: usize) -> (u64, u64) {
        let (n, c) = self.at(i);
        (n.cast_unsigned(), c.cast_unsigned())
    }

    /// Check every task for every k (none for estimators without k).
    fn checked(&self, ks: Option<&[u64]>) -> Result<Span> {
        if !(self.n.len() == self.c.len() || self.n.len() == 1 || self.c.len() == 1) {
            return Err(Error::argument("c", format!("{} counts beside {} of n", self.c.len(), self.n.len())));
        }
        let most_k = ks.map(|ks| ks.iter().copied().max().unwrap_or(1));
        let (mut least, mut most) = (u64::MAX, 0);
        let mut right = true;
        for i in 0..self.len() {
            let (n, c) = self.cell(i);
            // A negative count is far above 2^53 as an unsigned one.
            right &= c <= n && n <= MAX_COUNT && n >= most_k.unwrap_or(1);
            least = least.min(n);
            most = most.max(n);
        }
        // Only a wrong count is worth the way that tells which.
        for i in (0..self.len()).filter(|_| !right) {
            let at = (self.len() > 1).then_some(i);
            let (n, c) = self.at(i);
            let (n, c) = (count("n", n, at)?, count("c", c, at)?);
            check(n, c, most_k, at)?;
        }
        if ks.is_some_and(|ks| ks.contains(&0)) {
            check(1, 0, Some(0), None)?;
        }
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        Ok(Span { least: size(least), most: size(most) })
    }

    /// pass@k or pass^k of every task for every k: `out[i * ks.len() + j]` for task i and `ks[j]`.
    pub fn pass(&self, kind: Kind, ks: &[u64], out: &mut [f64]) -> Result<()> {
        let span = self.checked(Some(ks))?;
        if Memo::is_dense(span, self.len()) {
            return self.rows(span, ks.len(), out, |n, c, row| {
                kind.curve(n, c, ks, row);
                Ok(())
            });
        }
        let Some(binomials) = Binomials::new(span.most, ks, self.len()) else {
            return self.rows(span, ks.len(), out, |n, c, row| {
                kind.curve(n, c, ks, row);
                Ok(())
            });
        };
        for (i, row) in out.chunks_exact_mut(ks.len().max(1)).enumerate() {
            let (n, c) = self.cell(i);
            binomials.row(kind, n, c, row);
        }
        Ok(())
    }

    /// Any other estimator of (n, c, k), in the same layout. `value` may refuse what only it knows to be wrong.
    pub fn each(&self, ks: &[u64], out: &mut [f64], value: impl Fn(u64, u64, u64) -> Result<f64>) -> Result<()> {
        let span = self.checked(Some(ks))?;
        self.rows(span, ks.len(), out, |n, c, row| {
            for (out, &k) in row.iter_mut().zip(ks) {
                *out = value(n, c, k)?;
            }
            Ok(())
        })
    }

    /// An estimator of (n, c) alone, cheap enough to be computed for every task.
    pub fn without_k(&self, out: &mut [f64], value: impl Fn(u64, u64) -> Result<f64>) -> Result<()> {
        self.checked(None)?;
        for (i, out) in out.iter_mut().enumerate() {
            let (n, c) = self.cell(i);
            *out = value(n, c)?;
        }
        Ok(())
    }

    /// A row for every task, computed once a distinct (n, c).
    fn rows(
        &self,
        span: Span,
        width: usize,
        out: &mut [f64],
        row: impl Fn(u64, u64, &mut [f64]) -> Result<()>,
    ) -> Result<()> {
        let mut memo = Memo::new(span, self.len());
        for i in 0..self.len() {
            let (n, c) = self.cell(i);
            match memo.first(n, c, i) {
                Some(first) => out.copy_within(first * width..(first + 1) * width, i * width),
                None => row(n, c, &mut out[i * width..(i + 1) * width])?,
            }
        }
        Ok(())
    }
}

fn count(name: &str, value: i64, at: Option<usize>) -> Result<u64> {
    u64::try_from(value).map_err(|_| {
        let position = at.map_or_else(String::new, |at| format!(" at position {at}"));
        Error::argument(name, format!("{name} = {value}{position} is negative"))
    })
}

/// Where each (n, c) was met first.
enum Memo {
    /// By (n - least) (most + 1) + c, as position + 1.
    Dense {
        least: u64,
        stride: u64,
        first: Vec<u32>,
    },
    Sparse(HashMap<(u64, u64), usize, FixedState>),
}

impl Memo {
    /// How many cells there can be, if that is not absurd.
    fn cells(span: Span) -> Option<usize> {
        span.most.checked_sub(span.least)?.checked_add(1)?.checked_mul(span.most.checked_add(1)?)
    }

    /// Whether the possible cells are so few that most tasks repeat one.
    fn is_dense(span: Span, tasks: usize) -> bool {
        Self::cells(span).is_some_and(|cells| cells <= tasks / 2 + 64) && u32::try_from(tasks).is_ok()
    }

    fn new(span: Span, tasks: usize) -> Self {
        match Self::cells(span) {
            Some(cells) if Self::is_dense(span, tasks) => {
                Self::Dense { least: span.least as u64, stride: span.most as u64 + 1, first: vec![0; cells] }
            }
            _ => Self::Sparse(HashMap::default()),
        }
    }

    /// The earlier task with these counts; notes task `i` if there is none.
    fn first(&mut self, n: u64, c: u64, i: usize) -> Option<usize> {
        match self {
            Self::Dense { least, stride, first } => {
                let slot = &mut first[usize::try_from((n - *least) * *stride + c).ok()?];
                if *slot == 0 {
                    *slot = u32::try_from(i + 1).ok()?;
                    return None;
                }
                Some(*slot as usize - 1)
            }
            Self::Sparse(first) => {
                let mut known = true;
                let at = *first.entry((n, c)).or_insert_with(|| {
                    known = false;
                    i
                });
                known.then_some(at)
            }
        }
    }
}
