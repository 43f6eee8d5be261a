// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

func produceOn(b *broker) ProduceConfig {
	c := DefaultProduceConfig()
	c.Broker, c.Topic, c.Connections, c.Depth, c.Size = b.addr, "T", 2, 4, 50
	c.WarmUp, c.Duration, c.Progress = 20*time.Millisecond, 150*time.Millisecond, 0
	return c
}

func (b *broker) stored() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.queues {
		n += len(q)
	}
	return n
}

func TestClosedLoop(t *testing.T) {
	b := startBroker(t, &broker{})
	c := produceOn(b)
	c.Batch, c.Progress = 3, 50*time.Millisecond
	var lines bytes.Buffer
	r, err := RunProduce(context.Background(), c, &lines)
	if err != nil {
		t.Fatal(err)
	}
	stored := int64(b.stored())
	if r.Messages == 0 || r.Messages > stored || r.Messages%3 != 0 || r.Bytes != 50*r.Messages {
		t.Errorf("%d messages of %d bytes measured, %d stored", r.Messages, r.Bytes, stored)
	}
	if r.Lost != 0 || r.Failed != nil || r.Reconnects != 0 {
		t.Errorf("troubles out of nothing: %+v", r)
	}
	if r.Latency == nil || r.Latency.Count*3 < r.Messages || r.Latency.P50 <= 0 || r.Latency.Max < r.Latency.P99 {
		t.Errorf("latency %+v", r.Latency)
	}
	if len(b.queues) != 2 && len(b.queues) != c.Queues {
		t.Errorf("%d queues used", len(b.queues))
	}
	if n := strings.Count(lines.String(), "msg/s"); n < 3 || !strings.Contains(lines.String(), "(warm-up)") {
		t.Errorf("progress:\n%s", lines.String())
	}
}

// A broker that stands still for a while answers few requests meanwhile; all that
// should have gone in that time must show how long they would have waited.
func TestOpenLoopChargesAStallToAllItHeldUp(t *testing.T) {
	const stall = 300 * time.Millisecond
	var until time.Time
	b := startBroker(t, &broker{onSend: func(n int64, _ *remoting.Exchange) {
		if n == 50 {
			until = time.Now().Add(stall)
			time.Sleep(stall)
		}
	}})
	c := produceOn(b)
	c.Connections, c.Depth, c.Rate = 1, 2, 1000
	c.WarmUp, c.Duration = 0, 800*time.Millisecond
	r, err := RunProduce(context.Background(), c, io.Discard)
	if err != nil || until.IsZero() {
		t.Fatal(err)
	}
	// Of the 800 due requests those of the 300 ms waited 300, 299, ... 0 ms: a
	// quarter of all waited longer than 100 ms, more on a slow machine. Without the
	// schedule two did.
	if r.Latency.P90 < 100 || r.Latency.Max < 280 {
		t.Errorf("latency %+v", *r.Latency)
	}
	if n := r.Messages + r.Unsent; n < 790 {
		t.Errorf("%d messages and %d unsent of 800 due", r.Messages, r.Unsent)
	}
}

