// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Live is a room's Config that may change while the room runs. It has two snapshots: what the process runs with, and
// what the next start will find, which differ in settings that are read at start only (option restart) and were changed
// since. A snapshot is never written to. T is a struct of plain values (slices in it are replaced, not written to).
type Live[T any] struct {
	running    atomic.Pointer[T]
	configured atomic.Pointer[T]
	mu         sync.Mutex // one writer at a time; readers do not take it
}

// NewLive starts from v, which is copied.
func NewLive[T any](v T) *Live[T] {
	l := new(Live[T])
	l.running.Store(&v)
	l.configured.Store(&v)
	return l
}

// Load gives the snapshot that the process runs with. It costs one atomic read and must not be written to.
func (l *Live[T]) Load() *T { return l.running.Load() }

// Configured gives the settings as they will be after a restart, for those who show them. It must not be written to.
func (l *Live[T]) Configured() *T { return l.configured.Load() }

// Set changes one setting: copy, set, validate (when *T has a method Validate() error), swap. A setting that is read at
// start only changes in Configured alone. known is false when T has no such key, changed is false when it was configured
// so already. With an error nothing changes.
func (l *Live[T]) Set(key, value string) (known, changed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	configured := *l.configured.Load()
	before, known := Get(&configured, key)
	if !known {
		return false, false, nil
	}
	set := func(next *T) error {
		if _, err := Set(next, key, strings.TrimSpace(value)); err != nil {
			return err
		}
		return validate(next)
	}
	if err := set(&configured); err != nil {
		return true, false, err
	}
	if after, _ := Get(&configured, key); after == before {
		return true, false, nil
	}
	if !readAtStart(&configured, key) {
		running := *l.running.Load()
		if err := set(&running); err != nil {
			return true, false, err
		}
		l.running.Store(&running)
	}
	l.configured.Store(&configured)
	return true, true, nil
}

// Pending tells whether a key's value waits for a restart.
func (l *Live[T]) Pending(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	running, known := Get(l.running.Load(), key)
	configured, _ := Get(l.configured.Load(), key)
	return known && running != configured
}

// readAtStart tells whether a field with this key has the option restart.
func readAtStart(ptr any, key string) bool {
	set, _ := fieldsOf(ptr)
	return slices.ContainsFunc(set.byKey[key], func(f *Field) bool { return f.Restart })
}

func validate(ptr any) error {
	if v, ok := ptr.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// Update lets change write to a copy of each snapshot, validates the copies and puts them in place: all of the change
// or, with an error, nothing. It is for owners; settings come through Set.
func (l *Live[T]) Update(change func(next *T) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	running, configured := *l.running.Load(), *l.configured.Load()
	for _, next := range []*T{&running, &configured} {
		if err := change(next); err != nil {
			return err
		}
		if err := validate(next); err != nil {
			return err
		}
	}
	l.running.Store(&running)
	l.configured.Store(&configured)
	return nil
}
