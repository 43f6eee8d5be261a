// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/route"
)

// Reader reads queues of one topic, each in order, from a place of its choice. It is
// no member of a group: whoever reads the same queues gets the same messages. Its
// methods may be called by several goroutines; Poll by one at a time makes sense
// (RocketMQ: DefaultLitePullConsumer with assign and seek).
type Reader struct {
	cfg          readerConfig
	topic        string
	subscription *protocol.SubscriptionData
	s            *session
	deliveries   chan delivery // from the queues' goroutines to Poll
	rerouted     chan struct{} // the topic's route changed

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	starting chan struct{} // holds one token: whoever starts the reader takes it

	// mu guards the fields below.
	mu      sync.Mutex
	started bool
	queues  map[Queue]*readQueue
}

// delivery is what a queue's goroutine hands to Poll: messages, or a failure, or the
// end of the queue.
type delivery struct {
	q     *readQueue
	epoch int
	next  int64 // position when the messages were taken
	msgs  []*Received
	err   error
	end   bool
}

// NewReader makes a reader of a topic; no server is asked before the first Poll,
// Seek or Queues. The error names every option that is wrong.
func NewReader(topic string, options ...ReaderOption) (*Reader, error) {
	cfg := defaultReader()
	for _, o := range options {
		o.applyReader(&cfg)
	}
	op := "new reader of topic " + topic
	if err := cfg.validate(topic); err != nil {
		return nil, invalid(op, err)
	}
	subscription, err := cfg.filter.subscription(topic, time.Now().UnixMilli())
	if err != nil {
		return nil, invalid(op, err)
	}
	r := &Reader{
		cfg: cfg, topic: topic, subscription: subscription,
		deliveries: make(chan delivery), rerouted: make(chan struct{}, 1),
		starting: make(chan struct{}, 1), queues: map[Queue]*readQueue{},
	}
	r.s, err = newSession(cfg.cluster, roles{changed: r.routeChanged})
	if err != nil {
		return nil, invalid(op, err)
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// Close ends the reader and waits for its goroutines. A Poll that waits fails with
// ErrClosed.
func (r *Reader) Close() error {
	r.mu.Lock()
	r.cancel() // under the lock: no goroutine is begun after this
	r.mu.Unlock()
	r.s.close()
	r.work.Wait()
	return nil
}

func (r *Reader) routeChanged(*route.Route) {
	select {
	case r.rerouted <- struct{}{}:
	default:
	}
}

// start finds the queues and begins to read them, once. It may be tried again after
// an error.
func (r *Reader) start(ctx context.Context) error {
	op := "read topic " + r.topic
	select {
	case r.starting <- struct{}{}:
		defer func() { <-r.starting }()
	case <-ctx.Done():
		return wrap(op, "", ctx.Err())
	}
	if r.isStarted() {
		return nil
	}
	if r.ctx.Err() != nil {
		return invalid(op, ErrClosed)
	}
	rt, err := r.s.routes.Get(ctx, r.topic)
	if err != nil {
		return r.s.noRoute(op, err)
	}
	queues := r.cfg.queues
	if len(queues) == 0 {
		queues = queuesOf(rt.Read)
	}
	if len(queues) == 0 {
		return &Error{Code: CodeNoRoute, Op: op, Err: errors.New("it has no queue that can be read")}
	}
	placed, err := r.place(ctx, queues)
	if err != nil {
		return err
	}
	return r.begin(placed)
}

// begin starts the goroutines.
func (r *Reader) begin(placed []*readQueue) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return invalid("read topic "+r.topic, ErrClosed)
	}
	r.started = true
	r.addLocked(placed)
	if len(r.cfg.queues) == 0 && !r.cfg.untilEnd {
		r.work.Go(r.followRoute)
	}
	return nil
}

func (r *Reader) isStarted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started
}

