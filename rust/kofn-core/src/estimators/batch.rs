//! The estimators of counts over many tasks at once: checked in one pass, then a row of values a task.
//!
//! Values are those of the single functions to the last bit. What differs is how often they are computed: once a
//! distinct (n, c) where those repeat, and from shared tables of binomials where they do not.

use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::binomials::Binomials;
use super::domain::check;
use super::hypergeometric::Kind;
use super::spread::{Numbering, Table};
use crate::arch::{self, Kernel, stream};
use crate::error::{Error, Result};
use crate::plan::MAX_COUNT;
use crate::threads;

/// Tasks that a thread takes at once.
const PART: usize = 1 << 15;

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
        let found = self.each_part(&mut [], 0, |[n, c], _| arch::run(Check { n, c, fewest: most_k.unwrap_or(1) }));
        let right = found.iter().all(|found| found.right);
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
        let least = found.iter().map(|found| found.least).min().unwrap_or(0);
        Ok(Span { least: size(least), most: size(found.iter().map(|found| found.most).max().unwrap_or(0)) })
    }

    /// Do `work` on n and c of fixed parts of the tasks, and on their rows of `width` values in `out`, by all threads.
    fn each_part<R: Send>(
        &self,
        out: &mut [f64],
        width: usize,
        work: impl Fn([&[i64]; 2], &mut [f64]) -> R + Sync,
    ) -> Vec<R> {
        fn pick<'a>(range: &Range<usize>, values: &'a [i64], repeated: &'a [i64]) -> &'a [i64] {
            if repeated.is_empty() { &values[range.clone()] } else { &repeated[..range.len()] }
        }
        let len = self.len();
        let repeated = |values: &[i64]| match values {
            [only] if len > 1 => vec![*only; len.min(PART)],
            _ => Vec::new(),
        };
        let (all_n, all_c) = (repeated(self.n), repeated(self.c));
        let mut rest = out;
        let mut parts = Vec::with_capacity(len.div_ceil(PART));
        for start in (0..len).step_by(PART) {
            let range = start..len.min(start + PART);
            let rows = rest.split_off_mut(..range.len() * width).unwrap_or_default();
            parts.push((range, rows));
        }
        threads::map(parts, |(range, rows)| work([pick(&range, self.n, &all_n), pick(&range, self.c, &all_c)], rows))
    }

    /// The same where rows are all that there is to be had; `work` may write some values beyond the last.
    fn each_rows(&self, out: &mut [f64], width: usize, work: impl Fn([&[i64]; 2], &mut [f64]) + Sync) {
        let past = stream::is_large(size_of_val(out));
        self.each_part(out, width, |counts, out| {
            stream::fill(out, width, past, |rows, out| work(counts.map(|counts| &counts[rows.clone()]), out));
        });
    }

    /// pass@k or pass^k of every task for every k: `out[i * ks.len() + j]` for task i and `ks[j]`.
    pub fn pass(&self, kind: Kind, ks: &[u64], out: &mut [f64]) -> Result<()> {
        let span = self.checked(Some(ks))?;
        if !span.is_dense(self.len())
            && let Some(binomials) = Binomials::new(span.most, ks, self.len())
        {
            self.each_rows(out, ks.len(), |[n, c], out| binomials.rows(kind, n, c, out));
            return Ok(());
        }
        self.rows(span, ks.len(), out, |n, c, row| {
            kind.curve(n, c, ks, row);
            Ok(())
        })
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
        if span.is_dense(self.len()) {
            return self.dense_rows(span, width, out, row);
        }
        let mut first: HashMap<(u64, u64), usize, FixedState> = HashMap::default();
        for i in 0..self.len() {
            let (n, c) = self.cell(i);
            let at = *first.entry((n, c)).or_insert(i);
            if at == i {
                row(n, c, &mut out[i * width..(i + 1) * width])?;
            } else {
                out.copy_within(at * width..(at + 1) * width, i * width);
            }
        }
        Ok(())
    }

    /// The same by a table of all cells that there can be.
    fn dense_rows(
        &self,
        span: Span,
        width: usize,
        out: &mut [f64],
        row: impl Fn(u64, u64, &mut [f64]) -> Result<()>,
    ) -> Result<()> {
        let cells = span.cells().unwrap_or(0);
        let numbering = Numbering { least: span.least as u64, by: span.most as u64 + 1 };
        let number = |i: usize| {
            let (n, c) = self.at(i);
            numbering.of(n, c)
        };
        // Where tasks are many, so are those of each cell: a look at all of them costs more than the cells.
        let every = cells < self.len() / 64;
        let mut met = vec![every; cells];
        if !every {
            (0..self.len()).for_each(|i| met[number(i)] = true);
        }
        let mut table = Table::new(cells, width);
        for cell in (0..cells).filter(|&cell| met[cell]) {
            let (n, c) = (span.least + cell / (span.most + 1), cell % (span.most + 1));
            if c <= n
                && let Err(error) = row(n as u64, c as u64, table.row_mut(cell))
                && (!every || (0..self.len()).any(|i| number(i) == cell))
            {
                return Err(error);
            }
        }
        self.each_rows(out, width, |cells, out| table.spread(cells, numbering, out));
        Ok(())
    }
}

fn count(name: &str, value: i64, at: Option<usize>) -> Result<u64> {
    u64::try_from(value).map_err(|_| {
        let position = at.map_or_else(String::new, |at| format!(" at position {at}"));
        Error::argument(name, format!("{name} = {value}{position} is negative"))
    })
}

impl Span {
    /// How many (n, c) there can be, if that is not absurd.
    fn cells(self) -> Option<usize> {
        self.most.checked_sub(self.least)?.checked_add(1)?.checked_mul(self.most.checked_add(1)?)
    }

    /// Whether the possible cells are so few that most tasks repeat one.
    fn is_dense(self, tasks: usize) -> bool {
        self.cells().is_some_and(|cells| cells <= tasks / 2 + 64)
    }
}

/// Whether every c <= n, and every n from `fewest` to 2^53.
struct Check<'a> {
    n: &'a [i64],
    c: &'a [i64],
    fewest: u64,
}

struct Checked {
    right: bool,
    least: u64,
    most: u64,
}

impl Kernel for Check<'_> {
    type Output = Checked;
    #[inline(always)]
    fn run(self) -> Checked {
        let (mut least, mut most, mut right) = (u64::MAX, 0, true);
        for (n, c) in self.n.iter().zip(self.c) {
            // A negative count is far above 2^53 as an unsigned one.
            let (n, c) = (n.cast_unsigned(), c.cast_unsigned());
            right &= c <= n;
            least = least.min(n);
            most = most.max(n);
        }
        Checked { right: right && least >= self.fewest && most <= MAX_COUNT, least, most }
    }
}
