// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"strings"
	"sync"
	"sync/atomic"
)

// Live is a room's Config that may change while the room runs. Readers take a snapshot with Load at each use; a
// snapshot is never written to. T is a struct of plain values (slices in it are replaced, not written to).
type Live[T any] struct {
	now atomic.Pointer[T]
	mu  sync.Mutex // one writer at a time; readers do not take it
}

// NewLive starts from v, which is copied.
func NewLive[T any](v T) *Live[T] {
	l := new(Live[T])
	l.now.Store(&v)
	return l
}

// Load gives the present snapshot. It costs one atomic read and must not be written to.
func (l *Live[T]) Load() *T { return l.now.Load() }

// Set changes one setting: copy, set, validate (when *T has a method Validate() error), swap. known is false when T
// has no such key, changed is false when it had the value already. With an error nothing changes.
func (l *Live[T]) Set(key, value string) (known, changed bool, err error) {
	err = l.Update(func(next *T) error {
		before, has := Get(next, key)
		if !has {
			return nil
		}
		known = true
		if _, err := Set(next, key, strings.TrimSpace(value)); err != nil {
			return err
		}
		after, _ := Get(next, key)
		changed = after != before
		return nil
	})
	return known, changed && err == nil, err
}

// Update lets change write to a copy, validates it and makes it the present snapshot: all of the change or, with an
// error, nothing.
func (l *Live[T]) Update(change func(next *T) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := *l.now.Load()
	if err := change(&next); err != nil {
		return err
	}
	if v, ok := any(&next).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	l.now.Store(&next)
	return nil
}
