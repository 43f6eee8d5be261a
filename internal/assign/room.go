// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package assign

import (
	"slices"
	"strings"
)

// MachineRoom divides only the queues of brokers in the given rooms. A broker says
// its room in its name, "room@broker"; other brokers are left out (RocketMQ:
// AllocateMessageQueueByMachineRoom).
//
// Each member gets as many neighbouring queues as go round, then the first members
// one more each from the end:
//
//	5 queues, 2 members:  0 1 4 | 2 3
type MachineRoom struct{ Rooms []string }

// Name of the strategy.
func (MachineRoom) Name() string { return NameMachineRoom }

// Share of self.
func (r MachineRoom) Share(self string, queues []Queue, members []string) []Queue {
	i := slices.Index(members, self)
	if i < 0 {
		return nil
	}
	var near []Queue
	for _, q := range queues {
		if room, ok := roomOf(q.BrokerName); ok && slices.Contains(r.Rooms, room) {
			near = append(near, q)
		}
	}
	each, rest := len(near)/len(members), len(near)%len(members)
	share := slices.Clone(near[i*each : (i+1)*each])
	if i < rest {
		share = append(share, near[each*len(members)+i])
	}
	return share
}

// roomOf reads the room out of a broker's name, which must have two parts; as in
// Java's split, separators at the end do not count.
func roomOf(broker string) (string, bool) {
	room, name, ok := strings.Cut(strings.TrimRight(broker, "@"), "@")
	return room, ok && !strings.Contains(name, "@")
}

// Nearby gives queues first to members of the same room. Queues of a room without
// members are divided among all members (RocketMQ:
// AllocateMachineRoomNearby).
type Nearby struct {
	Inner Strategy
	// RoomOfBroker and RoomOfMember tell the room of a queue's broker and of a
	// member; both must know a room for everyone they are asked about.
	RoomOfBroker func(Queue) string
	RoomOfMember func(string) string
}

// Name of the strategy: that of the inner one with a prefix.
func (n Nearby) Name() string { return "MACHINE_ROOM_NEARBY-" + n.Inner.Name() }

// Share of self.
func (n Nearby) Share(self string, queues []Queue, members []string) []Queue {
	if !slices.Contains(members, self) {
		return nil
	}
	byRoom := map[string][]Queue{}
	for _, q := range queues {
		room := n.RoomOfBroker(q)
		byRoom[room] = append(byRoom[room], q)
	}
	people := map[string][]string{}
	for _, m := range members {
		room := n.RoomOfMember(m)
		people[room] = append(people[room], m)
	}
	own := n.RoomOfMember(self)
	share := n.Inner.Share(self, byRoom[own], people[own])
	for _, room := range sortedKeys(byRoom) {
		if len(people[room]) == 0 {
			share = append(share, n.Inner.Share(self, byRoom[room], members)...)
		}
	}
	return share
}

func sortedKeys(m map[string][]Queue) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

var (
	_ Strategy = MachineRoom{}
	_ Strategy = Nearby{}
)
