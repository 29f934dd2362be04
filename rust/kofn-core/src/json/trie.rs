//! A mapping compiled for one plan: a trie of keys that the walk over a record follows.

use super::mapping::{Field, Mapping, Target};
use crate::error::{Error, Result};
use crate::plan::Needs;

/// Keys of one object that a mapping may name: one bit each says which were seen.
const MAX_KEYS: usize = 64;

/// A place in a record.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// What a scalar here means, by its number in `Trie::targets`.
    pub leaf: Option<usize>,
    /// What opens here: a verification, check or reading.
    pub scope: Option<usize>,
    /// A list of checks: that it stands here counts.
    pub checks: bool,
    /// Nothing below is needed: only syntax is checked.
    pub skip: bool,
    /// Reached by `*`: its key names what opens here.
    pub captured: bool,
    /// Keys of an object.
    pub edges: Vec<Edge>,
    /// Any other key.
    pub wildcard: Option<usize>,
    /// Elements of an array.
    pub element: Option<usize>,
}

impl Node {
    /// Whether an object may stand here.
    pub fn is_object(&self) -> bool {
        !self.edges.is_empty() || self.wildcard.is_some()
    }
}

/// A key and where it leads.
#[derive(Debug)]
pub(crate) struct Edge {
    pub key: Box<str>,
    pub node: usize,
}

/// The compiled mapping; node 0 is the record itself.
#[derive(Debug)]
pub(crate) struct Trie {
    pub nodes: Vec<Node>,
    pub targets: Vec<Target>,
}

/// What is open around a node.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Record,
    Verification,
    Check,
    Reading,
}

impl Trie {
    pub fn compile(mapping: &Mapping, needs: Needs) -> Result<Self> {
        let mut trie = Self { nodes: vec![Node::default()], targets: Vec::new() };
        for field in &mapping.fields {
            trie.add(field)?;
        }
        if !mapping.fields.iter().any(|field| field.target == Target::Task) {
            return Err(bad(mapping, "no field is the task"));
        }
        trie.prune(0, needs);
        trie.check(mapping, 0, Scope::Record)?;
        Ok(trie)
    }

    fn add(&mut self, field: &Field) -> Result<()> {
        let wrong = |why: &str| Error::argument("mapping", format!("path {:?}: {why}", field.path));
        let mut at = 0;
        for segment in field.path.split('.') {
            let key = segment.trim_end_matches("[]");
            if key.is_empty() || key.contains(['[', ']', '"', '\\']) {
                return Err(wrong("a key is missing, or holds a bracket, quote or backslash"));
            }
            at = if key == "*" { self.wildcard(at) } else { self.edge(at, key) };
            for _ in 0..(segment.len() - key.len()) / 2 {
                at = self.element(at);
            }
        }
        let number = self.targets.len();
        self.targets.push(field.target.clone());
        let Some(node) = self.nodes.get_mut(at) else { return Err(wrong("leads nowhere")) };
        let place = match field.target {
            Target::Verification { .. } | Target::Check { .. } | Target::Reading => &mut node.scope,
            Target::Checks => {
                node.checks = true;
                return Ok(());
            }
            _ => &mut node.leaf,
        };
        if place.replace(number).is_some() {
            return Err(wrong("two fields want the same value"));
        }
        Ok(())
    }

