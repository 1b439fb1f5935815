/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "copy_iface.h"

#include "memory.h"

namespace fuselink::sim {
namespace {

/* To ask the driver whether a copy is done, ns. */
constexpr Instant kLeastQuery = 300, kMostQuery = 1500;

/* From GPU to GPU, however long it is: their links are fast. */
constexpr Instant kPeerCopy = 10 * kMicrosecond;

uint64_t place(const void *host)
{
    return reinterpret_cast<uintptr_t>(host);
}

} // namespace

/* What they are to write may be somebody else's memory soon. */
CopyIface::~CopyIface()
{
    if (process().alive && (!queues_[0].empty() || !queues_[1].empty())) {
        world().journal().violate("process " +
                                  std::to_string(process().index()) +
                                  " closes the lane of its GPU over copies "
                                  "that are not done");
    }
}

void CopyIface::describe(uct_iface_attr_t &attr) const
{
    attr.cap.flags = UCT_IFACE_FLAG_CONNECT_TO_IFACE |
                     UCT_IFACE_FLAG_GET_SHORT | UCT_IFACE_FLAG_PUT_SHORT |
                     UCT_IFACE_FLAG_GET_ZCOPY | UCT_IFACE_FLAG_PUT_ZCOPY |
                     UCT_IFACE_FLAG_PENDING;
    attr.device_addr_len = sizeof(uint8_t);
    attr.cap.put.max_short = attr.cap.get.max_short = UINT32_MAX;
    attr.cap.put.max_zcopy = attr.cap.get.max_zcopy = SIZE_MAX;
    attr.cap.put.max_iov = attr.cap.get.max_iov = 1;
    attr.bandwidth.shared = process().gpu.rate;
    attr.latency          = ucs_linear_func_make(8e-6, 0);
}

size_t CopyIface::write_device_address(uint8_t *out) const
{
    *out = 0xc0;
    return 1;
}

bool CopyIface::reaches(const uint8_t *device) const
{
    return *device == 0xc0;
}

ucs_status_t CopyIface::create_ep(const uct_ep_params_t *, uct_ep_h *ep_p)
{
    auto         ep     = std::make_unique<CopyEp>(*this);
    ucs_status_t status = ep->init();
    if (status == UCS_OK) {
        *ep_p = ep.release()->handle();
    }
    return status;
}

bool CopyIface::knows(uint64_t gpu, size_t length) const
{
    const bool well = process().is_device(gpu) &&
                      process().is_device(gpu + length - 1);
    if (!well) {
        world().journal().violate("process " +
                                  std::to_string(process().index()) +
                                  " has memory copied that is not its GPU's");
    }
    return well;
}

bool CopyIface::fails()
{
    if (process().gpu.copies_to_fail == 0) {
        return false;
    }
    --process().gpu.copies_to_fail;
    process().gpu.broken = true;
    world().count(Count::CopiesFailed);
    world().journal().note("copy fails", process().index());
    return true;
}

/* A process that has gone takes its GPU's memory with it. */
bool CopyIface::reaches_far(const Copy &copy) const
{
    return !ipc_ || (copy.other->alive && copy.other->is_device(copy.far) &&
                     copy.other->is_device(copy.far + copy.length - 1));
}

/* These bytes of it, now. */
void CopyIface::move(Copy &copy, size_t from, size_t to)
{
    if (!reaches_far(copy)) {
        copy.fails = true;
        return;
    }
    const uint8_t *source = copy.out ? process().see(copy.gpu + from) :
                                       copy.other->see(copy.far + from);
    Process       &target = copy.out ? *copy.other : process();
    target.write((copy.out ? copy.far : copy.gpu) + from, source, to - from,
                 Hand::CopyEngine, "a copy of a GPU");
}

/* The first half is copied in the middle of the time, the second at its end: neither
 * source nor target may be used for anything else meanwhile. */
ucs_status_t CopyIface::begin(bool out, Process &other, uint64_t far,
                              uint64_t gpu, size_t length,
                              uct_completion_t *comp)
{
    if (length == 0) {
        return UCS_OK;
    }
    if (!knows(gpu, length)) {
        return UCS_ERR_INVALID_ADDR;
    }
    const bool failing = fails();
    if (failing && process().chance().one_in(2)) {
        return UCS_ERR_IO_ERROR;
    }
    Timeline     &time = world().time();
    const Instant now  = time.now();
    const Instant due  = ipc_ ? now + kPeerCopy :
                                process().gpu.take(out, length, now);
    auto          copy = std::make_shared<Copy>(Copy{out, &other, far, gpu,
                                                     length, comp, failing});
    world().count(ipc_ ? Count::CopiesBetween :
                  out  ? Count::CopiesOut : Count::CopiesIn);
    world().journal().note(ipc_ ? "copy between" : "copy", process().index(),
                           out, length);
    queues_[out ? 0 : 1].push_back(copy);
    std::weak_ptr<Copy> weak = copy; /* not of an interface that is closed */
    time.at(now + (due - now) / 2, [this, weak] {
        if (auto one = weak.lock()) {
            move(*one, 0, one->length / 2);
        }
    });
    time.at(due, [this, weak] {
        if (auto one = weak.lock()) {
            if (!one->fails) {
                move(*one, one->length / 2, one->length);
            }
            one->done = true;
        }
    });
    return UCS_INPROGRESS;
}

ucs_status_t CopyIface::copy(bool out, uint64_t host, uint64_t gpu,
                             size_t length)
{
    if (length == 0) {
        return UCS_OK;
    }
    if (!knows(gpu, length)) {
        return UCS_ERR_INVALID_ADDR;
    }
    if (fails()) {
        return UCS_ERR_IO_ERROR;
    }
    world().count(Count::CopiesShort);
    const Instant now = world().time().now();
    world().time().pass(process().gpu.take(out, length, now) - now);
    Copy copy{out, &process(), host, gpu, length, nullptr};
    move(copy, 0, length);
    return UCS_OK;
}

unsigned CopyIface::end(Queue &queue)
{
    unsigned count = 0;
    while (!queue.empty() && queue.front()->done) {
        auto copy = std::move(queue.front());
        queue.pop_front();
        ++count;
        if (copy->comp != nullptr) {
            uct_invoke_completion(copy->comp, copy->fails ? UCS_ERR_IO_ERROR :
                                                            UCS_OK);
        }
    }
    return count;
}

unsigned CopyIface::progress()
{
    const unsigned count = end(queues_[0]) + end(queues_[1]);
    if (count == 0 && !(queues_[0].empty() && queues_[1].empty())) {
        world().spend(kLeastQuery, kMostQuery);
    }
    return count;
}

/* --- endpoints --- */

ucs_status_t CopyEp::put_short(const void *data, unsigned length,
                               uint64_t remote, uct_rkey_t)
{
    return iface_.copy(false, place(data), remote, length);
}

ucs_status_t CopyEp::get_short(void *to, unsigned length, uint64_t remote,
                               uct_rkey_t)
{
    return iface_.copy(true, place(to), remote, length);
}

/* The iov is at the end without an address in the call: the host's memory, or for
 * cuda_ipc that of this process's GPU. */
ucs_status_t CopyEp::begin(bool out, const uct_iov_t *iov, size_t count,
                           uint64_t remote, uct_rkey_t rkey,
                           uct_completion_t *comp)
{
    if (count != 1) {
        return UCS_ERR_INVALID_PARAM;
    }
    const uint64_t local  = place(iov[0].buffer);
    const size_t   length = length_of(iov, count);
    if (!iface_.ipc()) {
        return iface_.begin(out, iface_.process(), local, remote, length, comp);
    }
    const auto *key   = reinterpret_cast<const MemoryKey *>(rkey);
    Process    &other = *world().processes()[key->process];
    if (other.find(key->key, remote, length) == nullptr) {
        return UCS_ERR_IO_ERROR;
    }
    return iface_.begin(!out, other, remote, local, length, comp);
}

ucs_status_t CopyEp::put_zcopy(const uct_iov_t *iov, size_t count,
                               uint64_t remote, uct_rkey_t rkey,
                               uct_completion_t *comp)
{
    return begin(false, iov, count, remote, rkey, comp);
}

ucs_status_t CopyEp::get_zcopy(const uct_iov_t *iov, size_t count,
                               uint64_t remote, uct_rkey_t rkey,
                               uct_completion_t *comp)
{
    return begin(true, iov, count, remote, rkey, comp);
}

} // namespace fuselink::sim
