/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "pair_iface.h"

#include "memory.h"

#include <cstring>

namespace fuselink::sim {
namespace {

/* Completions that UCX looks at at a time. */
constexpr unsigned kMostCompletions = 16;

/* What may be written in the call, bytes. */
constexpr size_t kQuickPut = 4096;

/* An endpoint's address: its NIC and its number there. */
struct PairAddress {
    uint32_t number;
    uint16_t node, index;
};

} // namespace

void PairIface::complete(std::shared_ptr<QueuePair> pair,
                         std::shared_ptr<PairWork> work, bool well)
{
    completions_.push_back({std::move(pair), std::move(work), well});
    tell();
}

void PairIface::has_failed(std::shared_ptr<QueuePair> pair)
{
    failed_.push_back(std::move(pair));
    tell();
}

unsigned PairIface::progress()
{
    unsigned count = take_messages();
    for (unsigned i = 0; i < kMostCompletions && !completions_.empty(); ++i) {
        Completion one = std::move(completions_.front());
        completions_.pop_front();
        ++count;
        if (one.pair->ep != nullptr) {
            one.pair->ep->completed(*one.work, one.well);
        }
        if (one.pair->ep != nullptr &&
            one.pair->state == QueuePair::State::Connected) {
            one.pair->ep->dispatch();
        }
    }
    if (completions_.empty() && !failed_.empty()) {
        auto pair = std::move(failed_.front());
        failed_.pop_front();
        ++count;
        if (pair->ep != nullptr) {
            fail_ep(*pair->ep, UCS_ERR_ENDPOINT_TIMEOUT);
        }
    }
    if (!has_messages() && !has_more()) {
        bell().hush();
    }
    return count;
}

void PairIface::describe(uct_iface_attr_t &attr) const
{
    describe_base(attr);
    const Profile &profile = world().profile();
    attr.cap.flags |= UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY |
                      UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_BCOPY |
                      UCT_IFACE_FLAG_GET_ZCOPY | UCT_IFACE_FLAG_CONNECT_TO_EP;
    attr.ep_addr_len = sizeof(PairAddress);
    auto &am       = attr.cap.am;
    am.max_short   = profile.short_message;
    am.max_bcopy   = profile.rdma_message;
    am.max_zcopy   = profile.rdma_message;
    am.max_hdr     = 127;
    am.max_iov     = 4;
    am.opt_zcopy_align = am.align_mtu = 1;
    auto &put      = attr.cap.put;
    put.max_short  = profile.short_put;
    put.max_bcopy  = profile.rdma_message;
    put.max_zcopy  = size_t{1} << 30;
    put.max_iov    = 4;
    put.opt_zcopy_align = put.align_mtu = 1;
    auto &get      = attr.cap.get;
    get.max_bcopy  = profile.rdma_message;
    get.min_zcopy  = 0;
    get.max_zcopy  = size_t{1} << 30;
    get.max_iov    = 4;
    get.opt_zcopy_align = get.align_mtu = 1;
}

ucs_status_t PairIface::create_ep(const uct_ep_params_t *, uct_ep_h *ep_p)
{
    if (nic().queue_pairs >= nic().most_queue_pairs) {
        world().count(Count::NoMemory);
        return UCS_ERR_IO_ERROR;
    }
    auto         ep     = std::make_unique<PairEp>(*this);
    ucs_status_t status = ep->create();
    if (status == UCS_OK) {
        *ep_p = ep.release()->handle();
    }
    return status;
}

/* --- endpoints --- */

ucs_status_t PairEp::create()
{
    ucs_status_t status = init();
    if (status != UCS_OK) {
        return status;
    }
    pair_ = std::make_shared<QueuePair>(world(), iface_.process(),
                                        iface_.nic(), iface_);
    pair_->ep     = this;
    pair_->number = world().add_queue_pair(pair_);
    ++iface_.nic().queue_pairs;
    return UCS_OK;
}

PairEp::~PairEp()
{
    if (!pair_) {
        return;
    }
    pair_->ep    = nullptr;
    pair_->iface = nullptr;
    auto other   = pair_->other();
    if (other && other->remote == pair_->number) {
        /* What it has not heard the end of by now it never will. */
        world().time().after(world().profile().nic_patience, [other] {
            if (!other->posted.empty()) {
                other->fail(true);
            }
        });
    }
    pair_->fail(false);
    world().remove_queue_pair(pair_->number);
    --iface_.nic().queue_pairs;
    auto open = std::move(open_);
    for (auto &[tag, one] : open) {
        if (one.comp != nullptr) {
            uct_invoke_completion(one.comp, UCS_ERR_CANCELED);
        }
        for (uct_completion_t *comp : one.flushes) {
            uct_invoke_completion(comp, UCS_ERR_CANCELED);
        }
    }
}

ucs_status_t PairEp::address(uint8_t *out) const
{
    PairAddress address{pair_->number,
                        static_cast<uint16_t>(iface_.nic().node),
                        static_cast<uint16_t>(iface_.nic().index)};
    memcpy(out, &address, sizeof(address));
    return UCS_OK;
}

ucs_status_t PairEp::connect_to(const uint8_t *bytes)
{
    PairAddress address;
    memcpy(&address, bytes, sizeof(address));
    if (address.node >= world().nodes() ||
        address.index >= world().nics(address.node).size()) {
        return UCS_ERR_UNREACHABLE;
    }
    pair_->connect(address.number, world().nics(address.node)[address.index]);
    return UCS_OK;
}

ucs_status_t PairEp::room() const
{
    /* As UCX's: of one that has failed nothing is ever taken. */
    return pair_->state != QueuePair::State::Connected ||
                   open_.size() >= world().profile().work_queue ?
               UCS_ERR_NO_RESOURCE : UCS_OK;
}

ucs_status_t PairEp::post(PairWork work, uct_completion_t *comp,
                          uct_unpack_callback_t unpack, void *arg)
{
    if (room() != UCS_OK) {
        return UCS_ERR_NO_RESOURCE;
    }
    work.tag     = ++last_tag_;
    Open &one    = open_[work.tag];
    one.comp     = comp;
    one.unpack   = unpack;
    one.arg      = arg;
    pair_->post(std::make_shared<PairWork>(std::move(work)));
    return UCS_INPROGRESS;
}

void PairEp::completed(const PairWork &work, bool well)
{
    auto it = open_.find(work.tag);
    if (it == open_.end()) {
        return;
    }
    Open one = std::move(it->second);
    open_.erase(it);
    const ucs_status_t status = well ? UCS_OK : UCS_ERR_ENDPOINT_TIMEOUT;
    if (well && one.unpack != nullptr) {
        one.unpack(one.arg, work.copy.data(), work.length);
    }
    /* Users may destroy this endpoint. */
    if (one.comp != nullptr) {
        uct_invoke_completion(one.comp, status);
    }
    for (uct_completion_t *comp : one.flushes) {
        uct_invoke_completion(comp, status);
    }
}

bool PairEp::set_key(PairWork &work, uint64_t remote, uct_rkey_t rkey) const
{
    work.remote = remote;
    if (rkey == UCT_INVALID_RKEY || rkey == 0) {
        world().journal().violate("a NIC is given no key");
        return false;
    }
    const auto *key   = reinterpret_cast<const MemoryKey *>(rkey);
    work.rkey         = key->key;
    work.rkey_process = key->process;
    return true;
}

ucs_status_t PairEp::am_short(uint8_t id, uint64_t header, const void *data,
                              unsigned length)
{
    PairWork work{.kind = PairWork::Kind::Message, .am_id = id};
    work.copy           = pack_short(header, data, length);
    work.length         = work.copy.size();
    ucs_status_t status = post(std::move(work), nullptr);
    return status == UCS_INPROGRESS ? UCS_OK : status;
}

ssize_t PairEp::am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg)
{
    if (room() != UCS_OK) {
        return UCS_ERR_NO_RESOURCE;
    }
    PairWork work{.kind = PairWork::Kind::Message, .am_id = id};
    work.copy           = pack_bcopy(pack, arg, world().profile().rdma_message);
    work.length         = work.copy.size();
    const auto   size   = static_cast<ssize_t>(work.length);
    ucs_status_t status = post(std::move(work), nullptr);
    return status == UCS_INPROGRESS ? size : static_cast<ssize_t>(status);
}