func TestOpenLoopSaysWhatItCouldNotSend(t *testing.T) {
	b := startBroker(t, &broker{onSend: func(int64, *remoting.Exchange) { time.Sleep(10 * time.Millisecond) }})
	c := produceOn(b)
	c.Connections, c.Depth, c.Rate, c.WarmUp = 1, 1, 1000, 0
	r, err := RunProduce(context.Background(), c, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if r.Unsent < 100 || r.Messages > 20 {
		t.Errorf("%d messages, %d unsent, of 150 due and 15 possible", r.Messages, r.Unsent)
	}
}

func TestRefusalsAreCountedByCode(t *testing.T) {
	b := startBroker(t, &broker{})
	b.refused.Store(protocol.SystemBusy)
	r, err := RunProduce(context.Background(), produceOn(b), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if r.Messages != 0 || r.Failed["SYSTEM_BUSY (2)"] == 0 || r.FirstFailure != "not now" {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "SYSTEM_BUSY (2)") {
		t.Errorf("%v %s", err, text.String())
	}
}

func TestBrokenConnectionsAreDialledAgain(t *testing.T) {
	b := startBroker(t, &broker{onSend: func(n int64, x *remoting.Exchange) {
		if n == 20 {
			_ = x.Conn.Close()
		}
	}})
	c := produceOn(b)
	c.Connections, c.Duration = 1, 600*time.Millisecond
	r, err := RunProduce(context.Background(), c, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if r.Reconnects != 1 || r.Lost == 0 || r.Lost > int64(c.Depth) || r.Messages <= 20 {
		t.Errorf("%+v", r)
	}
}

func TestLoadThatCannotBegin(t *testing.T) {
	b := startBroker(t, &broker{})
	nobody := produceOn(b)
	nobody.Broker = "127.0.0.1:1"
	unnamed := produceOn(b)
	unnamed.Broker, unnamed.Depth, unnamed.Batch = "", 0, -1
	for _, row := range []struct {
		c    ProduceConfig
		says []string
	}{
		{nobody, []string{"127.0.0.1:1"}},
		{unnamed, []string{"neither name servers nor a broker", "depth 0", "batch -1"}},
	} {
		_, err := RunProduce(context.Background(), row.c, io.Discard)
		for _, says := range row.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("error %v, want one that says %q", err, says)
			}
		}
	}
	c := consumeOn(b)
	if _, err := RunConsume(context.Background(), c, io.Discard); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("reading what is not there: %v", err)
	}
}

func TestInterruptedRunStillHasAResult(t *testing.T) {
	b := startBroker(t, &broker{})
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	c := produceOn(b)
	c.WarmUp, c.Duration = 0, 0
	r, err := RunProduce(ctx, c, io.Discard)
	if err != nil || r.Messages == 0 || r.Seconds > 5 {
		t.Errorf("%v %+v", err, r)
	}
}

func consumeOn(b *broker) ConsumeConfig {
	c := DefaultConsumeConfig()
	c.Broker, c.Topic, c.Progress, c.WarmUp, c.Duration, c.Max = b.addr, "T", 0, 0, 10*time.Second, 7
	return c
}

func TestConsumeUntilTheEnd(t *testing.T) {
	for _, binary := range []bool{false, true} {
		b := startBroker(t, &broker{known: true})
		p := produceOn(b)
		p.Duration = 50 * time.Millisecond
		if _, err := RunProduce(context.Background(), p, io.Discard); err != nil {
			t.Fatal(err)
		}
		c := consumeOn(b)
		c.UntilEnd, c.Binary = true, binary
		r, err := RunConsume(context.Background(), c, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if r.Messages != int64(b.stored()) || r.Messages == 0 || r.Connections != 2 || r.Latency != nil || r.Seconds > 5 {
			t.Errorf("%d stored, read %+v", b.stored(), r)
		}
	}
}

func TestConsumeWhatComes(t *testing.T) {
	b := startBroker(t, &broker{known: true, holds: true})
	p := produceOn(b)
	p.Duration = 50 * time.Millisecond
	if _, err := RunProduce(context.Background(), p, io.Discard); err != nil {
		t.Fatal(err)
	}
	before := b.stored()
	c := consumeOn(b)
	c.Follow, c.Duration = true, 0
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		b.caughtUp(t, 2)
		p := produceOn(b)
		p.Rate, p.Duration = 500, 300*time.Millisecond
		if _, err := RunProduce(ctx, p, io.Discard); err != nil {
			t.Error(err)
		}
		b.caughtUp(t, 2)
	}()
	r, err := RunConsume(ctx, c, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if fresh := int64(b.stored() - before); r.Messages != fresh || fresh == 0 {
		t.Errorf("%d came, %d read", fresh, r.Messages)
	}
	if r.Latency == nil || r.Latency.Count != r.Messages || r.Latency.Max > 5000 {
		t.Errorf("latency %+v", r.Latency)
	}
}

// A broker that does not hold pulls must not be asked without a pause.
func TestConsumeDoesNotSpin(t *testing.T) {
	b := startBroker(t, &broker{known: true})
	c := consumeOn(b)
	c.Follow, c.Duration = true, 350*time.Millisecond
	r, err := RunConsume(context.Background(), c, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if r.EmptyPulls == 0 || r.EmptyPulls > 2*5 {
		t.Errorf("%d empty pulls of 2 queues in 350 ms", r.EmptyPulls)
	}
}
