//! Runs one kernel on fixed input, once: what `tools/instructions.py` counts the instructions of.
//!
//! Only `measured` is counted, so that making the input costs nothing. Without an argument it lists the kernels.

use std::hint::black_box;

use kofn_core::checks::{Columns, OnUngradable, grade_csr};
use kofn_core::error::Unit;
use kofn_core::estimators::batch::Counts;
use kofn_core::estimators::hypergeometric::Kind;
use kofn_core::estimators::rows::Order;
use kofn_core::inference::bootstrap::{self, Ends};
use kofn_core::json::{Mapping, Options, Source};
use kofn_core::names::{IdKind, Names};
use kofn_core::plan::{Needs, Plan};
use kofn_core::policies::Policy;
use kofn_core::run::{Group, OnDuplicate};
use kofn_core::{Result, estimates};

use kofn_core::table::BATCH;
use kofn_core::tally::{Arrays, Floats, Owners, Setup, Tally};
use kofn_core::tasks::{self, Coder, Counting};

type Kernel = (&'static str, fn() -> Result<()>);

const KERNELS: [Kernel; 16] = [
    ("pass_at_k: 10,000 tasks, n to 1,000, 8 ks", pass_many),
    ("pass_at_k: 100,000 tasks, n = 16, 5 ks", pass_repeated),
    ("best_of_k: 10,000 tasks of 16 scores, 16 ks", best_of_16),
    ("best_of_k: 100 tasks of 1,000 scores, 5 ks", best_of_1000),
    ("best_of_k: 100,000 scores in 1,000 groups, 2 ks", best_of_groups),
    ("best_of_k: 100,000 scores of 11 values in 1,000 groups, 2 ks", best_of_repeats),
    ("metrics: best and worst of k, 10,000 tasks of 16", metrics_of_scores),
    ("metrics: pass@k of 100,000 rollouts", metrics_of_verdicts),
    ("metrics: pass@k of 100,000 rows of 16", metrics_of_rows),
    ("tasks: 1,000,000 integers", integers),
    ("tasks: 1,000,000 texts", texts),
    ("tasks: 1,000,000 texts, grouped", texts_grouped),
    ("checks: 100,000 rollouts of about 5", checks),
    ("native file to report: 10,000 records", native),
    ("bootstrap: 1,000 tasks, each its own value", bootstrap_of_scores),
    ("bootstrap: 10,000 tasks of 17 values", bootstrap_of_shares),
];

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    let chosen: Vec<_> = KERNELS.iter().filter(|(kernel, _)| *kernel == name).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = KERNELS.iter().map(|(name, _)| *name).collect();
        std::io::Write::write_all(&mut std::io::stdout(), names.join("\n").as_bytes()).ok();
    }
    for (name, run) in chosen {
        assert!(run().is_ok(), "{name} failed");
    }
}

/// What is counted. It keeps a frame of its own, by whose name the counting starts and stops.
#[inline(never)]
fn measured<R>(work: impl FnOnce() -> R) -> R {
    black_box(work())
}

/// A fixed sequence of numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) ^ (self.0 >> 40)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((self.next() & 0xffff_ffff) * bound) >> 32
    }

    fn unit(&mut self) -> f64 {
        self.below(1 << 31) as f64 / (1u64 << 31) as f64
    }
}

fn counts(tasks: usize, n: impl Fn(&mut Random) -> u64) -> (Vec<i64>, Vec<i64>) {
    let mut random = Random(7);
    let pairs = (0..tasks).map(|_| {
        let n = n(&mut random);
        (n.cast_signed(), random.below(n + 1).cast_signed())
    });
    pairs.unzip()
}

fn pass(n: &[i64], c: &[i64], ks: &[u64]) -> Result<()> {
    let mut out = vec![0.0; n.len() * ks.len()];
    measured(|| Counts { n, c }.pass(Kind::AtLeastOne, ks, &mut out))
}

fn pass_many() -> Result<()> {
    let (n, c) = counts(10_000, |random| 128 + random.below(873));
    pass(&n, &c, &[1, 2, 4, 8, 16, 32, 64, 128])
}

