/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TRANSFER_SERVED_KEYS_H
#define FUSELINK_TRANSFER_SERVED_KEYS_H

#include "../memory/remote_key.h"
#include "key_source.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace fuselink {

/**
 * The keys of NICs for the memory that a peer's last gets were for: programs read into the
 * same memory again and again, and the question for its keys takes a round trip. A region's
 * key names that registration and no later one, so what is known of it stays true.
 *
 * One thread at a time (the worker's).
 */
class ServedKeys {
public:
    static constexpr size_t kMost = 32; /* regions */

    /** `source` outlives it. */
    explicit ServedKeys(KeySource &source) : source_(source) {}
    ServedKeys(const ServedKeys &)            = delete;
    ServedKeys &operator=(const ServedKeys &) = delete;

    /** What is known of a region, from now on if there was nothing: never null. It is not kept
     *  where all that are kept are in use. */
    std::shared_ptr<NicKeys> find(const RegionKey &region)
    {
        auto it = std::find_if(kept_.begin(), kept_.end(), [&](const Kept &one) {
            return one.region == region;
        });
        if (it == kept_.end()) {
            if (kept_.size() >= kMost && !drop_one()) {
                return std::make_shared<NicKeys>();
            }
            it = kept_.insert(kept_.end(), {region, std::make_shared<NicKeys>()});
        }
        std::rotate(it, it + 1, kept_.end());
        return kept_.back().keys;
    }
    /** They were asked for. False if they are not kept: the question is who asked's. */
    bool asked(const std::shared_ptr<NicKeys> &keys, uint32_t question)
    {
        for (Kept &one : kept_) {
            if (one.keys == keys) {
                one.question = question;
                return true;
            }
        }
        return false;
    }

private:
    struct Kept {
        RegionKey                region;
        std::shared_ptr<NicKeys> keys;
        uint32_t                 question = 0;
    };

    /* The one that was not used for longest. An open question holds its keys as well; who uses keys
     * whose question is answered has them without this. */
    bool drop_one()
    {
        auto it = std::find_if(kept_.begin(), kept_.end(), [](const Kept &one) {
            return one.keys.use_count() <= (one.question != 0 ? 2 : 1);
        });
        if (it == kept_.end()) {
            return false;
        }
        source_.drop_key_request(it->question);
        kept_.erase(it);
        return true;
    }

    KeySource        &source_;
    std::vector<Kept> kept_; /* the last used at the end */
};

} // namespace fuselink

#endif
