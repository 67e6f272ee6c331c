use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// The identity of a module: its type and its address.
///
/// It is valid for as long as the module is borrowed; a module that moves gets another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModuleId {
    type_id: TypeId,
    address: usize,
}

impl ModuleId {
    pub(super) fn of<M: Any + ?Sized>(module: &M) -> Self {
        Self {
            type_id: Any::type_id(module),
            address: (&raw const *module).cast::<()>().addr(),
        }
    }

    /// The two parts, for the error trace, which does not know about modules.
    pub(crate) fn parts(self) -> (TypeId, usize) {
        (self.type_id, self.address)
    }
}

/// Sets and maps keyed by identities, with a hash that takes a few cycles: addresses come from the allocator, not from an
/// attacker.
pub(crate) type IdSet<K> = HashSet<K, BuildHasherDefault<IdHasher>>;
pub(crate) type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// Folds words into a state by multiplication; the high half depends on every bit.
#[derive(Clone, Copy, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u64(&mut self, word: u64) {
        const ODD: u128 = 0x9e37_79b9_7f4a_7c15;
        let product = u128::from(self.0 ^ word) * ODD;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}
