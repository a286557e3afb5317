#!/usr/bin/env python3
"""Explores all orders in which two or three ranks can take the steps of pairwise collectives (decision 28).

usage: model_check.py           checks the protocol, then that each known fault of a protocol is found
       model_check.py --verbose prints the number of states of each program

A rank's program is a list of calls: ("C", c) is a blocking collective on communicator c, ("I", c) a nonblocking one, "W" a
wait for all of them, "B" a barrier of the MPI library's, in which a rank makes no progress on what is Strake's. In a
collective each rank sends one message to each other rank of the communicator. Each sender chooses freely, by itself, for
each message: S, bytes in shared memory; M, a message of the MPI library's, which the cell only announces. A cell that
finds the ring full goes by MPI. Communicator "f" has no connected pairs: all its messages are the MPI library's.

"R" is a blocking call of neighbours by relays: ranks 0 and 1 are on one node, rank 2 is on another, and blocks go between the
nodes both ways. Rank 0 is its node's agent: it forwards rank 1's bundle with its own one to rank 2, and to rank 1 what rank 2
sends. "IR" is what it would be if such a call were nonblocking, which is a fault.
"""
import itertools
import sys

CAPACITY = 1  # cells of a ring
NEAR, FAR = "r", "f of relays"  # the messages of a relayed call: told of by cells, and between the agents
# By rank: what it sends at once and receives, each (other rank, communicator); and what it sends once it has received something.
RELAYED = {
    0: ([], [(1, NEAR), (2, FAR)], {(1, NEAR): (2, FAR), (2, FAR): (1, NEAR)}),
    1: ([(0, NEAR)], [(0, NEAR)], {}),
    2: ([(0, FAR)], [(0, FAR)], {}),
}


def is_far(comm):
    return comm[0] == "f"


def kinds_of(comm):
    """The ways in which a sender may send a message."""
    return "M" if is_far(comm) else "SM"


class Fault(Exception):
    pass


