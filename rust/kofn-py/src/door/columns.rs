//! Rollouts as the columns of a table (spec 7.5): what `rows` reads, written.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, LargeStringBuilder};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, RecordBatchReader, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use kofn_core::batch::{Batch, NO_COUNT, NO_INDEX, PASSED, REQUIRED, Value as Reading, range};
use kofn_core::json::value::{self, Value};
use kofn_core::names::{Dictionary, IdKind};
use kofn_core::run::{Details, Run};

use super::rows::HEADER;

/// Rows of one batch, and the bytes of records after which it ends early.
const ROWS: usize = 4096;
const BYTES: usize = 64 << 20;

/// Columns while they grow.
trait Column: Default {
    /// Their names and arrays, in order.
    fn finish(self) -> Vec<(&'static str, ArrayRef)>;
}

macro_rules! columns {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $builder:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Default)]
        struct $name { $($field: $builder),* }
        impl Column for $name {
            fn finish(self) -> Vec<(&'static str, ArrayRef)> {
                vec![$((stringify!($field).trim_start_matches("r#"), Build::build(self.$field))),*]
            }
        }
    };
}

/// What makes an array.
trait Build {
    fn build(self) -> ArrayRef;
}

macro_rules! build {
    ($($builder:ty),*) => {$(
        impl Build for $builder {
            fn build(mut self) -> ArrayRef { Arc::new(self.finish()) }
        }
    )*};
}
build!(LargeStringBuilder, Int64Builder, Float64Builder, BooleanBuilder);

columns! {
    /// A check.
    Checks {
        label: LargeStringBuilder, required: BooleanBuilder, passed: BooleanBuilder,
        detail: LargeStringBuilder, detail_json: LargeStringBuilder,
    }
}
columns! {
    /// A reading: one of the three values is set.
    Readings {
        subject: LargeStringBuilder, metric: LargeStringBuilder,
        value: Float64Builder, value_text: LargeStringBuilder, value_bool: BooleanBuilder,
    }
}
columns! {
    /// A tag.
    Tags { name: LargeStringBuilder, value: LargeStringBuilder }
}
columns! {
    #[expect(clippy::struct_field_names, reason = "the keys of the native form")]
    /// Token usage.
    Usage { input_tokens: Int64Builder, output_tokens: Int64Builder, total_tokens: Int64Builder }
}
columns! {
    /// Why something broke.
    Broken { r#type: LargeStringBuilder, message: LargeStringBuilder }
}
columns! {
    /// A verification.
    Verifications {
        name: LargeStringBuilder, checks: List<Checks>, score: Float64Builder, verdict: LargeStringBuilder,
        projection: LargeStringBuilder, decision: LargeStringBuilder, readings: List<Readings>,
        error: Optional<Broken>, error_json: LargeStringBuilder,
    }
}
columns! {
    /// A rollout, all but its task.
    Rollouts {
        rollout: Int64Builder, status: LargeStringBuilder, verifiers: List<Verifications>, duration_s: Float64Builder,
        usage: Optional<Usage>, tool_calls: Int64Builder, tool_errors: Int64Builder, error: Optional<Broken>,
        error_json: LargeStringBuilder, stop_reason: LargeStringBuilder, tags: List<Tags>, meta: LargeStringBuilder,
        meta_json: LargeStringBuilder,
    }
}

/// A list of structs a row; a row without any is null.
struct List<C> {
    items: C,
    ends: Vec<i32>,
    count: i32,
    nulls: NullBufferBuilder,
}

impl<C: Default> Default for List<C> {
    fn default() -> Self {
        Self { items: C::default(), ends: vec![0], count: 0, nulls: NullBufferBuilder::new(0) }
    }
}

impl<C> List<C> {
    /// After the items of a row were appended.
    fn close(&mut self, items: usize) {
        // A batch ends long before 2^31 items: each is several bytes of a record.
        self.count += i32::try_from(items).unwrap_or(0);
        self.ends.push(self.count);
        self.nulls.append(items > 0);
    }
}

impl<C: Column> Build for List<C> {
    fn build(mut self) -> ArrayRef {
        let items = structs(self.items.finish(), None);
        let item = Arc::new(Field::new("item", items.data_type().clone(), true));
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        Arc::new(ListArray::new(item, offsets, Arc::new(items), self.nulls.finish()))
    }
}

/// A struct a row, or null.
struct Optional<C> {
    item: C,
    nulls: NullBufferBuilder,
}

impl<C: Default> Default for Optional<C> {
    fn default() -> Self {
        Self { item: C::default(), nulls: NullBufferBuilder::new(0) }
    }
}

impl<C: Column> Build for Optional<C> {
    fn build(mut self) -> ArrayRef {
        Arc::new(structs(self.item.finish(), self.nulls.finish()))
    }
}

fn structs(columns: Vec<(&'static str, ArrayRef)>, nulls: Option<arrow_buffer::NullBuffer>) -> StructArray {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) =
        columns.into_iter().map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array)).unzip();
    StructArray::new(Fields::from(fields), arrays, nulls)
}

