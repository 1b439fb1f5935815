/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rail_news.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace fuselink {

void RailNews::on_own()
{
    const Rails::List &list = rails_.list();
    if (conn_.failed()) {
        return;
    }
    if (bulk_.ready()) {
        for (size_t i = bulk_.paths().own_rails(); i < list.size(); ++i) {
            bulk_.add_own(*list[i]);
        }
        tell();
    }
    wireup_.on_more_rails();
}

void RailNews::on_hello()
{
    if (ucs_unlikely(!std::exchange(met_, true) && rails_.without_link() != 0)) {
        greet_ = true; /* not from inside of a rail's callback */
        conn_.defer();
    }
    if (ucs_unlikely(told_ != rails_.list().size()) && bulk_.ready()) {
        heard_ = true; /* the same */
        conn_.defer();
    }
}

void RailNews::tell()
{
    if (told_ == rails_.list().size()) {
        return;
    }
    told_ = rails_.list().size();
    std::vector<uint8_t> table;
    wire::pack_rail_table(rails_.table(), table);
    wire::Rails message{};
    message.header.type = static_cast<uint8_t>(wire::ControlType::Rails);
    conn_.send_control(&message, sizeof(message), table.data(), table.size());
}

void RailNews::tell_links(uint16_t down, uint16_t back)
{
    wire::Carrier message{};
    message.header.type = static_cast<uint8_t>(wire::ControlType::Carrier);
    message.down        = down;
    message.back        = back;
    conn_.send_control(&message, sizeof(message));
}

/* Paths at once: what comes next may be of these. */
void RailNews::on_message(const void *data, size_t length)
{
    wire::Rails     message;
    wire::RailTable theirs;
    const auto     *bytes = static_cast<const uint8_t *>(data);
    if (!bulk_.ready() || !wire::parse(data, length, message) ||
        !wire::unpack_rail_table({bytes + sizeof(message), length - sizeof(message)},
                                 theirs) ||
        theirs.uuid != conn_.uuid()) {
        ucs_debug("fuselink: malformed news of rails from %016lx", conn_.uuid());
        return;
    }
    const auto &known = bulk_.table().rails;
    for (const wire::RailRecord &record : theirs.rails) {
        if (known.size() < wire::kMaxRails &&
            std::none_of(known.begin(), known.end(), [&](const wire::RailRecord &one) {
                return one.index == record.index;
            })) {
            bulk_.add_remote(record);
            heard_ = true;
        }
    }
    if (heard_) {
        conn_.defer();
    }
}

void RailNews::run_deferred()
{
    if (ucs_unlikely(std::exchange(greet_, false))) {
        tell_links(rails_.without_link(), 0);
    }
    if (ucs_unlikely(std::exchange(heard_, false))) {
        on_own(); /* may end endpoints */
    }
}

} // namespace fuselink
