/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_ATTACKER_H
#define FUSELINK_TEST_ATTACKER_H

#include "../stack/endpoint.h"

#include "wire/address.h"
#include "wire/messages.h"

#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace fltest {

namespace wire = fuselink::wire;

using wire::ControlType;
using wire::RailAm;

/** Bytes of the attacker's memory. */
constexpr size_t kAttackerSize = 65536;

/** A message to be sent as it is. */
class Message {
public:
    template <typename T> explicit Message(const T &head)
    {
        add(&head, sizeof(head));
    }
    Message() = default;

    Message &add(const void *data, size_t length)
    {
        size_t at = bytes_.size();
        bytes_.resize(at + length);
        memcpy(bytes_.data() + at, data, length);
        return *this;
    }
    Message &cut(size_t length)
    {
        bytes_.resize(length);
        return *this;
    }
    Bytes &bytes() { return bytes_; }

private:
    Bytes bytes_;
};

/** The victim's rails, from its published address. */
inline wire::RailTable rails_of(const Address &address)
{
    wire::RailTable table;
    REQUIRE(wire::unpack_iface_address(
                {address.iface.data(), address.iface.size()}, table),
            "the published address cannot be read");
    return table;
}

/** A peer that speaks the wire protocol as it likes. It reaches the victim as
 *  any process of the network can: by the transport of a rail, here over a bare
 *  tcp interface. */
class Attacker {
public:
    Attacker(Worker &worker, const Address &victim)
        : domain_("tcp"), iface_(domain_, worker, "nic0", "tcp"),
          memory_(domain_, kAttackerSize), table_(rails_of(victim))
    {
        for (size_t i = 0; i < table_.rails.size(); ++i) {
            eps_.push_back(connect(i));
        }
        iface_.on_message(static_cast<uint8_t>(RailAm::Control),
                          [this](void *data, size_t length, unsigned) {
                              return on_control(data, length);
                          });
        for (RailAm id : {RailAm::User, RailAm::Chunk}) {
            iface_.on_message(static_cast<uint8_t>(id),
                              [](void *, size_t, unsigned) {
                                  return UCS_OK;
                              });
        }
    }

    wire::ControlHeader header(ControlType type) const
    {
        wire::ControlHeader header{};
        header.type    = static_cast<uint8_t>(type);
        header.version = wire::kProtocolVersion;
        header.session = 1;
        header.sender  = uuid_;
        return header;
    }

    /** A control message gets its number, if it has one. */
    void send(const Message &message, RailAm id = RailAm::Control)
    {
        Bytes bytes = Message(message).bytes();
        wire::ControlHeader head;
        if (id == RailAm::Control &&
            wire::parse(bytes.data(), bytes.size(), head) &&
            head.version == wire::kProtocolVersion &&
            wire::is_numbered(static_cast<ControlType>(head.type))) {
            head.number = numbers_[head.session]++;
            head.lane   = 1;
            memcpy(bytes.data(), &head, sizeof(head));
        }
        for (unsigned tries = 0; tries < 3;) {
            ssize_t sent = eps_[0]->try_am_bcopy(static_cast<uint8_t>(id),
                                                 bytes.data(), bytes.size());
            if (sent >= 0) {
                return;
            }
            if (sent == UCS_ERR_NO_RESOURCE) {
                iface_.worker().progress();
                continue;
            }
            /* The victim has had enough, and does not mind another call. */
            eps_[0] = connect(0);
            ++tries;
        }
        fail("the victim takes no messages any more");
    }

    /* The table of one rail that is this interface. */
    wire::RailTable own_table() const
    {
        wire::RailRecord rail = table_.rails[0];
        Address own           = iface_.address();
        rail.index            = 0;
        rail.name             = "tcp/evil";
        rail.device_address   = own.device;
        rail.iface_address    = own.iface;
        memcpy(rail.net.bytes.data(), own_ip_, 4);
        rail.bytes_per_second = 1000000;
        return {uuid_, {rail}};
    }
    Message hello() const { return hello_with(own_table()); }

    Message hello_with(const wire::RailTable &table) const
    {
        wire::Hello head{};
        head.header       = header(ControlType::Hello);
        head.header.flags = wire::kHelloWantReply;
        std::vector<uint8_t> packed;
        wire::pack_rail_table(table, packed);
        return Message(head).add(packed.data(), packed.size());
    }

    void finish()
    {
        for (auto &ep : eps_) {
            iface_.worker().until(
                [&] {
                    ucs_status_t status = uct_ep_flush(
                        ep->handle(), UCT_FLUSH_FLAG_LOCAL, nullptr);
                    return status != UCS_INPROGRESS &&
                           status != UCS_ERR_NO_RESOURCE;
                },
                "the attacker's flush");
        }
        iface_.worker().for_seconds(0.05);
    }

    Memory                &memory() { return memory_; }
    const wire::RailTable &victims_table() const { return table_; }
    uint64_t               uuid() const { return uuid_; }
    unsigned refusals() const { return refusals_; }
    unsigned answers() const { return answers_; }
    unsigned acks() const { return acks_; }
    const Bytes &data() const { return data_; }

private:
    std::unique_ptr<Endpoint> connect(size_t rail)
    {
        Address at{table_.rails[rail].device_address,
                   table_.rails[rail].iface_address};
        return std::make_unique<Endpoint>(iface_, at);
    }

    ucs_status_t on_control(const void *data, size_t length)
    {
        wire::ControlHeader head;
        if (!wire::parse(data, length, head)) {
            return UCS_OK;
        }
        if (head.type == static_cast<uint8_t>(ControlType::GetDone)) {
            ++refusals_;
        }
        if (head.type == static_cast<uint8_t>(ControlType::FlushAck)) {
            ++acks_;
        }
        if (head.type == static_cast<uint8_t>(ControlType::GetData)) {
            ++answers_;
            auto *bytes = static_cast<const uint8_t *>(data);
            data_.insert(data_.end(), bytes + sizeof(wire::GetData),
                         bytes + length);
        }
        return UCS_OK;
    }

    static constexpr uint8_t own_ip_[4] = {10, 0, 0, 1};

    Domain                                 domain_;
    Iface                                  iface_;
    Memory                                 memory_;
    wire::RailTable                        table_;
    std::vector<std::unique_ptr<Endpoint>> eps_;
    uint64_t                               uuid_ = 0x6576696c65766c31;
    std::map<uint32_t, uint16_t>           numbers_; /* the next, by session */
    unsigned                               refusals_ = 0;
    unsigned                               answers_  = 0;
    unsigned                               acks_     = 0;
    Bytes                                  data_;
};

} // namespace fltest

#endif
