/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "attacker.h"

#include "wire/packed_key.h"

#include <algorithm>
#include <cstring>

namespace fuselink::sim {
namespace {

using wire::ControlType;
using wire::RailAm;

constexpr size_t kMostHeard = 64;

/* The most of one message that a script repeats. */
constexpr unsigned kMostTimes = 200;

} // namespace

Attacker::Attacker(Process &process, const Victim &victim)
    : process_(process), world_(process.world()), victim_(victim.table()),
      uuid_(0x6576696c65766c31)
{
    const Victim::Known known[] = {victim.known(), victim.known_on_gpu()};
    for (size_t i = 0; i < std::size(known); ++i) {
        wire::PackedKey parsed;
        if (wire::parse(known[i].key.data(), parsed)) {
            regions_[i] = {known[i].base, parsed.key, parsed.id};
        }
    }
}

Attacker::~Attacker()
{
    close();
}

bool Attacker::open()
{
    const Nic   &nic    = world_.nics(process_.node())[0];
    const auto  &theirs = victim_.rails.front();
    const bool   stream = theirs.tl_hash == wire::hash_name("sim_tcp");
    const char  *tl     = stream ? "sim_tcp" : "sim_ud";
    world_.opening = &process_;
    uct_component_h *components = nullptr;
    unsigned         count      = 0;
    uct_query_components(&components, &count);
    uct_component_h sim = nullptr;
    for (unsigned i = 0; i < count; ++i) {
        uct_component_attr_t attr{};
        attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
        uct_component_query(components[i], &attr);
        if (strcmp(attr.name, "sim") == 0) {
            sim = components[i];
        }
    }
    uct_release_component_list(components);
    uct_md_config_t    *md_config    = nullptr;
    uct_iface_config_t *iface_config = nullptr;
    if (sim == nullptr ||
        !worker_.open() ||
        uct_md_config_read(sim, nullptr, nullptr, &md_config) != UCS_OK) {
        return false;
    }
    ucs_status_t status = uct_md_open(sim, stream ? "sim" : "sim_rdma0",
                                      md_config, &md_);
    uct_config_release(md_config);
    world_.opening = nullptr;
    if (status != UCS_OK || uct_md_iface_config_read(md_, tl, nullptr, nullptr,
                                                     &iface_config) != UCS_OK) {
        return false;
    }
    uct_iface_params_t params{};
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                        UCT_IFACE_PARAM_FIELD_DEVICE |
                        UCT_IFACE_PARAM_FIELD_ERR_HANDLER;
    params.open_mode            = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name  = tl;
    params.mode.device.dev_name = stream ? nic.ip_device.c_str() :
                                           nic.rdma_device.c_str();
    params.err_handler = [](void *, uct_ep_h, ucs_status_t) { return UCS_OK; };
    status = uct_iface_open(md_, worker_.handle(), &params, iface_config, &iface_);
    uct_config_release(iface_config);
    uct_iface_attr_t attr;
    if (status != UCS_OK || uct_iface_query(iface_, &attr) != UCS_OK) {
        return false;
    }
    for (uint8_t id = 0; id < UCT_AM_ID_MAX; ++id) {
        uct_iface_set_am_handler(iface_, id, on_control,
                                 id == static_cast<uint8_t>(RailAm::Control) ?
                                     this : nullptr, 0);
    }
    uct_iface_progress_enable(iface_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);

    rail_       = theirs;
    rail_.index = 0;
    rail_.name  = "sim/evil";
    rail_.device_address.resize(attr.device_addr_len);
    rail_.iface_address.resize(attr.iface_addr_len);
    rail_.bytes_per_second = 1'000'000;
    rail_.memory = theirs.tl_hash == wire::hash_name("sim_rc") ?
                       uint8_t{0} : wire::RailRecord::kNoKeys;
    uct_iface_get_device_address(iface_,
                                 reinterpret_cast<uct_device_addr_t *>(
                                     rail_.device_address.data()));
    uct_iface_get_address(iface_, reinterpret_cast<uct_iface_addr_t *>(
                                      rail_.iface_address.data()));
    return connect();
}

bool Attacker::connect()
{
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE |
                        UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface      = iface_;
    params.dev_addr   = reinterpret_cast<const uct_device_addr_t *>(
        victim_.rails.front().device_address.data());
    params.iface_addr = reinterpret_cast<const uct_iface_addr_t *>(
        victim_.rails.front().iface_address.data());
    const bool well = uct_ep_create(&params, &ep_) == UCS_OK;
    ep_ = well ? ep_ : nullptr;
    return well;
}

wire::RailTable Attacker::table() const
{
    return {uuid_, {rail_}};
}

ucs_status_t Attacker::on_control(void *arg, void *data, size_t length,
                                  unsigned)
{
    if (arg != nullptr) {
        static_cast<Attacker *>(arg)->hear(data, length);
    }
    return UCS_OK;
}

void Attacker::hear(const void *data, size_t length)
{
    auto *bytes = static_cast<const uint8_t *>(data);
    heard_.emplace_back(bytes, bytes + length);
    if (heard_.size() > kMostHeard) {
        heard_.pop_front();
    }
}

/* What it has heard of this type, and `back` ones before; zeroes if nothing. */
template <typename T> T Attacker::last(ControlType type, size_t back) const
{
    for (auto it = heard_.rbegin(); it != heard_.rend(); ++it) {
        T message;
        if ((*it)[0] == static_cast<uint8_t>(type) &&
            wire::parse(it->data(), it->size(), message) && back-- == 0) {
            return message;
        }
    }
    return T{};
}

wire::ControlHeader Attacker::header(ControlType type, Bytes &script) const
{
    wire::ControlHeader header{};
    header.type    = static_cast<uint8_t>(type);
    header.version = wire::kProtocolVersion;
    header.flags   = script.below(8);
    header.session = session_;
    header.sender  = uuid_;
    header.number  = number_;
    header.seen    = script.below(4) == 0 ? script.byte() : seen();
    header.lane    = lane_;
    return header;
}

/* All that the victim has sent as messages with numbers. */
wire::MessageNumber Attacker::seen() const
{
    for (auto it = heard_.rbegin(); it != heard_.rend(); ++it) {
        wire::ControlHeader header;
        if (wire::parse(it->data(), it->size(), header) &&
            wire::is_numbered(static_cast<ControlType>(header.type))) {
            return static_cast<wire::MessageNumber>(header.number + 1);
        }
    }
    return 0;
}

Attacker::Message Attacker::newest(ControlType type) const
{
    for (auto it = heard_.rbegin(); it != heard_.rend(); ++it) {
        if ((*it)[0] == static_cast<uint8_t>(type)) {
            return *it;
        }
    }
    return {};
}

/* One whose key it has, or the next number and place with that key: a guess. */
Attacker::Region Attacker::region(Bytes &script) const
{
    const unsigned which = script.below(12);
    Region         one   = regions_[which % 3 == 0];
    if (which == 1) {
        one.base += Victim::kPart;
        ++one.id;
    }
    return one;
}

/* As it should be, if the script had not a word in it. */
Attacker::Message Attacker::control(ControlType type, Bytes &script) const
{
    const auto     head  = header(type, script);
    const unsigned which = script.below(4);
    const auto     ask   = last<wire::GetReq>(ControlType::GetReq, which);
    const Region   region = this->region(script);
    const uint64_t at     = region.base + script.byte();
    Message        tail(script.below(8) * 100);
    Message        message;
    switch (type) {
    case ControlType::Hello: {
        wire::Hello hello{};
        hello.header       = head;
        hello.header.flags = script.below(4);
        hello.token        = static_cast<wire::Token>(script.byte());
        hello.heard        = last<wire::Hello>(ControlType::Hello).header.lane;
        hello.receiver = last<wire::Hello>(ControlType::Hello).header.session;
        std::vector<uint8_t> packed;
        wire::pack_rail_table(table(), packed);
        message = bytes_of(hello);
        message.insert(message.end(), packed.begin(), packed.end());
        return message;
    }
    case ControlType::GetReq: {
        wire::GetReq get{};
        get.header     = head;
        get.op         = {which, script.byte()};
        get.remote     = at;
        get.local      = region.base;
        get.length     = uint64_t{script.byte()} * 300;
        get.region_id  = region.id;
        get.region_key = region.key;
        return bytes_of(get);
    }
    case ControlType::GetData:
        message = bytes_of(wire::GetData{head, ask.op, 0});
        tail.resize(std::min<uint64_t>(ask.length, 1500));
        break;
    case ControlType::GetDone:
        return bytes_of(wire::GetDone{head, ask.op, -4, 0});
    case ControlType::PutData: {
        wire::PutData put{head, at, region.key, region.id, 0};
        message = bytes_of(put);
        break;
    }
    case ControlType::FlushReq:
        return bytes_of(wire::Flush{head, script.byte()});
    case ControlType::FlushAck:
        return bytes_of(wire::Flush{
            head, last<wire::Flush>(ControlType::FlushReq, which).sn});
    case ControlType::RailAddr: {
        auto address   = last<wire::RailAddr>(ControlType::RailAddr, which);
        std::swap(address.rail, address.from);
        address.header = head;
        address.step   = static_cast<uint8_t>(script.below(5));
        address.use    = static_cast<uint8_t>(script.below(2));
        tail.resize(8);
        address.length = static_cast<uint8_t>(tail.size());
        message        = bytes_of(address);
        break;
    }
    case ControlType::KeyReq: {
        wire::KeyReq request{};
        request.header     = head;
        request.region_key = region.key;
        request.region_id  = region.id;
        request.slots      = 3;
        request.token      = script.byte();
        return bytes_of(request);
    }
    case ControlType::KeyData: {
        wire::KeyData keys{};
        keys.header = head;
        keys.token  = last<wire::KeyReq>(ControlType::KeyReq, which).token;
        keys.count  = script.below(4);
        message     = bytes_of(keys);
        break;
    }
    case ControlType::ChunkAck: {
        wire::ChunkAck ack{};
        ack.header = head;
        ack.chunk  = script.byte();
        return bytes_of(ack);
    }
    case ControlType::GetCancel:
        return bytes_of(wire::GetCancel{head, {which, script.byte()}});
    case ControlType::Goodbye:
        return bytes_of(wire::Goodbye{head, -25, 0});
    case ControlType::LoadAsk: {
        wire::LoadAsk load{};
        load.header  = head;
        load.load[0] = script.take<uint32_t>();
        return bytes_of(load);
    }
    case ControlType::LoadGrant: {
        wire::LoadGrant grant{};
        grant.header       = head;
        grant.microseconds = script.take<uint32_t>();
        grant.rails        = static_cast<uint16_t>(script.byte());
        grant.load[0]      = script.take<uint32_t>();
        return bytes_of(grant);
    }
    case ControlType::SlotAsk:
        return bytes_of(wire::SlotAsk{head, script.take<uint32_t>(), 0});
    case ControlType::SlotGrant: {
        wire::SlotGrant grant{};
        grant.header = head;
        grant.base   = region.base;
        grant.size   = 4096;
        grant.count  = script.below(8);
        grant.pool   = script.below(4) == 0 ? script.byte() : 0;
        message      = bytes_of(grant);
        break;
    }
    case ControlType::SlotRecall:
        return bytes_of(wire::SlotRecall{head, script.byte(), script.below(3)});
    case ControlType::SlotBack:
        message = bytes_of(wire::SlotBack{head, script.below(8), script.below(3)});
        break;
    case ControlType::PathBroken: {
        wire::PathBroken broken{};
        broken.header = head;
        broken.next   = script.byte();
        return bytes_of(broken);
    }
    case ControlType::PathQuiet: {
        auto told = last<wire::PathBroken>(ControlType::PathBroken, which);
        return bytes_of(wire::PathQuiet{head, told.from, told.rail, 0,
                                        script.byte()});
    }
    case ControlType::Landed:
        return bytes_of(wire::Landed{head, ask.op, ask.length});
    case ControlType::Seen:
        return bytes_of(wire::Seen{head});
    case ControlType::Carrier: {
        wire::Carrier carrier{};
        carrier.header = head;
        carrier.down   = script.take<uint16_t>();
        carrier.back   = script.take<uint16_t>();
        return bytes_of(carrier);
    }
    case ControlType::Rails: { /* as its own, or nearly so */
        wire::RailTable more = table();
        for (unsigned i = script.below(20); i != 0; --i) {
            wire::RailRecord one = rail_;
            one.index            = static_cast<uint8_t>(script.below(18));
            one.net.bytes[script.below(4)] ^= script.byte();
            if (!one.iface_address.empty()) {
                one.iface_address[script.byte() % one.iface_address.size()] ^=
                    script.byte();
            }
            more.rails.push_back(std::move(one));
        }
        std::vector<uint8_t> packed;
        wire::pack_rail_table(more, packed);
        message = bytes_of(wire::Rails{head});
        message.insert(message.end(), packed.begin(), packed.end());
        return message;
    }
    case ControlType::User: {
        wire::UserMessage user{};
        user.header = head;
        user.am_id  = script.byte();
        message     = bytes_of(user);
        break;
    }
    }
    message = message.empty() ? bytes_of(head) : message;
    message.insert(message.end(), tail.begin(), tail.end());
    return message;
}

/* Bulk data by messages. */
Attacker::Message Attacker::part(Bytes &script)
{
    const auto     ask = last<wire::GetReq>(ControlType::GetReq,
                                            script.below(4));
    wire::DataPart part{};
    part.sender  = uuid_;
    part.session = session_;
    part.place   = static_cast<uint8_t>(script.below(8));
    part.kind    = static_cast<uint8_t>(script.below(2));
    part.chunk   = chunk_;
    if (part.kind == static_cast<uint8_t>(wire::DataKind::Put)) {
        const Region region = this->region(script);
        part.target    = region.base + script.byte();
        part.key       = region.key;
        part.region_id = region.id;
    } else {
        memcpy(&part.key, &ask.op, sizeof(ask.op));
    }
    chunk_ += (part.place & wire::kPartLast) != 0;
    Message message = bytes_of(part);
    if (part.place & wire::kPartInSlot) {
        /* Of those that it was lent last. */
        wire::InSlot  slot{{0, 0}, script.take<uint16_t>(), 0};
        const Message grant = newest(ControlType::SlotGrant);
        if (grant.size() >= sizeof(wire::SlotGrant) + sizeof(slot.name)) {
            memcpy(&slot.name, grant.data() + sizeof(wire::SlotGrant),
                   sizeof(slot.name));
        }
        const Message in_slot = bytes_of(slot);
        message.insert(message.end(), in_slot.begin(), in_slot.end());
    }
    message.resize(message.size() + script.below(8) * 100);
    return message;
}

void Attacker::change(Message &message, Bytes &script) const
{
    constexpr uint32_t kWords[] = {0, 1, UINT32_MAX, 0x80000000, 0x7fffffff,
                                   16, 255, 65536};
    for (unsigned n = script.below(4); n != 0 && !message.empty(); --n) {
        const size_t at   = script.take<uint16_t>() % message.size();
        uint32_t     word = 0;
        switch (script.below(4)) {
        case 0:
            word = kWords[script.below(8)];
            break;
        case 1:
            word = script.take<uint32_t>();
            break;
        case 2: /* what it has heard */
            if (!heard_.empty()) {
                const Message &from = heard_[script.byte() % heard_.size()];
                const size_t   where = script.byte() % from.size();
                memcpy(&word, from.data() + where,
                       std::min(sizeof(word), from.size() - where));
            }
            break;
        default:
            message.resize(at); /* cut short */
            continue;
        }
        memcpy(message.data() + at, &word,
               std::min(sizeof(word), message.size() - at));
    }
}

void Attacker::send(uint8_t id, const Message &message)
{
    if (ep_ == nullptr) {
        return;
    }
    uct_iface_attr_t attr;
    uct_iface_query(iface_, &attr);
    last_id_   = id;
    last_sent_ = message;
    last_sent_.resize(std::min(last_sent_.size(), attr.cap.am.max_bcopy));
    uct_ep_am_bcopy(
        ep_, id,
        [](void *dest, void *arg) {
            auto *bytes = static_cast<Message *>(arg);
            std::copy(bytes->begin(), bytes->end(),
                      static_cast<uint8_t *>(dest));
            return bytes->size();
        },
        &last_sent_, 0);
}

void Attacker::say_hello()
{
    Bytes nothing(nullptr, 0);
    send(static_cast<uint8_t>(RailAm::Control),
         control(ControlType::Hello, nothing));
}

void Attacker::act(Bytes &script)
{
    const unsigned what = script.below(16);
    if (what < 10) {
        const auto type   = static_cast<ControlType>(script.below(28));
        Message    message = control(type, script);
        number_ = static_cast<wire::MessageNumber>(
            number_ + wire::is_numbered(type));
        change(message, script);
        send(static_cast<uint8_t>(RailAm::Control), message);
    } else if (what < 12) {
        Message message = part(script);
        change(message, script);
        send(static_cast<uint8_t>(RailAm::Data), message);
    } else if (what == 12) {
        const auto ask = last<wire::GetReq>(ControlType::GetReq,
                                            script.below(4));
        Message message = bytes_of(wire::ChunkLanded{
            ask.op, ask.length, chunk_, 0, {}});
        change(message, script);
        send(static_cast<uint8_t>(RailAm::Chunk), message);
    } else if (what == 13) { /* the same again, many times */
        const Message again = last_sent_;
        for (unsigned n = script.byte() % kMostTimes; n != 0; --n) {
            send(last_id_, again);
        }
    } else if (what == 14) {
        const wire::UserHeader header{
            script.byte(), lane_, last<wire::Hello>(ControlType::Hello).token,
            number_, seen()};
        const bool user    = script.below(2) != 0;
        Message    message = user ? bytes_of(header) : Message();
        message.resize(message.size() + script.byte());
        number_ = static_cast<wire::MessageNumber>(number_ + user);
        change(message, script);
        send(user ? static_cast<uint8_t>(RailAm::User) :
                    static_cast<uint8_t>(script.below(UCT_AM_ID_MAX)),
             message);
    } else if (script.below(2) == 0) {
        listens_ = !listens_;
    } else { /* another connection */
        const bool anew = script.below(2) != 0;
        session_       += anew;
        number_         = anew ? 0 : number_;
        lane_           = anew ? 0 : static_cast<uint8_t>(lane_ + 1);
        world_.running  = process_.index();
        if (ep_ != nullptr) {
            uct_ep_destroy(ep_);
        }
        if (connect() && anew) {
            say_hello();
        }
    }
}

void Attacker::progress(unsigned times)
{
    world_.running = process_.index();
    while (listens_ && times-- != 0) {
        worker_.progress();
    }
}

void Attacker::close()
{
    world_.running = process_.index();
    if (ep_ != nullptr) {
        uct_ep_destroy(ep_);
        ep_ = nullptr;
    }
    if (iface_ != nullptr) {
        uct_iface_close(iface_);
        iface_ = nullptr;
    }
    if (md_ != nullptr) {
        uct_md_close(md_);
        md_ = nullptr;
    }
    worker_.close();
}

} // namespace fuselink::sim
