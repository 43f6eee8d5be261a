// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"cmp"
	"time"
)

// DataVersion tells apart the states of a broker's topics, groups or offsets. Two states are the
// same only if all three numbers are (4.x has no StateVersion: it reads as 0).
type DataVersion struct {
	Counter      int64 `json:"counter"`      // changes since the process started
	StateVersion int64 `json:"stateVersion"` // grows with each change of the master
	Timestamp    int64 `json:"timestamp"`    // ms, of the last change
}

// NewDataVersion is the version of a state not changed yet.
func NewDataVersion(now time.Time) DataVersion { return DataVersion{Timestamp: now.UnixMilli()} }

// Advance marks a change (RocketMQ: DataVersion.nextVersion).
func (v *DataVersion) Advance(now time.Time, stateVersion int64) {
	v.Timestamp = now.UnixMilli()
	v.StateVersion = stateVersion
	v.Counter++
}

// Equal tells whether both are the same state.
func (v DataVersion) Equal(o DataVersion) bool { return v == o }

// Compare tells which is newer: by state version, then counter, then time.
func (v DataVersion) Compare(o DataVersion) int {
	return cmp.Or(cmp.Compare(v.StateVersion, o.StateVersion), cmp.Compare(v.Counter, o.Counter), cmp.Compare(v.Timestamp, o.Timestamp))
}
