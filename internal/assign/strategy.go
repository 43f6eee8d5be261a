// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package assign

import (
	"slices"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// Queue is one queue of a topic at one broker.
type Queue = protocol.MessageQueue

// Strategy is a way of dividing queues.
type Strategy interface {
	// Name is what requests and settings call the strategy. Members that divide
	// by different names divide wrongly.
	Name() string
	// Share gives the queues that fall to self. Queues and members are taken in
	// the order given, which must be that of Sort for all members to agree. No
	// queues, no members, or a self that is not among the members give nothing.
	Share(self string, queues []Queue, members []string) []Queue
}

// Names of the strategies, as QUERY_ASSIGNMENT carries them.
const (
	NameAverage         = "AVG"
	NameAverageByCircle = "AVG_BY_CIRCLE"
	NameConfig          = "CONFIG"
	NameConsistentHash  = "CONSISTENT_HASH"
	NameMachineRoom     = "MACHINE_ROOM"
)

// ByName gives the strategies that need no settings of their own: those a broker
// can be asked to apply.
func ByName(name string) (Strategy, bool) {
	switch name {
	case NameAverage:
		return Average{}, true
	case NameAverageByCircle:
		return AverageByCircle{}, true
	case NameConsistentHash:
		return ConsistentHash{}, true
	}
	return nil, false
}

// Sort puts queues (by topic, broker, number) and members (as strings) into the
// order in which every member of a group divides.
func Sort(queues []Queue, members []string) {
	slices.SortFunc(queues, Queue.Compare)
	slices.Sort(members)
}
