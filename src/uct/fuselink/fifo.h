/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_FIFO_H
#define FUSELINK_FIFO_H

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace fuselink {

/**
 * A queue in one piece of memory, that has none before it has had something: there are
 * several for each path to each peer, most of which are never used, and an empty std::deque
 * has 576 bytes. It keeps the memory of its busiest moment.
 *
 * Whatever adds or removes something ends references and iterators. One thread at a time.
 */
template <typename T> class Fifo {
    static_assert(std::is_trivially_copyable_v<T>,
                  "what was taken out stays in memory for a while");

public:
    using iterator       = typename std::vector<T>::iterator;
    using const_iterator = typename std::vector<T>::const_iterator;

    bool   empty() const { return first_ == items_.size(); }
    size_t size() const { return items_.size() - first_; }

    iterator       begin() { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
    iterator       end() { return items_.end(); }
    const_iterator begin() const
    {
        return items_.begin() + static_cast<std::ptrdiff_t>(first_);
    }
    const_iterator end() const { return items_.end(); }

    /* Only if not empty(). */
    T       &front() { return items_[first_]; }
    const T &front() const { return items_[first_]; }
    T       &back() { return items_.back(); }
    const T &back() const { return items_.back(); }
    T       &operator[](size_t index) { return items_[first_ + index]; }
    const T &operator[](size_t index) const { return items_[first_ + index]; }

    /** Takes constant time, seen over many: what is left is moved to the front only if
     *  that is no more than was taken out since. */
    void push_back(const T &item)
    {
        if (items_.size() == items_.capacity() && first_ >= size() && first_ != 0) {
            const T one = item; /* it may be in here */
            items_.erase(items_.begin(), begin());
            first_ = 0;
            items_.push_back(one);
        } else {
            items_.push_back(item);
        }
    }
    /** Only if not empty(). */
    void pop_front()
    {
        if (++first_ == items_.size()) {
            clear();
        }
    }
    /** In front of all others: for what comes back, since it moves them if none was taken out
     *  before. */
    void push_front(const T &item)
    {
        if (first_ != 0) {
            items_[--first_] = item;
        } else {
            items_.insert(items_.begin(), item);
        }
    }
    iterator insert(iterator where, const T &item) { return items_.insert(where, item); }
    iterator erase(iterator where) { return items_.erase(where); }
    template <typename Fits> void erase_if(Fits &&fits)
    {
        items_.erase(std::remove_if(begin(), end(), fits), end());
    }
    void clear()
    {
        items_.clear();
        first_ = 0;
    }
    void swap(Fifo &other) noexcept
    {
        items_.swap(other.items_);
        std::swap(first_, other.first_);
    }

private:
    std::vector<T> items_;     /* the first of them were taken out */
    size_t         first_ = 0; /* so many */
};

} // namespace fuselink

#endif
