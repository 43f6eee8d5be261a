// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package assign

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"slices"
	"sort"
	"strconv"
)

// defaultNodes is how many places on the ring a member has unless told otherwise.
const defaultNodes = 10

// ConsistentHash puts members on a ring and gives each queue to the next member,
// so that few queues move when a member comes or goes. Shares are uneven, and a
// small group may leave members without any (RocketMQ:
// AllocateMessageQueueConsistentHash).
type ConsistentHash struct {
	// Nodes is how many places each member has on the ring; 0 means 10. All
	// members must use the same number.
	Nodes int
}

// Name of the strategy.
func (ConsistentHash) Name() string { return NameConsistentHash }

// place is one point of the ring.
type place struct {
	hash   uint32
	member string
}

// Share of self.
func (h ConsistentHash) Share(self string, queues []Queue, members []string) []Queue {
	if !slices.Contains(members, self) {
		return nil
	}
	ring := h.ring(members)
	var share []Queue
	for _, q := range queues {
		at := ringHash(q.String()) // the text that Java prints is part of the agreement
		i := sort.Search(len(ring), func(i int) bool { return ring[i].hash >= at })
		if ring[i%len(ring)].member == self {
			share = append(share, q)
		}
	}
	return share
}

// ring places the members. When two places fall on the same point the later
// member has it, as in a map that is written in this order.
func (h ConsistentHash) ring(members []string) []place {
	nodes := h.Nodes
	if nodes <= 0 {
		nodes = defaultNodes
	}
	owner := make(map[uint32]string, len(members)*nodes)
	for _, m := range members {
		for i := range nodes {
			owner[ringHash(m+"-"+strconv.Itoa(i))] = m
		}
	}
	ring := make([]place, 0, len(owner))
	for hash, m := range owner {
		ring = append(ring, place{hash, m})
	}
	slices.SortFunc(ring, func(a, b place) int { return cmp.Compare(a.hash, b.hash) })
	return ring
}

// ringHash is the first word of the MD5 sum: a place on the ring, not a secret.
func ringHash(key string) uint32 {
	sum := md5.Sum([]byte(key))
	return binary.BigEndian.Uint32(sum[:4])
}

var _ Strategy = ConsistentHash{}
