// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// inbox is a handler that remembers what it got.
type inbox struct {
	mu     sync.Mutex
	got    []*Received
	answer func(m *Received) error // nil: done
}

func (i *inbox) handle(_ context.Context, m *Received) error {
	i.mu.Lock()
	i.got = append(i.got, m)
	answer := i.answer
	i.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer(m)
}

func (i *inbox) messages() []*Received {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.got)
}

// consumer starts one that is closed when the test ends. Its group has one member,
// and no progress but offset 0, unless the test says otherwise before.
func (s *scripted) consumer(handler Handler, options ...ConsumerOption) *Consumer {
	s.t.Helper()
	for _, b := range s.brokers {
		b.mu.Lock()
		if b.answer[protocol.GetConsumerListByGroup] == nil {
			b.answer[protocol.GetConsumerListByGroup] = b.members("self")
		}
		if b.answer[protocol.QueryConsumerOffset] == nil {
			b.answer[protocol.QueryConsumerOffset] = offset(0)
		}
		if b.answer[protocol.PullMessage] == nil {
			b.answer[protocol.PullMessage] = silence
		}
		b.mu.Unlock()
	}
	c, err := NewConsumer("CG", handler, append([]ConsumerOption{
		NameServers(s.ns.addr), Subscribe("T", Filter{}), CommitInterval(20 * time.Millisecond),
		RebalanceInterval(50 * time.Millisecond), DrainTimeout(2 * time.Second),
	}, options...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := c.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// commits gives the offsets stored for queue 0 of T, in order.
func (s *scripted) commits() []string {
	var offsets []string
	for _, x := range s.brokers["a"].requests(protocol.UpdateConsumerOffset) {
		if f := x.Request.Fields; f.Text("topic") == "T" && f.Text("queueId") == "0" {
			offsets = append(offsets, f.Text("commitOffset"))
		}
	}
	return offsets
}

// ids gives the numbers of the queues of T that are held.
func ids(c *Consumer) []int {
	var held []int
	for _, q := range c.Queues() {
		if q.Topic == "T" {
			held = append(held, q.ID)
		}
	}
	return held
}

func TestConsumerTakesItsShare(t *testing.T) {
	for _, test := range []struct {
		situation string
		members   []string
		balance   Balance
		want      []int
	}{
		{"alone", []string{"self"}, Average, []int{0, 1, 2, 3}},
		{"the first of two", []string{"self", "~"}, Average, []int{0, 1}},
		{"the last of three", []string{"!", "!!", "self"}, Average, []int{3}},
		{"the first of two, dealt out", []string{"self", "~"}, AverageByCircle, []int{0, 2}},
		{"not listed", []string{"!"}, Average, nil},
	} {
		t.Run(test.situation, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, "a")
			s.brokers["a"].on(protocol.GetConsumerListByGroup, s.brokers["a"].members(test.members...))
			c := s.consumer((&inbox{}).handle, BalanceBy(test.balance))
			if diff := cmp.Diff(test.want, ids(c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConsumerGivesUpAndTakesOver(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a")
	b := s.brokers["a"]
	c := s.consumer((&inbox{}).handle, RebalanceInterval(time.Hour))
	notify := func() {
		link := b.requests(protocol.HeartBeat)[0].Conn
		req := &remoting.Command{Code: protocol.NotifyConsumerIDsChanged, Header: header.Of(&protocol.NotifyConsumerIDsChangedHeader{ConsumerGroup: "CG"})}
		if err := link.Oneway(req); err != nil {
			t.Error(err)
		}
	}
	b.on(protocol.GetConsumerListByGroup, b.members("self", "~"))
	notify()
	await(t, "half of the queues", func() bool { return slices.Equal(ids(c), []int{0, 1}) })

	b.on(protocol.GetConsumerListByGroup, code(protocol.SystemError))
	asked := len(b.requests(protocol.GetConsumerListByGroup))
	notify()
	await(t, "another question", func() bool { return len(b.requests(protocol.GetConsumerListByGroup)) > asked })
	if !slices.Equal(ids(c), []int{0, 1}) {
		t.Errorf("the members are not told, and queues %v are kept", ids(c))
	}

	b.on(protocol.GetConsumerListByGroup, b.members("self"))
	notify()
	await(t, "all queues", func() bool { return len(ids(c)) == 4 })
}

func TestUnknownProgressIsNotOffsetZero(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a").withMessages(0, "m0", "m1", "m2", "m3", "m4")
	s.brokers["a"].on(protocol.QueryConsumerOffset, code(protocol.SystemError))
	var box inbox
	c := s.consumer(box.handle)
	asked := func() int { return len(s.brokers["a"].requests(protocol.QueryConsumerOffset)) }
	before := asked()
	await(t, "the question again", func() bool { return asked() > before })
	if len(c.Queues()) != 0 || len(s.brokers["a"].requests(protocol.PullMessage)) != 0 {
		t.Error("a queue was taken without knowing where to begin")
	}
	s.brokers["a"].on(protocol.QueryConsumerOffset, offset(3))
	await(t, "the messages behind the progress", func() bool { return len(box.messages()) == 2 })
	if got := box.messages(); got[0].Offset+got[1].Offset != 3+4 {
		t.Errorf("offsets %d and %d, want 3 and 4", got[0].Offset, got[1].Offset)
	}
}

func TestProgressNeverPassesAMessageInWork(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a").withMessages(0, "m0", "m1", "m2")
	release := make(chan struct{})
	box := inbox{answer: func(m *Received) error {
		if m.Offset == 1 {
			<-release
		}
		return nil
	}}
	s.consumer(box.handle)
	await(t, "progress up to the message in work", func() bool { return slices.Contains(s.commits(), "1") })
	await(t, "the others", func() bool { return len(box.messages()) == 3 })
	for _, offset := range s.commits() {
		if offset > "1" {
			t.Errorf("offset %s was stored while message 1 is not done", offset)
		}
	}
	close(release)
	await(t, "all of it", func() bool { return slices.Contains(s.commits(), "3") })
}

func TestFailedMessageIsSentBack(t *testing.T) {
	for _, test := range []struct {
		situation string
		fail      func() error
		options   []ConsumerOption
		level     string
		attempts  string
		reason    string
	}{
		{"an error", func() error { return errors.New("no") }, nil, "0", "16", "no"},
		{"an error of several lines", func() error { return errors.New("no\n\tat all\x01") }, nil, "0", "16", "no at all"},
		{"a panic", func() error { panic("no") }, nil, "0", "16", "handler panicked: no"},
		{"with a delay level", func() error { return &RetryError{DelayLevel: 3} }, nil, "3", "16", ""},
		{"straight to the dead letters", func() error { return &RetryError{DelayLevel: -1, Err: errors.New("never")} }, nil, "-1", "16", "never"},
		{"with fewer attempts", func() error { return errors.New("no") }, []ConsumerOption{MaxAttempts(5)}, "0", "5", "no"},
	} {
		t.Run(test.situation, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, "a").withMessages(0, "m0", "m1")
			box := inbox{answer: func(m *Received) error {
				if m.Offset == 0 {
					return test.fail()
				}
				return nil
			}}
			s.consumer(box.handle, test.options...)
			await(t, "the message sent back, and progress behind it", func() bool { return slices.Contains(s.commits(), "2") })
			back := s.brokers["a"].requests(protocol.ConsumerSendMsgBack)
			if len(back) != 1 {
				t.Fatalf("%d messages sent back, want one", len(back))
			}
			want := map[string]string{
				"group": "CG", "offset": "0", "originTopic": "T", "bname": "a",
				"delayLevel": test.level, "maxReconsumeTimes": test.attempts, "failureReason": test.reason,
			}
			got := map[string]string{}
			for name := range want {
				got[name] = back[0].Request.Fields.Text(name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if id := back[0].Request.Fields.Text("originMsgId"); id != box.messages()[0].ID {
				t.Errorf("originMsgId %s, want the message's id", id)
			}
		})
	}
}

func TestSendBackRefusedIsSentAnew(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a").withMessages(0, "m0")
	s.brokers["a"].on(protocol.ConsumerSendMsgBack, code(protocol.SystemError))
	box := inbox{answer: func(*Received) error { return errors.New("no") }}
	s.consumer(box.handle)
	await(t, "a copy in the retry topic", func() bool { return len(s.tried()) == 1 })
	x := s.brokers["a"].requests(protocol.SendMessageV2)[0]
	var h protocol.SendRequest
	if err := h.DecodeV2(x.Request.Fields); err != nil {
		t.Fatal(err)
	}
	if string(h.Topic) != "%RETRY%CG" || h.ReconsumeTimes != 1 || h.MaxReconsumeTimes != 16 || string(x.Request.Body) != "m0" {
		t.Errorf("topic %s, reconsume %d of %d, body %q", h.Topic, h.ReconsumeTimes, h.MaxReconsumeTimes, x.Request.Body)
	}
	want := map[string]string{
		"TAGS": "m0", "RETRY_TOPIC": "T", "ORIGIN_MESSAGE_ID": box.messages()[0].ID, "RECONSUME_TIME": "1",
		"MAX_RECONSUME_TIMES": "16", "DELAY": "3", "__FAILURE_REASON": "no",
	}
	if diff := cmp.Diff(want, message.ParseProperties(h.Properties)); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	await(t, "progress behind it", func() bool { return slices.Contains(s.commits(), "1") })
}

func TestMessageThatCanNotBeSentBackIsHandledAgainHere(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a").withMessages(0, "m0")
	s.brokers["a"].on(protocol.ConsumerSendMsgBack, code(protocol.SystemError))
	s.brokers["a"].on(protocol.SendMessageV2, code(protocol.SystemError))
	box := inbox{answer: func(m *Received) error {
		if m.Attempts == 0 {
			return errors.New("no")
		}
		return nil
	}}
	s.consumer(box.handle)
	await(t, "the message again", func() bool { return len(box.messages()) == 2 })
	await(t, "progress behind it", func() bool { return slices.Contains(s.commits(), "1") })
}

func TestUnfinishedMessageIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a").withMessages(0, "m0", "m1")
	box := inbox{answer: func(m *Received) error {
		if m.Offset == 0 {
			return ErrUnfinished
		}
		return nil
	}}
	c := s.consumer(box.handle)
	await(t, "both messages", func() bool { return len(box.messages()) == 2 })
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := s.commits(); len(got) > 0 && got[len(got)-1] != "0" {
		t.Errorf("offsets %v were stored, want none behind 0", got)
	}
	if n := len(s.brokers["a"].requests(protocol.ConsumerSendMsgBack)); n > 0 {
		t.Error("it was sent back")
	}
}

func TestOffsetThatMovedIsFollowed(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a").withMessages(5, "m5", "m6")
	s.brokers["a"].on(protocol.QueryConsumerOffset, once(offset(99), offset(5)))
	var box inbox
	s.consumer(box.handle)
	await(t, "the messages", func() bool { return len(box.messages()) >= 2 })
	if got := s.commits(); !slices.Contains(got, "5") {
		t.Errorf("offsets %v were stored, want 5, where the broker sent us", got)
	}
}

func TestConsumerStopsPullingWhenEnoughWait(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a").withMessages(0, strings.Split(strings.Repeat("m ", 40), " ")[:40]...)
	full := s.brokers["a"].answer[protocol.PullMessage]
	s.brokers["a"].on(protocol.PullMessage, func(x *remoting.Exchange) { full(x) })
	release := make(chan struct{})
	box := inbox{answer: func(*Received) error { <-release; return nil }}
	c := s.consumer(box.handle, CachedMessages(10))
	await(t, "messages at hand", func() bool { return len(box.messages()) > 0 })
	pulls := func() int {
		n := 0
		for _, x := range s.brokers["a"].requests(protocol.PullMessage) {
			if f := x.Request.Fields; f.Text("topic") == "T" && f.Text("queueId") == "0" {
				n++
			}
		}
		return n
	}
	before := pulls()
	time.Sleep(3 * pullFullDelay) // longer than it waits between two looks
	if n := pulls(); n != before {
		t.Errorf("%d more pulls while 40 messages wait", n-before)
	}
	c.Pause()
	close(release)
	await(t, "all of them", func() bool { return len(box.messages()) == 40 })
	time.Sleep(3 * pullFullDelay)
	if n := pulls(); n != before {
		t.Error("pulls while paused")
	}
	c.Resume()
	await(t, "pulls again", func() bool { return pulls() > before })
}

func TestCloseWaitsForHandlersAndStoresProgress(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a").withMessages(0, "m0")
	began, release := make(chan struct{}), make(chan struct{})
	box := inbox{answer: func(*Received) error { close(began); <-release; return nil }}
	c := s.consumer(box.handle, CommitInterval(time.Hour))
	<-began
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := s.commits(); !slices.Contains(got, "1") {
		t.Errorf("offsets %v were stored, want 1", got)
	}
	left := s.brokers["a"].requests(protocol.UnregisterClient)
	if len(left) != 1 || left[0].Request.Fields.Text("consumerGroup") != "CG" {
		t.Errorf("%d goodbyes", len(left))
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Start(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Start after Close: %v", err)
	}
}

func TestCloseWaitsNoLongerThanItIsTold(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a").withMessages(0, "m0")
	began := make(chan struct{})
	ended := make(chan struct{})
	c := s.consumer(func(ctx context.Context, _ *Received) error {
		defer close(ended)
		close(began)
		<-ctx.Done() // as a handler should
		return ctx.Err()
	}, DrainTimeout(50*time.Millisecond))
	<-began
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "1 handlers still run") {
		t.Errorf("error %v, want one that names the handler", err)
	}
	<-ended
	<-c.pool.idle
	if slices.Contains(s.commits(), "1") {
		t.Error("a message that was not done counts as done")
	}
	if back := s.brokers["a"].requests(protocol.ConsumerSendMsgBack); len(back) > 0 {
		t.Error("Close made an attempt of the message count as failed")
	}
}

func TestConsumerThatCanNotStart(t *testing.T) {
	c, err := NewConsumer("CG", (&inbox{}).handle, NameServers("127.0.0.1:1"), Subscribe("T", Filter{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); CodeOf(err) != CodeNoNameServer {
		t.Errorf("no name server: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}

	s := newScripted(t, "a")
	s.brokers["a"].on(protocol.CheckClientConfig, code(protocol.SubscriptionParseFailed))
	c, err = NewConsumer("CG", (&inbox{}).handle, NameServers(s.ns.addr), Subscribe("T", SQL("a >")))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); CodeOf(err) != CodeBadSubscription {
		t.Errorf("a filter that the broker does not understand: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// ask asks the consumer as its broker does.
func (s *scripted) ask(code int32, h any, body []byte) (*remoting.Command, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	link := s.brokers["a"].requests(protocol.HeartBeat)[0].Conn
	return link.Call(ctx, &remoting.Command{Code: code, Header: header.Of(h), Body: body})
}

func TestConsumerIsAsked(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a")
	box := inbox{answer: func(m *Received) error {
		switch string(m.Body) {
		case "later":
			return errors.New("later")
		case "panic":
			panic("scripted")
		}
		return nil
	}}
	s.consumer(box.handle)

	resp, err := s.ask(protocol.GetConsumerRunningInfo, &protocol.ConsumerClientHeader{ConsumerGroup: "CG"}, nil)
	if err != nil || resp.Code != protocol.Success {
		t.Fatal(resp, err)
	}
	var info consumerInfo
	if err := javajson.Unmarshal(resp.Body, &info); err != nil {
		t.Fatal(err)
	}
	if len(info.MQTable) != 8 || info.Properties["PROP_CONSUME_TYPE"] != "CONSUME_PASSIVELY" || len(info.SubscriptionSet) != 2 {
		t.Errorf("running info %s", resp.Body)
	}

	resp, err = s.ask(protocol.GetConsumerStatusFromClient, &protocol.ConsumerStatusHeader{Topic: "T", Group: "CG"}, nil)
	var status protocol.ConsumerStatus
	if err != nil || javajson.Unmarshal(resp.Body, &status) != nil || len(status.MessageQueueTable) != 4 {
		t.Errorf("status %s, error %v", resp.Body, err)
	}

	for body, want := range map[string]string{"fine": "CR_SUCCESS", "later": "CR_LATER", "panic": "CR_THROW_EXCEPTION"} {
		record := message.AppendRecord(nil, &message.Record{Topic: []byte("T"), Body: []byte(body)})
		resp, err := s.ask(protocol.ConsumeMessageDirectly, &protocol.ConsumerClientHeader{ConsumerGroup: "CG"}, record)
		var result directResult
		if err != nil || javajson.Unmarshal(resp.Body, &result) != nil || result.ConsumeResult != want || !result.AutoCommit {
			t.Errorf("%s: %+v, error %v; want %s", body, result, err, want)
		}
	}
	for _, code := range []int32{protocol.GetConsumerRunningInfo, protocol.ConsumeMessageDirectly} {
		resp, err := s.ask(code, &protocol.ConsumerClientHeader{ConsumerGroup: "other"}, nil)
		if err != nil || resp.Code != protocol.SystemError || !strings.Contains(resp.Remark, "The Consumer Group ") {
			t.Errorf("code %d about another group: %+v, %v", code, resp, err)
		}
	}
	if resp, err := s.ask(9999, struct{}{}, nil); err != nil || resp.Code != protocol.RequestCodeNotSupported {
		t.Errorf("an unknown code: %+v, %v", resp, err)
	}
	if resp, err := s.ask(protocol.ConsumeMessageDirectly, &protocol.ConsumerClientHeader{ConsumerGroup: "CG"}, []byte("noise")); err != nil || resp.Code == protocol.Success {
		t.Errorf("noise as a message: %+v, %v", resp, err)
	}
}

func TestBrokerResetsOffsets(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "a").withMessages(0, "m0", "m1", "m2")
	b := s.brokers["a"]
	var box inbox
	s.consumer(box.handle)
	await(t, "all messages once", func() bool { return len(box.messages()) == 3 })
	b.on(protocol.QueryConsumerOffset, offset(1))
	body := javajson.Append(nil, &protocol.ResetOffsetBody{
		OffsetTable: map[protocol.MessageQueue]int64{{Topic: "T", BrokerName: "a", QueueID: 0}: 1},
	}, javajson.Bare)
	link := b.requests(protocol.HeartBeat)[0].Conn
	err := link.Oneway(&remoting.Command{Code: protocol.ResetConsumerClientOffset, Body: body, Header: header.Of(&protocol.ResetOffsetHeader{
		Topic: "T", Group: "CG", IsForce: true,
	})})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the last two again", func() bool { return len(box.messages()) == 5 })
	if !slices.Contains(s.commits(), "1") {
		t.Errorf("offsets %v were stored, want 1 among them", s.commits())
	}
}
