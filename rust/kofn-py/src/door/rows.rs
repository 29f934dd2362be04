//! Rows of a table as lines of the native form, so that one reader judges rollouts whatever they came in.
//!
//! Only what the native form knows is written out; an unknown column leaves its name and a placeholder, so that a
//! table without any outcome gets the same hint as a file, and transcripts cost nothing.

use std::fmt::Write;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, FieldRef};
use kofn_core::json::value::{self, Value};

/// The key of the schema's metadata that holds the header (spec 7.5).
pub const HEADER: &str = "kofn";

/// What a column means, by its name and by what it stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A rollout, a verification, a check, a reading, token usage: their columns have roles.
    Record(Level),
    /// A whole number that a float column may hold (a column of integers with gaps is one of floats in pandas).
    Count,
    /// JSON text of a value that no column type holds.
    Json,
    /// Name and text pairs: a map, a list of structs, or a struct.
    Pairs,
    /// Any value, as it is.
    Free,
    /// Nothing the native form knows.
    Unknown,
}

/// Which names are known where.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Rollout,
    Verification,
    Check,
    Reading,
    Usage,
}

/// The key that a column is written under, and its role.
fn meaning(level: Level, name: &str) -> (&str, Role) {
    let role = match (level, name) {
        (Level::Rollout, "verifiers") => Role::Record(Level::Verification),
        (Level::Rollout | Level::Verification, "checks") => Role::Record(Level::Check),
        (Level::Verification, "readings") => Role::Record(Level::Reading),
        (Level::Rollout, "usage") => Role::Record(Level::Usage),
        (Level::Rollout, "rollout" | "tool_calls" | "tool_errors" | "toolCalls" | "toolErrors")
        | (Level::Usage, "input_tokens" | "output_tokens" | "total_tokens") => Role::Count,
        (Level::Rollout, "tags") => Role::Pairs,
        (Level::Rollout | Level::Verification, "error_json") => return ("error", Role::Json),
        (Level::Rollout, "meta_json") => return ("meta", Role::Json),
        (Level::Check, "detail_json") => return ("detail", Role::Json),
        (Level::Reading, "value_text" | "value_bool") => return ("value", Role::Free),
        (Level::Rollout | Level::Verification, "score" | "reward" | "verdict" | "passed" | "error")
        | (Level::Rollout, "task" | "status" | "duration_s" | "stop_reason" | "meta")
        | (Level::Verification, "name" | "projection" | "decision")
        | (Level::Check, "label" | "required" | "passed" | "detail")
        | (Level::Reading, "subject" | "metric" | "value") => Role::Free,
        _ => Role::Unknown,
    };
    (name, role)
}