fn pass_repeated() -> Result<()> {
    let (n, c) = counts(100_000, |_| 16);
    pass(&n, &c, &[1, 2, 4, 8, 16])
}

fn scores(count: usize) -> Vec<f64> {
    let mut random = Random(7);
    (0..count).map(|_| random.unit()).collect()
}

fn best(tasks: usize, width: usize, ks: &[u64]) -> Result<()> {
    let scores = scores(tasks * width);
    let mut out = vec![0.0; tasks * ks.len()];
    measured(|| Order::Best.of_rows(&scores, width, ks, &mut out))
}

fn best_of_16() -> Result<()> {
    best(10_000, 16, &(1..=16).collect::<Vec<_>>())
}

fn best_of_1000() -> Result<()> {
    best(100, 1000, &[1, 4, 16, 64, 256])
}

fn best_of_groups() -> Result<()> {
    grouped(&scores(100_000))
}

fn best_of_repeats() -> Result<()> {
    grouped(&scores(100_000).iter().map(|score| (score * 11.0).floor() / 10.0).collect::<Vec<_>>())
}

fn grouped(scores: &[f64]) -> Result<()> {
    let mut random = Random(9);
    // Every task is met.
    let mut code = |i: u32| if i < 1000 { i } else { random.below(1000).try_into().unwrap_or(0) };
    let codes: Vec<u32> = (0..100_000).map(&mut code).collect();
    let mut out = vec![0.0; 2000];
    measured(|| Order::Best.of_groups(scores, &codes, &[1, 4], &mut out))
}

fn metrics(labels: &[&str], ks: &[u64], arrays: &Arrays<'_>, tasks: usize) -> Result<()> {
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    let mut setup = Setup::new(Plan::new(Some(&labels), ks, None)?);
    setup.policy = Policy::ScoreThreshold(0.5);
    setup.chosen = true;
    let names = || (std::sync::Arc::new(Names::default()), IdKind::Integer);
    measured(|| estimates::figures(setup, arrays, tasks, names)).map(drop)
}

fn metrics_of_scores() -> Result<()> {
    let (scores, task) = (scores(160_000), (0..160_000).map(|i| i / 16).collect::<Vec<u32>>());
    let arrays = Arrays { task: Owners::Each(&task), scores: Floats::F64(&scores), ..Arrays::default() };
    metrics(&["best_of_k", "worst_of_k"], &(1..=16).collect::<Vec<_>>(), &arrays, 10_000)
}

fn metrics_of_verdicts() -> Result<()> {
    let (scores, task) = (scores(100_000), (0..100_000).map(|i| i / 8).collect::<Vec<u32>>());
    let arrays = Arrays { task: Owners::Each(&task), scores: Floats::F64(&scores), ..Arrays::default() };
    metrics(&["pass@k", "pass^k"], &[1, 2, 4, 8], &arrays, 12_500)
}

fn metrics_of_rows() -> Result<()> {
    let passed: Vec<i8> = scores(1_600_000).iter().map(|score| i8::from(*score < 0.5)).collect();
    let arrays = Arrays { task: Owners::Rows { tasks: 100_000, size: 16 }, passed: &passed, ..Arrays::default() };
    metrics(&["pass@k", "pass^k"], &[1, 2, 4, 8, 16], &arrays, 100_000)
}

fn integers() -> Result<()> {
    let mut random = Random(7);
    let ids: Vec<i64> = (0..1_000_000).map(|_| random.below(10_000).cast_signed()).collect();
    let passed: Vec<i8> = (0..1_000_000).map(|_| i8::from(random.below(2) > 0)).collect();
    measured(|| {
        let (distinct, codes) = tasks::index(&ids);
        tasks::count(&codes, &passed, distinct.len())
    })
    .map(drop)
}

