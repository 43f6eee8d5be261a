// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

const (
	// A pull that comes back empty sooner was not held: the broker is asked again
	// only after idlePause, or it would be asked all the time.
	quickAnswer = 50 * time.Millisecond
	idlePause   = 100 * time.Millisecond
	busyPause   = 20 * time.Millisecond // after a refusal
)

// RunConsume puts a consuming load on the target, printing a line per progress
// interval to out, and tells what it measured. It ends when the time is over, when
// ctx ends or, with UntilEnd, when all was read; the result is valid in each case.
// The error says why there was no load at all. Nothing is committed.
func RunConsume(ctx context.Context, cfg ConsumeConfig, out io.Writer) (Result, error) {
	if cfg.UntilEnd {
		cfg.WarmUp = 0 // it might read all there is
	}
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	g := newGuide(&cfg.Target)
	defer g.close()
	brokers, err := g.find(ctx, false)
	if err != nil {
		return Result{}, err
	}
	consumers, err := newConsumers(ctx, &cfg, g, brokers)
	if err != nil {
		return Result{}, err
	}
	cfg.Connections = len(consumers)
	recorders := newRecorders(cfg.Connections)
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var working sync.WaitGroup
	for i, c := range consumers {
		c.rec = recorders[i%len(recorders)]
		working.Go(func() {
			if err := c.run(run); err != nil {
				stop(err)
			}
		})
	}
	go func() { // all queues read to their end
		working.Wait()
		stop(errTimeOver)
	}()
	m := newMeter(&cfg.Target, recorders, out)
	m.run(run, func() { stop(errTimeOver) })
	working.Wait()
	m.finish()
	r := newResult("consume", &cfg.Target, brokers, m)
	if cause := context.Cause(run); !errors.Is(cause, errTimeOver) && ctx.Err() == nil {
		return r, cause
	}
	return r, nil
}

// consumer is one connection of the load and the queues that it pulls, one pull of
// each in flight.
type consumer struct {
	cfg    *ConsumeConfig
	addr   string
	queues []*queue
	rec    *recorder
	again  chan int // indexes of queues that are to be pulled; has room for all
}

// queue is one queue being read. One goroutine at a time has it: whoever took its
// index out of again, then the reader of its answer.
type queue struct {
	id     int
	offset int64 // to read next
	end    int64 // with UntilEnd: where to stop
	asked  time.Time
	done   bool
}

// newConsumers deals the queues out to connections, at most as many as there are queues.
func newConsumers(ctx context.Context, cfg *ConsumeConfig, g *guide, brokers []brokerQueues) ([]*consumer, error) {
	var out []*consumer
	for b, broker := range brokers {
		n := cfg.Connections / len(brokers)
		if b < cfg.Connections%len(brokers) {
			n++
		}
		n = min(max(n, 1), broker.queues)
		mine := make([]*consumer, n)
		for i := range mine {
			mine[i] = &consumer{cfg: cfg, addr: broker.addr}
		}
		for id := range broker.queues {
			q := &queue{id: id}
			var err error
			if q.offset, err = g.offset(ctx, broker.addr, id, cfg.Follow); err != nil {
				return nil, err
			}
			if cfg.UntilEnd {
				if q.end, err = g.offset(ctx, broker.addr, id, true); err != nil {
					return nil, err
				}
				if q.done = q.offset >= q.end; q.done {
					continue
				}
			}
			c := mine[id%n]
			c.queues = append(c.queues, q)
		}
		out = append(out, mine...)
	}
	return out, nil
}

// run keeps a connection going until ctx ends or all its queues are read. Only a
// first connection that cannot be made is an error.
func (c *consumer) run(ctx context.Context) error {
	for first := true; ctx.Err() == nil && !c.finished(); first = false {
		s, err := dial(ctx, c.addr)
		if err != nil {
			if first && ctx.Err() == nil {
				return fmt.Errorf("connect to broker: %w", err)
			}
			wait(ctx, time.Now().Add(redialEvery))
			continue
		}
		c.session(ctx, s)
	}
	return nil
}

func (c *consumer) finished() bool {
	for _, q := range c.queues {
		if !q.done {
			return false
		}
	}
	return true
}

