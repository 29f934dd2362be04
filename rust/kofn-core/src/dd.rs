//! Double-double arithmetic: a value as an unevaluated sum of two floats, about 106 bits.
//!
//! Products are split after Dekker rather than fused, so that every target gives the same bits at the same cost,
//! with or without hardware FMA.

/// `high + low` with |low| at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Double {
    /// The value rounded to a float.
    pub high: f64,
    /// What rounding lost.
    pub low: f64,
}

/// a + b exactly, as rounded sum and error (Knuth).
#[inline]
#[must_use]
pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}

/// a + b exactly if |a| >= |b| or a = 0 (Dekker).
#[inline]
#[must_use]
pub fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// a · b exactly, as rounded product and error (Dekker, with Veltkamp's split). The factors stay below 2^996 and the
/// product above 2^-968, or the error is rounded itself.
#[inline]
#[must_use]
pub fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let (a_high, a_low) = split(a);
    let (b_high, b_low) = split(b);
    (product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low))
}

#[inline]
fn split(x: f64) -> (f64, f64) {
    const SPLITTER: f64 = 134_217_729.0; // 2^27 + 1
    let scaled = SPLITTER * x;
    let high = scaled - (scaled - x);
    (high, x - high)
}

impl Double {
    /// 0.
    pub const ZERO: Self = Self { high: 0.0, low: 0.0 };
    /// 1.
    pub const ONE: Self = Self { high: 1.0, low: 0.0 };

    /// Times a / b for integers a and b up to 2^53: relative error below 2^-102 (estimators, 1.2 A).
    #[inline]
    #[must_use]
    pub fn times_ratio(self, a: f64, b: f64) -> Self {
        let (product, error) = two_product(self.high, a);
        let error = error + self.low * a;
        let quotient = product / b;
        let (back, back_error) = two_product(quotient, b);
        let rest = (product - back) - back_error + error;
        let (high, low) = fast_two_sum(quotient, rest / b);
        Self { high, low }
    }

    /// Plus a float.
    #[inline]
    #[must_use]
    pub fn plus(self, x: f64) -> Self {
        let (sum, error) = two_sum(self.high, x);
        let (high, low) = fast_two_sum(sum, error + self.low);
        Self { high, low }
    }

    /// Plus another.
    #[inline]
    #[must_use]
    pub fn plus_double(self, other: Self) -> Self {
        let (high, error) = two_sum(self.high, other.high);
        let (low, low_error) = two_sum(self.low, other.low);
        let (high, error) = fast_two_sum(high, error + low);
        let (high, low) = fast_two_sum(high, error + low_error);
        Self { high, low }
    }

    /// Times another.
    #[inline]
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let (product, error) = two_product(self.high, other.high);
        let (high, low) = fast_two_sum(product, error + (self.high * other.low + self.low * other.high));
        Self { high, low }
    }

    /// 1 / it: relative error below 2^-102.
    #[inline]
    #[must_use]
    pub fn inverse(self) -> Self {
        let first = 1.0 / self.high;
        let (back, error) = two_product(first, self.high);
        let rest = (1.0 - back) - error - first * self.low;
        let (high, low) = fast_two_sum(first, rest / self.high);
        Self { high, low }
    }

    /// 1 minus it.
    #[inline]
    #[must_use]
    pub fn one_minus(self) -> Self {
        Self { high: -self.high, low: -self.low }.plus(1.0)
    }

    /// The float nearest to every value within `error` of this one, if there is only one.
    #[inline]
    #[must_use]
    pub fn rounded(self, error: f64) -> Option<f64> {
        let below = self.high + (self.low - error);
        let above = self.high + (self.low + error);
        (below == above).then_some(below)
    }
}
