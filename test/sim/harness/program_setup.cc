/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */

/* Program: what it has before its first action and after its last one. */

#include "program.h"

#include "edge/component.h"
#include "edge/rails_iface.h"
#include "../../lib/harness/keys.h"
#include "watch_check.h"

namespace fuselink::sim {
namespace {

constexpr uint8_t kIds[] = {0, 1, 5, 28, 29, 31};

} // namespace

Program::Program(Ledger &ledger, const Scenario &scenario, Process &process,
                 NodeMemory &node)
    : ledger_(ledger), scenario_(scenario), process_(process),
      world_(process.world()), host_(process, node)
{
}

Program::~Program()
{
    /* Of one that was killed. All queues first: what one endpoint's end makes room
     * for, another's queue would begin, to programs that are not there any more. */
    for (auto &endpoint : endpoints_) {
        if (endpoint->ep != nullptr) {
            uct_ep_pending_purge(endpoint->ep, [](uct_pending_req_t *, void *) {},
                                 nullptr);
        }
    }
    for (auto &endpoint : endpoints_) {
        if (endpoint->ep != nullptr) {
            uct_ep_destroy(endpoint->ep);
        }
    }
    for (auto &[peer, remote] : remotes_) {
        if (remote.has_key) {
            uct_rkey_release(registered_component(), &remote.key);
            uct_rkey_release(registered_component(), &remote.revocable);
        }
        if (remote.has_gpu_key) {
            uct_rkey_release(registered_component(), &remote.gpu_key);
        }
    }
    release_all();
    if (iface_ != nullptr) {
        uct_iface_close(iface_);
    }
    for (auto &op : operations_) {
        if (op->memh != nullptr) {
            uct_md_mem_dereg(md_, op->memh);
        }
    }
    for (uct_mem_h memh : {memh_, gpu_memh_, revocable_memh_}) {
        if (memh != nullptr) {
            uct_md_mem_dereg(md_, memh);
        }
    }
    if (md_ != nullptr) {
        uct_md_close(md_);
    }
    worker_.close();
}

RailsIface *Program::rails() const
{
    return iface_ == nullptr ? nullptr : &RailsIface::from(iface_);
}

bool Program::open()
{
    uct_component_h component = registered_component();
    World::current            = &world_;
    world_.opening            = &process_;
    opening_host              = &host_;
    uct_md_config_t    *md_config    = nullptr;
    uct_iface_config_t *iface_config = nullptr;
    if (!worker_.open() ||
        uct_md_config_read(component, nullptr, nullptr, &md_config) !=
            UCS_OK) {
        return false;
    }
    uct_config_modify(md_config, "NODE_LANES", "none");
    uct_config_modify(md_config, "GPU_DIRECT", scenario_.gpu_direct.c_str());
    ucs_status_t status = uct_md_open(component, "fuselink", md_config, &md_);
    uct_config_release(md_config);
    world_.opening = nullptr;
    if (status != UCS_OK ||
        uct_md_iface_config_read(md_, "fuselink", nullptr, nullptr,
                                 &iface_config) != UCS_OK) {
        return false;
    }
    for (auto [name, value] :
         {std::pair<const char *, const char *>{"SCHED",
                                                scenario_.policy.c_str()},
          {"MIN_CHUNK", scenario_.min_chunk.c_str()},
          {"CHUNK_TIME", scenario_.chunk_time.c_str()},
          {"INLINE_GET", scenario_.inline_get.c_str()},
          {"GPU_CHUNK", scenario_.gpu_chunk.c_str()},
          {"RELAY_MEMORY", scenario_.relay_memory.c_str()},
          {"RELAY", scenario_.relays ? "y" : "n"},
          {"CONNECT", scenario_.connect_ep ? "ep" : "auto"},
          {"PROGRESS", scenario_.deputies ? "thread" : "caller"},
          {"SPREAD", scenario_.spread.c_str()},
          {"BOARD", scenario_.board ? "y" : "n"}}) {
        if (uct_config_modify(iface_config, name, value) != UCS_OK) {
            return false;
        }
    }
    if (scenario_.traces) {
        uct_config_modify(iface_config, "TRACE",
                          WatchCheck::trace_path().c_str());
        uct_config_modify(iface_config, "TRACE_SIZE", "128k");
    }
    if (scenario_.reports) {
        uct_config_modify(iface_config, "REPORT",
                          WatchCheck::report_path().c_str());
    }
    uct_iface_params_t params{};
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                        UCT_IFACE_PARAM_FIELD_DEVICE |
                        UCT_IFACE_PARAM_FIELD_RX_HEADROOM |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG;
    params.open_mode            = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name  = "fuselink";
    params.mode.device.dev_name = "rails";
    headroom_ = process_.chance().pick({size_t{0}, size_t{64}});
    params.rx_headroom          = headroom_;
    params.err_handler          = on_failure;
    params.err_handler_arg      = this;
    status = uct_iface_open(md_, worker_.handle(), &params, iface_config, &iface_);
    uct_config_release(iface_config);
    if (status != UCS_OK || uct_iface_query(iface_, &attr_) != UCS_OK) {
        return false;
    }
    for (uint8_t id : kIds) {
        uct_iface_set_am_handler(iface_, id, on_message, this, 0);
    }
    uct_iface_progress_enable(iface_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);

    return provide_memory();
}

/* With what others may read in front. */
bool Program::provide_memory()
{
    const size_t size = process_.arena_size();
    fill(process_.arena(), scenario_.library, library_seed(process_));
    next_range_     = scenario_.library;
    if (scenario_.revocable) {
        next_range_ *= 2;
        fill(process_.arena(), next_range_, library_seed(process_));
    }
    next_gpu_range_ = size + scenario_.library;
    uct_md_attr_t md_attr;
    if (uct_md_query(md_, &md_attr) != UCS_OK ||
        uct_md_mem_reg(md_, process_.arena(), size, UCT_MD_MEM_ACCESS_ALL,
                       &memh_) != UCS_OK) {
        return false;
    }
    packed_key_.resize(md_attr.rkey_packed_size);
    packed_revocable_.resize(md_attr.rkey_packed_size);
    if (uct_md_mkey_pack(md_, memh_, packed_key_.data()) != UCS_OK ||
        uct_md_mem_reg(md_, process_.arena(), size, UCT_MD_MEM_ACCESS_ALL,
                       &revocable_memh_) != UCS_OK ||
        fltest::pack_revocable(md_, revocable_memh_, packed_revocable_.data()) != UCS_OK) {
        return false;
    }
    if (!process_.has_gpu()) {
        return true;
    }
    fill(process_.arena() + size, scenario_.library,
         library_seed(process_) + size);
    packed_gpu_key_.resize(md_attr.rkey_packed_size);
    return uct_md_mem_reg(md_, process_.address(size), process_.gpu_size(),
                          UCT_MD_MEM_ACCESS_ALL, &gpu_memh_) == UCS_OK &&
           uct_md_mkey_pack(md_, gpu_memh_, packed_gpu_key_.data()) == UCS_OK;
}

bool Program::meet(const std::vector<std::unique_ptr<Program>> &all)
{
    for (const auto &other : all) {
        if (other->process_.node() == process_.node()) {
            continue;
        }
        Remote &remote = remotes_[other->process_.index()];
        remote.program = other.get();
        remote.device.resize(other->attr_.device_addr_len);
        remote.iface.resize(other->attr_.iface_addr_len);
        auto *device = reinterpret_cast<uct_device_addr_t *>(
            remote.device.data());
        auto *iface = reinterpret_cast<uct_iface_addr_t *>(
            remote.iface.data());
        if (uct_iface_get_device_address(other->iface_, device) != UCS_OK ||
            uct_iface_get_address(other->iface_, iface) != UCS_OK ||
            !uct_iface_is_reachable(iface_, device, iface) ||
            uct_rkey_unpack(registered_component(),
                            other->packed_key_.data(), &remote.key) !=
                UCS_OK ||
            uct_rkey_unpack(registered_component(),
                            other->packed_revocable_.data(),
                            &remote.revocable) != UCS_OK) {
            return false;
        }
        remote.has_key = true;
        remote.has_gpu_key =
            other->process_.has_gpu() &&
            uct_rkey_unpack(registered_component(),
                            other->packed_gpu_key_.data(),
                            &remote.gpu_key) == UCS_OK;
    }
    return true;
}

size_t Program::take_range(size_t length, bool on_gpu)
{
    on_gpu           = on_gpu && process_.has_gpu();
    size_t      &next = on_gpu ? next_gpu_range_ : next_range_;
    const size_t end  = process_.arena_size() +
                        (on_gpu ? process_.gpu_size() : 0);
    if (next + length > end) {
        return SIZE_MAX;
    }
    const size_t at = next;
    next           += length;
    return at;
}

} // namespace fuselink::sim
