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

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

func hello() *Message { return &Message{Topic: "T", Body: []byte("hello")} }

// differ tells whether no broker was tried twice in a row.
func differ(tried []string) bool { return len(slices.Compact(slices.Clone(tried))) == len(tried) }

func TestSendIsTriedAgainOrNot(t *testing.T) {
	for _, test := range []struct {
		situation string
		answer    func(*remoting.Exchange)
		options   []ProducerOption
		tries     int
		code      Code // 0: no error
		status    SendStatus
	}{
		{"stored", stored(protocol.Success), nil, 1, 0, Stored},
		{"stored, but not on disk in time", stored(protocol.FlushDiskTimeout), nil, 1, 0, FlushDiskTimeout},
		{"stored, but not on a replica in time", stored(protocol.FlushSlaveTimeout), nil, 1, 0, FlushSlaveTimeout},
		{"stored, but there is no replica", stored(protocol.SlaveNotAvailable), nil, 1, 0, SlaveNotAvailable},
		{"not on disk, and that is a reason", stored(protocol.FlushDiskTimeout), []ProducerOption{RetryNotStored()}, 3, 0, FlushDiskTimeout},
		{"system error", code(protocol.SystemError), nil, 3, CodeSystemError, 0},
		{"busy", code(protocol.SystemBusy), nil, 3, CodeSystemBusy, 0},
		{"not available", code(protocol.ServiceNotAvailable), nil, 3, CodeNotAvailable, 0},
		{"no permission", code(protocol.NoPermission), nil, 3, CodeNoPermission, 0},
		{"topic not there", code(protocol.TopicNotExist), nil, 3, CodeTopicNotExist, 0},
		{"no buyer", code(protocol.NoBuyerID), nil, 3, Code(protocol.NoBuyerID), 0},
		{"not in this unit", code(protocol.NotInCurrentUnit), nil, 3, Code(protocol.NotInCurrentUnit), 0},
		{"illegal message", code(protocol.MessageIllegal), nil, 1, CodeMessageIllegal, 0},
		{"invalid parameter", code(protocol.InvalidParameter), nil, 1, CodeInvalidParameter, 0},
		{"not supported", code(protocol.RequestCodeNotSupported), nil, 1, Code(protocol.RequestCodeNotSupported), 0},
		{"connection broken", hangUp, nil, 3, CodeConnect, 0},
		{"busy, no retries wanted", code(protocol.SystemBusy), []ProducerOption{SendRetries(0)}, 1, CodeSystemBusy, 0},
		{"busy, five retries wanted", code(protocol.SystemBusy), []ProducerOption{SendRetries(5)}, 6, CodeSystemBusy, 0},
	} {
		t.Run(test.situation, func(t *testing.T) {
			s := newScripted(t, "a", "b", "c")
			s.all(protocol.SendMessageV2, test.answer)
			r, err := s.producer(test.options...).Send(t.Context(), hello())
			if CodeOf(err) != test.code || err == nil && r.Status != test.status {
				t.Errorf("status %v, error %v; want %v, code %v", r.Status, err, test.status, test.code)
			}
			if tried := s.tried(); len(tried) != test.tries || !differ(tried) {
				t.Errorf("tried at %v, want %d tries, never twice in a row at one broker", tried, test.tries)
			}
		})
	}
}

func TestSendGoesOnToAnotherBroker(t *testing.T) {
	for _, test := range []struct {
		situation string
		first     func(*remoting.Exchange)
	}{
		{"busy", code(protocol.SystemBusy)},
		{"connection broken", hangUp},
	} {
		t.Run(test.situation, func(t *testing.T) {
			s := newScripted(t, "a", "b")
			s.all(protocol.SendMessageV2, once(test.first, stored(protocol.Success)))
			p := s.producer()
			for range 4 {
				r, err := p.Send(t.Context(), hello())
				if err != nil || r.Offset != 7 || r.Queue.Topic != "T" || len(r.ID) < 32 {
					t.Errorf("result %+v, error %v", r, err)
				}
			}
		})
	}
}

