/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "agent.h"

#include <algorithm>
#include <cstring>

namespace fuselink {
namespace {

using sched::Nanos;

/* While copies run: short against a piece on the link. */
constexpr Nanos kPause = Nanos::micros(50);

/* While others end what they have begun. */
constexpr Nanos kLongPause = Nanos::millis(1);

/* How often it looks for what the dead have left, and at the GPU's memory. */
constexpr Nanos kLook = Nanos::seconds(1);

/* Slots that nobody has used for so long are given back. */
constexpr Nanos kIdle = Nanos::seconds(5);

/* What others have begun in its slots ends within this, or they are stopped. */
constexpr Nanos kLinger = Nanos::seconds(2);

/* Longer than any copy takes. */
constexpr Nanos kBroken = Nanos::seconds(10);

/* The program's own: less of the GPU's memory than this part, or so many times
 * the slots, is free. */
constexpr uint64_t kReservePart = 64, kReserveTimes = 4;

} // namespace

std::unique_ptr<RelayAgent>
RelayAgent::start(Host &host, std::shared_ptr<RelayHall> hall, uint32_t seat,
                  LowerMd &copies, LowerMd &ipc, const RelayHall::Offer &offer,
                  Traffic &lent, std::string &error)
{
    std::unique_ptr<RelayAgent> agent(new RelayAgent(
        host, std::move(hall), seat, copies, ipc, offer, lent));
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
    hall_->ring(seat_);
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
        Hop::open(host_, copies_md_, worker_, &none, hop_) != UCS_OK) {
        return false;
    }
    guests_ = std::make_unique<RelayGuests>(host_, *hall_, copies_md_, *hop_);
    spare_  = std::make_unique<SpareMemory>(
        [](void *self) {
            auto *agent = static_cast<RelayAgent *>(self);
            agent->hall_->ring(agent->seat_);
        },
        this);
    return true;
}

void RelayAgent::end()
{
    spare_.reset();
    pool_.reset();
    guests_.reset();
    hop_.reset();
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
        withdraw();
    }
    if (spare_->asked() || now >= next_look_ || (promised_ && is_wanted())) {
        if (!hall_->keep(seat_, now)) { /* it was stopped for long */
            ucs_debug("fuselink: the agent's seat was given to others");
            seated_ = false;
            hop_->wait([this] { return !hop_->busy(); });
            over_ = true;
            return false;
        }
        look_around(now);
    }
    unsigned count = take_jobs() + hop_->progress();
    if (leaving_ && !hop_->busy() &&
        (hall_->sweep(seat_) || (stopping && now > deadline_))) {
        give_back();
    }
    if (stopping && !leaving_) {
        over_ = true;
    } else if (stopping && now > deadline_ + kBroken) {
        ucs_error("fuselink: copies of a GPU do not end");
        abandon();
        over_ = true;
    }
    return count != 0;
}

Nanos RelayAgent::next_due() const
{
    return hop_->busy() ? stepped_ + kPause :
           leaving_     ? stepped_ + kLongPause :
                          next_look_;
}

void RelayAgent::wait(Nanos most)
{
    heard_ = hall_->wait(seat_, heard_, most);
}

void RelayAgent::give_back()
{
    leaving_ = false;
    pool_.reset();
    spare_->none();
    answered_  = host_.now(); /* wishes of before have had theirs */
    next_look_ = {};          /* promises slots anew */
}

/* A GPU that is broken keeps what it reads and writes. */
void RelayAgent::abandon()
{
    (void)pool_.release();
    (void)guests_.release();
    (void)hop_.release();
    worker_ = nullptr;
    async_  = nullptr;
}

unsigned RelayAgent::take_jobs()
{
    uint32_t       slot;
    RelayHall::Job job;
    unsigned       count = 0;
    for (; hall_->next(seat_, slot, job); ++count) {
        begin_copy(slot, job);
    }
    if (count != 0) {
        used_ = host_.now();
    }
    return count;
}

