/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_POOL_H
#define FUSELINK_POOL_H

#include <deque>

namespace fuselink {

/**
 * Objects that are used again and again, and stay where they are: a rail keeps
 * pointers to them. Grown when all are in use, never shrunk, so that the fast
 * path allocates nothing once it has had its busiest moment.
 *
 * T has a member `T *next_free`, which is the pool's. An object comes back with
 * what was last in it. One thread at a time.
 */
template <typename T> class Pool {
public:
    T &take()
    {
        T *object = free_;
        if (object == nullptr) {
            return all_.emplace_back();
        }
        free_ = object->next_free;
        return *object;
    }

    /** `object` is one that take() gave, and not in here already. */
    void give_back(T &object)
    {
        object.next_free = free_;
        free_            = &object;
    }

    /** Calls fn(T&) for each there is, in use or not. */
    template <typename Fn> void for_each(Fn &&fn)
    {
        for (T &object : all_) {
            fn(object);
        }
    }

private:
    std::deque<T> all_;
    T            *free_ = nullptr;
};

} // namespace fuselink

#endif
