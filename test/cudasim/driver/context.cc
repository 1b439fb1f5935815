/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "context.h"

namespace cudasim {
namespace {

/* Of a thread. Without a destructor: libraries ask for the current context from
 * exit handlers, when objects of the thread are gone. */
struct Stack {
    static constexpr unsigned kMost = 64;

    CUcontext contexts[kMost];
    unsigned  depth;
};
thread_local Stack stack;

} // namespace

Contexts &Contexts::get()
{
    static Contexts *contexts = new Contexts; /* outlives exit handlers */
    return *contexts;
}

CUcontext Contexts::make(CUdevice device, bool primary, unsigned flags)
{
    Driver &driver = *Driver::get();
    auto context   = new CUctx_st{device, driver.gpu_of(device), primary, flags,
                                  next_id_++, driver.engine.make_group(), {}, {}};
    contexts_.insert(context);
    return context;
}

/* The object stays: its address must not become another context's, as streams
 * and events of it may still be asked for. */
void Contexts::drop(CUcontext context)
{
    contexts_.erase(context);
    Driver::get()->engine.end_group(context->group);
}

CUcontext Contexts::create(CUdevice device, unsigned flags)
{
    std::lock_guard guard(mutex_);
    return make(device, false, flags);
}

bool Contexts::destroy(CUcontext context)
{
    std::lock_guard guard(mutex_);
    if (contexts_.count(context) == 0 || context->primary) {
        return false;
    }
    drop(context);
    if (current() == context) {
        pop();
    }
    return true;
}

bool Contexts::valid(CUcontext context)
{
    std::lock_guard guard(mutex_);
    return contexts_.count(context) != 0;
}

CUcontext Contexts::retain_primary(CUdevice device)
{
    std::lock_guard guard(mutex_);
    Primary        &primary = primaries_[device];
    if (primary.context == nullptr) {
        primary.context = make(device, true, primary.flags);
    }
    ++primary.users;
    return primary.context;
}

bool Contexts::release_primary(CUdevice device)
{
    std::lock_guard guard(mutex_);
    Primary        &primary = primaries_[device];
    if (primary.users == 0) {
        return false;
    }
    if (--primary.users == 0) {
        drop(primary.context);
        primary.context = nullptr;
    }
    return true;
}

void Contexts::reset_primary(CUdevice device)
{
    std::lock_guard guard(mutex_);
    Primary        &primary = primaries_[device];
    if (primary.context != nullptr) {
        drop(primary.context);
        primary.context = nullptr;
        primary.users   = 0;
    }
}

CUcontext Contexts::primary(CUdevice device)
{
    std::lock_guard guard(mutex_);
    return primaries_[device].context;
}

unsigned Contexts::primary_flags(CUdevice device)
{
    std::lock_guard guard(mutex_);
    return primaries_[device].flags;
}

void Contexts::set_primary_flags(CUdevice device, unsigned flags)
{
    std::lock_guard guard(mutex_);
    primaries_[device].flags = flags;
}

CUcontext Contexts::current()
{
    return stack.depth == 0 ? nullptr : stack.contexts[stack.depth - 1];
}

void Contexts::set_current(CUcontext context)
{
    pop();
    if (context != nullptr) {
        push(context);
    }
}

bool Contexts::push(CUcontext context)
{
    if (stack.depth == Stack::kMost) {
        return false;
    }
    stack.contexts[stack.depth++] = context;
    return true;
}

CUcontext Contexts::pop()
{
    CUcontext top = current();
    if (top != nullptr) {
        --stack.depth;
    }
    return top;
}

} // namespace cudasim