/* What the program has freed is lent again only when there is twice as much: it
 * may need it again. */
void RelayAgent::look_around(Nanos now)
{
    const uint64_t size = uint64_t{offer_.slot_size} * offer_.slots;
    uint64_t       left = 0, total = 0;
    GpuContext::memory(left, total);
    const uint64_t reserve = std::max(total / kReservePart,
                                      kReserveTimes * size);
    const bool stopping = stop_.load(std::memory_order_relaxed);
    if (pool_ && !leaving_ && (left < reserve || now - used_ > kIdle)) {
        ucs_debug("fuselink: slots in the GPU's memory, of which %lu bytes are "
                  "left, are given back", left);
        withdraw();
    } else if (!pool_ && !stopping && left >= 2 * reserve) {
        if (is_wanted()) {
            lend(now);
        } else if (!promised_) {
            promise();
        }
    } else if (promised_) {
        withdraw();
    }
    if (!pool_) {
        spare_->none();
    } else if (!leaving_) {
        spare_->settle(static_cast<int64_t>(left - reserve));
    }
    next_look_ = now + kLook;
    hall_->sweep(seat_);
    guests_->sweep();
}

/* Somebody has wanted slots since they were there, or refused. */
bool RelayAgent::is_wanted() const
{
    return hall_->wanted(seat_) > answered_;
}

/* So that somebody asks; until then the program has all of the memory. */
void RelayAgent::promise()
{
    RelayHall::Offer offer = offer_;
    offer.on_wish = 1;
    hall_->offer(seat_, offer);
    promised_ = true;
}

void RelayAgent::lend(Nanos now)
{
    std::string error;
    promised_ = false;
    answered_ = used_ = now;
    pool_ = RelayPool::allocate(copies_md_, ipc_md_, offer_, error);
    if (pool_) {
        hall_->offer(seat_, offer_);
        return;
    }
    hall_->withdraw(seat_); /* promises anew when it looks around */
    if (!refused_) {
        refused_ = true;
        ucs_debug("fuselink: the GPU's link is not lent to others: %s",
                  error.c_str());
    }
}

void RelayAgent::withdraw()
{
    hall_->withdraw(seat_);
    promised_ = false;
    leaving_  = pool_ != nullptr;
}

void RelayAgent::begin_copy(uint32_t slot, const RelayHall::Job &job)
{
    if (slot >= offer_.slots || copying_[slot].busy) {
        return; /* not of ours: somebody has scribbled on it */
    }
    char *host = !pool_ || job.length == 0 || job.length > offer_.slot_size ?
                     nullptr :
                     guests_->memory_of(job);
    if (host == nullptr) {
        hall_->done(seat_, slot, false);
        return;
    }
    char *gpu  = pool_->memory() + size_t{slot} * offer_.slot_size;
    Copy &copy = copying_[slot];
    arm(copy.comp, on_copied);
    copy.agent       = this;
    copy.slot        = slot;
    copy.length      = job.length;
    copy.out         = job.out;
    copy.busy        = true;
    ucs_status_t status =
        job.out ? hop_->begin_out(host, gpu, job.length, &copy.comp) :
                  hop_->begin_in(gpu, host, job.length, &copy.comp);
    if (status != UCS_INPROGRESS) {
        copy.busy = false;
        copied(copy, status);
    }
}

void RelayAgent::copied(const Copy &copy, ucs_status_t status)
{
    if (status == UCS_OK) {
        (copy.out ? lent_.sent : lent_.received).add(copy.length);
    }
    if (!seated_) {
        return; /* they are others' slots by now */
    }
    hall_->done(seat_, copy.slot, status == UCS_OK);
}

void RelayAgent::on_copied(uct_completion_t *comp)
{
    Copy *copy = reinterpret_cast<Copy *>(comp);
    copy->busy = false;
    copy->agent->copied(*copy, comp->status);
}

} // namespace fuselink
