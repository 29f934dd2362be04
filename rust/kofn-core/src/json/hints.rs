//! Keys of other tools that look like what the native form calls otherwise.

use super::cursor::{Cursor, Kind};
use super::fault::shown;

const TASKS: [&str; 12] = [
    "task_id",
    "task_name",
    "instance_id",
    "example_id",
    "problem_id",
    "question_id",
    "sample_id",
    "doc_id",
    "uid",
    "id",
    "name",
    "problem",
];
const OUTCOMES: [&str; 24] = [
    "success",
    "succeeded",
    "successful",
    "is_success",
    "correct",
    "is_correct",
    "resolved",
    "is_resolved",
    "solved",
    "is_solved",
    "result",
    "results",
    "outcome",
    "pass",
    "is_passed",
    "acc",
    "accuracy",
    "grade",
    "scores",
    "rewards",
    "reward_info",
    "verifier_result",
    "correctness",
    "task_id",
];

/// A key of the record that looks like a task's id.
pub(crate) fn task(record: &str) -> Option<String> {
    find(record, &TASKS)
}

/// A key of the record that looks like an outcome and holds something.
pub(crate) fn outcome(record: &str) -> Option<String> {
    find(record, &OUTCOMES)
}

/// The first of `words` that is a key of the record with a value other than null.
fn find(record: &str, words: &[&str]) -> Option<String> {
    let mut keys = Vec::new();
    let mut cursor = Cursor::new(record);
    // The record was read before, so nothing here fails; if it did, there would be no hint.
    if cursor.open_object().ok()? {
        loop {
            let key = cursor.key().ok()?;
            if cursor.kind().ok()? != Kind::Null {
                keys.push(key.raw);
            }
            cursor.skip().ok()?;
            if !cursor.another_member().ok()? {
                break;
            }
        }
    }
    words.iter().find(|word| keys.contains(word)).map(|word| shown(word, 40))
}
