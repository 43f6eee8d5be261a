// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sameOrder is how soon the same signal again means the same order: a terminal and tools such as timeout signal a process
// and its group.
const sameOrder = 300 * time.Millisecond

// interruptible gives a context that the first SIGINT or SIGTERM ends; the second one ends the process at once. stop
// gives the signals back.
func interruptible(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var first os.Signal
		var at time.Time
		for {
			select {
			case s := <-signals:
				switch {
				case first == nil:
					first, at = s, time.Now()
					cancel()
				case s == first && time.Since(at) < sameOrder:
				default:
					fmt.Fprintf(os.Stderr, "goddard: second signal (%v), stopped at once\n", s)
					os.Exit(128 + int(s.(syscall.Signal)))
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
