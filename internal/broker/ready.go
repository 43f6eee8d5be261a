// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"slices"
	"strings"
)

// Unready tells why clients cannot do all they want here at the moment, a reason each; none when they can.
func (b *Broker) Unready() []string {
	var reasons []string
	if err := b.store.Writable(); err != nil {
		reasons = append(reasons, "messages are refused: "+err.Error())
	}
	if failed, all := b.registrar.unreachable(); all && len(failed) > 0 {
		reasons = append(reasons, "cannot register at "+strings.Join(failed, ", "))
	}
	return reasons
}

// unreachable lists the name servers whose last registration failed, and tells whether that is all of them.
func (r *registrar) unreachable() (failed []string, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for addr, n := range r.servers {
		if n.failed {
			failed = append(failed, addr)
		}
	}
	slices.Sort(failed)
	return failed, len(failed) == len(r.servers)
}