class Job:
    """The state of all ranks. Immutable parts are tuples, so that states compare and hash."""

    def __init__(self, programs, broken=None):
        self.programs = programs
        self.ranks = len(programs)
        self.broken = broken

    def start(self):
        none = tuple(() for _ in range(self.ranks * self.ranks))
        rank = (0, (), (), (), False)  # next call, calls made on each communicator, receives, arrived cells, begun
        # Per ordered pair: cells sent, cells in the ring, cells sent by MPI, messages of the MPI library.
        return (tuple(rank for _ in range(self.ranks)), tuple(0 for _ in none), none, none, none, 0)

    def pair(self, source, target):
        return source * self.ranks + target

    def next_states(self, state):
        for rank in range(self.ranks):
            yield from self.steps_of(rank, state)

    def steps_of(self, rank, state):
        ranks, sent, ring, spilled, mail, barriers = state
        at, made, receives, arrived, begun = ranks[rank]
        program = self.programs[rank]
        if at == len(program):
            return
        call = program[at]
        if call == "B":
            yield from self.barrier(rank, state)
            return
        if call != "W" and not begun:
            yield from self.begin(rank, state, call)
            return
        if call == "IR" or (call != "W" and call[0] == "I"):
            yield self.advance(rank, state)
            return
        if call == "R" and self.may_leave_relays(rank, receives):
            yield self.advance(rank, state)
            return
        # The rank waits inside of Strake: it takes one step of those that are possible.
        if not receives:
            yield self.advance(rank, state)
            return
        for source in range(self.ranks):
            if source != rank:
                yield from self.look(rank, source, state)
        yield from self.match(rank, state)

    def replaced(self, state, rank, **parts):
        ranks = list(state[0])
        names = ("at", "made", "receives", "arrived", "begun")
        own = dict(zip(names, ranks[rank]))
        own.update({name: parts.pop(name) for name in names if name in parts})
        ranks[rank] = tuple(own[name] for name in names)
        return (tuple(ranks), parts.get("sent", state[1]), parts.get("ring", state[2]),
                parts.get("spilled", state[3]), parts.get("mail", state[4]), parts.get("barriers", state[5]))

    def advance(self, rank, state):
        return self.replaced(state, rank, at=state[0][rank][0] + 1, begun=False)

    def barrier(self, rank, state):
        at, _, _, _, begun = state[0][rank]
        if not begun:
            yield self.replaced(state, rank, begun=True, barriers=state[5] + 1)
            return
        barrier = self.programs[rank][:at].count("B")
        if state[5] >= (barrier + 1) * self.ranks:
            yield self.advance(rank, state)

    def may_leave_relays(self, rank, receives):
        """Whether no message of a relayed call is left for a rank."""
        left = [receive for receive in receives if receive[1] in (NEAR, FAR)]
        if self.broken == "an agent leaves before it has forwarded" and rank == 0:
            return all(receive[1] != FAR for receive in left)
        return not left

    def begin_relayed(self, rank, state):
        made = dict(state[0][rank][1])
        number = made.get(NEAR, 0)
        made[NEAR] = number + 1
        sends, receives, _ = RELAYED[rank]
        after = self.replaced(state, rank, made=tuple(sorted(made.items())), begun=True,
                              receives=state[0][rank][2] + tuple((*receive, number) for receive in receives))
        yield from self.sent_any_way(after, rank, [(*send, number) for send in sends])

    def sent_any_way(self, state, rank, sends):
        for kinds in itertools.product(*(kinds_of(comm) for _, comm, _ in sends)):
            after = state
            for (target, comm, number), kind in zip(sends, kinds):
                after = after and self.send(after, rank, target, comm, number, kind)
            if after is not None:
                yield after

    def forwarded(self, rank, states, receive):
        """An agent forwards what it has received."""
        source, comm, number = receive
        send = RELAYED.get(rank, ([], [], {}))[2].get((source, comm)) if comm in (NEAR, FAR) else None
        for state in states:
            yield from self.sent_any_way(state, rank, [(*send, number)] if send else [])

    def begin(self, rank, state, call):
        """All sends of a call leave in it; it asks for all receives."""
        if call in ("R", "IR"):
            yield from self.begin_relayed(rank, state)
            return
        comm = call[1]
        made = dict(state[0][rank][1])
        number = made.get(comm, 0)
        made[comm] = number + 1
        others = [other for other in range(self.ranks) if other != rank]
        receives = state[0][rank][2] + tuple((source, comm, number) for source in others)
        after = self.replaced(state, rank, made=tuple(sorted(made.items())), receives=receives, begun=True)
        yield from self.sent_any_way(after, rank, [(other, comm, number) for other in others])

    def send(self, state, rank, target, comm, number, kind):
        pair = self.pair(rank, target)
        sent, ring, spilled, mail = (list(part) for part in state[1:5])
        payload = (rank, comm, number)
        if is_far(comm):  # the pair is not connected: the tag is the communicator's
            mail[pair] += (("comm", comm, payload),)
            return self.replaced(state, rank, mail=tuple(mail))
        cell = (sent[pair], comm, number, kind, payload if kind == "S" else None)
        if kind == "M":
            tag = ("cell", comm if self.broken == "one tag" else sent[pair])
            mail[pair] += (tag + (payload,),)
        if len(ring[pair]) < CAPACITY:
            ring[pair] += (cell,)
        elif self.broken == "waits for the ring":
            return None
        else:
            spilled[pair] += (cell,)
        sent[pair] += 1
        return self.replaced(state, rank, sent=tuple(sent), ring=tuple(ring), spilled=tuple(spilled), mail=tuple(mail))

    def look(self, rank, source, state):
        """Takes the next cell of a pair out of the ring, or of the MPI library."""
        pair = self.pair(source, rank)
        arrived = state[0][rank][3]
        for name, index in (("ring", 2), ("spilled", 3)):
            queues = list(state[index])
            if not queues[pair]:
                continue
            cell = queues[pair][0]
            queues[pair] = queues[pair][1:]
            yield self.replaced(state, rank, arrived=arrived + ((source, cell),), **{name: tuple(queues)})

    def match(self, rank, state):
        for receive in state[0][rank][2]:
            yield from self.forwarded(rank, self.match_one(rank, state, receive), receive)

    def match_one(self, rank, state, receive):
        receives, arrived = state[0][rank][2:4]
        source, comm, number = receive
        pair = self.pair(source, rank)
        left = tuple(other for other in receives if other != receive)
        if is_far(comm):
            first = [other for other in receives if other[:2] == (source, comm)][0]
            found = [entry for entry in state[4][pair] if entry[:2] == ("comm", comm)]
            if receive == first and found:
                yield self.taken(rank, state, receive, left, found[0], pair)
            return
        for entry in arrived:
            other, cell = entry
            same_call = cell[2] == number or self.broken == "calls have no number"
            if other != source or cell[1] != comm or not same_call:
                continue
            after = self.replaced(state, rank, arrived=tuple(one for one in arrived if one is not entry))
            if cell[3] == "S":
                self.require(receive, cell[4])
                yield self.replaced(after, rank, receives=left)
                continue
            tag = ("cell", comm if self.broken == "one tag" else cell[0])
            found = [message for message in state[4][pair] if message[:2] == tag]
            if found:
                yield self.taken(rank, after, receive, left, found[0], pair)

    def taken(self, rank, state, receive, left, message, pair):
        self.require(receive, message[2])
        mail = list(state[4])
        mail[pair] = tuple(other for other in mail[pair] if other is not message)
        return self.replaced(state, rank, receives=left, mail=tuple(mail))

    @staticmethod
    def require(receive, payload):
        if payload != receive:
            raise Fault(f"the receive of {receive} got {payload}")

    def is_end(self, state):
        ended = all(rank[0] == len(program) for rank, program in zip(state[0], self.programs))
        if ended and (any(state[2]) or any(state[3]) or any(state[4]) or any(rank[3] for rank in state[0])):
            raise Fault("something is left at the end")
        return ended


