// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package router

import (
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/remoting"
)

// BenchmarkInline is what the router adds to a request that is handled where it
// was read. Without a connection the answer goes nowhere.
func BenchmarkInline(b *testing.B) {
	r := New(Config{Observer: new(blind)}, []Route{{Code: 310, Handle: func(x *remoting.Exchange) (*remoting.Command, error) {
		return x.Response(), nil
	}}})
	x := &remoting.Exchange{Request: remoting.Command{Code: 310}}
	b.ReportAllocs()
	for b.Loop() {
		r.ServeCommand(x)
	}
}

// blind is an Observer that does not look.
type blind struct{}

func (b *blind) Route(int32, string, string) RouteObserver { return b }
func (b *blind) Done(int32, time.Duration)                 {}
