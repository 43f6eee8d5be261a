// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package bench

import (
	"context"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker keeps messages in memory and misbehaves on request, which a real one does
// not: that is what the measurement is tested with.
type broker struct {
	addr string

	mu     sync.Mutex
	queues map[int32][][]byte // records
	asked  map[int32]int64    // offset of the last pull, by queue
	known  bool               // whether the topic exists

	sends   atomic.Int64
	onSend  func(n int64, x *remoting.Exchange) // called for each send before it is taken, on the connection's goroutine
	refused atomic.Int32                        // code to answer sends with; 0: take them
	holds   bool                                // whether a pull that finds nothing is held for a moment
}

func startBroker(t *testing.T, b *broker) *broker {
	t.Helper()
	b.queues, b.asked = map[int32][][]byte{}, map[int32]int64{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.addr = l.Addr().String()
	s := remoting.NewServer(b, remoting.DefaultConfig())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-ended
	})
	return b
}

func (b *broker) ServeCommand(x *remoting.Exchange) {
	resp := &remoting.Command{}
	switch q := &x.Request; q.Code {
	case protocol.SendMessageV2, protocol.SendBatchMessage:
		resp = b.send(x)
	case protocol.PullMessage:
		resp = b.pull(x)
		if resp == nil {
			return
		}
	case protocol.UpdateAndCreateTopic:
		b.mu.Lock()
		b.known = true
		b.mu.Unlock()
	case protocol.GetTopicConfig:
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.known {
			resp.Code, resp.Remark = protocol.TopicNotExist, "no such topic"
			break
		}
		c := protocol.NewTopicConfig(q.Fields.Text("topic"))
		c.ReadQueueNums, c.WriteQueueNums = 2, 2
		resp.Body = javajson.Marshal(c, javajson.Bare)
	case protocol.GetMinOffset, protocol.GetMaxOffset:
		b.mu.Lock()
		defer b.mu.Unlock()
		id, _ := strconv.Atoi(q.Fields.Text("queueId"))
		var a protocol.OffsetAnswer
		if q.Code == protocol.GetMaxOffset {
			a.Offset = int64(len(b.queues[int32(id)]))
		}
		resp.Header = a
	default:
		resp.Code = protocol.RequestCodeNotSupported
	}
	x.ReplyTo().Queue(resp)
}

func (b *broker) send(x *remoting.Exchange) *remoting.Command {
	n := b.sends.Add(1)
	if b.onSend != nil {
		b.onSend(n, x)
	}
	if code := b.refused.Load(); code != 0 {
		return &remoting.Command{Code: code, Remark: "not now"}
	}
	var h protocol.SendRequest
	if err := h.DecodeV2(x.Request.Fields); err != nil {
		return &remoting.Command{Code: protocol.SystemError, Remark: err.Error()}
	}
	items := []message.BatchItem{{Body: x.Request.Body, Properties: h.Properties}}
	if h.Batch {
		items = nil
		_ = message.EachBatchItem(x.Request.Body, func(it message.BatchItem) error { items = append(items, it); return nil })
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, it := range items {
		q := b.queues[h.QueueID]
		b.queues[h.QueueID] = append(q, message.AppendRecord(nil, &message.Record{
			QueueID: h.QueueID, QueueOffset: int64(len(q)), BornTimestamp: h.BornTimestamp, BornHost: x.Conn.RemoteAddrPort(),
			StoreHost: x.Conn.RemoteAddrPort(), Body: it.Body, Topic: h.Topic, Properties: it.Properties,
		}))
	}
	return &remoting.Command{Header: &protocol.SendResponse{QueueID: h.QueueID}}
}

func (b *broker) pull(x *remoting.Exchange) *remoting.Command {
	var h protocol.PullRequest
	if err := h.Decode(x.Request.Fields); err != nil {
		return &remoting.Command{Code: protocol.SystemError, Remark: err.Error()}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked[h.QueueID] = h.QueueOffset
	q := b.queues[h.QueueID]
	next := min(h.QueueOffset+int64(h.MaxMessages), int64(len(q)))
	resp := &remoting.Command{}
	for _, r := range q[min(h.QueueOffset, int64(len(q))):next] {
		resp.Body = append(resp.Body, r...)
	}
	resp.Header = header.Of(&nextOffset{next})
	if len(resp.Body) == 0 {
		resp.Code = protocol.PullNotFound
		if b.holds {
			reply := x.ReplyTo()
			time.AfterFunc(2*quickAnswer, func() { reply.Send(resp) })
			return nil
		}
	}
	return resp
}

// caughtUp waits until the next pull of each of n queues asks for what is not there yet.
func (b *broker) caughtUp(t *testing.T, n int) {
	t.Helper()
	there := func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for id, offset := range b.asked {
			if offset < int64(len(b.queues[id])) {
				return false
			}
		}
		return len(b.asked) == n
	}
	for until := time.Now().Add(10 * time.Second); !there(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Error("the consumer does not catch up")
			return
		}
	}
}

type nextOffset struct {
	NextBeginOffset int64 `header:"nextBeginOffset"`
}