    fn fresh(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    fn edge(&mut self, at: usize, key: &str) -> usize {
        if let Some(edge) = self.nodes[at].edges.iter().find(|edge| &*edge.key == key) {
            return edge.node;
        }
        let node = self.fresh();
        self.nodes[at].edges.push(Edge { key: key.into(), node });
        node
    }

    fn wildcard(&mut self, at: usize) -> usize {
        if let Some(node) = self.nodes[at].wildcard {
            return node;
        }
        let node = self.fresh();
        self.nodes[node].captured = true;
        self.nodes[at].wildcard = Some(node);
        node
    }

    fn element(&mut self, at: usize) -> usize {
        if let Some(node) = self.nodes[at].element {
            return node;
        }
        let node = self.fresh();
        self.nodes[at].element = Some(node);
        node
    }

    fn children(&self, at: usize) -> Vec<usize> {
        let node = &self.nodes[at];
        node.edges.iter().map(|edge| edge.node).chain(node.wildcard).chain(node.element).collect()
    }

    /// Mark what no one needs; returns whether anything at or below the node is needed.
    fn prune(&mut self, at: usize, needs: Needs) -> bool {
        let mut needed = self.nodes[at].checks;
        for child in self.children(at) {
            needed |= self.prune(child, needs);
        }
        let node = &self.nodes[at];
        for target in node.leaf.into_iter().chain(node.scope).map(|number| &self.targets[number]) {
            needed |= match target {
                Target::Ignored => false,
                Target::Duration { .. } => needs.durations,
                Target::InputTokens | Target::CachedTokens | Target::OutputTokens | Target::TotalTokens => needs.tokens,
                Target::ToolCalls | Target::ToolErrors => needs.tools,
                Target::Tag => needs.tags,
                Target::Reading | Target::Subject | Target::Metric | Target::Value => needs.readings,
                _ => true,
            };
        }
        self.nodes[at].skip = !needed;
        needed
    }

    /// That every target stands in the scope it belongs to.
    fn check(&self, mapping: &Mapping, at: usize, outer: Scope) -> Result<()> {
        let node = &self.nodes[at];
        if node.edges.len() > MAX_KEYS {
            return Err(bad(mapping, "an object has more than 64 named keys"));
        }
        let scope = match (node.scope.map(|number| &self.targets[number]), outer) {
            (None, _) => outer,
            (Some(Target::Verification { .. }), Scope::Record) => Scope::Verification,
            (Some(Target::Check { .. }), Scope::Record | Scope::Verification) => Scope::Check,
            (Some(Target::Reading), Scope::Record | Scope::Verification) => Scope::Reading,
            (Some(target), _) => return Err(bad(mapping, &format!("{target:?} cannot open there"))),
        };
        if let Some(target) = node.leaf.map(|number| &self.targets[number]) {
            let fits = match target {
                Target::Ignored => true,
                Target::Name | Target::Projection | Target::Decision | Target::VerifierError => {
                    scope == Scope::Verification
                }
                Target::Score { .. } | Target::Verdict { .. } | Target::Passed | Target::RequiredKind => {
                    matches!(scope, Scope::Record | Scope::Verification)
                }
                Target::Label | Target::Required | Target::CheckPassed { .. } => scope == Scope::Check,
                Target::Subject | Target::Metric | Target::Value => scope == Scope::Reading,
                _ => scope == Scope::Record,
            };
            if !fits {
                return Err(bad(mapping, &format!("{target:?} does not stand where it belongs")));
            }
        }
        self.children(at).into_iter().try_for_each(|child| self.check(mapping, child, scope))
    }
}

fn bad(mapping: &Mapping, why: &str) -> Error {
    Error::argument("mapping", format!("format {:?}: {why}", mapping.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(fields: &[(&str, Target)]) -> Mapping {
        let fields = fields.iter().map(|(path, target)| Field { path: (*path).to_owned(), target: target.clone() });
        Mapping { fields: fields.collect(), ..Mapping::native() }
    }

    #[test]
    fn the_native_form_compiles_for_every_plan() {
        for needs in [Needs::default(), Needs::ALL] {
            let trie = Trie::compile(&Mapping::native(), needs).expect("native");
            let usage = trie.nodes[0].edges.iter().find(|edge| &*edge.key == "usage").expect("usage").node;
            assert_eq!(trie.nodes[usage].skip, !needs.tokens);
        }
    }

    #[test]
    fn misplaced_targets_are_refused() {
        let verification = Target::Verification { name: None, score_stands: false, verdict_stands: false };
        for fields in [
            vec![("score", Target::Passed)],
            vec![("task", Target::Task), ("label", Target::Label)],
            vec![("task", Target::Task), ("a", Target::Task), ("a", Target::Error)],
            vec![("task", Target::Task), ("a[]", verification.clone()), ("a[].b[]", verification.clone())],
            vec![("task", Target::Task), ("a[]", verification), ("a[].task", Target::Task)],
            vec![("task", Target::Task), ("a..b", Target::Error)],
            vec![("task", Target::Task), ("a[0]", Target::Error)],
        ] {
            let error = Trie::compile(&mapping(&fields), Needs::ALL).expect_err("refused");
            assert!(matches!(error, Error::Argument { .. }), "{error}");
        }
    }
}
