//! Any bytes, read as native lines, as an array of another format, and as what an archive may hold: they are read or
//! refused, whatever is decoded, and what is decoded does not change what is counted. What was read often before is read
//! as it was the first time.

#![no_main]

use kofn_core::batch::{Batch, range};
use kofn_core::error::Unit;
use kofn_core::json::{Field, Layout, Mapping, Options, Records, Source, Target, read};
use kofn_core::names::Dictionary;
use kofn_core::plan::Needs;
use libfuzzer_sys::fuzz_target;

/// Inspect's summaries, in an archive or bare.
fn inspect() -> Mapping {
    let field = |path: &str, target| Field { path: path.to_owned(), target };
    Mapping {
        name: "inspect".to_owned(),
        layout: Layout::Array("[]".to_owned()),
        members: vec!["summaries.json".to_owned(), "_journal/summaries/*.json".to_owned()],
        fields: vec![
            field("id", Target::Task),
            field("epoch", Target::Index { base: 1 }),
            field("error", Target::Error),
            field("scores.*", Target::Verification { name: None, score_stands: true, verdict_stands: true }),
            field("scores.*.value", Target::Score { words: vec![("C".to_owned(), 1.0), ("I".to_owned(), 0.0)] }),
            field("scores.*.value.*", Target::Reading),
            field("scores.*.value.*", Target::Value),
            field("model_usage.*.input_tokens", Target::InputTokens),
            field("model_usage.*.input_tokens_cache_read", Target::CachedTokens),
            field("model_usage.*.output_tokens", Target::OutputTokens),
            field("total_time", Target::Duration { seconds: 1.0 }),
        ],
        verifier: "score".to_owned(),
        error_means_errored: true,
        hints: false,
    }
}

/// The verdicts and scores of every rollout: what the counts rest on.
fn outcomes(batches: &[Batch]) -> Vec<(u32, u64, u8, Vec<(u64, u8)>)> {
    let rows = batches.iter().flat_map(|batch| {
        (0..batch.len()).map(|i| {
            let rows = &batch.verifications;
            let settled = range(&rows.offsets, i).map(|v| (rows.score[v].to_bits(), rows.verdict[v] as u8));
            (batch.task[i], batch.index[i], batch.status[i] as u8, settled.collect())
        })
    });
    rows.collect()
}

/// Lines that come again and again: each time they say the same.
fn again_and_again(data: &[u8]) {
    // More often than a value must be the same before it is expected.
    const COPIES: usize = 48;
    // A declared range holds from its line on, and a mark or magic bytes stand once.
    if data.len() > 2048 || !data.starts_with(b"{") || data.windows(3).any(|bytes| bytes == b"run") {
        return;
    }
    let mapping = Mapping::native();
    for needs in [Needs::ALL, Needs::default()] {
        let read = |copies: usize| {
            let options =
                Options { mapping: &mapping, needs, skip_errors: true, keep_ungradable: false, unit: Unit::Line };
            let mut batches = Vec::new();
            let mut take = |batch: Batch, _: &Dictionary| {
                batches.push(batch);
                Ok(())
            };
            let lines = [data, b"\n"].concat().repeat(copies);
            let source = vec![Source::memory("fuzz", lines)];
            let reading = read(source, &options, &mut Dictionary::default(), &mut take, &mut || Ok(()));
            (outcomes(&batches), reading.expect("bad lines are passed over").skipped)
        };
        let (once, skipped) = read(1);
        let (often, skipped_often) = read(COPIES);
        assert_eq!(often.len(), once.len() * COPIES, "what came before changed what is read");
        assert!(often.chunks(once.len().max(1)).all(|copy| copy == once), "what came before changed what is counted");
        assert_eq!(skipped_often, skipped * COPIES as u64);
    }
}

fuzz_target!(|data: &[u8]| {
    again_and_again(data);
    let array = Mapping { layout: Layout::Array("runs[]".to_owned()), ..Mapping::native() };
    for mapping in [Mapping::native(), array, inspect()] {
        for skip_errors in [false, true] {
            let mut seen = Vec::new();
            for needs in [Needs::ALL, Needs::default()] {
                let options =
                    Options { mapping: &mapping, needs, skip_errors, keep_ungradable: skip_errors, unit: Unit::Line };
                let mut batches = Vec::new();
                let mut dictionary = Dictionary::default();
                let mut take = |batch: Batch, _: &Dictionary| {
                    batches.push(batch);
                    Ok(())
                };
                let source = || Source::memory("fuzz", data.to_vec());
                let result = read(vec![source()], &options, &mut dictionary, &mut take, &mut || Ok(()));
                if result.is_ok() && needs == Needs::ALL {
                    let mut records = Records::new(source(), &mapping);
                    for origin in batches.iter().flat_map(|batch| &batch.origin).take(8) {
                        let record = records.get(*origin).expect("what was read is there");
                        assert!(record.starts_with(b"{") && record.ends_with(b"}"), "a record is an object");
                    }
                }
                seen.push((result.is_ok(), outcomes(&batches)));
            }
            // A smaller plan decodes less, so it may accept more; where both accept everything they agree.
            if !skip_errors && seen.iter().all(|(read, _)| *read) {
                assert_eq!(seen[0].1, seen[1].1, "the plan changed what is counted");
            }
        }
    }
});