/// Text as text, any other value as JSON.
fn either(value: Option<&Value<'_>>, text: &mut LargeStringBuilder, json: &mut LargeStringBuilder) {
    let plain = value.and_then(Value::text);
    if plain.is_some() {
        json.append_null();
    } else {
        json.append_option(value.map(|value| {
            let mut out = String::new();
            value.write(&mut out);
            out
        }));
    }
    text.append_option(plain);
}

/// An error's type and message where it has nothing else, any other as JSON.
fn broken(value: Option<&Value<'_>>, broken: &mut Optional<Broken>, json: &mut LargeStringBuilder) {
    let plain = match value {
        Some(Value::Object(members)) => {
            let kind = value.and_then(|error| error.get("type"));
            let message = value.and_then(|error| error.get("message"));
            let known = usize::from(kind.is_some()) + usize::from(message.is_some());
            let texts = kind.is_none_or(|kind| kind.text().is_some());
            message.and_then(Value::text).filter(|_| known == members.len() && texts).map(|message| (kind, message))
        }
        _ => value.and_then(Value::text).map(|message| (None, message)),
    };
    if plain.is_some() {
        json.append_null();
    } else {
        json.append_option(value.map(|value| {
            let mut out = String::new();
            value.write(&mut out);
            out
        }));
    }
    broken.nulls.append(plain.is_some());
    broken.item.r#type.append_option(plain.as_ref().and_then(|(kind, _)| kind.and_then(Value::text)));
    broken.item.message.append_option(plain.map(|(_, message)| message));
}

