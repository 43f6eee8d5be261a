// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import (
	"testing"
	"time"
)

// The time within ids goes with the calendar of the machine, also where the month turns.
func TestUniqueIDOverTheMonths(t *testing.T) {
	zone := time.FixedZone("east", 8*3600)
	may := time.Date(2026, time.May, 31, 23, 59, 59, 999e6, zone)
	tests := []struct {
		situation string
		now       time.Time
		since     string // ms since the month began, hexadecimal
	}{
		{"last moment of a month of 31 days", may, "9FA523FF"}, // more than 31 bits
		{"first moment of the next", may.Add(time.Millisecond), "00000000"},
		{"a moment later", may.Add(2 * time.Millisecond), "00000001"},
		{"clock set back into the month before", may, "00000000"},
	}
	u := newUniqueSource()
	u.month.Store(monthOf(may))
	for i, tt := range tests {
		id := string(u.append(nil, tt.now))
		if got := id[len(id)-12 : len(id)-4]; got != tt.since {
			t.Errorf("%s: %s, want %s", tt.situation, got, tt.since)
		}
		info, err := ParseUniqueID(id, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		if int(info.Counter) != i {
			t.Errorf("%s: counter %d", tt.situation, info.Counter)
		}
		if i < 3 && !info.Time.Equal(tt.now) {
			t.Errorf("%s: made at %v, want %v", tt.situation, info.Time, tt.now)
		}
	}
}
