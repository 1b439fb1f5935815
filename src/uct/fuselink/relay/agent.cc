/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "agent.h"

#include <cstring>

namespace fuselink {
namespace {

using sched::Nanos;

/* While others end what they have begun. */
constexpr Nanos kLongPause = Nanos::millis(1);

/* How often it looks for what the dead have left, and at the GPU's memory. */
constexpr Nanos kLook = Nanos::seconds(1);

/* What others have begun in its slots ends within this, or they are stopped. */
constexpr Nanos kLinger = Nanos::seconds(2);

/* Longer than any copy takes. */
constexpr Nanos kBroken = Nanos::seconds(10);

} // namespace

std::unique_ptr<RelayAgent>
RelayAgent::start(Host &host, std::shared_ptr<RelayRegistry> registry,
                  uint32_t entry, UctMd &copies, UctMd &ipc,
                  const RelayRegistry::Offer &offer, Traffic &lent,
                  std::string &error)
{
    std::unique_ptr<RelayAgent> agent(new RelayAgent(
        host, std::move(registry), entry, copies, ipc, offer, lent));
    agent->context_ = GpuContext::current();
    GpuContext::Uuid uuid;
    if (!agent->context_ || !GpuContext::uuid(uuid)) {
        error = "the program uses no GPU";
        return nullptr;
    }
    memcpy(agent->offer_.gpu, uuid.data(), uuid.size());
    agent->work_ = host.begin_work(*agent, error);
    if (agent->work_ == nullptr) {
        return nullptr;
    }
    return agent;
}

/* Before its members go: it may be at work with them. */
RelayAgent::~RelayAgent()
{
    work_.reset();
}

void RelayAgent::stop()
{
    stop_.store(true);
    registry_->notify(entry_);
}

void RelayAgent::begin()
{
    if (!open()) {
        ucs_warn("fuselink: the thread that lends the GPU's link cannot work");
        over_ = true;
    }
}

bool RelayAgent::open()
{
    uct_iface_params_t none{};
    if (!context_.enter() ||
        ucs_async_context_create(UCS_ASYNC_MODE_POLL, &async_) != UCS_OK ||
        uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_) !=
            UCS_OK ||
        CopyLane::open(host_, copies_md_, worker_, &none, lane_) != UCS_OK) {
        return false;
    }
    clients_ = std::make_unique<RelayClients>(host_, *registry_, copies_md_, *lane_);
    slots_   = std::make_unique<LentSlots>(*registry_, entry_, copies_md_,
                                           ipc_md_, offer_);
    return true;
}

void RelayAgent::end()
{
    slots_.reset();
    clients_.reset();
    lane_.reset();
    if (worker_ != nullptr) {
        uct_worker_destroy(worker_);
    }
    if (async_ != nullptr) {
        ucs_async_context_destroy(async_);
    }
}

/* What others have begun goes on while it stops. */
bool RelayAgent::step()
{
    const Nanos now      = host_.now();
    const bool  stopping = stop_.load(std::memory_order_relaxed);
    stepped_             = now;
    if (stopping && deadline_ == Nanos::max()) {
        deadline_ = now + kLinger;
        slots_->withdraw();
    }
    if (slots_->due() || now >= next_look_) {
        if (!registry_->keep(entry_, now)) { /* it was stopped for long */
            ucs_debug("fuselink: the agent's entry was given to others");
            joined_ = false;
            lane_->wait([this] { return !lane_->busy(); });
            over_ = true;
            return false;
        }
        look_around(now);
    }
    unsigned count = take_jobs() + lane_->progress();
    if (slots_->leaving() && !lane_->busy() &&
        (registry_->sweep(entry_) || (stopping && now > deadline_))) {
        slots_->free(now);
        next_look_ = {}; /* offers slots anew */
    }
    if (stopping && !slots_->leaving()) {
        over_ = true;
    } else if (stopping && now > deadline_ + kBroken) {
        ucs_error("fuselink: copies of a GPU do not end");
        abandon();
        over_ = true;
    }
    return count != 0 || (looks_on(now) && !over_);
}

/* The next copy is over at any moment, or the next job comes. */
bool RelayAgent::looks_on(Nanos now) const
{
    return lane_->busy() ? pace_.next_look(now) <= now : now < pace_.lingers_until();
}

Nanos RelayAgent::next_due() const
{
    return lane_->busy()      ? pace_.next_look(stepped_) :
           slots_->leaving() ? stepped_ + kLongPause :
                               next_look_;
}

void RelayAgent::wait(Nanos most)
{
    heard_ = registry_->wait(entry_, heard_, most);
}

/* A GPU that is broken keeps what it reads and writes. */
void RelayAgent::abandon()
{
    slots_->abandon();
    (void)clients_.release();
    (void)lane_.release();
    worker_ = nullptr;
    async_  = nullptr;
}

unsigned RelayAgent::take_jobs()
{
    uint32_t       slot;
    RelayRegistry::Job job;
    unsigned       count = 0;
    for (; registry_->next(entry_, slot, job); ++count) {
        begin_copy(slot, job);
    }
    if (count != 0) {
        slots_->used(host_.now());
    }
    return count;
}

void RelayAgent::look_around(Nanos now)
{
    slots_->look(now, stop_.load(std::memory_order_relaxed));
    next_look_ = now + kLook;
    registry_->sweep(entry_);
    clients_->sweep();
}

void RelayAgent::begin_copy(uint32_t slot, const RelayRegistry::Job &job)
{
    if (slot >= slots_->count() || copying_[slot].busy) {
        return; /* not of ours: somebody has scribbled on it */
    }
    char *gpu  = slots_->at(slot);
    char *host = gpu == nullptr || job.length == 0 ||
                         job.length > slots_->size() ?
                     nullptr :
                     clients_->memory_of(job);
    if (host == nullptr) {
        registry_->done(entry_, slot, false);
        return;
    }
    Copy &copy = copying_[slot];
    arm(copy.comp, on_copied);
    copy.agent       = this;
    copy.slot        = slot;
    copy.length      = job.length;
    copy.out         = job.out;
    copy.busy        = true;
    pace_.begun(job.out, job.length, stepped_);
    ucs_status_t status =
        job.out ? lane_->begin_out(host, gpu, job.length, &copy.comp) :
                  lane_->begin_in(gpu, host, job.length, &copy.comp);
    if (status != UCS_INPROGRESS) {
        copy.busy = false;
        copied(copy, status);
    }
}

void RelayAgent::copied(const Copy &copy, ucs_status_t status)
{
    pace_.ended(copy.out, status == UCS_OK, host_.now());
    if (status == UCS_OK) {
        (copy.out ? lent_.sent : lent_.received).add(copy.length);
    }
    if (!joined_) {
        return; /* they are others' slots by now */
    }
    if (status == UCS_OK) {
        registry_->count(entry_, copy.out, copy.length);
    }
    registry_->done(entry_, copy.slot, status == UCS_OK);
}

void RelayAgent::on_copied(uct_completion_t *comp)
{
    Copy *copy = reinterpret_cast<Copy *>(comp);
    copy->busy = false;
    copy->agent->copied(*copy, comp->status);
}

} // namespace fuselink