ucs_status_t PairEp::am_zcopy(uint8_t id, const void *header,
                              unsigned header_length, const uct_iov_t *iov,
                              size_t count, uct_completion_t *comp)
{
    PairWork work{.kind = PairWork::Kind::Message, .am_id = id};
    work.copy   = pack_zcopy(header, header_length, iov, count);
    work.length = work.copy.size();
    return post(std::move(work), comp);
}

ucs_status_t PairEp::put_short(const void *data, unsigned length,
                               uint64_t remote, uct_rkey_t rkey)
{
    PairWork work{.kind = PairWork::Kind::Put};
    if (!set_key(work, remote, rkey)) {
        return UCS_ERR_INVALID_PARAM;
    }
    auto *bytes = static_cast<const uint8_t *>(data);
    work.copy.assign(bytes, bytes + length);
    work.length         = length;
    ucs_status_t status = post(std::move(work), nullptr);
    return status == UCS_INPROGRESS ? UCS_OK : status;
}

ssize_t PairEp::put_bcopy(uct_pack_callback_t pack, void *arg, uint64_t remote,
                          uct_rkey_t rkey)
{
    if (room() != UCS_OK) {
        return UCS_ERR_NO_RESOURCE;
    }
    PairWork work{.kind = PairWork::Kind::Put};
    if (!set_key(work, remote, rkey)) {
        return UCS_ERR_INVALID_PARAM;
    }
    work.copy           = pack_bcopy(pack, arg, world().profile().rdma_message);
    work.length         = work.copy.size();
    const auto   size   = static_cast<ssize_t>(work.length);
    ucs_status_t status = post(std::move(work), nullptr);
    return status == UCS_INPROGRESS ? size : static_cast<ssize_t>(status);
}