fn count_texts(mut ids: Vec<u64>, sort: bool) -> Result<()> {
    if sort {
        ids.sort_unstable();
    }
    let texts: Vec<String> = ids.iter().map(|id| format!("task-{id}")).collect();
    let passed = vec![1; texts.len()];
    measured(|| {
        let mut coder = Coder::new("groups", Counting::new(&passed));
        for texts in texts.chunks(BATCH) {
            coder.take(texts.iter().map(String::as_bytes))?;
        }
        let (names, counting) = coder.finish();
        counting.finish(names.len())
    })
    .map(drop)
}

fn texts() -> Result<()> {
    let mut random = Random(7);
    count_texts((0..1_000_000).map(|_| random.below(10_000)).collect(), false)
}

fn texts_grouped() -> Result<()> {
    let mut random = Random(7);
    count_texts((0..1_000_000).map(|_| random.below(10_000)).collect(), true)
}

fn checks() -> Result<()> {
    let (mut random, rows) = (Random(7), 100_000);
    let mut offsets = vec![0u64];
    for _ in 0..rows {
        offsets.push(offsets[offsets.len() - 1] + 1 + random.below(9));
    }
    let checks = *offsets.last().unwrap_or(&0);
    let passed: Vec<u8> = (0..checks).map(|_| u8::from(random.below(5) > 0)).collect();
    let mut required: Vec<u8> = (0..checks).map(|_| u8::from(random.below(2) > 0)).collect();
    for first in offsets[..rows].iter().filter_map(|&first| usize::try_from(first).ok()) {
        required[first] = 1;
    }
    let (mut verdict, mut reward, mut failed, mut none) =
        (vec![0; rows], vec![0.0; rows], vec![0; rows], vec![0; rows]);
    let mut out =
        Columns { passed: &mut verdict, reward: &mut reward, failed_required: &mut failed, indeterminate: &mut none };
    measured(|| grade_csr(&passed, &required, &offsets, OnUngradable::Raise, &mut out))
}

fn native() -> Result<()> {
    let mut random = Random(7);
    let mut text = String::from("{\"run\": {\"requested_rollouts\": 8}}\n");
    for i in 0..10_000 {
        let (a, b, x) = (random.below(2) > 0, random.below(2) > 0, random.unit());
        text += &format!(
            "{{\"task\": \"repository-{:06}\", \"rollout\": {}, \"status\": \"succeeded\", \"verifiers\": [{{\"name\": \
             \"tests\", \"checks\": [{{\"label\": \"total is right\", \"required\": true, \"passed\": {a}, \"detail\": \
             \"found {x}\"}}, {{\"label\": \"no other file changed\", \"required\": false, \"passed\": {b}}}], \
             \"readings\": [{{\"metric\": \"latency_s\", \"value\": {x}}}]}}], \"duration_s\": {}, \"usage\": \
             {{\"input_tokens\": {}, \"output_tokens\": 77}}, \"tags\": {{\"suite\": \"s{}\"}}}}\n",
            i / 8,
            i % 8,
            100.0 * x,
            random.below(10_000),
            i % 5,
        );
    }
    let mapping = Mapping::native();
    let options = Options {
        mapping: &mapping,
        needs: Needs::default(),
        skip_errors: false,
        keep_ungradable: false,
        unit: Unit::Line,
    };
    let mut tally = Tally::new(Setup::new(Plan::new(None, &[], None)?), None);
    let group = Group { unit: Unit::Line, sources: vec![Source::memory("run.jsonl", text.into_bytes())] };
    measured(|| {
        tally.read(vec![group], &options, OnDuplicate::Raise, &mut || Ok(()))?;
        tally.estimate()
    })
    .map(drop)
}

fn bootstrap_of(values: &[f64]) -> Result<()> {
    measured(|| bootstrap::means(values, 1, None, 0.95, Ends::Bca, 7)).map(drop)
}

fn bootstrap_of_scores() -> Result<()> {
    bootstrap_of(&scores(1000))
}

fn bootstrap_of_shares() -> Result<()> {
    let mut random = Random(7);
    bootstrap_of(&(0..10_000).map(|_| random.below(17) as f64 / 16.0).collect::<Vec<_>>())
}
