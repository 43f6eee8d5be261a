// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import "sync"

// maxParallelAsks bounds how many questions of one kind are open at a time.
const maxParallelAsks = 16

// inParallel calls f for each item, several at a time, and waits for all.
func inParallel[T any](items []T, f func(i int, item T)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, maxParallelAsks)
	for i, item := range items {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			f(i, item)
		})
	}
	wait.Wait()
}
