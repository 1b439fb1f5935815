/* Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE. */
#ifndef FUSELINK_TEST_SIM_HARNESS_SPECIAL_DRAWS_H
#define FUSELINK_TEST_SIM_HARNESS_SPECIAL_DRAWS_H

#include "scenario.h"

namespace fuselink::sim {

/* What some scenarios have in place of what was drawn, or besides, to meet what chance
 * alone would hardly find. Each has chance of its own, so that the other seeds stay what
 * they are. */

/** Numbers of actions are below, those of faults from here on. */
constexpr unsigned kMostNumbers = 4096;

/** Of who has room for many long puts, bytes. */
constexpr size_t kHeavyArena = 24 << 20;

/** To the end of a script, unless it is left out. */
void add(const Cuts &cuts, const Action &action, unsigned process, Scenario &s);

/** No program leaves before the others are through. */
bool all_stay(const Scenario &s);

Action draw_action(Random &chance, const Scenario &scenario, unsigned process);

/** In some runs in which nothing happens a program computes for longer than it takes until
 *  people are told that nothing comes from a peer. */
void draw_pause(uint64_t seed, const Cuts &cuts, Scenario &s);

/** Of some, gets from a program that is stopped are cancelled, while a cable is out: it
 *  goes on when it is given up. */
void draw_cut_off(uint64_t seed, const Cuts &cuts, Scenario &s);

/** Of some, gets are cancelled while no NIC of one of the two reaches the other: their
 *  cables are out, or all but one that is silent, or all are silent. They are back when the connection has
 *  been given up, and is waited for. */
void draw_unplugged(uint64_t seed, const Cuts &cuts, Scenario &s);

/** In some over several TCP NICs all of one node fall silent, one shortly after the other, for
 *  seconds, and kernels wait twice as long from try to try, as long as that takes. */
void draw_silence_of_all(uint64_t seed, const Cuts &cuts, Scenario &s);

/** In some over several TCP NICs one program puts and flushes, and the other one only answers;
 *  a NIC of either is silent for a while, and then one for good. */
void draw_answerer(uint64_t seed, const Cuts &cuts, Scenario &s);

/** In some with RDMA NICs one program reads from another, and what its NICs have breaks some
 *  six times for each of them, one after the other: who is read from never sees that it
 *  carries again. */
void draw_breaks_of_reader(uint64_t seed, const Cuts &cuts, Scenario &s);

/** In some with RDMA NICs queue pairs of the first program get through late, while it puts:
 *  their wires are good, and all that is on them goes on. */
void draw_lags(uint64_t seed, const Cuts &cuts, Scenario &s);

/** In some with relays and RDMA NICs these read GPUs' memory, each that of one of a node's two
 *  GPUs, and the first programs of the nodes put much out of theirs: the GPUs of the others
 *  are on the way to NICs. */
void draw_others_nics(uint64_t seed, const Cuts &cuts, Scenario &s);

/** In some over TCP in which nothing happens other programs have the processors for much of
 *  the time, and kernels wait with what they acknowledge, as Linux does. */
void draw_crowd(uint64_t seed, const Cuts &cuts, Scenario &s);

/** Of some over TCP one or two nodes have one NIC, the same one, without a cable at the
 *  start. */
void draw_late(uint64_t seed, const Cuts &cuts, Scenario &s);

/** In some, messages have the peer's program write, and what stands behind a fence must
 *  not overtake that, whether the program computes or not. */
void draw_writing(uint64_t seed, const Cuts &cuts, Scenario &s);

/** In some, puts and gets go by keys of their own, which the peer ends at any time: then it
 *  has its memory back at once. */
void draw_revoking(uint64_t seed, const Cuts &cuts, Scenario &s);

} // namespace fuselink::sim

#endif
