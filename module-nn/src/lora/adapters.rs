use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use module_core::module::{Visitor, VisitorMut};
use module_core::{Describe, FieldInfo, IndexMap, Module, Parameter};

use super::config::LoraConfig;
use super::parts::{AdapterDropout, Factor, Magnitude, Merged, SavedCopy};

/// What adapters must know about a layer's computation with its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Adaptable {
    /// `x·Wᵀ`.
    Linear,
    /// `x·W`, with the weight transposed.
    TransposedLinear,
    /// A convolution with this many groups.
    Conv {
        /// The groups.
        groups: usize,
    },
    /// A table of rows.
    Embedding,
    /// The projections of queries, keys and values in one weight.
    InProjection,
    /// One of several weights, as in recurrent layers.
    Weight,
    /// A layer that cannot be adapted; its parameters may be copied for `modules_to_save`.
    Copied,
}

/// The adapters of a layer: no member, no key and no cost while there are none.
///
/// # State dict
///
/// For each adapter, under its name: `lora_A.name.weight` `[r, in_features]` and `lora_B.name.weight` `[out_features, r]`;
/// for a convolution `[r, in_channels, k…]` and `[out_channels, r / groups, 1…]`; for an embedding `lora_embedding_A.name`
/// `[r, num_embeddings]` and `lora_embedding_B.name` `[embedding_dim, r]`. With DoRA also
/// `lora_magnitude_vector.name.weight`; if the layer's own parameters are copied, `modules_to_save.name.weight` and
/// `.bias`; while the adapter is merged, `lora_merged.name.scale` and whatever else is needed to unmerge it.
pub(crate) struct Adapters {
    pub(super) adaptable: Adaptable,
    pub(super) held: Option<Box<Held>>,
}

/// The adapters of a layer that has at least one.
#[derive(Default)]
pub(super) struct Held {
    pub(super) dropout: IndexMap<String, AdapterDropout>,
    pub(super) a: IndexMap<String, Factor>,
    pub(super) b: IndexMap<String, Factor>,
    pub(super) embedding_a: IndexMap<String, Parameter>,
    pub(super) embedding_b: IndexMap<String, Parameter>,
    pub(super) magnitude: IndexMap<String, Magnitude>,
    pub(super) saved: IndexMap<String, SavedCopy>,
    pub(super) merged: IndexMap<String, Merged>,
    pub(super) states: IndexMap<String, AdapterState>,
    /// The number of open scopes in which the layer computes without adapters.
    pub(super) disabled: AtomicUsize,
}

/// How an adapter is currently used.
pub(super) struct AdapterState {
    pub(super) config: Arc<LoraConfig>,
    active: AtomicBool,
    /// The factor of the product, unless it is scaled.
    pub(super) own_scale: f64,
    /// The bits of the current factor.
    scale: AtomicU64,
}

/// The names of the members that adapters add to a layer, in the order in which they are shown.
pub(super) const MEMBERS: [&str; 8] = [
    "lora_dropout",
    "lora_A",
    "lora_B",
    "lora_embedding_A",
    "lora_embedding_B",
    "lora_magnitude_vector",
    "modules_to_save",
    "lora_merged",
];

impl Adapters {
    /// Makes the field without adapters.
    pub(crate) const fn new(adaptable: Adaptable) -> Self {
        let held = None;
        Self { adaptable, held }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_none()
    }
}

impl AdapterState {
    pub(super) fn new(config: Arc<LoraConfig>, own_scale: f64, active: bool) -> Self {
        Self {
            config,
            active: AtomicBool::new(active),
            own_scale,
            scale: AtomicU64::new(own_scale.to_bits()),
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    pub(super) fn set_active(&self, active: bool) {
        self.active.store(active, Ordering::Relaxed);
    }

    pub(super) fn scale(&self) -> f64 {
        f64::from_bits(self.scale.load(Ordering::Relaxed))
    }

    pub(super) fn set_scale(&self, scale: f64) {
        self.scale.store(scale.to_bits(), Ordering::Relaxed);
    }
}

impl Held {
    /// The active adapters, and those that are not merged into the weight.
    pub(super) fn running(&self) -> impl Iterator<Item = (&str, &AdapterState)> {
        let enabled = self.disabled.load(Ordering::Relaxed) == 0;
        let running = move |(name, state): &(&String, &AdapterState)| {
            enabled && state.is_active() && !self.merged.contains_key(*name)
        };
        let running = self.states.iter().filter(running);
        running.map(|(name, state)| (name.as_str(), state))
    }

    /// Removes everything of an adapter.
    pub(super) fn remove(&mut self, name: &str) {
        self.dropout.shift_remove(name);
        self.a.shift_remove(name);
        self.b.shift_remove(name);
        self.embedding_a.shift_remove(name);
        self.embedding_b.shift_remove(name);
        self.magnitude.shift_remove(name);
        self.saved.shift_remove(name);
        self.merged.shift_remove(name);
        self.states.shift_remove(name);
    }

    fn maps(&self) -> [&dyn NamedMembers; 8] {
        [
            &self.dropout,
            &self.a,
            &self.b,
            &self.embedding_a,
            &self.embedding_b,
            &self.magnitude,
            &self.saved,
            &self.merged,
        ]
    }

    fn maps_mut(&mut self) -> [&mut dyn NamedMembers; 8] {
        [
            &mut self.dropout,
            &mut self.a,
            &mut self.b,
            &mut self.embedding_a,
            &mut self.embedding_b,
            &mut self.magnitude,
            &mut self.saved,
            &mut self.merged,
        ]
    }

    /// The parameters of an adapter.
    pub(super) fn parameters<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Parameter> {
        let factors = [self.a.get(name), self.b.get(name)];
        let factors = factors.into_iter().flatten().map(|factor| &factor.weight);
        let tables = [self.embedding_a.get(name), self.embedding_b.get(name)];
        let magnitude = self.magnitude.get(name).map(|magnitude| &magnitude.weight);
        let saved = self.saved.get(name).into_iter();
        let saved = saved.flat_map(|copy| [Some(&copy.weight), copy.bias.get()]);
        let rest = tables.into_iter().chain([magnitude]).chain(saved);
        factors.chain(rest.flatten())
    }
}

/// A map of members, as a module.
trait NamedMembers: Module {
    fn has_none(&self) -> bool;
}

impl<T> NamedMembers for IndexMap<String, T>
where
    Self: Module,
{
    fn has_none(&self) -> bool {
        self.is_empty()
    }
}

/// Written by hand, because an absent member has no key.
impl Module for Adapters {
    fn kind(&self) -> &'static str {
        "Adapters"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visitor.extension(self);
        let Some(held) = &self.held else {
            return;
        };
        for (name, map) in MEMBERS.into_iter().zip(held.maps()) {
            if !map.has_none() {
                visitor.module(name, map.upcast());
            }
        }
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        let own = visitor.extension(self).and_then(<dyn Any>::downcast_mut);
        let Some(Self {
            held: Some(held), ..
        }) = own
        else {
            return;
        };
        for (name, map) in MEMBERS.into_iter().zip(held.maps_mut()) {
            if !map.has_none() {
                visitor.module(name, map.upcast_mut());
            }
        }
    }
}

/// The keys are known only at run time.
impl Describe for Adapters {
    const FIELDS: &'static [FieldInfo] = &[];
}
