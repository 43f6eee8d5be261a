// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

const (
	drainTimeout  = 10 * time.Second       // for answers that are owed at the end
	redialEvery   = 200 * time.Millisecond // after a connection was lost
	maxRefusalLen = 300                    // of the text kept from a failure
	onTheWay      = 10 * time.Millisecond  // what was due so shortly before the end is not called unsent
)

// RunProduce puts a producing load on the target, printing a line per progress
// interval to out, and tells what it measured. It ends when the time is over or
// ctx ends; the result is valid in both cases. The error says why there was no load
// at all.
func RunProduce(ctx context.Context, cfg ProduceConfig, out io.Writer) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	g := newGuide(&cfg.Target)
	defer g.close()
	brokers, err := g.find(ctx, true)
	if err != nil {
		return Result{}, err
	}
	recorders := newRecorders(cfg.Connections)
	producers := make([]*producer, cfg.Connections)
	begin := time.Now()
	for i := range producers {
		if producers[i], err = newProducer(&cfg, i, brokers, recorders[i%len(recorders)], begin); err != nil {
			return Result{}, err
		}
	}
	return load(ctx, &cfg, producers, brokers, recorders, out)
}

func load(ctx context.Context, cfg *ProduceConfig, producers []*producer, brokers []brokerQueues, recorders []*recorder, out io.Writer) (Result, error) {
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var working sync.WaitGroup
	for _, p := range producers {
		working.Go(func() {
			if err := p.run(run); err != nil {
				stop(err)
			}
		})
	}
	m := newMeter(&cfg.Target, recorders, out)
	m.run(run, func() { stop(errTimeOver) })
	end := time.Now()
	working.Wait()
	m.finish()
	r := newResult("produce", &cfg.Target, brokers, m)
	r.Depth, r.Batch, r.BodyBytes, r.RateWanted = cfg.Depth, cfg.Batch, cfg.Size, cfg.Rate
	for _, p := range producers {
		r.Unsent += p.unsent(end.Add(-onTheWay)) * int64(cfg.Batch)
	}
	if cause := context.Cause(run); !errors.Is(cause, errTimeOver) && ctx.Err() == nil {
		return r, cause
	}
	return r, nil
}

var errTimeOver = errors.New("the time is over")

// producer is one connection of the load and what reconnects it.
type producer struct {
	cfg    *ProduceConfig
	id     int
	broker brokerQueues
	rec    *recorder
	frame  *sendFrame
	pace   *pace // nil: closed loop
	sent   int64 // requests, over all sessions
}

func newProducer(cfg *ProduceConfig, id int, brokers []brokerQueues, rec *recorder, begin time.Time) (*producer, error) {
	p := &producer{cfg: cfg, id: id, broker: brokers[id%len(brokers)], rec: rec}
	var err error
	if p.frame, err = newSendFrame(cfg, id); err != nil {
		return nil, err
	}
	if cfg.Rate > 0 {
		p.pace = newPace(begin, cfg.Rate/float64(cfg.Batch), id, cfg.Connections)
	}
	return p, nil
}

// unsent is how many requests were due by t and did not go.
func (p *producer) unsent(t time.Time) int64 {
	if p.pace == nil {
		return 0
	}
	return max(p.pace.dueBy(t)-p.sent, 0)
}

// run keeps a session going until ctx ends. Only a first connection that cannot be
// made is an error.
func (p *producer) run(ctx context.Context) error {
	for first := true; ctx.Err() == nil; first = false {
		s, err := dial(ctx, p.broker.addr)
		if err != nil {
			if first && ctx.Err() == nil {
				return fmt.Errorf("connect to broker: %w", err)
			}
			wait(ctx, time.Now().Add(redialEvery))
			continue
		}
		newSession(p, s).run(ctx)
	}
	return nil
}

// session is the life of one connection. The writer takes a slot for each request
// and the reader gives it back with the answer.
type session struct {
	*producer
	s      *stream
	slots  []slot
	free   chan int      // slots without a request
	broken chan struct{} // closed by the reader when the connection is of no more use
}

