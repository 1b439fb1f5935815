/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "datagram_iface.h"

#include "wire/messages.h"

namespace fuselink::sim {
namespace {

/* Of no message: is anybody there? */
constexpr uint8_t kNobodys = 255;

constexpr auto kDataId = static_cast<uint8_t>(wire::RailAm::Data);

/* Messages that are not acknowledged. */
constexpr uint64_t kWindow = 32;

} // namespace

DatagramIface::~DatagramIface() = default;

void DatagramIface::changed(DatagramEp &ep)
{
    if (std::find(changed_.begin(), changed_.end(), &ep) == changed_.end()) {
        changed_.push_back(&ep);
    }
    tell();
}

unsigned DatagramIface::progress()
{
    unsigned count = take_messages();
    for (size_t n = changed_.size(); n != 0 && !changed_.empty(); --n) {
        DatagramEp *ep = changed_.front();
        changed_.erase(changed_.begin());
        count += ep->look();
    }
    if (!has_messages() && !has_more()) {
        bell().hush();
    }
    return count;
}

void DatagramIface::describe(uct_iface_attr_t &attr) const
{
    describe_base(attr);
    attr.cap.flags |= UCT_IFACE_FLAG_CONNECT_TO_IFACE;
    const size_t most = world().profile().datagram;
    auto &am     = attr.cap.am;
    am.max_short = std::min<size_t>(most, 128);
    am.max_bcopy = most;
    am.max_zcopy = most;
    am.max_hdr   = 128;
    am.max_iov   = 4;
    am.opt_zcopy_align = am.align_mtu = 1;
}

ucs_status_t DatagramIface::create_ep(const uct_ep_params_t *params,
                                      uct_ep_h              *ep_p)
{
    Nic *nic = (params->field_mask & UCT_EP_PARAM_FIELD_DEV_ADDR) ?
                   find_nic(params->dev_addr) : nullptr;
    if (nic == nullptr) {
        return UCS_ERR_UNREACHABLE;
    }
    auto ep = std::make_unique<DatagramEp>(*this,
                                           number_in(params->iface_addr), *nic);
    ucs_status_t status = ep->create();
    if (status == UCS_OK) {
        *ep_p = ep.release()->handle();
    }
    return status;
}

/* --- endpoints --- */

DatagramEp::DatagramEp(DatagramIface &owner, uint32_t remote, Nic &remote_nic)
    : SimEp(owner), iface_(owner), remote_(remote), remote_nic_(remote_nic)
{
}

ucs_status_t DatagramEp::create()
{
    ucs_status_t status = init();
    if (status != UCS_OK) {
        return status;
    }
    const Profile &profile = world().profile();
    out_  = std::make_shared<Channel>(world(), iface_.nic(), remote_nic_,
                                      profile.patience, profile.send_again);
    back_ = std::make_shared<Channel>(world(), remote_nic_, iface_.nic(),
                                      profile.patience, profile.send_again);
    link_     = std::make_shared<Link>();
    link_->ep = this;
    auto lose = [link = link_] {
        link->lost = true;
        if (link->ep != nullptr) {
            link->ep->iface_.changed(*link->ep);
        }
    };
    out_->on_give_up  = lose;
    back_->on_give_up = lose;
    shake_hands();
    world().datagrams().push_back(this);
    return UCS_OK;
}

void DatagramEp::lose()
{
    link_->lost = true;
    iface_.changed(*this);
}

/* Answered by a thread of UCX's: by every process that runs, and has the
 * interface. Asked again and again. */
void DatagramEp::shake_hands()
{
    World &world_ref = world();
    auto   link      = link_;
    auto   back      = back_;
    std::weak_ptr<Channel> out = out_;
    const uint32_t remote = remote_;
    const Instant  begun  = world_ref.time().now();
    auto ask = [](auto &&self, World &world, std::shared_ptr<Link> link,
                  std::weak_ptr<Channel> weak, std::shared_ptr<Channel> back,
                  uint32_t remote, Instant begun) -> void {
        auto out = weak.lock();
        if (!out || link->ep == nullptr || link->answered) {
            return;
        }
        if (world.time().now() - begun > world.profile().patience) {
            link->lost = true;
            link->ep->iface_.changed(*link->ep);
            return;
        }
        out->send(80, [&world, link, back, remote] {
            SimIface *iface = world.find_iface(remote);
            if (iface == nullptr || !iface->process().runs()) {
                return;
            }
            back->send(80, [link] {
                if (!link->answered && link->ep != nullptr) {
                    link->answered = true;
                    link->ep->iface_.changed(*link->ep);
                }
            });
        });
        world.time().after(world.profile().send_again / 2,
                           [self, &world, link, weak, back, remote, begun] {
                               self(self, world, link, weak, back, remote,
                                    begun);
                           });
    };
    ask(ask, world_ref, link, out, back, remote, begun);
}

DatagramEp::~DatagramEp()
{
    iface_.drop(*this);
    std::erase(world().datagrams(), this);
    if (link_) {
        link_->ep = nullptr;
    }
    end_waiting(UCS_ERR_CANCELED);
}

ucs_status_t DatagramEp::room() const
{
    if (failed) {
        return UCS_ERR_ENDPOINT_TIMEOUT;
    }
    return !link_->answered || sent_ - link_->acknowledged >= kWindow ?
               UCS_ERR_NO_RESOURCE : UCS_OK;
}

ucs_status_t DatagramEp::send(uint8_t id, std::vector<uint8_t> bytes,
                              uct_completion_t *comp)
{
    ucs_status_t status = room();
    if (status != UCS_OK) {
        return status;
    }
    ++sent_;
    has_data_     = has_data_ || id == kDataId;
    has_messages_ = has_messages_ || (id < kDataId && id != kNobodys);
    World        &world_ref = world();
    auto          link      = link_;
    auto          back      = back_;
    const uint32_t remote   = remote_;
    auto data = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
    out_->send(data->size() + 60, [&world_ref, link, back, remote, id, data] {
        auto *iface = static_cast<DatagramIface *>(
            world_ref.find_iface(remote));
        if (iface == nullptr || !iface->process().alive) {
            /* Nobody acknowledges: it is given up after a while. */
            world_ref.time().after(world_ref.profile().patience, [link] {
                link->lost = true;
                if (link->ep != nullptr) {
                    link->ep->iface_.changed(*link->ep);
                }
            });
            return;
        }
        if (id != kNobodys) {
            iface->receive(id, std::move(*data));
        }
        back->send(40, [link] {
            ++link->acknowledged;
            if (link->ep != nullptr) {
                link->ep->iface_.changed(*link->ep);
            }
        });
    });
    if (comp != nullptr) {
        waiting_.push_back({sent_, comp});
    }
    return UCS_INPROGRESS;
}

unsigned DatagramEp::look()
{
    unsigned count = 1;
    if (link_->lost && !failed) {
        end_waiting(UCS_ERR_ENDPOINT_TIMEOUT);
        out_->cut();
        iface_.fail_ep(*this, UCS_ERR_ENDPOINT_TIMEOUT);
        return count;
    }
    auto link = link_;
    while (!waiting_.empty() && waiting_.front().until <= link->acknowledged) {
        uct_completion_t *comp = waiting_.front().comp;
        waiting_.pop_front();
        uct_invoke_completion(comp, UCS_OK);
        if (link->ep == nullptr) {
            return count; /* it was destroyed in there */
        }
    }
    return count + dispatch();
}

void DatagramEp::end_waiting(ucs_status_t status)
{
    auto waiting = std::move(waiting_);
    waiting_.clear();
    for (const Waiting &one : waiting) {
        uct_invoke_completion(one.comp, status);
    }
}

ucs_status_t DatagramEp::am_short(uint8_t id, uint64_t header,
                                  const void *data, unsigned length)
{
    ucs_status_t status = send(id, pack_short(header, data, length), nullptr);
    return status == UCS_INPROGRESS ? UCS_OK : status;
}

ssize_t DatagramEp::am_bcopy(uint8_t id, uct_pack_callback_t pack, void *arg)
{
    ucs_status_t status = room();
    if (status != UCS_OK) {
        return status;
    }
    auto       bytes = pack_bcopy(pack, arg, world().profile().datagram);
    const auto size  = static_cast<ssize_t>(bytes.size());
    status           = send(id, std::move(bytes), nullptr);
    return status == UCS_INPROGRESS ? size : static_cast<ssize_t>(status);
}

ucs_status_t DatagramEp::am_zcopy(uint8_t id, const void *header,
                                  unsigned header_length, const uct_iov_t *iov,
                                  size_t count, uct_completion_t *comp)
{
    return send(id, pack_zcopy(header, header_length, iov, count), comp);
}

ucs_status_t DatagramEp::check()
{
    if (failed) {
        return UCS_ERR_ENDPOINT_TIMEOUT;
    }
    if (room() == UCS_OK && sent_ == link_->acknowledged) {
        send(kNobodys, {}, nullptr);
    }
    return UCS_OK;
}

ucs_status_t DatagramEp::flush(unsigned flags, uct_completion_t *comp)
{
    if (flags & UCT_FLUSH_FLAG_CANCEL) {
        end_waiting(UCS_ERR_CANCELED);
        return UCS_OK;
    }
    if (sent_ == link_->acknowledged || failed) {
        return UCS_OK;
    }
    if (comp != nullptr) {
        waiting_.push_back({sent_, comp});
    }
    return UCS_INPROGRESS;
}

} // namespace fuselink::sim
