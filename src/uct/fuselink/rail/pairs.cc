/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#include "pairs.h"

#include <algorithm>

namespace fuselink {

std::vector<RailPair>
pair_rails(const std::vector<std::unique_ptr<Rail>> &rails,
           const std::vector<wire::RailRecord> &remotes)
{
    std::vector<RailPair> pairs;
    for (const auto &traits : all_traits()) {
        if (traits.routed_by_ip) {
            continue;
        }
        std::vector<Rail *> own;
        std::vector<const wire::RailRecord *> theirs;
        for (const auto &rail : rails) {
            if (&rail->traits() == &traits &&
                std::any_of(remotes.begin(), remotes.end(),
                            [&](const auto &remote) {
                    return rail->reaches(remote, {});
                })) {
                own.push_back(rail.get());
            }
        }
        for (const auto &remote : remotes) {
            if (std::any_of(own.begin(), own.end(), [&](const Rail *rail) {
                    return rail->reaches(remote, {});
                })) {
                theirs.push_back(&remote);
            }
        }
        for (size_t i = 0; !own.empty() &&
                           i < std::max(own.size(), theirs.size()); ++i) {
            RailPair pair{own[i % own.size()], theirs[i % theirs.size()]};
            if (pair.own->reaches(*pair.remote, {})) {
                pairs.push_back(pair);
            }
        }
    }
    return pairs;
}

} // namespace fuselink
