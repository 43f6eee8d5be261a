// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nametable

import (
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"
)

const parts = 256

// Table is safe for concurrent use. The zero value is not ready: see New.
type Table[V any] struct {
	seed  maphash.Seed
	count atomic.Int64
	parts [parts]part[V]
}

type part[V any] struct {
	mu    sync.Mutex // held to replace names
	names atomic.Pointer[map[string]*V]
}

// New gives an empty table.
func New[V any]() *Table[V] { return &Table[V]{seed: maphash.MakeSeed()} }

// Get gives the value of a name, nil when it has none.
func (t *Table[V]) Get(name string) *V {
	if m := t.of(maphash.String(t.seed, name)).names.Load(); m != nil {
		return (*m)[name]
	}
	return nil
}

// GetBytes is Get without making a string of the name.
func (t *Table[V]) GetBytes(name []byte) *V {
	if m := t.of(maphash.Bytes(t.seed, name)).names.Load(); m != nil {
		return (*m)[string(name)]
	}
	return nil
}

// GetOrPut gives the value of a name, after setting it to what make gives if it had
// none. made tells which. make runs at most once for a name, with part of the table
// locked: it must not use the table.
func (t *Table[V]) GetOrPut(name string, make func() *V) (v *V, made bool) {
	if v := t.Get(name); v != nil {
		return v, false
	}
	p := t.of(maphash.String(t.seed, name))
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.names.Load(); m != nil {
		if v := (*m)[name]; v != nil {
			return v, false
		}
	}
	v = make()
	t.replaceLocked(p, name, v)
	return v, true
}

// Put sets the value of a name and gives the one before, nil for none.
func (t *Table[V]) Put(name string, v *V) *V {
	p := t.of(maphash.String(t.seed, name))
	p.mu.Lock()
	defer p.mu.Unlock()
	return t.replaceLocked(p, name, v)
}

// Delete removes a name and gives the value it had, nil for none.
func (t *Table[V]) Delete(name string) *V {
	p := t.of(maphash.String(t.seed, name))
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.names.Load(); m == nil || (*m)[name] == nil {
		return nil
	}
	return t.replaceLocked(p, name, nil)
}

// Len tells how many names there are.
func (t *Table[V]) Len() int { return int(t.count.Load()) }

// Each calls f with each name in no order until f gives false. Names that come or go
// meanwhile may be met or not.
func (t *Table[V]) Each(f func(name string, v *V) bool) {
	for i := range t.parts {
		m := t.parts[i].names.Load()
		if m == nil {
			continue
		}
		for name, v := range *m {
			if !f(name, v) {
				return
			}
		}
	}
}

func (t *Table[V]) of(hash uint64) *part[V] { return &t.parts[hash>>56] }

// replaceLocked publishes a copy with the name changed; v nil removes it.
func (t *Table[V]) replaceLocked(p *part[V], name string, v *V) (before *V) {
	var next map[string]*V
	if m := p.names.Load(); m != nil {
		before = (*m)[name]
		next = maps.Clone(*m)
	} else {
		next = make(map[string]*V, 1)
	}
	switch {
	case v == nil:
		delete(next, name)
		t.count.Add(-1)
	case before == nil:
		t.count.Add(1)
		fallthrough
	default:
		next[name] = v
	}
	p.names.Store(&next)
	return before
}
