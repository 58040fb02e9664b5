#pragma once

#include <bit>
#include <cstddef>
#include <vector>

namespace headscope {

/// A hash table in one array, for many look-ups of small keys: most touch one cache line.
///
/// @tparam Key  with operator==, and `std::uint64_t hash() const` whose upper bits are well mixed.
template <typename Key, typename Value>
class FlatMap {
 public:
  /// @param vacant  a key that is never inserted or looked up.
  explicit FlatMap(const Key& vacant) : vacant_(vacant), slots_(least_size, {vacant, Value()}) {}

  void insert_or_assign(const Key& key, const Value& value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(key)];
    if (slot.key == vacant_) ++size_;
    slot = {key, value};
  }

  /// Null if the key is not in the table.
  const Value* find(const Key& key) const {
    const Slot& slot = slots_[place_of(key)];
    return slot.key == vacant_ ? nullptr : &slot.value;
  }

 private:
  static constexpr std::size_t least_size = 16;
  struct Slot {
    Key key;
    Value value;
  };

  /// The slot that holds the key, or the vacant one where it would be inserted.
  std::size_t place_of(const Key& key) const {
    const auto shift = static_cast<unsigned>(64 - std::countr_zero(slots_.size()));
    std::size_t place = key.hash() >> shift;
    while (!(slots_[place].key == key) && !(slots_[place].key == vacant_)) {
      place = (place + 1) & (slots_.size() - 1);
    }
    return place;
  }

  void grow() {
    std::vector<Slot> smaller(2 * slots_.size(), {vacant_, Value()});
    smaller.swap(slots_);
    for (const Slot& slot : smaller) {
      if (!(slot.key == vacant_)) slots_[place_of(slot.key)] = slot;
    }
  }

  Key vacant_;
  std::vector<Slot> slots_;  // a power of two of them, at least half vacant
  std::size_t size_ = 0;
};

}  // namespace headscope