// place finds where to begin, and with UntilEnd where to end, in each queue.
func (r *Reader) place(ctx context.Context, queues []Queue) ([]*readQueue, error) {
	placed := make([]*readQueue, len(queues))
	errs := make([]error, len(queues))
	inParallel(queues, func(i int, q Queue) {
		rq := &readQueue{r: r, queue: q, end: -1}
		if r.cfg.untilEnd {
			if rq.end, errs[i] = r.s.maxOffset(ctx, q); errs[i] != nil {
				return
			}
		}
		rq.position, errs[i] = r.s.startOffset(ctx, r.cfg.group, q, r.cfg.pull.start)
		placed[i] = rq
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return placed, nil
}

// addLocked begins to read queues. The reader must not be closed.
func (r *Reader) addLocked(placed []*readQueue) {
	for _, rq := range placed {
		if r.queues[rq.queue] == nil {
			r.queues[rq.queue] = rq
			rq.goFromLocked(rq.position)
		}
	}
}

// followRoute reads queues that the topic gets later, from their beginning: nobody
// has seen their messages.
func (r *Reader) followRoute() {
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.rerouted:
		}
		rt, ok := r.s.routes.Cached(r.topic)
		if !ok {
			continue
		}
		var placed []*readQueue
		r.mu.Lock()
		for _, q := range queuesOf(rt.Read) {
			if r.queues[q] == nil {
				placed = append(placed, &readQueue{r: r, queue: q, end: -1})
			}
		}
		if r.ctx.Err() == nil {
			r.addLocked(placed)
		}
		r.mu.Unlock()
	}
}

// Poll waits for messages of any queue and gives those of one pull. When a queue can
// not be read it says so; reading goes on behind it, so that a later Poll may succeed.
// With UntilEnd it gives io.EOF when everything was given.
func (r *Reader) Poll(ctx context.Context) ([]*Received, error) {
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	op := "poll topic " + r.topic
	for {
		if r.cfg.untilEnd && r.atEnd() {
			return nil, io.EOF
		}
		select {
		case d := <-r.deliveries:
			if !d.q.take(d) {
				continue // of a position that was given up by Seek
			}
			if d.err != nil || len(d.msgs) > 0 {
				return d.msgs, d.err
			}
		case <-ctx.Done():
			return nil, wrap(op, "", ctx.Err())
		case <-r.ctx.Done():
			return nil, invalid(op, ErrClosed)
		}
	}
}

func (r *Reader) atEnd() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.queues {
		if !q.ended {
			return false
		}
	}
	return true
}

// Queues gives the queues that are read, sorted.
func (r *Reader) Queues(ctx context.Context) ([]Queue, error) {
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Keys(r.queues), func(a, b Queue) int { return a.wire().Compare(b.wire()) }), nil
}

// Position gives the offset behind the last message that Poll gave of a queue.
func (r *Reader) Position(q Queue) (int64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rq := r.queues[q]
	if rq == nil {
		return 0, false
	}
	return rq.position, true
}

// Seek makes reading of a queue go on somewhere else. Messages of the old place are
// not given any more.
func (r *Reader) Seek(ctx context.Context, q Queue, to Start) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	op := fmt.Sprintf("seek %s in queue %s", to, q)
	r.mu.Lock()
	rq := r.queues[q]
	r.mu.Unlock()
	if rq == nil {
		return invalid(op, errors.New("the queue is not one of this reader"))
	}
	offset, err := r.s.startOffset(ctx, r.cfg.group, q, to)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return invalid(op, ErrClosed)
	}
	rq.goFromLocked(offset)
	return nil
}

// Range gives the offsets of the oldest message of a queue and behind its newest.
func (r *Reader) Range(ctx context.Context, q Queue) (first, end int64, err error) {
	if err := r.start(ctx); err != nil {
		return 0, 0, err
	}
	if first, err = r.s.minOffset(ctx, q); err != nil {
		return 0, 0, err
	}
	end, err = r.s.maxOffset(ctx, q)
	return first, end, err
}

// Commit stores the positions as progress of ReadGroup, so that Committed begins there.
func (r *Reader) Commit(ctx context.Context) error {
	positions := map[Queue]int64{}
	r.mu.Lock()
	for q, rq := range r.queues {
		if rq.position >= 0 {
			positions[q] = rq.position
		}
	}
	r.mu.Unlock()
	var errs []error
	for q, offset := range positions {
		errs = append(errs, r.s.commit(ctx, r.cfg.group, q, offset))
	}
	return errors.Join(errs...)
}
