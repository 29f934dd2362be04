//! Headers: what a run declares about itself (spec 7.2).

use super::cursor::{Cursor, Kind, Text};
use super::fault::{Checked, Fault};
use super::number::Scalar;
use super::scalars::id;
use crate::header::{Header, Requested};
use crate::names::{Dictionary, IdKind};
use crate::plan::MAX_COUNT;

/// Decode the object that `run` holds. Ids that are integers make the run's ids integers.
pub(crate) fn header(cursor: &mut Cursor<'_>, dictionary: &mut Dictionary) -> Checked<Header> {
    let mut header = Header::default();
    members(cursor, |cursor, key, kind| {
        match key {
            "id" => header.id = Some(text(cursor, kind)?),
            "requested_rollouts" => header.requested = Some(requested(cursor, kind)?),
            "tasks" => header.tasks = Some(tasks(cursor, kind, dictionary)?),
            "score_range" => header.score_range = Some(range(cursor, kind)?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(header)
}

/// Walk over an object whose keys are all decoded; nulls are absent, copies refused.
fn members<'a>(
    cursor: &mut Cursor<'a>,
    mut member: impl FnMut(&mut Cursor<'a>, &str, Kind) -> Checked<()>,
) -> Checked<()> {
    let mut seen = hashbrown::HashSet::with_hasher(foldhash::fast::FixedState::default());
    if !cursor.open_object()? {
        return Ok(());
    }
    loop {
        let key: Text<'a> = cursor.key()?;
        let name = key.decode(&mut String::new())?.to_owned();
        let kind = cursor.kind()?;
        let read = match kind {
            Kind::Null => cursor.null(),
            _ => member(cursor, &name, kind),
        };
        read.map_err(|fault| fault.under(&name))?;
        if !seen.insert(name.clone()) {
            return Err(Fault::new("the key stands twice in its object").under(&name));
        }
        if !cursor.another_member()? {
            return Ok(());
        }
    }
}

fn text(cursor: &mut Cursor<'_>, kind: Kind) -> Checked<String> {
    if kind != Kind::Text {
        return Err(Fault::new(format!("must be text, this is {}", kind.noun())));
    }
    Ok(cursor.string()?.decode(&mut String::new())?.to_owned())
}

/// A count of at least 1.
fn count(cursor: &mut Cursor<'_>, kind: Kind) -> Checked<u64> {
    if kind == Kind::Number {
        let number = cursor.number()?;
        match number.raw.parse::<u64>() {
            Ok(0) => return Err(Fault::new("0 rollouts requested; at least 1 is needed for anything to be reported")),
            Ok(n) if number.integer && n <= MAX_COUNT => return Ok(n),
            _ => return Err(Scalar::Number(number).not("a whole number of rollouts from 1 to 2^53")),
        }
    }
    Err(Fault::new(format!("must be a whole number from 1, this is {}", kind.noun())))
}

fn requested(cursor: &mut Cursor<'_>, kind: Kind) -> Checked<Requested> {
    if kind != Kind::Object {
        return count(cursor, kind).map(Requested::Each);
    }
    let mut list = Vec::new();
    members(cursor, |cursor, task, kind| {
        if task.is_empty() {
            return Err(Fault::new("a task's id is empty"));
        }
        list.push((task.to_owned(), count(cursor, kind)?));
        Ok(())
    })?;
    Ok(Requested::PerTask(list))
}

fn elements<'a>(
    cursor: &mut Cursor<'a>,
    kind: Kind,
    mut element: impl FnMut(&mut Cursor<'a>, Kind) -> Checked<()>,
) -> Checked<()> {
    if kind != Kind::Array {
        return Err(Fault::new(format!("must be an array, this is {}", kind.noun())));
    }
    if !cursor.open_array()? {
        return Ok(());
    }
    let mut position = 0;
    loop {
        let kind = cursor.kind()?;
        element(cursor, kind).map_err(|fault| fault.element(position))?;
        if !cursor.another_element()? {
            return Ok(());
        }
        position += 1;
    }
}

fn tasks(cursor: &mut Cursor<'_>, kind: Kind, dictionary: &mut Dictionary) -> Checked<Vec<String>> {
    let mut list: Vec<String> = Vec::new();
    let mut seen = hashbrown::HashSet::with_hasher(foldhash::fast::FixedState::default());
    elements(cursor, kind, |cursor, kind| {
        if !matches!(kind, Kind::Text | Kind::Number | Kind::Bool) {
            return Err(Fault::new(format!("{} is not a task's id: that is text or an integer", kind.noun())));
        }
        let scalar = Scalar::read(cursor, kind)?;
        let mut scratch = String::new();
        let (kind, text) = id(&scalar, &mut scratch)?;
        match dictionary.tasks.kind.replace(kind) {
            Some(known) if known != kind => {
                dictionary.tasks.kind = Some(known);
                return Err(Fault::new(mixed(kind, known)));
            }
            _ => {}
        }
        if !seen.insert(text.to_owned()) {
            return Err(Fault::new(format!("{} is declared twice", scalar.shown())));
        }
        list.push(text.to_owned());
        Ok(())
    })?;
    Ok(list)
}

fn mixed(kind: IdKind, known: IdKind) -> String {
    format!("this id is {}, others of the run are {}: a run uses one of the two", kind.noun(), known.noun())
}

fn range(cursor: &mut Cursor<'_>, kind: Kind) -> Checked<(f64, f64)> {
    let mut ends = Vec::new();
    elements(cursor, kind, |cursor, kind| {
        if kind != Kind::Number {
            return Err(Fault::new(format!("must be a number, this is {}", kind.noun())));
        }
        let number = cursor.number()?;
        ends.push(number.finite()?.ok_or_else(|| Scalar::Number(number).not("a finite number"))?);
        Ok(())
    })?;
    match ends[..] {
        [low, high] if low <= high => Ok((low, high)),
        _ => Err(Fault::new("must be two numbers [lowest, highest]")),
    }
}
