//! What a value was in the records before: one that never changes is as good as the bytes around it.

/// So often in a row a value is the same before it is expected to be.
const OFTEN: u16 = if cfg!(test) { 3 } else { 32 };
/// A value that changed so often before that is not watched any more.
const CHANGES: u8 = 4;
/// Longer values are not watched.
const LONGEST: usize = 64;

/// The last value, and how often it came in a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Habit {
    last: Box<[u8]>,
    times: u16,
    changes: u8,
}

impl Habit {
    /// Whether it may yet turn out to be always the same.
    #[inline]
    pub const fn is_watched(&self) -> bool {
        self.changes < CHANGES
    }

    /// The value came once more; whether it is expected to come again.
    pub fn note(&mut self, value: &[u8]) -> bool {
        if *self.last == *value {
            self.times = self.times.saturating_add(1);
        } else {
            self.change(value);
        }
        self.times >= OFTEN
    }

    #[cold]
    fn change(&mut self, value: &[u8]) {
        self.changes = if value.len() > LONGEST { CHANGES } else { self.changes + 1 };
        self.times = 0;
        self.last = value.into();
    }

    /// The last value.
    pub fn value(&self) -> &[u8] {
        &self.last
    }

    /// Watch no more.
    pub fn give_up(&mut self) {
        (self.changes, self.times) = (CHANGES, 0);
    }
}
