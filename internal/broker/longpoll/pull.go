// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package longpoll

// Filter decides whether a message is wanted. It is asked under a lock: it must not wait.
type Filter interface {
	MatchTags(tagsCode int64) bool          // as far as the code of its tags tells
	MatchProperties(properties []byte) bool // of what MatchTags let pass
}

// Owner is the pull as its owner knows it.
type Owner interface {
	// Resume is called once, on a goroutine of the lot. It may wait for the disk.
	Resume()
}

// Pull is a held pull. Its owner fills in the exported fields and leaves it alone until Resume.
type Pull struct {
	Topic    string
	QueueID  int32
	Offset   int64  // first wanted; an arrival below it is no news
	Filter   Filter // nil: every message is wanted
	Deadline int64  // ns since 1970
	Quiet    bool   // arrivals do not resume it, the deadline does
	Owner    Owner

	due        int64 // when the lot resumes it at the latest: Deadline, or sooner after an unwanted arrival
	missed     bool  // there was an unwanted arrival
	heapIndex  int   // in the shard's heap
	prev, next *Pull // in the list of its queue, then (next) in the list of those to resume
}

// dueHeap orders pulls by due. It knows each pull's place so that a resumed one can be taken out.
type dueHeap []*Pull

func (h *dueHeap) push(p *Pull) {
	p.heapIndex = len(*h)
	*h = append(*h, p)
	h.up(p.heapIndex)
}

func (h *dueHeap) remove(p *Pull) {
	i, last := p.heapIndex, len(*h)-1
	(*h).swap(i, last)
	(*h)[last] = nil
	*h = (*h)[:last]
	if i < last {
		h.fix(i)
	}
	p.heapIndex = -1
}

// fix restores the order after the due of the pull at i changed.
func (h *dueHeap) fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

func (h dueHeap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}

func (h dueHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].due <= h[i].due {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h dueHeap) down(i int) (moved bool) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].due < h[least].due {
				least = child
			}
		}
		if least == i {
			return moved
		}
		h.swap(i, least)
		i, moved = least, true
	}
}