// slot is a request in flight. An answer belongs to the request whose opaque
// number the slot has.
type slot struct {
	opaque     atomic.Int32
	start      atomic.Int64 // ns since 1970: when it went or should have gone
	generation int32
}

func newSession(p *producer, s *stream) *session {
	n := &session{producer: p, s: s, slots: make([]slot, p.cfg.Depth), free: make(chan int, p.cfg.Depth), broken: make(chan struct{})}
	for i := range n.slots {
		n.free <- i
	}
	return n
}

func (n *session) run(ctx context.Context) {
	go n.read()
	err := n.write(ctx)
	if err == nil {
		err = n.drain()
	}
	_ = n.s.nc.Close()
	<-n.broken
	lost := int64(len(n.slots)-len(n.free)) * int64(n.cfg.Batch)
	n.rec.record(func(t *tally) {
		t.lost += lost
		if err != nil && ctx.Err() == nil {
			t.breaks++
		}
	})
}

var errBroken = errors.New("connection lost")

// write sends until ctx ends or the connection breaks.
func (n *session) write(ctx context.Context) error {
	done := ctx.Done()
	for {
		start := time.Now()
		if n.pace != nil {
			due := n.pace.due(n.sent)
			if due.After(start) {
				if err := n.s.w.Flush(); err != nil {
					return err
				}
				if wait(ctx, due); ctx.Err() != nil {
					return nil
				}
			}
			start = due
		}
		slot, ok := 0, false
		select {
		case <-done:
			return n.s.w.Flush()
		case <-n.broken:
			return errBroken
		case slot = <-n.free:
			ok = true
		default:
		}
		if !ok {
			if err := n.s.w.Flush(); err != nil {
				return err
			}
			select {
			case <-done:
				return nil
			case <-n.broken:
				return errBroken
			case slot = <-n.free:
			}
			if n.pace == nil {
				start = time.Now()
			}
		}
		if err := n.send(slot, start); err != nil {
			return err
		}
	}
}

func (n *session) send(i int, start time.Time) error {
	s := &n.slots[i]
	s.generation++
	if s.generation >= (lastOpaque-firstOpaque)/int32(len(n.slots)) {
		s.generation = 0
	}
	opaque := firstOpaque + s.generation*int32(len(n.slots)) + int32(i)
	s.start.Store(start.UnixNano())
	s.opaque.Store(opaque)
	// Queues in turn; connections begin at different ones.
	queue := int((n.sent + int64(n.id)) % int64(n.broker.queues))
	n.frame.patch(opaque, queue, start.UnixMilli(), n.sent)
	n.sent++
	_, err := n.s.w.Write(n.frame.b)
	return err
}

// read takes answers until the connection ends.
func (n *session) read() {
	defer close(n.broken)
	for {
		c, err := n.s.next()
		if err != nil {
			return
		}
		if !c.IsResponse() {
			continue
		}
		i := int(c.Opaque-firstOpaque) % len(n.slots)
		if c.Opaque < firstOpaque || !n.slots[i].opaque.CompareAndSwap(c.Opaque, 0) {
			continue
		}
		n.answered(c, time.Duration(time.Now().UnixNano()-n.slots[i].start.Load()))
		n.free <- i
	}
}

func (n *session) answered(c *remoting.Command, took time.Duration) {
	batch := int64(n.cfg.Batch)
	n.rec.mu.Lock()
	defer n.rec.mu.Unlock()
	t := n.rec.now
	t.requests++
	t.latency.Record(took)
	if c.Code != protocol.Success {
		t.fail(c.Code, batch, shorten(c.Remark))
		return
	}
	t.messages += batch
	t.bytes += batch * int64(n.cfg.Size)
}

func shorten(s string) string { return s[:min(len(s), maxRefusalLen)] }

// drain waits for the answers that are owed.
func (n *session) drain() error {
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	held := 0
	defer func() {
		for range held {
			n.free <- 0 // back, for counting only
		}
	}()
	for held < len(n.slots) {
		select {
		case <-n.free:
			held++
		case <-n.broken:
			return errBroken
		case <-timer.C:
			return errBroken
		}
	}
	return nil
}