/// A column with its values at hand.
struct Column<'a> {
    nulls: Option<NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    Null,
    Bool(Box<dyn Fn(usize) -> bool + 'a>),
    Signed(Box<dyn Fn(usize) -> i64 + 'a>),
    Unsigned(Box<dyn Fn(usize) -> u64 + 'a>),
    Float(Box<dyn Fn(usize) -> f64 + 'a>, bool),
    Text(Box<dyn Fn(usize) -> &'a str + 'a>),
    Json(Box<dyn Fn(usize) -> &'a str + 'a>),
    Coded(Box<dyn Fn(usize) -> usize + 'a>, Box<Column<'a>>),
    List(Box<dyn Fn(usize) -> Range<usize> + 'a>, Box<Column<'a>>),
    Pairs(Box<dyn Fn(usize) -> Range<usize> + 'a>, Box<Column<'a>>, Box<Column<'a>>),
    Struct(Vec<(String, Column<'a>)>),
    Placeholder,
}

/// The keys of a header (spec 7.2).
const DECLARED: [&str; 4] = ["id", "requested_rollouts", "tasks", "score_range"];

/// A header as a line of the native form: the whole, or what stands under its `run`, perhaps over several lines.
pub fn header(text: &str) -> Result<String, String> {
    let wrong = |problem: &str| format!("the schema's metadata {HEADER:?} is no header: {problem}");
    let header = value::parse(text).map_err(|problem| wrong(&problem))?;
    let mut line = String::new();
    if matches!(header.get("run"), Some(Value::Object(_))) {
        header.write(&mut line);
    } else if DECLARED.iter().any(|key| header.get(key).is_some()) {
        line.push_str("{\"run\":");
        header.write(&mut line);
        line.push('}');
    } else {
        return Err(wrong("it must be an object with the key \"run\""));
    }
    line.push('\n');
    Ok(line)
}

/// Append one line a row of `batch`; the error names the row, unless it is about a column as a whole.
pub fn write(batch: &RecordBatch, out: &mut String) -> Result<(), (Option<usize>, String)> {
    let schema = batch.schema();
    let columns =
        members(schema.fields(), batch.columns(), Role::Record(Level::Rollout)).map_err(|problem| (None, problem))?;
    for row in 0..batch.num_rows() {
        object(&columns, row, out).map_err(|problem| (Some(row), format!("column {problem}")))?;
        out.push('\n');
    }
    Ok(())
}

fn members<'a>(
    fields: impl IntoIterator<Item = &'a FieldRef>,
    columns: &'a [ArrayRef],
    role: Role,
) -> Result<Vec<(String, Column<'a>)>, String> {
    let mut members = Vec::with_capacity(columns.len());
    for (field, column) in fields.into_iter().zip(columns) {
        let (key, role) = match role {
            Role::Record(level) => meaning(level, field.name()),
            _ => (field.name().as_str(), Role::Free),
        };
        let compiled = compile(column, role).map_err(|problem| format!("column {:?}: {problem}", field.name()))?;
        members.push((key.to_owned(), compiled));
    }
    Ok(members)
}

fn compile(array: &ArrayRef, role: Role) -> Result<Column<'_>, String> {
    macro_rules! numbers {
        ($kind:ident, $arrow:ty, $to:ty) => {{
            let values = array.as_primitive::<$arrow>().values();
            Values::$kind(Box::new(move |i| <$to>::from(values[i])))
        }};
    }
    macro_rules! floats {
        ($arrow:ty) => {{
            let values = array.as_primitive::<$arrow>().values();
            Values::Float(Box::new(move |i| f64::from(values[i])), role == Role::Count)
        }};
    }
    macro_rules! text {
        ($array:expr) => {{
            let texts = $array;
            if role == Role::Json {
                Values::Json(Box::new(move |i| texts.value(i)))
            } else {
                Values::Text(Box::new(move |i| texts.value(i)))
            }
        }};
    }
    macro_rules! list {
        ($list:expr) => {{
            let list = $list;
            let offsets = list.value_offsets();
            nested(Box::new(move |i| bounds(offsets[i])..bounds(offsets[i + 1])), list.values(), role)?
        }};
    }
    if role == Role::Unknown {
        return Ok(Column { nulls: array.logical_nulls(), values: Values::Placeholder });
    }
    let values = match array.data_type() {
        DataType::Null => Values::Null,
        DataType::Boolean => {
            let values = array.as_boolean().values();
            Values::Bool(Box::new(move |i| values.value(i)))
        }
        DataType::Int8 => numbers!(Signed, Int8Type, i64),
        DataType::Int16 => numbers!(Signed, Int16Type, i64),
        DataType::Int32 => numbers!(Signed, Int32Type, i64),
        DataType::Int64 => numbers!(Signed, Int64Type, i64),
        DataType::UInt8 => numbers!(Unsigned, UInt8Type, u64),
        DataType::UInt16 => numbers!(Unsigned, UInt16Type, u64),
        DataType::UInt32 => numbers!(Unsigned, UInt32Type, u64),
        DataType::UInt64 => numbers!(Unsigned, UInt64Type, u64),
        DataType::Float16 => floats!(Float16Type),
        DataType::Float32 => floats!(Float32Type),
        DataType::Float64 => floats!(Float64Type),
        DataType::Utf8 => text!(array.as_string::<i32>()),
        DataType::LargeUtf8 => text!(array.as_string::<i64>()),
        DataType::Utf8View => text!(array.as_string_view()),
        // Without values every key is null; keys cannot be normalized then.
        DataType::Dictionary(_, _) if array.as_any_dictionary().values().is_empty() => Values::Null,
        DataType::Dictionary(_, _) => {
            let coded = array.as_any_dictionary();
            let keys = coded.normalized_keys();
            Values::Coded(Box::new(move |i| keys[i]), Box::new(compile(coded.values(), role)?))
        }
        DataType::List(_) => list!(array.as_list::<i32>()),
        DataType::LargeList(_) => list!(array.as_list::<i64>()),
        DataType::FixedSizeList(_, size) => {
            let size = bounds(*size);
            nested(Box::new(move |i| i * size..(i + 1) * size), array.as_fixed_size_list().values(), role)?
        }
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            let (offsets, sizes) = (list.value_offsets(), list.value_sizes());
            nested(Box::new(move |i| view(offsets[i], sizes[i])), list.values(), role)?
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            let (offsets, sizes) = (list.value_offsets(), list.value_sizes());
            nested(Box::new(move |i| view(offsets[i], sizes[i])), list.values(), role)?
        }
        DataType::Map(_, _) => {
            let map = array.as_map();
            let offsets = map.value_offsets();
            let range = Box::new(move |i| bounds(offsets[i])..bounds(offsets[i + 1]));
            let (keys, values) = (compile(map.keys(), Role::Free)?, compile(map.values(), Role::Free)?);
            Values::Pairs(range, Box::new(keys), Box::new(values))
        }
        DataType::Struct(fields) => Values::Struct(members(fields, array.as_struct().columns(), role)?),
        other => {
            return Err(format!("type {other} has no native form; cast it to numbers, text, bools, lists or structs"));
        }
    };
    if role == Role::Json && !matches!(values, Values::Json(_) | Values::Coded(..) | Values::Null) {
        return Err(format!("JSON text is needed, type {} is none", array.data_type()));
    }
    Ok(Column { nulls: array.logical_nulls(), values })
}

/// Offsets and sizes are not negative in arrays that were checked.
fn bounds(offset: impl TryInto<usize>) -> usize {
    offset.try_into().unwrap_or(0)
}

fn view(offset: impl TryInto<usize>, size: impl TryInto<usize>) -> Range<usize> {
    let start = bounds(offset);
    start..start + bounds(size)
}

/// A list of values, or of name and text pairs.
fn nested<'a>(
    range: Box<dyn Fn(usize) -> Range<usize> + 'a>,
    items: &'a ArrayRef,
    role: Role,
) -> Result<Values<'a>, String> {
    if role != Role::Pairs {
        return Ok(Values::List(range, Box::new(compile(items, role)?)));
    }
    let item = |names: &[&str]| {
        let (fields, columns) = match items.data_type() {
            DataType::Struct(fields) => (fields, items.as_struct().columns()),
            _ => return Err("a list of structs with name and value is needed".to_owned()),
        };
        let found = fields.iter().position(|field| names.contains(&field.name().as_str()));
        let column = found.and_then(|at| columns.get(at)).ok_or_else(|| format!("its structs have no {}", names[0]))?;
        compile(column, Role::Free).map(Box::new)
    };
    Ok(Values::Pairs(range, item(&["name", "key"])?, item(&["value"])?))
}

/// An object of everything that is not null.
fn object(members: &[(String, Column<'_>)], row: usize, out: &mut String) -> Result<(), String> {
    out.push('{');
    let start = out.len();
    for (key, column) in members {
        if column.is_null(row) {
            continue;
        }
        if out.len() > start {
            out.push(',');
        }
        value::write_text(key, out);
        out.push(':');
        column.write(row, out).map_err(|problem| format!("{key}{problem}"))?;
    }
    out.push('}');
    Ok(())
}

impl Column<'_> {
    /// Null and NaN are both "not recorded".
    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
            || match &self.values {
                Values::Null => true,
                Values::Float(value, _) => value(row).is_nan(),
                Values::Coded(key, values) => values.is_null(key(row)),
                _ => false,
            }
    }

    fn write(&self, row: usize, out: &mut String) -> Result<(), String> {
        if self.is_null(row) {
            out.push_str("null");
            return Ok(());
        }
        // Writing to a String cannot fail.
        let _ = match &self.values {
            Values::Null => return Ok(()),
            Values::Bool(value) => write!(out, "{}", value(row)),
            Values::Signed(value) => write!(out, "{}", value(row)),
            Values::Unsigned(value) => write!(out, "{}", value(row)),
            Values::Float(value, count) => {
                let value = value(row);
                if value.is_infinite() {
                    write!(out, "{}Infinity", if value < 0.0 { "-" } else { "" })
                } else if *count && value.fract() == 0.0 {
                    write!(out, "{value}")
                } else {
                    write!(out, "{value:?}")
                }
            }
            Values::Text(text) => {
                value::write_text(text(row), out);
                Ok(())
            }
            Values::Json(text) => {
                // Written anew: text that is more than one value must not become keys of the rollout.
                value::parse(text(row)).map_err(|problem| format!(": {problem}"))?.write(out);
                Ok(())
            }
            Values::Coded(key, values) => return values.write(key(row), out),
            Values::List(range, items) => {
                out.push('[');
                for (position, at) in range(row).enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    items.write(at, out).map_err(|problem| format!("[{position}]{problem}"))?;
                }
                out.push(']');
                Ok(())
            }
            Values::Pairs(range, names, values) => {
                out.push('{');
                let mut first = true;
                for at in range(row).filter(|&at| !values.is_null(at)) {
                    if !std::mem::take(&mut first) {
                        out.push(',');
                    }
                    match names.text(at) {
                        Some(name) => value::write_text(name, out),
                        None => return Err(": a name is null or no text".to_owned()),
                    }
                    out.push(':');
                    values.write(at, out)?;
                }
                out.push('}');
                Ok(())
            }
            Values::Struct(members) => {
                let start = out.len();
                return object(members, row, out).map_err(|problem| {
                    out.truncate(start);
                    format!(".{problem}")
                });
            }
            Values::Placeholder => write!(out, "0"),
        };
        Ok(())
    }

    fn text(&self, row: usize) -> Option<&str> {
        match &self.values {
            _ if self.is_null(row) => None,
            Values::Text(text) => Some(text(row)),
            Values::Coded(key, values) => values.text(key(row)),
            _ => None,
        }
    }
}
