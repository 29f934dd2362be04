//! Every reference value of intervals and variances that this crate has a function for.

use kofn_core::estimators::order::levels_from;
use kofn_core::inference::counts::{Kind, clopper_pearson, jeffreys, wilson};
use kofn_core::inference::scores::Extremes;
use kofn_core::inference::{Moments, Sample};

#[track_caller]
fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-12 * expected.abs(), "{got:e} instead of {expected:e}");
}

/// n, c, and the ends.
type Ends = (f64, f64, f64, f64);

const WILSON: [Ends; 4] = [
    (10.0, 3.0, 0.107_791_267_406_301_03, 0.603_221_852_538_854_6),
    (10.0, 0.0, 0.0, 0.277_532_799_862_889_2),
    (10.0, 10.0, 0.722_467_200_137_110_7, 1.0),
    (200.0, 3.0, 0.005_114_237_793_258_311, 0.043_165_728_792_690_27),
];
const CLOPPER_PEARSON: [Ends; 4] = [
    (10.0, 3.0, 0.066_739_511_177_734_47, 0.652_452_850_059_997_3),
    (10.0, 0.0, 0.0, 0.308_497_107_818_760_83),
    (10.0, 10.0, 0.691_502_892_181_239_2, 1.0),
    (200.0, 3.0, 0.003_104_107_621_553_509_7, 0.043_208_281_917_712_61),
];
const JEFFREYS: [Ends; 4] = [
    (10.0, 3.0, 0.092_694_593_938_153_16, 0.605_818_318_148_671_3),
    (10.0, 0.0, 0.0, 0.217_196_267_509_210_56),
    (10.0, 10.0, 0.782_803_732_490_789_4, 1.0),
    (200.0, 3.0, 0.004_242_279_146_833_645, 0.039_484_358_645_483_71),
];

#[test]
fn intervals_of_95_percent() {
    let tables =
        [(WILSON, wilson as fn(f64, f64, f64) -> (f64, f64)), (CLOPPER_PEARSON, clopper_pearson), (JEFFREYS, jeffreys)];
    for (table, interval) in tables {
        for (n, c, low, high) in table {
            let got = interval(n, c, 0.95);
            close(got.0, low);
            close(got.1, high);
        }
    }

    let (low, high) = Kind::AtLeastOne(4).interval(10, 3, 0.95);
    close(low, 0.366_326_014_027_204_5);
    close(high, 0.975_214_882_532_012_3);
}

const UNBIASED: [(Kind, u64, u64, Option<f64>); 9] = [
    (Kind::AtLeastOne(2), 10, 3, Some(0.051_111_111_111_111_114)),
    (Kind::AtLeastOne(5), 10, 3, Some(0.006_944_444_444_444_444)),
    (Kind::AtLeastOne(4), 8, 0, Some(0.0)),
    (Kind::AtLeastOne(4), 8, 8, Some(0.0)),
    (Kind::AtLeastOne(100), 200, 3, Some(0.015_157_445_519_052_55)),
    (Kind::AtLeastOne(8), 16, 1, Some(0.25)),
    (Kind::AtLeastOne(5), 8, 3, None),
    (Kind::All(2), 10, 7, Some(0.051_111_111_111_111_114)),
    (Kind::All(4), 8, 5, Some(0.005_102_040_816_326_53)),
];
const SHRUNK: [(u64, u64, u64, f64); 3] =
    [(8, 3, 8, 0.019_073_498_283_104_48), (8, 0, 4, 0.077_324_979_884_885_26), (8, 8, 8, 9.074_442_626_293_254e-11)];
/// Scores, k, whether the estimate is unbiased, and the variance.
const BEST: [(&[f64], u64, bool, f64); 7] = [
    (&[3.0, 1.0, 2.0, 5.0, 4.0], 2, true, 0.533_333_333_333_333_3),
    (&[1.0, 1.0, 0.0, 1.0, 0.5, 0.5], 3, true, 0.000_625),
    (&[-3.0, -1.5, -2.25, -0.125], 2, true, 0.660_156_25),
    (&[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], 3, true, 0.0),
    (&[1_000_000_000.25, 1_000_000_000.5, 1_000_000_000.0, 1_000_000_000.75], 2, true, 0.027_777_777_777_777_776),
    (&[1.0, 1.0, 0.0, 1.0, 0.5, 0.5], 4, false, 0.0),
    (&[3.0, 1.0, 2.0, 5.0, 4.0], 4, false, 0.64),
];

#[test]
fn variances_of_one_task() {
    for (kind, n, c, expected) in UNBIASED {
        match (kind.unbiased_variance(n, c), expected) {
            (Some(got), Some(expected)) => close(got, expected),
            (got, expected) => assert_eq!(got, expected),
        }
    }
    for (n, c, k, expected) in SHRUNK {
        close(Kind::AtLeastOne(k).shrunk_variance(n, c), expected);
    }
    for (scores, k, unbiased, expected) in BEST {
        let spread = Extremes::new(k, false).spread(&levels_from(&mut scores.to_vec())).expect("k < n");
        // The jackknife stands in where 2 k > n.
        assert_eq!(unbiased, spread.unbiased);
        close(spread.variance, expected);
    }
}

const CLUSTERED: [(&[f64], &[u32], f64); 2] = [
    (&[1.0, 0.0, 1.0, 0.5, 0.0, 0.25], &[0, 0, 1, 1, 2, 2], 0.032_986_111_111_111_11),
    (&[1.0, 0.0, 1.0, 0.5, 0.0, 0.25], &[0, 1, 2, 3, 4, 5], 0.035_069_444_444_444_445),
];

#[test]
fn variances_of_a_mean_over_clusters() {
    for (values, clusters, expected) in CLUSTERED {
        let moments = Moments::of(&Sample::of(values).clustered(Some(clusters))).expect("values");
        close(moments.standard_error.powi(2), expected);
    }
}