// As long as there is a broker that was not tried no other is tried again, also while other sends go round the same queues.
func TestEachBrokerIsTriedBeforeOneIsTriedAgain(t *testing.T) {
	s := newScripted(t, "a", "b", "c", "d")
	for _, name := range []string{"a", "b", "c"} {
		s.brokers[name].on(protocol.SendMessageV2, code(protocol.SystemBusy))
	}
	p := s.producer(SendRetries(3))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				if _, err := p.Send(t.Context(), hello()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	for _, name := range []string{"a", "b", "c"} {
		s.brokers[name].on(protocol.SendMessageV2, hangUp)
	}
	p = s.producer(AsyncSendRetries(3))
	for range 20 {
		if _, err := sendAsync(t, p, hello()); err != nil {
			t.Errorf("async: %v", err)
		}
	}
}

func TestKeptResultOfATryThatWasNotStored(t *testing.T) {
	s := newScripted(t, "a", "b", "c")
	s.all(protocol.SendMessageV2, code(protocol.MessageIllegal))
	first := once(stored(protocol.FlushDiskTimeout), code(protocol.MessageIllegal))
	for _, b := range s.brokers {
		b.on(protocol.SendMessageV2, first)
	}
	r, err := s.producer(RetryNotStored()).Send(t.Context(), hello())
	if err != nil || r.Status != FlushDiskTimeout || len(s.tried()) != 2 {
		t.Errorf("result %+v, error %v after %v; want the first try's result", r, err, s.tried())
	}
}

func TestBrokerThatIsLeavingIsAskedOnceMoreOnANewConnection(t *testing.T) {
	s := newScripted(t, "a")
	s.all(protocol.SendMessageV2, once(code(protocol.GoAway), stored(protocol.Success)))
	p := s.producer()
	if _, err := p.Send(t.Context(), hello()); err != nil {
		t.Fatal(err)
	}
	got := s.brokers["a"].requests(protocol.SendMessageV2)
	if len(got) != 2 || got[0].Conn == got[1].Conn {
		t.Errorf("%d requests, or both on one connection", len(got))
	}
	s.all(protocol.SendMessageV2, once(code(protocol.GoAway), stored(protocol.Success)))
	if _, err := sendAsync(t, p, hello()); err != nil {
		t.Errorf("async: %v", err)
	}
}

func TestBrokerThatIsLeavingStillAnswersWhatIsUnderWay(t *testing.T) {
	s := newScripted(t, "a")
	answer := make(chan struct{})
	s.all(protocol.SendMessageV2, once(func(x *remoting.Exchange) {
		go func() { <-answer; stored(protocol.Success)(x) }()
	}, code(protocol.GoAway), stored(protocol.Success)))
	p := s.producer(SendRetries(0))
	slow := make(chan error, 1)
	go func() { slow <- second(p.Send(context.Background(), hello())) }()
	await(t, "the first send at the broker", func() bool { return len(s.tried()) == 1 })
	if _, err := p.Send(t.Context(), hello()); err != nil {
		t.Errorf("the one that was sent away: %v", err)
	}
	close(answer)
	if err := <-slow; err != nil {
		t.Errorf("the one under way: %v", err)
	}
}

// sendAsync waits for the outcome of a SendAsync.
func sendAsync(t *testing.T, p *Producer, m *Message) (SendResult, error) {
	t.Helper()
	type outcome struct {
		r   SendResult
		err error
	}
	got := make(chan outcome, 1)
	if err := p.SendAsync(t.Context(), m, func(r SendResult, err error) { got <- outcome{r, err} }); err != nil {
		return SendResult{}, err
	}
	select {
	case o := <-got:
		return o.r, o.err
	case <-time.After(10 * time.Second):
		t.Fatal("no outcome after 10 s")
		return SendResult{}, nil
	}
}

func TestSendAsyncIsTriedAgainOrNot(t *testing.T) {
	for _, test := range []struct {
		situation string
		answer    func(*remoting.Exchange)
		tries     int
		code      Code
	}{
		{"stored", stored(protocol.Success), 1, 0},
		{"busy: an answer is final", code(protocol.SystemBusy), 1, CodeSystemBusy},
		{"connection broken", hangUp, 3, CodeConnect},
		{"connection broken once", once(hangUp, stored(protocol.Success)), 2, 0},
		{"no answer at all", silence, 1, CodeTimeout},
	} {
		t.Run(test.situation, func(t *testing.T) {
			s := newScripted(t, "a", "b", "c")
			s.all(protocol.SendMessageV2, test.answer)
			_, err := sendAsync(t, s.producer(SendTimeout(400*time.Millisecond)), hello())
			if CodeOf(err) != test.code {
				t.Errorf("error %v, want code %v", err, test.code)
			}
			if tried := s.tried(); len(tried) != test.tries || !differ(tried) {
				t.Errorf("tried at %v, want %d tries, never twice in a row at one broker", tried, test.tries)
			}
		})
	}
}

func TestSendAsyncWaitsForItsTurn(t *testing.T) {
	s := newScripted(t, "a")
	s.all(protocol.SendMessageV2, silence)
	p := s.producer(MaxInFlight(2), SendTimeout(300*time.Millisecond))
	outcomes := make(chan error, 2)
	for range 2 {
		if err := p.SendAsync(t.Context(), hello(), func(_ SendResult, err error) { outcomes <- err }); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := p.SendAsync(ctx, hello(), func(SendResult, error) { t.Error("called for a send that was not begun") })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "2 sends are in flight") {
		t.Errorf("error %v, want one that names the sends in flight", err)
	}
	for range 2 {
		// The first time-out closes the connection that both are on.
		if err := <-outcomes; CodeOf(err) != CodeTimeout && CodeOf(err) != CodeConnect {
			t.Errorf("outcome %v, want a time-out", err)
		}
	}
	s.all(protocol.SendMessageV2, nil)
	if _, err := sendAsync(t, p, hello()); err != nil {
		t.Errorf("after the others had ended: %v", err)
	}
}

func TestSendTakesNoLongerThanItsTime(t *testing.T) {
	for _, test := range []struct {
		situation string
		answer    func(*remoting.Exchange)
		options   []ProducerOption
		tries     int
		code      Code
	}{
		{"no broker answers", silence, nil, 1, CodeTimeout},
		{"no broker answers, each try has its part", silence, []ProducerOption{TryTimeout(120 * time.Millisecond)}, 3, CodeTimeout},
		{"busy after a while", after(180*time.Millisecond, code(protocol.SystemBusy)), nil, 3, CodeTimeout},
	} {
		t.Run(test.situation, func(t *testing.T) {
			s := newScripted(t, "a", "b", "c", "d")
			s.all(protocol.SendMessageV2, test.answer)
			const limit = 400 * time.Millisecond
			p := s.producer(append(test.options, SendTimeout(limit))...)
			begin := time.Now()
			_, err := p.Send(t.Context(), hello())
			if took := time.Since(begin); took < limit-20*time.Millisecond || took > limit+2*time.Second {
				t.Errorf("took %s, want %s", took, limit)
			}
			if CodeOf(err) != test.code || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want code %v", err, test.code)
			}
			if tried := s.tried(); len(tried) != test.tries {
				t.Errorf("tried at %v, want %d tries", tried, test.tries)
			}
		})
	}
}

