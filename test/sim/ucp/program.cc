/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "program.h"

#include "../harness/rest_check.h"
#include "edge/rails_iface.h"

#include "inside.h"

#include <algorithm>
#include <cstring>
#include <poll.h>

namespace fuselink::sim {
namespace {

using Kind = UcpAction::Kind;

/* After so long a program that sleeps is looked at: was there something? */
constexpr Instant kLongSleep = 2 * kSecond;
constexpr Instant kSleptOver = 100 * kMillisecond;

/* No operation takes longer. */
constexpr Instant kBound = 40 * kSecond;

} // namespace

UcpProgram::UcpProgram(Ledger &ledger, Book &book, const UcpPlan &plan,
                       Process &process, NodeMemory &node)
    : ledger_(ledger), book_(book), plan_(plan), process_(process),
      world_(process.world()), host_(process, node), next_check_(plan.keepalive)
{
}

UcpProgram::~UcpProgram()
{
    leave();
}

RailsIface *UcpProgram::rails() const
{
    return rails_of(worker_);
}

bool UcpProgram::open()
{
    const Scenario &base   = plan_.base;
    ucp_config_t   *config = nullptr;
    if (ucp_config_read(nullptr, nullptr, &config) != UCS_OK) {
        return false;
    }
    bool well = true;
    for (auto [name, value] :
         {std::pair<const char *, const char *>{"TLS", "fuselink"},
          {"NET_DEVICES", "rails"},
          {"SHM_DEVICES", ""},
          {"SELF_DEVICES", ""},
          {"ACC_DEVICES", ""},
          {"SOCKADDR_TLS_PRIORITY", ""},
          /* Else a thread of UCP's waits for the events of interfaces. */
          {"ADAPTIVE_PROGRESS", "n"},
          {"WARN_INVALID_CONFIG", "n"},
          {"PROTO_ENABLE", plan_.new_engine ? "y" : "n"},
          {"RNDV_THRESH", plan_.rendezvous_from.c_str()},
          {"RNDV_SCHEME", plan_.rendezvous_by.c_str()},
          {"ZCOPY_THRESH", plan_.copy_to.c_str()},
          /* What would be measured, or depend on real memory or real time. */
          {"BCOPY_BW", "5000MBs"},
          {"RCACHE_ENABLE", "n"},
          {"KEEPALIVE_INTERVAL", kNeverByItself},
          {"NODE_LANES", "none"},
          {"SCHED", base.policy.c_str()},
          {"MIN_CHUNK", base.min_chunk.c_str()},
          {"CHUNK_TIME", base.chunk_time.c_str()},
          {"INLINE_GET", base.inline_get.c_str()},
          {"CONNECT", base.connect_ep ? "ep" : "auto"},
          {"PROGRESS", base.deputies ? "thread" : "caller"},
          {"SPREAD", base.spread.c_str()},
          {"BOARD", base.board ? "y" : "n"}}) {
        if (ucp_config_modify(config, name, value) != UCS_OK) {
            world_.journal().violate(std::string("UCP does not take ") + name + "=" +
                                     value);
            well = false;
        }
    }
    world_.opening = &process_;
    opening_host   = &host_;
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_RMA |
                        UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64 |
                        (plan_.sleeps ? UCP_FEATURE_WAKEUP : 0);
    well = well && ucp_init(&params, config, &context_) == UCS_OK;
    ucp_config_release(config);
    world_.opening = nullptr;

    ucp_worker_params_t worker{};
    worker.field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    if (!well || ucp_worker_create(context_, &worker, &worker_) != UCS_OK ||
        rails() == nullptr) {
        return false;
    }
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                         UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id  = kMessageId;
    handler.cb  = on_message;
    handler.arg = this;

    fill(memory(kLibraryAt), kLibrary, library_seed(process_) + kLibraryAt);
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address    = process_.arena();
    map.length     = process_.arena_size();
    void          *key     = nullptr;
    ucp_address_t *address = nullptr;
    size_t         length  = 0;
    if (ucp_worker_set_am_recv_handler(worker_, &handler) != UCS_OK ||
        ucp_mem_map(context_, &map, &memh_) != UCS_OK ||
        ucp_rkey_pack(context_, memh_, &key, &length) != UCS_OK) {
        return false;
    }
    key_.assign(static_cast<uint8_t *>(key), static_cast<uint8_t *>(key) + length);
    ucp_rkey_buffer_release(key);
    if (ucp_worker_get_address(worker_, &address, &length) != UCS_OK) {
        return false;
    }
    const auto *bytes = reinterpret_cast<const uint8_t *>(address);
    address_.assign(bytes, bytes + length);
    ucp_worker_release_address(worker_, address);
    return true;
}

bool UcpProgram::meet(const std::vector<std::unique_ptr<UcpProgram>> &all)
{
    for (const auto &other : all) {
        all_.push_back(other.get());
    }
    for (unsigned peer = 0; peer < all_.size(); ++peer) {
        if (all_[peer]->process_.node() != process_.node() && !plan_.late &&
            endpoint(peer, 0) == nullptr) {
            return false;
        }
    }
    return true;
}

/* Of those to a peer that of slot 0 comes first, on both sides: UCP takes the first of
 * the one for the first of the other. */
UcpEndpoint *UcpProgram::endpoint(unsigned peer, unsigned slot)
{
    if (slot != 0 && endpoint(peer, 0) == nullptr) {
        return nullptr;
    }
    for (auto &one : endpoints_) {
        if (one->ep != nullptr && !one->closing && one->peer == peer &&
            one->slot == slot) {
            return one.get();
        }
    }
    auto made     = std::make_unique<UcpEndpoint>();
    made->program = this;
    made->peer    = peer;
    made->slot    = slot;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = reinterpret_cast<const ucp_address_t *>(
        all_[peer]->address_.data());
    if (plan_.handles_errors) {
        params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                             UCP_EP_PARAM_FIELD_ERR_HANDLER;
        params.err_mode        = UCP_ERR_HANDLING_MODE_PEER;
        params.err_handler.cb  = on_failure;
        params.err_handler.arg = made.get();
    }
    const ucs_status_t status = ucp_ep_create(worker_, &params, &made->ep);
    world_.journal().note("ucp ep create", process_.index(), peer, slot,
                          static_cast<uint64_t>(-status));
    if (status != UCS_OK) {
        world_.journal().violate("no endpoint from " +
                                 std::to_string(process_.index()) + " to " +
                                 std::to_string(peer) + ": " +
                                 ucs_status_string(status));
        return nullptr;
    }
    endpoints_.push_back(std::move(made));
    return endpoints_.back().get();
}

/* --- going on --- */

bool UcpProgram::awake()
{
    if (sleeps_since_ == 0) {
        return true;
    }
    int fd = -1;
    ucp_worker_get_efd(worker_, &fd);
    struct pollfd one{fd, POLLIN, 0};
    const Instant now = world_.time().now();
    if (poll(&one, 1, 0) > 0 || now >= next_check_) { /* UCP has a timer for that */
        sleeps_since_ = 0;
        return true;
    }
    if (now - sleeps_since_ < kLongSleep) {
        return false;
    }
    sleeps_since_       = 0;
    unsigned      found = 0;
    const Instant last  = process_.last_event;
    for (unsigned i = 0; i < 64; ++i) {
        found += ucp_worker_progress(worker_);
    }
    /* What has come only while one looks says nothing. */
    if (found != 0 && now - last > kSleptOver && process_.last_event == last) {
        world_.journal().violate("process " + std::to_string(process_.index()) +
                                 " sleeps over what has come");
    }
    return true;
}

bool UcpProgram::step()
{
    if (gone() || process_.stopped) {
        return false;
    }
    if (host_.step_works()) {
        world_.count(Count::AgentRounds);
    }
    if (rails() != nullptr && rails()->engine().held().any()) {
        world_.count(Count::CallsHeld);
    }
    check_rest(process_, rails());
    const Instant now = world_.time().now();
    if (now < computes_until_ || !awake()) {
        return false;
    }
    bool did = false;
    if (now >= next_check_) {
        ask_whether_alive();
    }
    for (uint64_t n = process_.chance().between(1, 12); n != 0; --n) {
        did |= ucp_worker_progress(worker_) != 0;
    }
    for (size_t i = 0; i < endpoints_.size(); ++i) {
        UcpEndpoint &one = *endpoints_[i];
        if (one.ep != nullptr && one.closing && one.open == 0 && flushing_ == 0) {
            close(one);
            did = true;
        }
    }
    if (!kept_.empty() && process_.chance().one_in(8)) {
        release_kept(process_.chance().below(kept_.size()));
    }
    const auto &script = plan_.scripts[process_.index()];
    if (next_action_ < script.size() && process_.chance().one_in(2)) {
        perform(script[next_action_++]);
        did = true;
    }
    return did;
}

/* UCP would by its own clock, which is none of the run's. */
void UcpProgram::ask_whether_alive()
{
    next_check_ = world_.time().now() + plan_.keepalive;
    world_.count(Count::Keepalives, plan_.handles_errors && ask_peers(worker_));
}

bool UcpProgram::is_done() const
{
    return gone() || (next_action_ == plan_.scripts[process_.index()].size() &&
                      open_ == 0 && kept_.empty() &&
                      std::none_of(endpoints_.begin(), endpoints_.end(),
                                   [](const auto &one) {
                                       return one->ep != nullptr && one->closing;
                                   }));
}

bool UcpProgram::is_overdue() const
{
    return std::any_of(operations_.begin(), operations_.end(), [&](const auto &op) {
        return op->open && world_.time().now() - op->begun > kBound;
    });
}

std::string UcpProgram::state() const
{
    std::string text = "process " + std::to_string(process_.index()) + ":";
    if (next_action_ < plan_.scripts[process_.index()].size()) {
        text += " at action " + std::to_string(next_action_);
    }
    for (const auto &op : operations_) {
        if (op->open) {
            text += std::string(" [") + name_of(op->action.kind) + " " +
                    std::to_string(op->action.number) + " of " +
                    std::to_string(op->action.length) + " bytes, " +
                    std::to_string(op->action.peer) + "]";
        }
    }
    return text;
}

bool UcpProgram::has_rendezvous() const
{
    return std::any_of(operations_.begin(), operations_.end(), [&](const auto &op) {
        const UcpAction &action = op->action;
        const bool       sends  = action.kind == Kind::TagSend ||
                           action.kind == Kind::TagSync ||
                           (action.kind == Kind::AmSend &&
                            action.flags != UCP_AM_SEND_FLAG_EAGER);
        return op->open && sends && (action.length >= plan_.rendezvous_least ||
                                     action.flags == UCP_AM_SEND_FLAG_RNDV);
    });
}

void UcpProgram::perform(const UcpAction &action)
{
    world_.journal().note(name_of(action.kind), process_.index(), action.number,
                          action.peer, action.length);
    switch (action.kind) {
    case Kind::Compute:
        computes_until_ = world_.time().now() + action.time;
        break;
    case Kind::Sleep:
        sleep();
        break;
    case Kind::CloseEp:
        for (auto &one : endpoints_) {
            if (one->ep != nullptr && one->peer == action.peer &&
                one->slot == action.slot) {
                one->closing = true;
            }
        }
        break;
    default:
        start(action);
    }
}

/* As UCP's users do: arm, and look once more if there is something. */
void UcpProgram::sleep()
{
    if (!plan_.sleeps || open_ == 0) {
        return; /* nothing would wake it */
    }
    for (unsigned tries = 0; tries < 16; ++tries) {
        if (ucp_worker_arm(worker_) == UCS_OK) {
            world_.count(Count::Slept);
            sleeps_since_ = std::max<Instant>(world_.time().now(), 1);
            return;
        }
        if (ucp_worker_progress(worker_) != 0) {
            return; /* it is wanted */
        }
    }
}

/* --- its end --- */

void UcpProgram::flush_all()
{
    UcpAction action;
    action.kind = Kind::FlushWorker;
    start(action);
}

void UcpProgram::close_all()
{
    for (auto &one : endpoints_) {
        one->closing = one->ep != nullptr;
    }
}

void UcpProgram::close(UcpEndpoint &endpoint)
{
    world_.count(Count::EpsClosed);
    world_.journal().note("ucp ep close", process_.index(), endpoint.peer,
                          endpoint.slot, endpoint.failed);
    UcpAction action;
    action.kind = Kind::Close;
    action.peer = endpoint.peer;
    UcpOperation &op = begin(action, nullptr);
    op.covers        = std::move(endpoint.unflushed);
    if (endpoint.rkey != nullptr) {
        ucp_rkey_destroy(endpoint.rkey);
        endpoint.rkey = nullptr;
    }
    ucp_request_param_t params = params_of(op);
    if (endpoint.failed) {
        params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        params.flags         = UCP_EP_CLOSE_FLAG_FORCE;
    }
    settle(op, ucp_ep_close_nbx(std::exchange(endpoint.ep, nullptr), &params));
}

void UcpProgram::leave()
{
    if (left_) {
        return;
    }
    left_ = true;
    world_.count(Count::Leaves);
    world_.journal().note("leaves", process_.index());
    ledger_.excuse_all(process_.index());
    while (!kept_.empty()) {
        release_kept(kept_.size() - 1);
    }
    for (auto &one : endpoints_) {
        if (one->rkey != nullptr) {
            ucp_rkey_destroy(one->rkey);
        }
    }
    if (worker_ != nullptr) {
        ucp_worker_destroy(worker_);
    }
    if (memh_ != nullptr) {
        ucp_mem_unmap(context_, memh_);
    }
    if (context_ != nullptr) {
        ucp_cleanup(context_);
    }
}

void UcpProgram::kill()
{
    world_.journal().violate("programs on UCP are not killed");
}

void UcpProgram::on_failure(void *arg, ucp_ep_h, ucs_status_t status)
{
    auto       &endpoint = *static_cast<UcpEndpoint *>(arg);
    UcpProgram &program  = *endpoint.program;
    program.host_.called_back();
    program.world_.journal().note("ucp ep fails", program.process_.index(),
                                  endpoint.peer, static_cast<uint64_t>(-status));
    program.world_.count(Count::PeersFailed);
    if (endpoint.failed) {
        program.world_.journal().violate("an endpoint fails twice");
    }
    endpoint.failed = true;
    if (!program.ledger_.excused(program.process_.index(), endpoint.peer)) {
        program.world_.journal().violate(
            "the endpoint of " + std::to_string(program.process_.index()) + " to " +
            std::to_string(endpoint.peer) + " fails: " + ucs_status_string(status));
    }
}

} // namespace fuselink::sim
