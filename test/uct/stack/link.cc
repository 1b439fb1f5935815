/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "link.h"

namespace fltest {

Link::Link(const Channel &channel, const Options &options)
    : channel_(channel), domain_(Domain::of_device(options.device)),
      iface_(domain_, worker_, options.device),
      memory_(domain_, options.memory)
{
    channel_.send(iface_.address().pack());
    channel_.send(memory_.describe());
    peer_address_ = Address::unpack(channel_.receive());
    remote_       = std::make_unique<Remote>(domain_, channel_.receive());
    if (options.connect) {
        ep_ = std::make_unique<Endpoint>(iface_, peer_address_);
    }
    iface_.on_message(kSettle,
                      [](void *, size_t, unsigned) { return UCS_OK; });
    meet();
}

} // namespace fltest
