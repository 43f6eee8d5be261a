// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package router

// jobQueue is first in, first out, in a ring that grows with what waits.
type jobQueue struct {
	ring []job
	at   int // of the head
	n    int
}

// keptRing is the size from which an empty ring's memory is given back.
const keptRing = 64

func (q *jobQueue) len() int { return q.n }

func (q *jobQueue) head() *job { return &q.ring[q.at] }

func (q *jobQueue) push(j job) {
	if q.n == len(q.ring) {
		bigger := make([]job, max(8, 2*len(q.ring)))
		n := copy(bigger, q.ring[q.at:])
		copy(bigger[n:], q.ring[:q.at])
		q.ring, q.at = bigger, 0
	}
	q.ring[(q.at+q.n)%len(q.ring)] = j
	q.n++
}

func (q *jobQueue) pop() job {
	j := q.ring[q.at]
	q.ring[q.at] = job{}
	q.at = (q.at + 1) % len(q.ring)
	q.n--
	if q.n == 0 && len(q.ring) > keptRing {
		q.ring, q.at = nil, 0
	}
	return j
}