/* As a transport may: it is there when the call returns. */
bool PairEp::put_at_once(const PairWork &work)
{
    auto peer = pair_->other();
    if (!world().profile().quick_puts || work.length > kQuickPut ||
        !open_.empty() || pair_->state != QueuePair::State::Connected || !peer ||
        peer->state != QueuePair::State::Connected || !peer->process.alive ||
        work.rkey_process != peer->process.index() ||
        peer->process.find(work.rkey, work.remote, work.length) == nullptr ||
        !peer->nic.hears() || !pair_->nic.sends() || work.length == 0) {
        return false;
    }
    world().count(Count::QuickPuts);
    pair_->has_data = true;
    peer->process.write(
        work.remote,
        pair_->process.see(reinterpret_cast<uintptr_t>(work.source)),
        work.length, Hand::Nic, "a put by a NIC");
    return true;
}

ucs_status_t PairEp::put_zcopy(const uct_iov_t *iov, size_t count,
                               uint64_t remote, uct_rkey_t rkey,
                               uct_completion_t *comp)
{
    PairWork work{.kind = PairWork::Kind::Put};
    if (count != 1 || !set_key(work, remote, rkey)) {
        return UCS_ERR_INVALID_PARAM;
    }
    work.source = static_cast<const uint8_t *>(iov[0].buffer);
    work.length = length_of(iov, count);
    if (iov[0].memh == UCT_MEM_HANDLE_NULL) {
        world().journal().violate("a NIC reads memory that was not registered");
        return UCS_ERR_INVALID_PARAM;
    }
    if (put_at_once(work)) {
        return UCS_OK;
    }
    return post(std::move(work), comp);
}

ucs_status_t PairEp::get_bcopy(uct_unpack_callback_t unpack, void *arg,
                               size_t length, uint64_t remote, uct_rkey_t rkey,
                               uct_completion_t *comp)
{
    PairWork work{.kind = PairWork::Kind::Get};
    if (!set_key(work, remote, rkey)) {
        return UCS_ERR_INVALID_PARAM;
    }
    work.keep   = true;
    work.length = length;
    return post(std::move(work), comp, unpack, arg);
}

ucs_status_t PairEp::get_zcopy(const uct_iov_t *iov, size_t count,
                               uint64_t remote, uct_rkey_t rkey,
                               uct_completion_t *comp)
{
    PairWork work{.kind = PairWork::Kind::Get};
    if (count != 1 || !set_key(work, remote, rkey)) {
        return UCS_ERR_INVALID_PARAM;
    }
    work.to     = static_cast<uint8_t *>(iov[0].buffer);
    work.length = length_of(iov, count);
    if (iov[0].memh == UCT_MEM_HANDLE_NULL) {
        world().journal().violate("a NIC writes memory that was not registered");
        return UCS_ERR_INVALID_PARAM;
    }
    return post(std::move(work), comp);
}

ucs_status_t PairEp::flush(unsigned flags, uct_completion_t *comp)
{
    if (flags & UCT_FLUSH_FLAG_CANCEL) {
        pair_->fail(false);
    }
    if (open_.empty()) {
        return UCS_OK;
    }
    if (comp != nullptr) {
        open_.rbegin()->second.flushes.push_back(comp);
    }
    return UCS_INPROGRESS;
}

ucs_status_t PairEp::check()
{
    if (pair_->state != QueuePair::State::Connected) {
        return UCS_ERR_ENDPOINT_TIMEOUT;
    }
    if (room() != UCS_OK) {
        return UCS_OK; /* something is on its way anyway */
    }
    PairWork work{.kind = PairWork::Kind::Nothing};
    post(std::move(work), nullptr);
    return UCS_OK;
}

} // namespace fuselink::sim
