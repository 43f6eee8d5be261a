// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"maps"
	"slices"
)

// minIDChange tells brokers of one name which of them has the smallest id now
// (RocketMQ: NOTIFY_MIN_BROKER_ID_CHANGE).
type minIDChange struct {
	id      int64
	addr    string
	offline string   // the address that went; "" when one came
	haAddr  string   // replication address of the one that came
	notify  []string // addresses to be told, sorted
}

// minIDArrived is the change by a broker that came and has the smallest id now.
// The others are told; a broker that is alone is told of itself.
func minIDArrived(addrs map[int64]string, haAddr string) *minIDChange {
	id := minID(addrs)
	c := &minIDChange{id: id, addr: addrs[id], haAddr: haAddr}
	for other, addr := range addrs {
		if other != id || len(addrs) == 1 {
			c.notify = append(c.notify, addr)
		}
	}
	slices.Sort(c.notify)
	return c
}

// minIDLeft is the change by a broker that went and had the smallest id. All that
// are left are told.
func minIDLeft(addrs map[int64]string, offline string) *minIDChange {
	id := minID(addrs)
	return &minIDChange{id: id, addr: addrs[id], offline: offline, notify: slices.Sorted(maps.Values(addrs))}
}
