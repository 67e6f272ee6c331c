use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use smallvec::SmallVec;

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

/// The identities that a walk has visited. A few are compared one by one, which costs less than a hash table.
pub(super) struct Seen<K> {
    few: SmallVec<[K; FEW]>,
    /// All of them, if they are more than few.
    many: IdSet<K>,
}

const FEW: usize = 8;

impl<K> Default for Seen<K> {
    fn default() -> Self {
        let (few, many) = (SmallVec::new(), IdSet::default());
        Self { few, many }
    }
}

impl<K: Copy + Eq + Hash> Seen<K> {
    /// Adds an identity; false if it is there already.
    pub(super) fn insert(&mut self, id: K) -> bool {
        if !self.many.is_empty() {
            return self.many.insert(id);
        }
        if self.few.contains(&id) {
            return false;
        }
        match self.few.len() < FEW {
            true => self.few.push(id),
            false => self.many.extend(self.few.drain(..).chain([id])),
        }
        true
    }
}

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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Seen;

    #[test]
    fn few_and_many_identities_are_each_new_once() {
        let (mut seen, mut model) = (Seen::default(), HashSet::new());
        for round in 1..30 {
            for id in (0..round).rev() {
                assert_eq!(seen.insert(id), model.insert(id), "{id} in round {round}");
            }
        }
    }
}
