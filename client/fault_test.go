// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func TestFaults(t *testing.T) {
	answered := func(code int32) *Error { return &Error{Code: Code(code)} }
	for _, test := range []struct {
		situation string
		took      time.Duration
		err       *Error
		out       time.Duration // left alone for
		reachable bool
	}{
		{"quick", 30 * time.Millisecond, nil, 0, true},
		{"half a second", 500 * time.Millisecond, nil, 0, true},
		{"slow", 600 * time.Millisecond, nil, 2 * time.Second, true},
		{"slower", 1900 * time.Millisecond, nil, 5 * time.Second, true},
		{"very slow", 3100 * time.Millisecond, nil, 6 * time.Second, true},
		{"slower than the time-out", 5200 * time.Millisecond, nil, 10 * time.Second, true},
		{"a quarter of a minute", 16 * time.Second, nil, 30 * time.Second, true},
		{"busy", time.Millisecond, answered(protocol.SystemBusy), 10 * time.Second, false},
		{"refused for good", time.Millisecond, answered(protocol.MessageIllegal), 10 * time.Second, false},
		{"connection broke", time.Millisecond, &Error{Code: CodeConnect}, 10 * time.Second, true},
		{"no master known", 0, &Error{Code: CodeNoBroker}, 0, true},
	} {
		t.Run(test.situation, func(t *testing.T) {
			f, now := newFaults(), time.Unix(1_000_000, 0)
			f.note("a", test.took, test.err, now)
			if test.out > 0 && f.available("a", now.Add(test.out-1)) {
				t.Errorf("available before %s are over", test.out)
			}
			if !f.available("a", now.Add(test.out)) {
				t.Errorf("not available after %s", test.out)
			}
			if f.reachable("a") != test.reachable {
				t.Errorf("reachable: %v, want %v", !test.reachable, test.reachable)
			}
		})
	}
}

func TestFaultIsNotShortenedByAGoodAnswer(t *testing.T) {
	f, now := newFaults(), time.Unix(1_000_000, 0)
	f.note("a", 0, &Error{Code: CodeConnect}, now)
	f.note("a", time.Millisecond, nil, now.Add(time.Second))
	if f.available("a", now.Add(9*time.Second)) {
		t.Error("one good answer made the broker available at once")
	}
	if !f.available("unknown", now) || !f.reachable("unknown") {
		t.Error("a broker that nothing is known of is left alone")
	}
}
