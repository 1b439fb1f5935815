/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "engine.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

namespace fuselink {
namespace {

bool is_policy(const EngineSettings &settings, const char *name)
{
    return settings.bulk.policy == sched::find_policy(name);
}

} // namespace

Engine::Engine(Host &host, uct_base_iface_t &owner, RegionTable &regions,
               NicMemory &nics, const EngineSettings &settings)
    : host_(host), owner_(owner), regions_(regions), nics_(nics),
      settings_(settings),
      rotation_(static_cast<uint32_t>(rails_.uuid()),
                !is_policy(settings, "single")),
      peers_(rails_.uuid(),
             [this](uint64_t uuid, uint32_t session, wire::Token token) {
                 return std::make_unique<Peer>(peer_context(), uuid, session,
                                               token);
             }),
      plans_(rails_, peers_, is_policy(settings, "plan") ||
                                    is_policy(settings, "auto")),
      dispatch_(host, owner, settings.rails.rx_headroom, rails_, peers_, gets_,
                loads_, user_calls_, turns_, watching_)
{
}

Engine::~Engine()
{
    deputy_.reset();
    user_calls_.held().end();
    peers_.close(host_);
    watching_.end(rails_, copies_, settings_.bulk.policy->name(),
                  host_.now());
}

unsigned Engine::progress_away()
{
    calls_ = kWatchCalls - 1; /* rounds are far apart */
    user_calls_.held().begin_away();
    const unsigned count = poller_.progress() + drive();
    user_calls_.held().end_away();
    return count;
}

void Engine::watch()
{
    sched::Nanos now = host_.now();
    if (now - watched_ >= SilenceWatch::kInterval) {
        watched_ = now;
        if (ucs_unlikely(late_.waits())) {
            look_for_late(now);
            now = host_.now(); /* it takes a millisecond to open one */
        }
        if (carrier_) {
            const bool ports = rails_.take_ports_due(now);
            if (carrier_->look(now) || ports) {
                note_carrier();
                late_.note(carrier_->ready(), now);
            }
        }
        for (const auto &rail : rails_.list()) {
            rail->health.look(now);
            rail->introduce(host_.network(), now);
        }
        peers_.watch(now);
        if (ucs_unlikely(near_.any())) {
            near_.look(now);
        }
        while (Wire *wire = rails_.wires().take_doubtful()) {
            peers_.on_doubt(*wire, now);
        }
        while (const Wire *wire = rails_.wires().take_changed()) {
            peers_.on_wire(*wire);
        }
    }
}

/* One line for each NIC, and none for each peer and path. */
void Engine::note_carrier()
{
    uint16_t            back = 0;
    std::vector<Rail *> changed;
    for (const auto &rail : rails_.list()) {
        const bool carries = rail->look_at(*carrier_);
        if (carries != rail->carrier) {
            rail->carrier = carries;
            rail->health.on_carrier(carries, host_.now());
            if (carries) {
                back = static_cast<uint16_t>(back | 1 << rail->index());
                rail->introduction.begin(host_.now());
            }
            changed.push_back(rail.get());
        }
    }
    rails_.forget_routes(); /* the kernel has others now */
    const uint16_t down = rails_.without_link();
    const bool none = static_cast<size_t>(std::popcount(down)) ==
                      rails_.list().size();
    for (const Rail *rail : changed) {
        ucs_warn("fuselink: rail %s %s", rail->name().c_str(),
                 rail->carrier ? "has a link again" :
                 none          ? "has lost its link, and no other has one: what is "
                                 "sent waits" :
                                 "has lost its link: the other rails go on");
    }
    if (!changed.empty()) {
        peers_.on_carrier(down, back);
    }
}

/* What UCP was told of the interface stays: it knows one device, however many NICs. */
void Engine::look_for_late(sched::Nanos now)
{
    std::vector<net::InterfaceAddress> all;
    while (const int ifindex = late_.take_due(now)) {
        if (all.empty()) {
            all = host_.network().interface_addresses();
        }
        const auto it = std::find_if(all.begin(), all.end(), [&](const auto &one) {
            return one.ifindex == ifindex;
        });
        if (it == all.end()) {
            continue; /* it has gone by now */
        }
        const std::optional<RailCandidate> candidate =
            rails_.is_settled(it->device) ? std::nullopt : find_late_(it->device);
        Rail *rail = candidate ? rails_.add(*candidate) : nullptr;
        if (!candidate || rail != nullptr || rails_.is_settled(it->device)) {
            late_.settle(ifindex);
        }
        if (rail != nullptr) {
            begin_late(*rail);
        }
    }
}

void Engine::begin_late(Rail &rail)
{
    loads_.add(rail);
    watching_.add(rail);
    ucs_warn("fuselink: rail %s was not there at the start, and is used from now on",
             rail.name().c_str());
    rail.introduction.begin(host_.now());
    peers_.on_new_rails();
}

PeerContext Engine::peer_context()
{
    return {.host          = host_,
            .iface         = owner_,
            .rails         = rails_,
            .lanes         = lanes_,
            .poller        = poller_,
            .regions       = regions_,
            .nics          = nics_,
            .copies        = copies_,
            .near          = near_,
            .loads         = loads_,
            .gets          = gets_,
            .connect_timer = connect_timer_,
            .messages      = messages_,
            .seen_timer    = seen_timer_,
            .calls         = user_calls_,
            .bulk          = bulk_context(),
            .registry      = peers_,
            .deferred      = peers_,
            .settings      = {.inline_get = settings_.inline_get,
                              .max_qps    = settings_.max_qps,
                              .messages   = settings_.messages}};
}

void Engine::begin_deputy()
{
    if (!settings_.deputy) {
        return;
    }
    std::string error;
    deputy_ = std::make_unique<Deputy>(host_, *this, turns_, settings_.crowded);
    if (!deputy_->start(error)) {
        ucs_log(settings_.deputy_or_none ? UCS_LOG_LEVEL_INFO : UCS_LOG_LEVEL_WARN,
                "fuselink: data moves only while the program calls: %s", error.c_str());
        deputy_.reset();
    }
}

ucs_status_t Engine::open_rails(const std::vector<RailCandidate> &candidates,
                                FindLate find_late, uct_worker_h worker,
                                const uct_iface_params_t *params)
{
    /* The program's queue of callbacks is for who calls its worker's progress. And UCP holds
     * the lock of that worker's events while it makes calls. */
    ucs_status_t status = settings_.deputy ? worker_.open() : UCS_OK;
    if (status != UCS_OK) {
        return status;
    }
    status = rails_.open(
        settings_.rails, candidates,
        settings_.deputy ? worker_.handle() : worker, params,
        [this](Rail &rail) { return dispatch_.receive(rail); });
    if (status != UCS_OK) {
        return status;
    }
    std::string error;
    carrier_ = host_.watch_carrier(error);
    find_late_ = std::move(find_late);
    if (carrier_) {
        poller_.wake_by(carrier_->event_fd());
        late_.note(carrier_->ready(), host_.now()); /* what has come since the MD was opened */
    } else {
        ucs_debug("fuselink: nobody tells of links: %s", error.c_str());
    }
    loads_.open(settings_.share, settings_.bulk.limits, rails_.list(),
                is_policy(settings_, "idle"),
                [this](const std::vector<std::string> &nics) {
                    return copies_.nearest(nics);
                });
    rails_.wires().share(loads_.board(), host_.network_signature());
    ucs_info("fuselink: others call this process peer %016lx", rails_.uuid());
    status = watching_.start(settings_.watching, rails_);
    if (status == UCS_OK && carrier_) {
        note_carrier(); /* a link may have gone while they were opened */
    }
    return status;
}

ucs_status_t Engine::open_gpu(UctMd &gpu, UctMd *ipc, NvLinks &nvlinks,
                              uct_worker_h worker,
                              const uct_iface_params_t *params)
{
    ucs_status_t status = copies_.open(host_, gpu, ipc, nvlinks, nics_,
                                       regions_, settings_.gpu, worker, params);
    if (status == UCS_OK) {
        watching_.add(copies_);
        loads_.on_gpu();
    }
    return status;
}

} // namespace fuselink
