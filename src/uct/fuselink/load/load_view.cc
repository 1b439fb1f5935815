/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "load_view.h"

#include "../ucx.h"
#include "../rail/named_rails.h"
#include "../sched/nic_claim.h"

#include <algorithm>

namespace fuselink {
namespace {

/* Reading the board costs some nanoseconds per seat and NIC; a chunk lasts
 * milliseconds. */
constexpr sched::Nanos kRefresh = sched::Nanos::micros(200);

/* Looking after other seats: a system call each. */
constexpr sched::Nanos kTick = sched::Nanos::millis(1);

/* Looking whether another NIC is more our own: processes come and go seldom. */
constexpr sched::Nanos kClaim = sched::Nanos::millis(100);

} // namespace

void LoadView::open(const ShareSettings &settings,
                    const sched::Limits &limits,
                    const std::vector<std::unique_ptr<Rail>> &rails,
                    bool siblings, NearGpu near_gpu)
{
    settings_ = settings;
    limits_   = limits;
    siblings_ = siblings;
    near_gpu_ = std::move(near_gpu);
    for (const auto &rail : rails) {
        rails_.push_back(rail.get());
    }
    own_.resize(rails_.size(), BoardSeat::Claim::None);
    if (!settings.board) {
        return;
    }
    bound_ = host_.cpus().own(); /* of a thread of the program's */
    if (bound_ == host_.cpus().allowed()) {
        bound_.reset();
    }
    sit();
    DeviceList  list;
    std::string error;
    if (seat_ != nullptr && settings_.own != "none" &&
        settings_.own != "auto" &&
        DeviceList::parse(settings_.own, list, error)) {
        warn_of_no_rails("UCX_FUSELINK_OWN", list, rails_);
    }
}

LoadView::~LoadView()
{
    for (Rail *rail : rails_) {
        rail->health.tell(nullptr);
    }
}

void LoadView::sit()
{
    std::string error;
    board_ = host_.open_board(error);
    if (board_ == nullptr) {
        ucs_diag("fuselink: no load board, so other processes of this node are "
                 "not seen: %s", error.c_str());
        return;
    }
    seat_ = BoardSeat::take(board_,
                            {.job = host_.job(),
                             .priority = settings_.priority,
                             .siblings = siblings_},
                            now());
    if (seat_ == nullptr) {
        ucs_diag("fuselink: the load board of this node has no free seat");
        return;
    }
    for (Rail *rail : rails_) {
        enter(*rail);
    }
    seat_->bind(bound_);
    for (Rail *rail : rails_) {
        own_if_named(*rail);
    }
    claim(host_.now());
}

void LoadView::enter(Rail &rail)
{
    rail.load.number = seat_->add_nic(rail.control().device(),
                                      static_cast<uint64_t>(
                                          std::min(rail.speed(), 1e18)));
    rail.health.tell(this);
}

void LoadView::add(Rail &rail)
{
    rails_.push_back(&rail);
    own_.push_back(BoardSeat::Claim::None);
    if (seat_ == nullptr) {
        return;
    }
    enter(rail);
    own_if_named(rail);
}

void LoadView::on_gpu()
{
    if (seat_ != nullptr) {
        claim(host_.now());
    }
}

void LoadView::own(Rail &rail, BoardSeat::Claim claim)
{
    own_[rail.index()] = claim;
    seat_->own(rail.load.number, claim);
}

void LoadView::own_if_named(Rail &rail)
{
    DeviceList  list;
    std::string error;
    /* What cannot be parsed was refused when the settings were read. */
    if (settings_.own != "none" && settings_.own != "auto" &&
        DeviceList::parse(settings_.own, list, error) &&
        list.allows(rail.control().device())) {
        own(rail, BoardSeat::Claim::Everybody);
    }
}

/* Nobody has said what is our own. One that is on standby, or has no cable, is nobody's. */
void LoadView::claim(sched::Nanos now)
{
    next_claim_ = now + kClaim;
    if (settings_.own != "auto") {
        return;
    }
    std::vector<std::string>     names;
    std::vector<Rail *>          rails;
    std::vector<sched::NicClaim> nics;
    seat_->owners(owners_);
    for (Rail *rail : rails_) {
        if (rail->load.number >= 0 && !rail->standby && rail->carrier) {
            const std::string &device = rail->control().device();
            names.push_back(device.substr(0, device.find(':'))); /* without the port */
            rails.push_back(rail);
            nics.push_back({.owners = owners_[static_cast<size_t>(rail->load.number)],
                            .near   = rail->near(),
                            .held   = own_[rail->index()] != BoardSeat::Claim::None});
        }
    }
    /* Another thread, which works with no GPU, may ask the next time. */
    const uint32_t near = near_gpu_ ? near_gpu_(names) : 0;
    for (size_t i = 0; near != 0 && i < nics.size(); ++i) {
        const uint32_t bit = 1u << rails[i]->index();
        beside_gpu_ = (near >> i & 1) != 0 ? beside_gpu_ | bit : beside_gpu_ & ~bit;
    }
    for (size_t i = 0; beside_gpu_ != 0 && i < nics.size(); ++i) {
        nics[i].near = (beside_gpu_ >> rails[i]->index() & 1) != 0;
    }
    /* At both ends the same, if they are alike. */
    const auto   begin = static_cast<uint32_t>(host_.job()) + seat_->place();
    const size_t best  = sched::choose_nic(nics, begin);
    if (best == nics.size() || nics[best].held) {
        return;
    }
    for (Rail *rail : rails_) {
        if (own_[rail->index()] != BoardSeat::Claim::None) {
            own(*rail, BoardSeat::Claim::None);
        }
    }
    own(*rails[best], BoardSeat::Claim::OtherJobs);
}

sched::PathView::Standing
LoadView::standing(const Rail &rail, const BoardSeat::Load &others) const
{
    using Standing = sched::PathView::Standing;
    using Claim    = BoardSeat::Claim;
    if (others.users != 0 && others.highest > settings_.priority) {
        return Standing::Taken;
    }
    /* Who has named it comes before who only claims it. */
    const Claim own = own_[rail.index()];
    if (own == Claim::Everybody || (own == Claim::OtherJobs && !others.owned)) {
        return Standing::Own;
    }
    if (!others.owned) {
        return Standing::Free;
    }
    bool may = !settings_.borrow_none &&
               settings_.borrow.allows(rail.control().device());
    return may && !others.owner ? Standing::Lent : Standing::Taken;
}

/* After a long silence others may have taken us for dead: then there is another
 * seat, of which what is in flight knows nothing. */
void LoadView::look_after_seat(sched::Nanos now)
{
    if (seat_ == nullptr || now < next_tick_) {
        return;
    }
    next_tick_ = now + kTick;
    seat_->tick(now.count());
    if (!seat_->lost()) {
        if (now >= next_claim_) {
            claim(now);
        }
        return;
    }
    ucs_debug("fuselink: the seat on the load board was given to others");
    for (Rail *rail : rails_) {
        rail->load = {};
    }
    own_.assign(own_.size(), BoardSeat::Claim::None);
    seat_.reset();
    sit();
}

void LoadView::update(sched::Nanos now)
{
    next_ = now + kRefresh;
    look_after_seat(now);
    if (seat_ != nullptr) {
        const int64_t clock = this->now();
        seat_->read(Direction::Out, clock, loads_);
    }
    for (Rail *rail : rails_) {
        sched::Nic::Others others;
        if (rail->load.number >= 0) {
            const auto &load =
                loads_[static_cast<size_t>(rail->load.number)];
            others = {.in_flight = sched::Bytes(load.in_flight),
                      .completed = load.completed,
                      .sharers   = load.sharers,
                      .standing  = standing(*rail, load)};
        }
        rail->nic.look(others, now, limits_);
    }
}

void LoadView::update_inbound(sched::Nanos now)
{
    next_inbound_ = now + kRefresh;
    look_after_seat(now);
    if (seat_ == nullptr) {
        return;
    }
    seat_->read(Direction::In, this->now(), loads_);
    for (Rail *rail : rails_) {
        if (rail->load.number >= 0) {
            const auto &load = loads_[static_cast<size_t>(rail->load.number)];
            rail->load.inbound          = sched::Bytes(load.in_flight);
            rail->load.inbound_sharers  = load.sharers;
            rail->load.inbound_standing = standing(*rail, load);
        }
    }
}

void LoadView::on_health(unsigned rail, const NicHealth &health)
{
    if (seat_ != nullptr) {
        seat_->set_health(rails_[rail]->load.number, health);
    }
}

void LoadView::posted(const Rail &rail, sched::Bytes length)
{
    if (seat_ != nullptr) {
        seat_->posted(rail.load.number, Direction::Out, length.count(),
                      now());
    }
}

void LoadView::ended(const Rail &rail, sched::Bytes length, bool arrived)
{
    if (seat_ != nullptr) {
        bool lent = rail.nic.standing() == sched::PathView::Standing::Lent;
        seat_->ended(rail.load.number, Direction::Out, length.count(), arrived,
                     lent, now());
    }
}

void LoadView::landed(const Rail &rail, sched::Bytes length)
{
    if (seat_ != nullptr) {
        seat_->ended(rail.load.number, Direction::In, length.count(), true, false,
                     now());
    }
}

void LoadView::set_inflow(const Rail &rail, sched::Bytes bytes)
{
    if (seat_ != nullptr) {
        seat_->set_in_flight(rail.load.number, Direction::In,
                             std::min(bytes.count(), Board::kMostBytes),
                             now());
    }
}

} // namespace fuselink
