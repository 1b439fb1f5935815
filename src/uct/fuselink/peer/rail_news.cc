/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "rail_news.h"

#include <algorithm>
#include <span>
#include <vector>

namespace fuselink {

void RailNews::on_own(Rail &rail)
{
    if (conn_.failed()) {
        return;
    }
    if (bulk_.ready()) {
        bulk_.add_own(rail);
    }
    wireup_.on_more_rails();
    tell();
}

/* Whose hello has not come yet has not had ours either, or one that is older. */
void RailNews::tell()
{
    if (ucs_likely(told_ == rails_.list().size()) || !bulk_.ready() || conn_.failed()) {
        return;
    }
    told_ = rails_.list().size();
    std::vector<uint8_t> table;
    wire::pack_rail_table(rails_.table(), table);
    wire::Rails message{};
    message.header.type = static_cast<uint8_t>(wire::ControlType::Rails);
    conn_.send_control(&message, sizeof(message), table.data(), table.size());
}

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
    learn(theirs);
}

void RailNews::learn(const wire::RailTable &theirs)
{
    const auto &known = bulk_.table().rails;
    bool        news  = false;
    for (const wire::RailRecord &record : theirs.rails) {
        if (known.size() < wire::kMaxRails &&
            std::none_of(known.begin(), known.end(), [&](const wire::RailRecord &one) {
                return one.index == record.index;
            })) {
            bulk_.add_remote(record);
            news = true;
        }
    }
    if (news) {
        wireup_.on_more_rails();
    }
}

} // namespace fuselink