func TestOneBrokerHangsAndTheOthersTakeOver(t *testing.T) {
	s := newScripted(t, "a", "b", "c")
	s.brokers["a"].on(protocol.SendMessageV2, silence)
	p := s.producer(TryTimeout(50*time.Millisecond), AvoidSlowBrokers())
	for i := range 30 {
		if _, err := p.Send(t.Context(), hello()); err != nil {
			t.Fatalf("send %d: %v", i, err)
		}
	}
	if got := len(s.brokers["a"].requests(protocol.SendMessageV2)); got != 1 {
		t.Errorf("the broker that hangs was tried %d times, want once", got)
	}
}

func TestSilentConnectionIsClosed(t *testing.T) {
	s := newScripted(t, "a")
	s.all(protocol.SendMessageV2, once(silence, stored(protocol.Success)))
	p := s.producer(SendTimeout(150 * time.Millisecond))
	if _, err := p.Send(t.Context(), hello()); CodeOf(err) != CodeTimeout {
		t.Fatalf("error %v, want a time-out", err)
	}
	if _, err := p.Send(t.Context(), hello()); err != nil {
		t.Fatal(err)
	}
	got := s.brokers["a"].requests(protocol.SendMessageV2)
	if len(got) != 2 || got[0].Conn == got[1].Conn {
		t.Error("the connection that was silent is used again")
	}
}