fn number(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

impl Rollouts {
    fn append(&mut self, batch: &Batch, i: usize, record: &Value<'_>, dictionary: &Dictionary) {
        let count = |column: &[i64]| column.get(i).copied().filter(|&count| count != NO_COUNT);
        let index = batch.index[i];
        self.rollout.append_option(i64::try_from(index).ok().filter(|_| index != NO_INDEX));
        self.status.append_value(batch.status[i].word());
        let verifications = batch.verifications_of(i);
        self.verifiers.close(verifications.len());
        for v in verifications {
            self.verifiers.items.append(batch, v, record, dictionary);
        }
        // A clock-skewed duration stands in no column, but reading the table must note it again.
        let duration = batch.duration.get(i).copied().and_then(number);
        self.duration_s.append_option(duration.or_else(|| record.get("duration_s")?.number()));
        self.usage(record.get("usage"), count(&batch.tokens));
        self.tool_calls.append_option(count(&batch.tool_calls));
        self.tool_errors.append_option(count(&batch.tool_errors));
        broken(record.get("error"), &mut self.error, &mut self.error_json);
        self.stop_reason.append_option(record.get("stop_reason").map(|reason| {
            reason.text().unwrap_or_else(|| {
                let mut out = String::new();
                reason.write(&mut out);
                out.into()
            })
        }));
        let tags = range(&batch.tags.offsets, i);
        self.tags.close(tags.len());
        for at in tags {
            self.tags.items.name.append_value(dictionary.texts.get(batch.tags.name[at]));
            self.tags.items.value.append_value(dictionary.texts.get(batch.tags.value[at]));
        }
        either(record.get("meta"), &mut self.meta, &mut self.meta_json);
    }

    /// The halves where the record has them, else the total that was read.
    fn usage(&mut self, usage: Option<&Value<'_>>, total: Option<i64>) {
        let part = |name: &str| usage.and_then(|usage| usage.get(name)?.count());
        let (input, output) = (part("input_tokens"), part("output_tokens"));
        let total = if input.is_some() && output.is_some() { part("total_tokens") } else { total };
        self.usage.nulls.append(input.is_some() || output.is_some() || total.is_some());
        self.usage.item.input_tokens.append_option(input);
        self.usage.item.output_tokens.append_option(output);
        self.usage.item.total_tokens.append_option(total);
    }
}

impl Verifications {
    fn append(&mut self, batch: &Batch, v: usize, record: &Value<'_>, dictionary: &Dictionary) {
        let text = |id: u32| dictionary.texts.get(id);
        let name = text(batch.verifications.name[v]);
        // The record's own verification of that name, or the record itself where it is short for one.
        let listed = record.get("verifiers").map(Value::items).unwrap_or_default();
        let own = listed.iter().find(|one| one.get("name").and_then(Value::text).as_deref() == Some(name));
        let recorded = own.or_else(|| listed.is_empty().then_some(record));
        self.name.append_value(name);
        let checks = range(&batch.checks.offsets, v);
        let details = recorded.and_then(|one| one.get("checks")).map(Value::items).unwrap_or_default();
        self.checks.close(checks.len());
        for (position, at) in checks.enumerate() {
            let items = &mut self.checks.items;
            items.label.append_value(text(batch.checks.label[at]));
            items.required.append_value(batch.checks.flags[at] & REQUIRED != 0);
            items.passed.append_value(batch.checks.flags[at] & PASSED != 0);
            let detail = details.get(position).and_then(|check| check.get("detail"));
            either(detail, &mut items.detail, &mut items.detail_json);
        }
        self.score.append_option(number(batch.verifications.score[v]));
        self.verdict.append_option(batch.verifications.verdict[v].word());
        let word = |key: &str| own.and_then(|one| one.get(key)?.text());
        self.projection.append_option(word("projection"));
        self.decision.append_option(word("decision"));
        let readings = range(&batch.readings.offsets, v);
        self.readings.close(readings.len());
        for at in readings {
            let items = &mut self.readings.items;
            items.subject.append_value(text(batch.readings.subject[at]));
            items.metric.append_value(text(batch.readings.metric[at]));
            let value = batch.readings.value[at];
            items.value.append_option(if let Reading::Number(value) = value { Some(value) } else { None });
            items.value_text.append_option(if let Reading::Text(id) = value { Some(text(id)) } else { None });
            items.value_bool.append_option(if let Reading::Bool(value) = value { Some(value) } else { None });
        }
        broken(own.and_then(|one| one.get("error")), &mut self.error, &mut self.error_json);
    }
}

/// Reads a run as batches of a table.
pub struct RunTable {
    run: Arc<Run>,
    details: Details,
    schema: SchemaRef,
    integers: bool,
    /// Position of the next batch, and of the next rollout in it and in the run.
    batch: usize,
    next: usize,
    row: usize,
}

impl RunTable {
    /// Over all rollouts of `run`; `header` is its header as a JSON line.
    pub fn new(run: Arc<Run>, header: Option<String>) -> Self {
        // Integer ids that exceed 64 bits stay text, which holds any.
        let names = &run.dictionary.tasks.names;
        let integers =
            run.dictionary.tasks.kind == Some(IdKind::Integer) && names.iter().all(|name| name.parse::<i64>().is_ok());
        let task = Field::new("task", if integers { DataType::Int64 } else { DataType::LargeUtf8 }, false);
        let rest = structs(Rollouts::default().finish(), None);
        let fields: Vec<_> = std::iter::once(Arc::new(task)).chain(rest.fields().iter().cloned()).collect();
        let metadata: HashMap<_, _> = header.into_iter().map(|header| (HEADER.to_owned(), header)).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Self { run, details: Details::default(), schema, integers, batch: 0, next: 0, row: 0 }
    }

    fn read(&mut self, batch: usize, first: usize) -> Result<RecordBatch, ArrowError> {
        let run = Arc::clone(&self.run);
        let batch = &run.batches[batch];
        let mut rollouts = Rollouts::default();
        let (mut texts, mut numbers) = (LargeStringBuilder::new(), Int64Builder::new());
        let mut bytes = 0;
        let mut i = first;
        while i < batch.len() && i - first < ROWS && bytes < BYTES {
            let external = |problem: String| ArrowError::ExternalError(problem.into());
            let text = self.details.record(&run, self.row).map_err(|error| external(error.to_string()))?;
            let record = value::parse(&text).map_err(external)?;
            let task = run.dictionary.tasks.names.get(batch.task[i]);
            if self.integers {
                numbers.append_option(task.parse::<i64>().ok());
            } else {
                texts.append_value(task);
            }
            rollouts.append(batch, i, &record, &run.dictionary);
            bytes += text.len();
            i += 1;
            self.row += 1;
        }
        self.next = i;
        let task = if self.integers { numbers.build() } else { texts.build() };
        let columns = std::iter::once(task).chain(rollouts.finish().into_iter().map(|(_, array)| array)).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

impl Iterator for RunTable {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.next >= self.run.batches.get(self.batch)?.len() {
            self.batch += 1;
            self.next = 0;
        }
        let read = self.read(self.batch, self.next);
        if read.is_err() {
            // Nothing more can be told once a source has failed.
            self.batch = self.run.batches.len();
        }
        Some(read)
    }
}

impl RecordBatchReader for RunTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
