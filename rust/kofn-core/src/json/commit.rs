//! The end of a record: what its fields say together, and its row in the batch.

use super::fault::{Checked, Fault, shown};
use super::hints;
use super::native::{Record, Recorder};
use super::verification::length;
use crate::batch::{NO_COUNT, NO_INDEX, Origin, Status};
use crate::names::{Dictionary, IdKind};

impl Recorder {
    /// Settle the record begun last and append it; after a fault it must be abandoned. `text` is the whole record.
    pub fn finish(&mut self, text: &str, origin: Origin, hash: u64, dictionary: &mut Dictionary) -> Checked<Record> {
        if let Some(header) = self.rollout.header.take() {
            if self.rollout.kind.is_some() {
                return Err(Fault::new("a header and a rollout stand in one record; write them as two").under("run"));
            }
            self.abandon();
            return Ok(Record::Header(header));
        }
        let Some(kind) = self.rollout.kind else {
            let hint = hints::task(text).filter(|_| self.hints);
            let hint = hint.map_or_else(String::new, |key| format!("; is it what \"{key}\" holds?"));
            return Err(
                Fault::new(format!("is missing: each rollout needs the id of its task{hint}")).under(&self.paths.task)
            );
        };
        self.settle_top(dictionary)?;
        self.refuse_namesakes(dictionary)?;
        let verified = self.batch.verifications.name.len() > self.verified();
        let status = match self.rollout.status {
            _ if self.rollout.error && self.error_means_errored => Status::Errored,
            Some(status) => status,
            None if self.rollout.error && !verified => Status::Errored,
            None => Status::Succeeded,
        };
        if self.hints
            && !verified
            && status == Status::Succeeded
            && let Some(key) = hints::outcome(text)
        {
            return Err(Fault::new(format!(
                "the rollout records no outcome, but has a key \"{key}\"; if that is one, write it as \"passed\", \"score\", \"verdict\" or \"checks\", else put it under \"meta\""
            ))
            .under(&key));
        }
        let tokens = self.tokens()?;
        let verifications = length(self.batch.verifications.name.len())?;
        let tags = length(self.batch.tags.name.len())?;
        let task = self.intern_task(kind, origin, dictionary)?;

        self.batch.task.push(task);
        self.batch.index.push(self.rollout.index.unwrap_or(NO_INDEX));
        self.batch.status.push(status);
        self.batch.origin.push(origin);
        self.batch.verifications.offsets.push(verifications);
        if self.needs.tags {
            self.batch.tags.offsets.push(tags);
        }
        if self.needs.durations {
            let skewed = self.rollout.duration.is_some_and(|seconds| seconds < 0.0);
            self.skewed += u64::from(skewed);
            self.batch.duration.push(self.rollout.duration.filter(|_| !skewed).unwrap_or(f64::NAN));
        }
        if self.needs.tokens {
            self.batch.tokens.push(tokens);
        }
        if self.needs.tools {
            self.batch.tool_calls.push(self.rollout.tool_calls.unwrap_or(NO_COUNT));
            self.batch.tool_errors.push(self.rollout.tool_errors.unwrap_or(NO_COUNT));
        }
        if self.needs.hashes {
            self.batch.hash.push(hash);
        }
        if let Some((low, high)) = self.rollout.scores {
            let [lowest, highest] = self.extremes.get_or_insert([(low, origin), (high, origin)]);
            if low < lowest.0 {
                *lowest = (low, origin);
            }
            if high > highest.0 {
                *highest = (high, origin);
            }
        }
        Ok(Record::Rollout)
    }

    /// The verification that top-level fields form (spec 7.3).
    fn settle_top(&mut self, dictionary: &mut Dictionary) -> Checked<()> {
        let Some(field) = self.top.recorded() else { return Ok(()) };
        if self.batch.verifications.name.len() > self.verified() {
            return Err(
                Fault::new("stands at the top level beside verifications; move it into one of them").under(field)
            );
        }
        let name = dictionary.texts.intern(&self.verifier);
        self.top.push(name, &mut self.batch, self.keep_ungradable)
    }

    /// Refuse two verifications of one name (spec 3.9).
    fn refuse_namesakes(&self, dictionary: &Dictionary) -> Checked<()> {
        let names = self.batch.verifications.name.get(self.verified()..).unwrap_or_default();
        if names.len() < 2 {
            return Ok(());
        }
        let pair = if names.len() <= 16 {
            (1..names.len())
                .find_map(|later| Some((names[..later].iter().position(|name| *name == names[later])?, later)))
        } else {
            let mut order: Vec<(u32, usize)> = names.iter().copied().zip(0..).collect();
            order.sort_unstable();
            order
                .windows(2)
                .filter(|pair| pair[0].0 == pair[1].0)
                .map(|pair| (pair[0].1, pair[1].1))
                .min_by_key(|p| p.1)
        };
        match pair {
            None => Ok(()),
            Some((first, second)) => Err(Fault::new(format!(
                "verifications {first} and {second} (counted from 0) are both named \"{}\"; give each its own name",
                shown(dictionary.texts.get(names[first]), 60)
            ))
            .under("name")
            .element(second)
            .under("verifiers")),
        }
    }

    /// Input + output tokens (spec 6.7), or `NO_COUNT`.
    fn tokens(&mut self) -> Checked<i64> {
        let overflow = || Fault::new("the sum of tokens overflows");
        let input = match (self.rollout.input, self.rollout.cached) {
            (Some(input), Some(cached)) => Some(input.checked_add(cached).ok_or_else(overflow)?),
            (input, _) => input,
        };
        match (input, self.rollout.output, self.rollout.total) {
            (Some(input), Some(output), total) => {
                let sum = input.checked_add(output).ok_or_else(overflow)?;
                match total {
                    Some(total) if total != sum => Err(Fault::new(format!(
                        "{total} contradicts the {input} input and {output} output tokens recorded beside it, which make {sum}"
                    ))
                    .under(&self.paths.total)),
                    _ => Ok(sum),
                }
            }
            (_, _, Some(total)) => Ok(total),
            (None, None, None) => Ok(NO_COUNT),
            _ => {
                self.halves += 1;
                Ok(NO_COUNT)
            }
        }
    }

    fn intern_task(&mut self, kind: IdKind, origin: Origin, dictionary: &mut Dictionary) -> Checked<u32> {
        if let Some((text, last, task)) = &self.last
            && (self.same_task || (*last == kind && *text == self.task))
        {
            return Ok(*task);
        }
        let known = dictionary.tasks.names.len();
        let task = dictionary.tasks.intern(&self.task, kind).map_err(|why| Fault::new(why).under(&self.paths.task))?;
        // Places are kept for all tasks or for none: a dictionary shared with a table has none.
        if dictionary.tasks.names.len() > known && dictionary.tasks.first.len() == known {
            dictionary.tasks.first.push((origin.source, origin.line));
        }
        let (text, last, id) = self.last.get_or_insert((String::new(), kind, task));
        text.clone_from(&self.task);
        (*last, *id) = (kind, task);
        Ok(task)
    }
}
