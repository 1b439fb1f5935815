/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "held_calls.h"

#include <algorithm>
#include <utility>

namespace fuselink {

void HeldCalls::add(Call &&call, const void *data, size_t length)
{
    auto *bytes = static_cast<const char *>(data);
    call.data.assign(bytes, bytes + length);
    bytes_ += length;
    calls_.push_back(std::move(call));
    holding_ = true;
}

void HeldCalls::completion(const Connection &conn, uct_completion_t *comp,
                           ucs_status_t status)
{
    add({.kind = Kind::Completion, .status = status, .conn = &conn, .comp = comp});
}

void HeldCalls::unpack(const Connection &conn, uct_unpack_callback_t unpack,
                       void *arg, const void *data, size_t length)
{
    add({.kind = Kind::Unpack, .conn = &conn, .unpack = unpack, .arg = arg}, data,
        length);
}

void HeldCalls::message(uct_base_iface_t &iface, uint8_t am_id, const void *data,
                        size_t length)
{
    add({.kind = Kind::Message, .am_id = am_id, .iface = &iface}, data, length);
}

void HeldCalls::answer(const Connection &conn, Answer answer, void *who,
                       const void *data, size_t length)
{
    add({.kind = Kind::Answer, .conn = &conn, .answer = answer, .arg = who}, data,
        length);
}

void HeldCalls::owe(const Connection &conn, Held &held)
{
    const bool known = std::any_of(owed_.begin(), owed_.end(), [&](const Owed &one) {
        return one.held == &held;
    });
    if (!known) {
        owed_.push_back({&conn, &held});
    }
}

void HeldCalls::make(Call &call)
{
    switch (call.kind) {
    case Kind::Completion:
        uct_invoke_completion(call.comp, call.status);
        break;
    case Kind::Unpack:
        call.unpack(call.arg, call.data.data(), call.data.size());
        break;
    case Kind::Message: {
        /* The user may set handlers at any time. It cannot keep what is not in a
         * buffer of the rail's. */
        const uct_am_handler_t &handler = call.iface->am[call.am_id];
        handler.cb(handler.arg, call.data.data(), call.data.size(), 0);
        break;
    }
    case Kind::Answer:
        call.answer(call.arg, call.data.data(), call.data.size());
        break;
    }
}

unsigned HeldCalls::call_all()
{
    unsigned count = 0;
    for (const Owed &one : std::exchange(owed_, {})) {
        one.held->on_own_turn(); /* does no more than to note it */
    }
    while (!calls_.empty()) {
        Call call = std::move(calls_.front());
        calls_.pop_front();
        bytes_  -= call.data.size();
        holding_ = !calls_.empty();
        make(call); /* which may end connections, and hold more */
        ++count;
    }
    return count;
}

void HeldCalls::tell(const Connection &conn)
{
    std::deque<Call> all, told;
    all.swap(calls_);
    for (Call &call : all) {
        (call.conn == &conn && call.ends() ? told : calls_).push_back(std::move(call));
    }
    make_all(told);
}

void HeldCalls::end()
{
    std::deque<Call> told;
    told.swap(calls_);
    std::erase_if(told, [](const Call &call) { return !call.ends(); });
    bytes_ = 0;
    make_all(told);
}

/* They are not in calls_ any more. */
void HeldCalls::make_all(std::deque<Call> &calls)
{
    for (const Call &call : calls) {
        bytes_ -= std::min(bytes_, call.data.size());
    }
    holding_ = away_ || !calls_.empty();
    for (Call &call : calls) {
        make(call);
    }
}

void HeldCalls::forget(const Connection &conn)
{
    std::erase_if(owed_, [&](const Owed &one) { return one.conn == &conn; });
    std::erase_if(calls_, [&](const Call &call) {
        const bool it = call.conn == &conn;
        bytes_       -= it ? call.data.size() : 0;
        return it;
    });
    holding_ = away_ || !calls_.empty();
}

} // namespace fuselink
