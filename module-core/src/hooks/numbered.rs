//! Items in the order of their numbers.

/// Items, each added with a number above all before it.
///
/// Finding one to remove is a binary search. What it leaves is a gap, and gaps are closed when there are
/// more of them than items, so that a removal takes logarithmic time on the whole. It is a list and not a
/// tree because a tree of each type is thousands of lines to compile.
pub(super) struct Numbered<T> {
    items: Vec<(i64, Option<T>)>,
    present: usize,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        let (items, present) = (Vec::new(), 0);
        Self { items, present }
    }
}

impl<T> Numbered<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.present == 0
    }

    pub(super) fn add(&mut self, number: i64, item: T) {
        debug_assert!(self.items.last().is_none_or(|(last, _)| *last < number));
        self.items.push((number, Some(item)));
        self.present += 1;
    }

    pub(super) fn remove(&mut self, number: i64) -> Option<T> {
        let place = self.items.partition_point(|(other, _)| *other < number);
        let (found, item) = self.items.get_mut(place)?;
        let removed = item.take_if(|_| *found == number)?;
        self.present -= 1;
        match self.present {
            0 => self.items = Vec::new(),
            present if self.items.len() > 2 * present => {
                self.items.retain(|(_, item)| item.is_some());
            }
            _ => {}
        }
        Some(removed)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (i64, &T)> {
        let items = self.items.iter();
        items.filter_map(|(number, item)| Some((*number, item.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_however_others_go() {
        let mut items = Numbered::default();
        for number in 0..1000 {
            items.add(number, number);
        }
        // 367 and 1000 have no common divisor: every number once.
        for round in 0..1000 {
            let number = round * 367 % 1000;
            assert_eq!(items.remove(number), Some(number));
            assert_eq!(items.remove(number), None);
            let left: Vec<_> = items.iter().collect();
            assert_eq!(left.len(), 999 - round as usize);
            assert!(left.is_sorted() && left.iter().all(|(number, item)| number == *item));
            assert!(items.items.len() <= 2 * left.len());
        }
        assert!(items.is_empty() && items.items.capacity() == 0);
        items.add(7, 7);
        assert_eq!(items.iter().collect::<Vec<_>>(), [(7, &7)]);
    }
}
