//! One source, several machines: runs a kernel compiled for what this processor offers.
//!
//! A wheel must run on every x86-64 processor, so the compiler may use nothing newer than SSE2. A [`Kernel`] is
//! compiled once more for each [`Level`] and the best that the processor has is chosen when it runs. No level may
//! change a result: kernels use operations that are correctly rounded everywhere, and the compiler fuses none.
//!
//! `KOFN_ARCH=baseline` (or `v3`) in the environment keeps to that level: for tests, and to tell a fault of a
//! processor's extension from one of ours.

pub mod block;
pub mod stream;

use std::sync::OnceLock;

/// What code may assume of the processor, lowest first: the levels of the x86-64 psABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What the target promises.
    Baseline,
    /// AVX2, BMI and FMA.
    V3,
    /// AVX-512 F, BW, CD, DQ and VL.
    V4,
}

/// Work that is worth compiling for each level. `run` must be `#[inline(always)]`, and so must what it calls in its
/// loops: only code inlined into a level's function is compiled for that level.
pub trait Kernel {
    /// What the work gives.
    type Output;
    /// Do the work.
    fn run(self) -> Self::Output;
}

/// Run a kernel at the best level there is.
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    run_at(level(), kernel)
}

/// The level in use: found out once.
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let most = match std::env::var("KOFN_ARCH").as_deref() {
            Ok("baseline") => Level::Baseline,
            Ok("v3") => Level::V3,
            _ => Level::V4,
        };
        best().min(most)
    })
}

/// The best level of this processor.
#[cfg(target_arch = "x86_64")]
#[must_use]
pub fn best() -> Level {
    macro_rules! has {
        ($($feature:tt),*) => { true $(&& std::is_x86_feature_detected!($feature))* };
    }
    let v3 = has!("avx2", "bmi1", "bmi2", "fma", "lzcnt", "movbe", "popcnt");
    let v4 = has!("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl");
    match (v3, v4) {
        (true, true) => Level::V4,
        (true, false) => Level::V3,
        _ => Level::Baseline,
    }
}

/// The best level of this processor.
#[cfg(not(target_arch = "x86_64"))]
#[must_use]
pub fn best() -> Level {
    Level::Baseline
}

/// Run a kernel at a level, or at the best there is if that is lower.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a function compiled for a level is called where that level was found")]
pub fn run_at<K: Kernel>(level: Level, kernel: K) -> K::Output {
    #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt")]
    fn v3<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt")]
    fn v4<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }
    match level.min(best()) {
        Level::Baseline => kernel.run(),
        // SAFETY: `best` found the features that the function is compiled for.
        Level::V3 => unsafe { v3(kernel) },
        // SAFETY: likewise.
        Level::V4 => unsafe { v4(kernel) },
    }
}

/// Run a kernel at a level, or at the best there is if that is lower.
#[cfg(not(target_arch = "x86_64"))]
pub fn run_at<K: Kernel>(_level: Level, kernel: K) -> K::Output {
    kernel.run()
}

/// Have a value brought into the caches while other work goes on.
#[inline]
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a hint to the processor takes an address")]
pub fn prefetch<T>(value: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction exists on every x86-64 processor, and neither reads nor faults as far as a program can tell.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
}

/// Have a value brought into the caches while other work goes on.
#[inline]
#[cfg(not(target_arch = "x86_64"))]
pub fn prefetch<T>(_value: &T) {}

/// Room that is about to be filled, in large pages where the system has them: the first touch of a page costs more than
/// most of what is done with it, and a scatter over many small ones waits for the tables that say where they are.
#[must_use]
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a hint to the system takes an address")]
pub fn large_pages<T>(mut room: Vec<T>) -> Vec<T> {
    use std::ffi::{c_int, c_void};
    unsafe extern "C" {
        fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int;
    }
    const HUGE: c_int = 14;
    /// Addresses must be those of pages; no system has larger ones by default.
    const PAGE: usize = 1 << 16;
    /// Less than this holds no large page for sure.
    const LEAST: usize = 1 << 22;
    let (start, len) = (room.as_mut_ptr().cast::<u8>(), room.capacity() * size_of::<T>());
    if len >= LEAST {
        let skipped = start.align_offset(PAGE);
        // SAFETY: the range lies within one allocation that the vector owns; the advice changes neither what it holds
        // nor what may be done with it, and failing at it changes nothing.
        unsafe { madvise(start.add(skipped).cast(), len - skipped, HUGE) };
    }
    room
}

/// Room that is about to be filled; this system decides by itself what pages it is made of.
#[must_use]
#[cfg(not(target_os = "linux"))]
pub fn large_pages<T>(room: Vec<T>) -> Vec<T> {
    room
}

/// Words as the quarters that they are made of, lowest first. Shifts and casts say the same, and may become one store, or
/// a shuffle for each vector.
#[inline(always)]
#[must_use]
#[cfg(target_endian = "little")]
#[expect(unsafe_code, reason = "numbers of one size are read as others")]
pub fn quarters(words: [u64; 32]) -> [i16; 128] {
    // SAFETY: both are 256 bytes, any of which are numbers.
    unsafe { std::mem::transmute(words) }
}

/// Words as the quarters that they are made of, lowest first.
#[must_use]
#[cfg(target_endian = "big")]
#[expect(clippy::cast_possible_truncation, reason = "quarters are meant")]
pub fn quarters(words: [u64; 32]) -> [i16; 128] {
    std::array::from_fn(|i| (words[i / 4] >> (i % 4 * 16)) as i16)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [f64]);

    impl Kernel for Sum<'_> {
        type Output = f64;
        #[inline(always)]
        fn run(self) -> f64 {
            self.0.iter().fold(0.0, |sum, x| sum + x * 0.1)
        }
    }

    #[test]
    fn large_pages_hold_what_any_others_do() {
        for len in [0, 1, 1 << 20, 1_300_001] {
            let mut room = large_pages(vec![0u64; len]);
            room.iter_mut().zip(0..).for_each(|(value, i)| *value += i);
            room.extend([7; 3]);
            assert!(room.iter().take(len).zip(0..).all(|(value, i)| *value == i) && room[len..] == [7; 3]);
            assert!(large_pages(Vec::<u8>::with_capacity(8 * len)).is_empty());
        }
    }

    #[test]
    fn quarters_come_lowest_first() {
        let found = quarters(std::array::from_fn(|i| 0x8003_0002_0001_0000 + i as u64));
        assert_eq!(found[..5], [0, 1, 2, i16::MIN + 3, 1]);
        assert_eq!(found[124..], [31, 1, 2, i16::MIN + 3]);
    }

    #[test]
    fn levels_agree_to_the_bit() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i).sqrt()).collect();
        let results = [Level::Baseline, Level::V3, Level::V4].map(|level| run_at(level, Sum(&values)).to_bits());
        assert_eq!(results, [run(Sum(&values)).to_bits(); 3]);
    }
}
