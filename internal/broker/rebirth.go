// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"sync"

	"github.com/goddard-mq/goddard/internal/broker/topic"
)

// rebirths sees to it that a topic that is deleted and made again is read from its beginning by members that were there all the
// time: their clients go on at the offset where they were in the old one, behind everything in the new one.
type rebirths struct {
	topics  func(name string) *topic.Config
	readers func(name string) []string // groups with members that subscribe to it now
	reset   func(topic, group string, queue int32, offset int64)
	wake    func(topic string) // pulls that are held

	mu   sync.Mutex
	gone map[string]struct{} // names of topics that were deleted
}

// maxGone bounds the names of deleted topics that are remembered.
const maxGone = 65_536

// changed is told of topics that were created, changed or deleted (topic.Options.Changed).
func (r *rebirths) changed(names []string) {
	for _, name := range names {
		t := r.topics(name)
		switch {
		case t == nil:
			r.remember(name)
			r.wake(name) // the answer tells them that there is no such topic
		case r.forget(name):
			for _, g := range r.readers(name) {
				for queue := range t.ReadQueueNums {
					r.reset(name, g, queue, 0)
				}
			}
		}
	}
}

func (r *rebirths) remember(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone == nil || len(r.gone) >= maxGone {
		r.gone = map[string]struct{}{}
	}
	r.gone[name] = struct{}{}
}

// forget is true for a topic that was deleted before.
func (r *rebirths) forget(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, was := r.gone[name]
	delete(r.gone, name)
	return was
}
