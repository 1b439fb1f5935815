/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HOSTILE_SESSION_H
#define FUSELINK_TEST_SIM_HOSTILE_SESSION_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fuselink::sim {

/**
 * A session of a hostile peer with a victim, on simulated wires: what each does is
 * in the script, which is any bytes. Returns what did not hold: nothing outside of
 * the memory that the peer may write is written, no operation ends twice, all
 * ends when the victim closes its interface, and nothing is left of it then.
 *
 * One thread.
 */
std::vector<std::string> hostile_session(const uint8_t *script, size_t size);

} // namespace fuselink::sim

#endif