// session pulls through one connection until ctx ends, the connection breaks or
// everything is read.
func (c *consumer) session(ctx context.Context, s *stream) {
	c.again = make(chan int, len(c.queues))
	left := 0
	for i, q := range c.queues {
		if !q.done {
			c.again <- i
			left++
		}
	}
	session, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer cancel()
		c.read(s, left)
	})
	c.write(session, s)
	_ = s.nc.Close()
	cancel()
	reading.Wait()
	if ctx.Err() == nil && !c.finished() {
		c.rec.record(func(t *tally) { t.breaks++ })
	}
}

// write sends the pulls that are due.
func (c *consumer) write(ctx context.Context, s *stream) {
	var buf []byte
	for {
		var i int
		select {
		case i = <-c.again:
		default:
			if s.w.Flush() != nil {
				return
			}
			select {
			case i = <-c.again:
			case <-ctx.Done():
				return
			}
		}
		q := c.queues[i]
		q.asked = time.Now()
		var err error
		if buf, err = remoting.AppendFrame(buf[:0], c.pull(i, q)); err != nil {
			return
		}
		if _, err := s.w.Write(buf); err != nil {
			return
		}
	}
}

// pull is the request for what comes next in a queue; its opaque number tells which one.
func (c *consumer) pull(i int, q *queue) *remoting.Command {
	cmd := &remoting.Command{
		Code: protocol.PullMessage, Opaque: int32(i), Language: remoting.LanguageGo, Version: protocol.CurrentVersion,
		Header: &protocol.PullRequest{
			Group: []byte(c.cfg.Group), Topic: []byte(c.cfg.Topic), QueueID: int32(q.id), QueueOffset: q.offset,
			MaxMessages: int32(c.cfg.Max), SysFlag: protocol.PullSuspend | protocol.PullSubscription,
			SuspendTimeout: c.cfg.Hold.Milliseconds(), Subscription: []byte("*"), ExpressionType: []byte("TAG"), RequestSource: -1,
		},
	}
	if c.cfg.Binary {
		cmd.Serializer = remoting.Binary
	}
	return cmd
}

// read takes answers until left queues are read or the connection ends.
func (c *consumer) read(s *stream, left int) {
	for left > 0 {
		answer, err := s.next()
		if err != nil {
			return
		}
		i := int(answer.Opaque)
		if !answer.IsResponse() || i < 0 || i >= len(c.queues) || c.queues[i].done {
			continue
		}
		q := c.queues[i]
		pause := c.answered(q, answer)
		switch {
		case c.cfg.UntilEnd && q.offset >= q.end:
			q.done = true
			left--
		case pause > 0:
			again := c.again
			time.AfterFunc(pause, func() { again <- i })
		default:
			c.again <- i
		}
	}
}

// answered counts what a pull brought, moves the queue on and says how long to
// wait before the next pull.
func (c *consumer) answered(q *queue, a *remoting.Command) time.Duration {
	next, err := strconv.ParseInt(a.Fields.Text("nextBeginOffset"), 10, 64)
	switch a.Code {
	case protocol.Success, protocol.PullNotFound, protocol.PullRetryImmediately, protocol.PullOffsetMoved:
		if err == nil {
			q.offset = next
		}
	}
	now := time.Now()
	c.rec.mu.Lock()
	defer c.rec.mu.Unlock()
	t := c.rec.now
	t.requests++
	switch a.Code {
	case protocol.Success:
		if err == nil {
			err = c.count(t, a.Body, now)
		}
		if err != nil {
			t.fail(a.Code, 1, shorten("answer with messages: "+err.Error()))
			return busyPause
		}
		return 0
	case protocol.PullRetryImmediately, protocol.PullOffsetMoved:
		return 0
	case protocol.PullNotFound:
		t.empty++
		if now.Sub(q.asked) < quickAnswer {
			return idlePause
		}
		return 0
	}
	t.fail(a.Code, 1, shorten(a.Remark))
	return busyPause
}

// count adds the records of a pull's answer. How old messages are that lay there
// for some time says nothing.
func (c *consumer) count(t *tally, body []byte, now time.Time) error {
	var r message.Record
	for len(body) > 0 {
		n, err := message.DecodeRecord(body, &r, false)
		if err != nil {
			return err
		}
		t.messages++
		t.bytes += int64(n)
		if c.cfg.Follow {
			t.latency.Record(now.Sub(time.UnixMilli(r.BornTimestamp)))
		}
		body = body[n:]
	}
	return nil
}
