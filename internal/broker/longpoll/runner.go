// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package longpoll

import "sync"

// runner resumes pulls in the order in which they were taken, at most limit at once. What waits is a list through the
// pulls themselves, so that adding never blocks and allocates nothing but goroutines.
type runner struct {
	limit int

	mu          sync.Mutex
	first, last *Pull
	running     int
	idle        *sync.Cond // made by wait
}

func (r *runner) add(p *Pull) {
	p.prev, p.next = nil, nil
	r.mu.Lock()
	if r.last == nil {
		r.first = p
	} else {
		r.last.next = p
	}
	r.last = p
	start := r.running < r.limit
	if start {
		r.running++
	}
	r.mu.Unlock()
	if start {
		go r.work()
	}
}

func (r *runner) work() {
	for {
		r.mu.Lock()
		p := r.first
		if p == nil {
			r.running--
			if r.running == 0 && r.idle != nil {
				r.idle.Broadcast()
			}
			r.mu.Unlock()
			return
		}
		r.first, p.next = p.next, nil
		if r.first == nil {
			r.last = nil
		}
		r.mu.Unlock()
		p.Owner.Resume()
	}
}

// wait returns when nothing is left to resume.
func (r *runner) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idle == nil {
		r.idle = sync.NewCond(&r.mu)
	}
	for r.running > 0 {
		r.idle.Wait()
	}
}

// link puts p at the end of its queue's ring.
func (s *shard) link(p *Pull) {
	key := queueKey{p.Topic, p.QueueID}
	first := s.queues[key]
	if first == nil {
		p.prev, p.next = p, p
		s.queues[key] = p
		return
	}
	p.prev, p.next = first.prev, first
	first.prev.next = p
	first.prev = p
}

func (s *shard) unlink(p *Pull) {
	key := queueKey{p.Topic, p.QueueID}
	if p.next == p {
		delete(s.queues, key)
		return
	}
	p.prev.next, p.next.prev = p.next, p.prev
	if s.queues[key] == p {
		s.queues[key] = p.next
	}
}
