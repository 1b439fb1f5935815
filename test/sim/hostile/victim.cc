/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "victim.h"

#include "../harness/ledger.h"
#include "edge/component.h"

#include <algorithm>
#include <cstring>

namespace fuselink::sim {
namespace {

constexpr uint64_t kSecretSeed = 77, kUnregisteredSeed = 78;
constexpr size_t   kOwn = Victim::kArena - 4 * Victim::kPart; /* bytes */

} // namespace

Victim::Victim(Process &process, NodeMemory &node)
    : process_(process), world_(process.world()), rails_(process, node),
      own_(process.arena() + 4 * kPart)
{
}

Victim::~Victim()
{
    close();
}

bool Victim::open(bool gpu_direct)
{
    uct_component_h              component   = registered_component();
    const BareRails::Setting     of_md[]     = {{"GPU_DIRECT", gpu_direct ? "y" : "n"}};
    constexpr BareRails::Setting kOfIface[]  = {
        {"RELAY", "n"}, {"GPU_CHUNK", "64k"}, {"RELAY_MEMORY", "512k"}};
    const auto on_failure = [](void *arg, uct_ep_h ep, ucs_status_t) {
        auto *victim = static_cast<Victim *>(arg);
        if (victim->ep_ == ep) { /* as UCP does */
            victim->ep_ = nullptr;
            uct_ep_pending_purge(ep, [](uct_pending_req_t *, void *) {},
                                 nullptr);
            uct_ep_destroy(ep);
        }
        return UCS_OK;
    };
    if (!rails_.open({of_md, kOfIface}, on_failure, this)) {
        return false;
    }
    for (uint8_t id = 0; id < UCT_AM_ID_MAX; ++id) {
        uct_iface_set_am_handler(rails_.iface(), id,
                                 [](void *, void *, size_t, unsigned) {
                                     return UCS_OK;
                                 },
                                 nullptr, 0);
    }

    const uct_md_h md    = rails_.md();
    uint8_t       *arena = process_.arena();
    fill(arena + kPart, kPart, kSecretSeed);
    fill(arena + 2 * kPart, kPart, kUnregisteredSeed);
    process_.open(arena, kPart); /* the peer may write there, */
    process_.open(own_, kOwn);   /* and answer gets at any time */
    uct_md_attr_t md_attr;
    if (uct_md_query(md, &md_attr) != UCS_OK ||
        uct_md_mem_reg(md, arena, kPart, UCT_MD_MEM_ACCESS_ALL, &known_) !=
            UCS_OK ||
        uct_md_mem_reg(md, arena + kPart, kPart, UCT_MD_MEM_ACCESS_ALL,
                       &secret_) != UCS_OK ||
        uct_md_mem_reg(md, own_, kOwn, UCT_MD_MEM_ACCESS_ALL,
                       &own_memh_) != UCS_OK) {
        return false;
    }
    void *const gpu = process_.address(kArena);
    process_.open(process_.arena() + kArena, kGpu);
    if (uct_md_mem_reg(md, gpu, kGpu, UCT_MD_MEM_ACCESS_ALL, &on_gpu_) !=
        UCS_OK) {
        return false;
    }
    key_.resize(md_attr.rkey_packed_size);
    gpu_key_.resize(md_attr.rkey_packed_size);
    return uct_md_mkey_pack(md, known_, key_.data()) == UCS_OK &&
           uct_md_mkey_pack(md, on_gpu_, gpu_key_.data()) == UCS_OK &&
           uct_rkey_unpack(component, key_.data(), &peer_key_) == UCS_OK &&
           uct_rkey_unpack(component, gpu_key_.data(), &peer_gpu_key_) ==
               UCS_OK;
}

wire::RailTable Victim::table() const
{
    wire::RailTable table;
    (void)wire::unpack_iface_address(rails_.iface_address(), table);
    return table;
}

Victim::Known Victim::known() const
{
    return {reinterpret_cast<uintptr_t>(process_.arena()), key_};
}

Victim::Known Victim::known_on_gpu() const
{
    return {reinterpret_cast<uintptr_t>(process_.address(kArena)), gpu_key_};
}

void Victim::connect(const wire::RailTable &peer, uint64_t memory)
{
    peer_memory_ = memory;
    if (ep_ != nullptr) {
        return;
    }
    peer_address_.assign(wire::kMaxIfaceAddress, 0);
    wire::pack_iface_address(peer, peer_address_);
    std::vector<uint8_t> device = rails_.device_address();
    device[offsetof(wire::DeviceAddress, node)] ^= 1; /* on another one */
    ep_ = rails_.connect(device, peer_address_);
}

Victim::Op &Victim::begin()
{
    Op &op    = ops_.emplace_back();
    op.victim = this;
    op.open   = true;
    arm(op.comp, on_end);
    return op;
}

void Victim::settle(Op &op, ucs_status_t status)
{
    if (status != UCS_INPROGRESS) {
        op.open = false;
    }
}

void Victim::on_end(uct_completion_t *comp)
{
    Op *op = reinterpret_cast<Op *>(comp);
    if (!op->open) {
        op->victim->violate("an operation ends that had ended");
    }
    op->open = false;
}

void Victim::violate(const std::string &what)
{
    world_.journal().violate(what);
}

void Victim::act(Bytes &script)
{
    constexpr size_t kLengths[] = {0, 1, 64, 5000, 60'000, 200'000};
    const unsigned kind   = script.below(14);
    const size_t   length = kLengths[script.below(6)];
    if (ep_ != nullptr) {
        operate(kind, length, script);
    }
}

/* The key is one that the victim has given out: the peer says of it what it
 * likes. */
void Victim::operate(unsigned kind, size_t length, Bytes &script)
{
    const unsigned   ends   = script.below(8); /* mostly of the host */
    const uct_rkey_t key    = ends < 5 ? peer_key_.rkey : peer_gpu_key_.rkey;
    const bool       gpu    = ends % 3 == 2;
    const uint64_t   remote = peer_memory_ + script.byte();
    const auto      &cap    = rails_.attr().cap;
    const size_t     small  = std::min({length, cap.put.max_short,
                                        cap.am.max_short - sizeof(uint64_t)});
    uct_iov_t        iov{gpu ? process_.address(kArena) : own_, length,
                         gpu ? on_gpu_ : own_memh_, 0, 1};
    const auto       pack = [](void *dest, void *arg) {
        const size_t size = *static_cast<size_t *>(arg);
        memset(dest, 0x5a, size);
        return size;
    };
    size_t packed = std::min({length, cap.put.max_bcopy, cap.am.max_bcopy,
                              cap.get.max_bcopy});
    switch (kind) {
    case 0:
        uct_ep_am_short(ep_, 3, 5, own_, static_cast<unsigned>(small));
        return;
    case 1:
        uct_ep_am_bcopy(ep_, 30, pack, &packed, 0);
        return;
    case 2:
        uct_ep_put_short(ep_, own_, static_cast<unsigned>(small),
                         remote, key);
        return;
    case 3:
        uct_ep_put_bcopy(ep_, pack, &packed, remote, key);
        return;
    case 4:
    case 5: {
        Op &op = begin();
        settle(op, uct_ep_put_zcopy(ep_, &iov, 1, remote, key, &op.comp));
        return;
    }
    case 6: {
        Op &op = begin();
        settle(op, uct_ep_get_bcopy(
                       ep_,
                       [](void *arg, const void *data, size_t size) {
                           if (size != 0) {
                               memcpy(arg, data, size);
                           }
                       },
                       own_, packed, remote, key, &op.comp));
        return;
    }
    case 7:
    case 8: {
        Op &op = begin();
        settle(op, uct_ep_get_zcopy(ep_, &iov, 1, remote, key, &op.comp));
        return;
    }
    case 9: {
        Op &op = begin();
        settle(op, uct_ep_flush(ep_, 0, &op.comp));
        return;
    }
    case 10:
        uct_ep_fence(ep_, 0);
        return;
    case 11:
        uct_iface_fence(rails_.iface(), 0);
        return;
    case 12: {
        Op &op = begin();
        settle(op, uct_ep_flush(ep_, UCT_FLUSH_FLAG_CANCEL, &op.comp));
        return;
    }
    default:
        uct_ep_destroy(ep_);
        ep_ = nullptr;
        return;
    }
}

void Victim::progress(unsigned times)
{
    rails_.progress(times);
}

void Victim::check()
{
    const uint8_t *arena = process_.arena();
    if (differs(arena + kPart, kPart, kSecretSeed) != kPart) {
        violate("memory whose key the peer does not have was written");
    }
    if (differs(arena + 2 * kPart, kPart, kUnregisteredSeed) != kPart) {
        violate("memory that is not registered was written");
    }
}

void Victim::close()
{
    world_.running = process_.index();
    if (ep_ != nullptr) {
        uct_ep_destroy(ep_);
        ep_ = nullptr;
    }
    rails_.close_iface();
    for (uct_mem_h *memh : {&known_, &secret_, &on_gpu_, &own_memh_}) {
        if (*memh != nullptr) {
            uct_md_mem_dereg(rails_.md(), *memh);
            *memh = nullptr;
        }
    }
    for (uct_rkey_bundle_t *key : {&peer_key_, &peer_gpu_key_}) {
        if (key->rkey != 0) {
            uct_rkey_release(registered_component(), key);
            key->rkey = 0;
        }
    }
    rails_.close();
}

} // namespace fuselink::sim