def explore(programs, broken=None):
    """Returns how many states there are. Raises a Fault for a wrong message, and where no rank can go on."""
    job = Job(programs, broken)
    seen = {job.start()}
    left = list(seen)
    while left:
        state = left.pop()
        following = list(job.next_states(state))
        if not following and not job.is_end(state):
            raise Fault("no rank can go on")
        for after in following:
            if after not in seen:
                seen.add(after)
                left.append(after)
    return len(seen)


C, I, F, G = [("C", "a")], [("I", "a")], [("I", "f")], [("C", "f")]
D, J = [("C", "b")], [("I", "b")]
W, B = ["W"], ["B"]
R, IR = ["R"], ["IR"]

# What all ranks do; and programs whose ranks begin nonblocking calls on two communicators in orders of their own.
ALIKE = [C + C, C + D, I + C + W, I + I + W, I + B + W, I + J + B + W, I + I + B + C + W, J + C + W + D, F + I + B + W, F + C + F + W]
APART = [[I + J + W, J + I + W], [I + J + B + W, J + I + B + W], [I + I + J + W, J + I + I + W], [I + J + C + W, J + I + C + W],
         [F + I + B + W, I + F + B + W]]
THREE = [C, I + W, I + B + W]
# Three ranks on two nodes; last, ranks that wait in orders of their own while others are in a barrier.
RELAYS = [[program] * 3 for program in (R, R + R, R + B + R, G + R + G, F + R + W, F + B + R + W)] + [
    [F + R + B + W, F + R + W + B, F + R + B + W], [F + G + R + B + W, F + G + R + W + B, F + G + R + W + B]]
KNOWN = {  # how a protocol can be wrong, and a program that shows it
    "one tag": [I + I + W, I + I + W],
    "waits for the ring": [I + I + B + W, I + I + B + W],
    "calls have no number": [I + I + W, I + I + W],
    "an agent leaves before it has forwarded": [R + B] * 3,
    "relays of nonblocking calls": [IR + B + W, IR + W + B, IR + W + B],
}


def main():
    verbose = "--verbose" in sys.argv
    checked = [[program] * 2 for program in ALIKE] + APART + [[program] * 3 for program in THREE] + RELAYS
    total = 0
    for programs in checked:
        states = explore(programs)
        total += states
        if verbose:
            print(f"{states:9} states: {programs}")
    for broken, programs in KNOWN.items():
        try:
            explore(programs, broken)
        except Fault as fault:
            if verbose:
                print(f"{broken}: {fault}")
            continue
        print(f"FAILED: a protocol that is broken ({broken}) was not found")
        return 1
    print(f"{len(checked)} programs, {total} states: no rank waits for ever, each receive gets its own message")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fault as fault:
        print(f"FAILED: {fault}")
        sys.exit(1)
