// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package filter

import "sync"

// Cache keeps the outcome of compiling by the text, errors too: pull requests may bring the same expression each time.
// What was not asked for lately goes when there is no room (RocketMQ: SelectorParser.PARSE_CACHE).
//
// It has two generations. A new outcome goes into the young one; when that is full it becomes the old one, and what was
// in the old one and was not asked for since is forgotten.
type Cache struct {
	entries, bytes int // of a generation

	mu         sync.RWMutex
	young, old map[string]outcome
	youngBytes int // of the texts in young
}

type outcome struct {
	expr *Expr
	err  error
}

// Sizes of a cache that fit a broker: a compiled expression takes some tens of times the memory of its text.
const (
	DefaultCacheEntries = 256
	DefaultCacheBytes   = 256 << 10
)

// NewCache makes a cache that holds at most twice as many outcomes and bytes of expressions as told.
func NewCache(entries, bytes int) *Cache {
	return &Cache{entries: max(entries, 1), bytes: bytes, young: map[string]outcome{}}
}

// Compile is the function Compile with a memory.
func (c *Cache) Compile(source string) (*Expr, error) {
	if o, ok := c.find(source); ok {
		return o.expr, o.err
	}
	var o outcome
	o.expr, o.err = Compile(source)
	c.put(source, o)
	return o.expr, o.err
}

// CompileBytes is Compile for a text in a request; it takes no memory for what is known.
func (c *Cache) CompileBytes(source []byte) (*Expr, error) {
	c.mu.RLock()
	o, ok := c.young[string(source)]
	c.mu.RUnlock()
	if ok {
		return o.expr, o.err
	}
	return c.Compile(string(source))
}

// find looks into both generations, and makes young again what it finds in the old one.
func (c *Cache) find(source string) (outcome, bool) {
	c.mu.RLock()
	o, young := c.young[source]
	old := false
	if !young {
		o, old = c.old[source]
	}
	c.mu.RUnlock()
	if old {
		c.put(source, o)
	}
	return o, young || old
}

func (c *Cache) put(source string, o outcome) {
	if len(source) > c.bytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.young[source]; known {
		return
	}
	if len(c.young) >= c.entries || c.youngBytes+len(source) > c.bytes {
		c.old, c.young, c.youngBytes = c.young, map[string]outcome{}, 0
	}
	c.young[source] = o
	c.youngBytes += len(source)
}
