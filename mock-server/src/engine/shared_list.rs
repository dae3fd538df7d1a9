//! A list whose items keep their numbers, and whose clones share storage.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of items in a chunk. A larger chunk costs more to copy when a clone shares it, and to
/// keep when only one of its items is left.
const CHUNK_SIZE: usize = 64;

/// A list of numbered items in ascending order. Removing an item does not renumber the others.
///
/// The items are stored in chunks that clones share: a clone copies no items, and a change copies
/// only the chunk that it is in. Therefore a state can be cloned and written while it is used.
#[derive(Clone, Debug)]
pub(crate) struct SharedList<T> {
    chunks: BTreeMap<usize, Arc<Chunk<T>>>,
    next_number: usize,
    len: usize,
}

#[derive(Clone, Debug)]
struct Chunk<T> {
    /// The items by their position in the chunk.
    slots: Vec<Option<T>>,
    /// The number of slots that are not empty.
    len: usize,
}

impl<T> Default for SharedList<T> {
    fn default() -> Self {
        Self { chunks: BTreeMap::new(), next_number: 0, len: 0 }
    }
}

/// Lists are equal if they have equal items, whatever their numbers are.
impl<T: PartialEq> PartialEq for SharedList<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<T> SharedList<T> {
    /// Returns the number that the next item gets.
    pub(crate) fn next_number(&self) -> usize {
        self.next_number
    }

    /// Returns the number of items.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        let chunk = self.chunks.get(&(number / CHUNK_SIZE))?;
        chunk.slots.get(number % CHUNK_SIZE)?.as_ref()
    }

    /// Returns the items in ascending order of their numbers.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let chunks = self.chunks.values();
        chunks.flat_map(|chunk| chunk.slots.iter().flatten())
    }

    pub(crate) fn numbered_from(&self, start: usize) -> impl Iterator<Item = (usize, &T)> {
        let chunks = self.chunks.range(start / CHUNK_SIZE..);
        let items = chunks.flat_map(|(index, chunk)| {
            let numbers = index * CHUNK_SIZE..;
            numbers.zip(&chunk.slots)
        });
        items
            .skip_while(move |(number, _)| *number < start)
            .filter_map(|(number, slot)| Some((number, slot.as_ref()?)))
    }

    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &T)> {
        self.numbered_from(0)
    }

    /// Returns the positions of the items with these numbers, which must be in ascending order.
    /// Numbers without an item are skipped.
    pub(crate) fn positions(
        &self,
        numbers: impl IntoIterator<Item = usize>,
    ) -> BTreeMap<usize, usize> {
        let mut chunks = self.chunks.iter();
        let mut current = chunks.next();
        let mut before = 0;
        let mut positions = BTreeMap::new();
        for number in numbers {
            while let Some((_, chunk)) = current.filter(|(index, _)| **index < number / CHUNK_SIZE)
            {
                before += chunk.len;
                current = chunks.next();
            }
            let Some((_, chunk)) = current.filter(|(index, _)| **index == number / CHUNK_SIZE)
            else {
                continue;
            };
            let (slots, slot) = (&chunk.slots, number % CHUNK_SIZE);
            if slots.get(slot).is_some_and(Option::is_some) {
                positions.insert(number, before + slots.iter().take(slot).flatten().count());
            }
        }
        positions
    }
}

impl<T: Clone> SharedList<T> {
    /// Appends an item and returns its number.
    pub(crate) fn push(&mut self, item: T) -> usize {
        let number = self.next_number;
        self.insert(number, item);
        number
    }

    /// Adds an item with a number. Returns `false`, and changes nothing, if the number is in use or
    /// is the largest possible one.
    pub(crate) fn insert(&mut self, number: usize, item: T) -> bool {
        let Some(next_number) = number.checked_add(1) else { return false };
        let chunk = self.chunks.entry(number / CHUNK_SIZE).or_insert_with(|| {
            let slots = Vec::with_capacity(CHUNK_SIZE);
            Arc::new(Chunk { slots, len: 0 })
        });
        let chunk = Arc::make_mut(chunk);
        let slot = number % CHUNK_SIZE;
        while chunk.slots.len() <= slot {
            chunk.slots.push(None);
        }
        match chunk.slots.get_mut(slot) {
            Some(empty @ None) => *empty = Some(item),
            _ => return false,
        }
        chunk.len += 1;
        self.len += 1;
        self.next_number = self.next_number.max(next_number);
        true
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(&(number / CHUNK_SIZE))?;
        let slots = &mut Arc::make_mut(chunk).slots;
        slots.get_mut(number % CHUNK_SIZE)?.as_mut()
    }

    pub(crate) fn for_each_mut(&mut self, mut change: impl FnMut(&mut T)) {
        for chunk in self.chunks.values_mut() {
            let slots = &mut Arc::make_mut(chunk).slots;
            slots.iter_mut().flatten().for_each(&mut change);
        }
    }

    /// Removes and returns an item. Its number is not used again.
    pub(crate) fn remove(&mut self, number: usize) -> Option<T> {
        let index = number / CHUNK_SIZE;
        let chunk = Arc::make_mut(self.chunks.get_mut(&index)?);
        let item = chunk.slots.get_mut(number % CHUNK_SIZE)?.take()?;
        chunk.len -= 1;
        self.len -= 1;
        if chunk.len == 0 {
            self.chunks.remove(&index);
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(len: usize) -> SharedList<String> {
        let mut list = SharedList::default();
        for number in 0..len {
            assert_eq!(list.push(number.to_string()), number);
        }
        list
    }

    #[test]
    fn items_keep_their_numbers_when_others_are_removed() {
        let mut list = list(200);
        for number in (0..200).filter(|number| number % 70 != 69) {
            assert_eq!(list.remove(number), Some(number.to_string()));
            assert_eq!(list.remove(number), None);
        }
        assert_eq!(list.len(), 2);
        assert_eq!(list.chunks.len(), 2);
        let left: Vec<_> = list.numbered().collect();
        assert_eq!(left, [(69, &"69".to_owned()), (139, &"139".to_owned())]);
        assert_eq!(list.numbered_from(70).next().unwrap().0, 139);
        assert_eq!(list.push("new".to_owned()), 200);
        assert_eq!(
            list.positions([5, 69, 139, 199, 200, 900]),
            [(69, 0), (139, 1), (200, 2)].into()
        );
    }

    #[test]
    fn a_clone_does_not_change_with_its_original() {
        let mut list = list(100);
        let before = list.clone();
        *list.get_mut(3).unwrap() = "x".to_owned();
        list.remove(99);
        list.push("y".to_owned());
        assert_eq!(before.get(3).unwrap(), "3");
        assert_eq!((before.len(), before.get(99).unwrap().as_str()), (100, "99"));
        assert_eq!(list.iter().last().unwrap(), "y");
        assert_ne!(list, before);
    }

    #[test]
    fn numbers_are_used_once() {
        let mut list = SharedList::default();
        assert!(list.insert(500, 'b') && list.insert(2, 'a'));
        assert!(!list.insert(500, 'c') && !list.insert(usize::MAX, 'd'));
        assert_eq!(list.iter().collect::<String>(), "ab");
        assert_eq!(list.push('e'), 501);
    }
}
