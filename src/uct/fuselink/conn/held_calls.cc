/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "held_calls.h"

#include "connection.h"

#include <algorithm>
#include <utility>

namespace fuselink {

void HeldCalls::add(Call &&call, const void *data, size_t length)
{
    auto *bytes = static_cast<const char *>(data);
    call.data.assign(bytes, bytes + length);
    push(std::move(call));
    holding_ = true;
}

void HeldCalls::push(Call &&call)
{
    bytes_    += call.data.size();
    messages_ += call.kind == Kind::Message;
    calls_.push_back(std::move(call));
}

HeldCalls::Call HeldCalls::pop()
{
    Call call = std::move(calls_.front());
    calls_.pop_front();
    bytes_    -= call.data.size();
    messages_ -= call.kind == Kind::Message;
    return call;
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

void HeldCalls::owe(Connection &conn)
{
    if (std::find(owed_.begin(), owed_.end(), &conn) == owed_.end()) {
        owed_.push_back(&conn);
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
    unsigned   count  = 0;
    const bool inside = std::exchange(telling_, true);
    waiting_          = 0;
    for (Connection *conn : std::exchange(owed_, {})) {
        conn->defer();
    }
    while (!calls_.empty()) {
        Call call = pop();
        holding_  = !calls_.empty();
        make(call); /* which may end connections, and hold more */
        ++count;
    }
    telling_ = inside;
    return count;
}

/* Those that fit are not held any more. */
template <typename Fits>
std::deque<HeldCalls::Call> HeldCalls::take(Fits &&fits)
{
    std::deque<Call> all, taken;
    all.swap(calls_);
    bytes_ = messages_ = 0;
    for (Call &call : all) {
        if (fits(call)) {
            taken.push_back(std::move(call));
        } else {
            push(std::move(call));
        }
    }
    holding_ = away_ || !calls_.empty();
    return taken;
}

void HeldCalls::tell(const Connection &conn)
{
    auto told = take([&](const Call &call) { return call.conn == &conn && call.ends(); });
    for (Call &call : told) {
        make(call);
    }
}

void HeldCalls::end()
{
    auto all = take([](const Call &) { return true; });
    for (Call &call : all) {
        if (call.ends()) {
            make(call);
        }
    }
}

void HeldCalls::forget(const Connection &conn)
{
    std::erase(owed_, &conn);
    take([&](const Call &call) { return call.conn == &conn; });
}

} // namespace fuselink