func TestCallerGivesUp(t *testing.T) {
	s := newScripted(t, "a", "b")
	ctx, cancel := context.WithCancel(t.Context())
	s.all(protocol.SendMessageV2, func(*remoting.Exchange) { cancel() })
	_, err := s.producer().Send(ctx, hello())
	if !errors.Is(err, context.Canceled) || len(s.tried()) != 1 {
		t.Errorf("error %v after %v, want that of the context after one try", err, s.tried())
	}
}

func TestTopicWithoutARoute(t *testing.T) {
	s := newScripted(t, "a")
	m := &Message{Topic: "Fresh", Body: []byte("x")}
	if r, err := s.producer().Send(t.Context(), m); err != nil || r.Queue.ID > 3 {
		t.Errorf("a topic that is created on first use: %+v, %v", r, err)
	}
	var h protocol.SendRequest
	if err := h.DecodeV2(s.brokers["a"].requests(protocol.SendMessageV2)[0].Request.Fields); err != nil {
		t.Fatal(err)
	}
	if string(h.DefaultTopic) != protocol.TopicDefault || h.DefaultTopicQueueNums != 4 {
		t.Errorf("template %s with %d queues", h.DefaultTopic, h.DefaultTopicQueueNums)
	}
	p := s.producer(TopicTemplate(""))
	for what, send := range map[string]func() error{
		"Send":       func() error { _, err := p.Send(t.Context(), m); return err },
		"SendAsync":  func() error { return p.SendAsync(t.Context(), m, func(SendResult, error) {}) },
		"SendOneway": func() error { return p.SendOneway(t.Context(), m) },
		"SendTo":     func() error { _, err := p.SendTo(t.Context(), Queue{Broker: "a"}, m); return err },
		"Queues":     func() error { _, err := p.Queues(t.Context(), m.Topic); return err },
	} {
		if err := send(); CodeOf(err) != CodeNoRoute {
			t.Errorf("%s to a topic that is not created: %v, want %v", what, err, CodeNoRoute)
		}
	}
}

