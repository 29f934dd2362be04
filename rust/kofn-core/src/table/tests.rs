use super::*;
use proptest::prelude::*;

/// A number with a hash that is as poor as asked for: of so many bits, in either half.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Poor {
    number: u64,
    hash: u64,
}

impl Poor {
    fn new(number: u64, bits: u32, upper: bool) -> Self {
        let hash = number % (1 << bits);
        Self { number, hash: if upper { hash << 32 } else { hash } }
    }
}

impl Key for Poor {
    fn hash(&self) -> u64 {
        self.hash
    }
}

#[derive(Default)]
struct Kept(Vec<Poor>);

impl Keeper for Kept {
    type Key<'a> = Poor;
    type Refusal = u64;

    fn hash_of(&self, code: u32) -> u64 {
        self.0[code as usize].hash
    }

    fn is(&self, code: u32, key: &Poor) -> bool {
        self.0.get(code as usize) == Some(key)
    }

    fn prefetch(&self, _code: u32) {}

    fn keep(&mut self, key: &Poor, _hash: u64) -> Result<u32, u64> {
        if key.number == u64::MAX {
            return Err(key.number);
        }
        self.0.push(*key);
        Ok(u32::try_from(self.0.len()).expect("few") - 1)
    }
}

proptest! {
    #[test]
    fn codes_are_those_of_first_appearance_however_hashes_collide(
        keys in prop::collection::vec((0u64..300, 1usize..4), 0..400),
        bits in 0u32..10,
        upper: bool,
    ) {
        let keys = keys.iter().flat_map(|&(key, times)| std::iter::repeat_n(Poor::new(key, bits, upper), times));
        let keys: Vec<Poor> = keys.collect();
        let (mut table, mut keeper) = (Table::default(), Kept::default());
        let mut codes = Vec::new();
        let mut batch = Batch::new(Poor::new(0, 0, false));
        for keys in keys.chunks(BATCH) {
            batch.fill(keys.iter().copied());
            prop_assert_eq!(batch.resolve(&mut table, &mut keeper), Ok(()));
            prop_assert_eq!(batch.len(), keys.len());
            codes.extend(batch.runs().flat_map(|(_, code, len)| std::iter::repeat_n(code, len)));
        }
        prop_assert_eq!(codes.len(), keys.len());
        let mut met: Vec<Poor> = Vec::new();
        for (key, code) in keys.iter().zip(codes) {
            if !met.contains(key) {
                met.push(*key);
            }
            prop_assert_eq!(met[code as usize], *key);
        }
        prop_assert_eq!(&keeper.0, &met);
        for (code, key) in (0u32..).zip(&met) {
            prop_assert_eq!(table.find(key.hash, |code| keeper.is(code, key)), Some(code));
        }
        prop_assert_eq!(table.find(0, |_| false), None);
    }
}

#[test]
fn a_refusal_says_where() {
    let (mut table, mut keeper) = (Table::default(), Kept::default());
    let key = |number| Poor::new(number, 3, false);
    let mut batch = Batch::new(key(0));
    batch.fill([1, 1, 9, u64::MAX, 2].map(key).into_iter());
    assert_eq!(batch.resolve(&mut table, &mut keeper), Err((3, u64::MAX)));
    assert_eq!(keeper.0, [1, 9].map(key));
    batch.fill(std::iter::empty());
    assert_eq!(batch.resolve(&mut table, &mut keeper), Ok(()));
    assert_eq!(batch.runs().count(), 0);
}

#[test]
fn halves_of_a_hash_of_likely_keys_are_spread() {
    // Neighbouring numbers are what ids mostly are: neither half may fall on few values.
    let hashes: Vec<u64> = (0..4096u64).map(|id| fold(id ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93)).collect();
    for shift in [0, 32] {
        let mut slots: Vec<u64> = hashes.iter().map(|hash| hash >> shift & 0x1fff).collect();
        slots.sort_unstable();
        slots.dedup();
        assert!(slots.len() > 3000, "{}", slots.len());
    }
}
