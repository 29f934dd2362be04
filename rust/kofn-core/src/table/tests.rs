use super::*;
use proptest::prelude::*;

/// Keeps numbers with a hash that is as poor as asked for: of so many bits, in either half.
#[derive(Default)]
struct Poor {
    kept: Vec<u64>,
    bits: u32,
    upper: bool,
}

impl Keeper for Poor {
    type Key<'a> = u64;
    type Refusal = u64;

    fn hash(&self, key: &u64) -> u64 {
        let hash = key % (1 << self.bits);
        if self.upper { hash << 32 } else { hash }
    }

    fn hash_of(&self, code: u32) -> u64 {
        self.hash(&self.kept[code as usize])
    }

    fn is(&self, code: u32, key: &u64) -> bool {
        self.kept.get(code as usize) == Some(key)
    }

    fn prefetch(&self, _code: u32) {}

    fn keep(&mut self, key: &u64, _hash: u64) -> Result<u32, u64> {
        if *key == u64::MAX {
            return Err(*key);
        }
        self.kept.push(*key);
        Ok(u32::try_from(self.kept.len()).expect("few") - 1)
    }
}

proptest! {
    #[test]
    fn codes_are_those_of_first_appearance_however_hashes_collide(
        keys in prop::collection::vec((0u64..300, 1usize..4), 0..400),
        bits in 0u32..10,
        upper: bool,
    ) {
        let keys: Vec<u64> = keys.iter().flat_map(|&(key, times)| std::iter::repeat_n(key, times)).collect();
        let (mut table, mut keeper) = (Table::default(), Poor { bits, upper, ..Poor::default() });
        let mut codes = Vec::new();
        for keys in keys.chunks(BATCH) {
            let mut some = [NONE; BATCH];
            prop_assert!(resolve(&mut table, &mut keeper, keys, &mut some).is_ok());
            codes.extend_from_slice(&some[..keys.len()]);
        }
        let mut met: Vec<u64> = Vec::new();
        for (key, code) in keys.iter().zip(codes) {
            if !met.contains(key) {
                met.push(*key);
            }
            prop_assert_eq!(met[code as usize], *key);
        }
        prop_assert_eq!(&keeper.kept, &met);
        for (code, key) in (0u32..).zip(&met) {
            prop_assert_eq!(table.find(keeper.hash(key), |code| keeper.is(code, key)), Some(code));
        }
        prop_assert_eq!(table.find(0, |_| false), None);
    }
}

#[test]
fn a_refusal_says_where() {
    let (mut table, mut keeper) = (Table::default(), Poor { bits: 3, ..Poor::default() });
    let mut codes = [NONE; BATCH];
    let refused = resolve(&mut table, &mut keeper, &[1, 1, 9, u64::MAX, 2], &mut codes);
    assert_eq!(refused, Err((3, u64::MAX)));
    assert_eq!(keeper.kept, [1, 9]);
    assert_eq!(resolve(&mut table, &mut keeper, &[], &mut codes), Ok(()));
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