func TestNoNameServerAnswers(t *testing.T) {
	s := newScripted(t, "a")
	p, err := NewProducer(NameServers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if _, err := p.Send(t.Context(), hello()); CodeOf(err) != CodeNoNameServer {
		t.Errorf("error %v, want %v", err, CodeNoNameServer)
	}
	// A dead one before a live one costs nothing.
	p2 := s.producer(NameServers("127.0.0.1:1"))
	if _, err := p2.Send(t.Context(), hello()); err != nil {
		t.Errorf("one of two name servers is there: %v", err)
	}
}

func TestSendToAQueueAndByKey(t *testing.T) {
	s := newScripted(t, "a", "b")
	p := s.producer()
	r, err := p.SendTo(t.Context(), Queue{Broker: "b", ID: 2}, hello())
	if err != nil || r.Queue != (Queue{"T", "b", 2}) {
		t.Errorf("result %+v, error %v", r, err)
	}
	if _, err := p.SendTo(t.Context(), Queue{Broker: "z"}, hello()); CodeOf(err) != CodeNoBroker {
		t.Errorf("a broker that is not there: %v", err)
	}
	if _, err := p.SendTo(t.Context(), Queue{Topic: "U", Broker: "a"}, hello()); CodeOf(err) != CodeClient {
		t.Errorf("a queue of another topic: %v", err)
	}
	s.all(protocol.SendMessageV2, code(protocol.SystemBusy))
	before := len(s.tried())
	if _, err := p.SendTo(t.Context(), Queue{Broker: "b"}, hello()); CodeOf(err) != CodeSystemBusy || len(s.tried()) != before+1 {
		t.Errorf("a given queue is tried once: %v, %v", err, s.tried()[before:])
	}
	s.all(protocol.SendMessageV2, nil)
	keyed := hello()
	keyed.ShardingKey = "k1"
	for range 3 {
		if r, err := p.Send(t.Context(), keyed); err != nil || r.Queue != (Queue{"T", "b", 2}) {
			t.Errorf("key k1: %+v, %v", r, err)
		}
	}
}

func TestOnewayWantsNoAnswer(t *testing.T) {
	s := newScripted(t, "a")
	p := s.producer()
	if err := p.SendOneway(t.Context(), hello()); err != nil {
		t.Fatal(err)
	}
	await(t, "the message at the broker", func() bool { return len(s.tried()) == 1 })
	if x := s.brokers["a"].requests(protocol.SendMessageV2)[0]; !x.Request.IsOneway() {
		t.Error("the request asks for an answer")
	}
}

func TestCloseWaitsForSends(t *testing.T) {
	s := newScripted(t, "a")
	s.all(protocol.SendMessageV2, after(100*time.Millisecond, stored(protocol.Success)))
	p := s.producer()
	outcome := make(chan error, 1)
	if err := p.SendAsync(t.Context(), hello(), func(_ SendResult, err error) { outcome <- err }); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-outcome:
		if err != nil {
			t.Error(err)
		}
	default:
		t.Error("closed before the outcome was told")
	}
	if got := s.brokers["a"].requests(protocol.UnregisterClient); len(got) != 1 ||
		got[0].Request.Fields.Text("producerGroup") != protocol.GroupDefaultProducer {
		t.Errorf("%d goodbyes", len(got))
	}
	for what, err := range map[string]error{
		"Close":      p.Close(),
		"Send":       second(p.Send(t.Context(), hello())),
		"SendAsync":  p.SendAsync(t.Context(), hello(), func(SendResult, error) {}),
		"SendOneway": p.SendOneway(t.Context(), hello()),
		"SendBatch":  second(p.SendBatch(t.Context(), []*Message{hello()})),
	} {
		if want := what != "Close"; errors.Is(err, ErrClosed) != want {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestHeartbeatOfAProducer(t *testing.T) {
	s := newScripted(t, "a")
	p := s.producer(ProducerGroup("PG"), HeartbeatInterval(20*time.Millisecond), ClientIP("10.0.0.1"), Instance("i"), Unit("u"))
	if got := s.brokers["a"].requests(protocol.HeartBeat); len(got) != 0 {
		t.Error("a heartbeat before any topic is used")
	}
	if _, err := p.Send(t.Context(), hello()); err != nil {
		t.Fatal(err)
	}
	await(t, "heartbeats", func() bool { return len(s.brokers["a"].requests(protocol.HeartBeat)) > 2 })
	want := `{"clientID":"10.0.0.1@i@u","consumerDataSet":[],"heartbeatFingerprint":0,"producerDataSet":[{"groupName":"PG"}],"withoutSub":false}`
	if diff := cmp.Diff(want, string(s.brokers["a"].requests(protocol.HeartBeat)[0].Request.Body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrorSaysWhatWhereAndWhy(t *testing.T) {
	s := newScripted(t, "a")
	s.all(protocol.SendMessageV2, code(protocol.SystemBusy))
	_, err := s.producer().Send(t.Context(), hello())
	for _, part := range []string{"send to topic T", "tried 3 times", "T@a:", s.brokers["a"].addr, "SYSTEM_BUSY (2): scripted"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}
