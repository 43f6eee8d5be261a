// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// reader makes one that is closed when the test ends.
func (s *scripted) reader(options ...ReaderOption) *Reader {
	s.t.Helper()
	r, err := NewReader("T", append([]ReaderOption{NameServers(s.ns.addr), CallTimeout(time.Second)}, options...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = r.Close() })
	return r
}

var queue0 = Queue{"T", "a", 0}

// withMessages makes the broker a have messages of the given bodies in queue 0, from
// offset min on.
func (s *scripted) withMessages(min int64, bodies ...string) *scripted {
	q := &queueOnBroker{min: min}
	for _, body := range bodies {
		q.messages = append(q.messages, message.Record{Body: []byte(body), Properties: []byte("TAGS\x01" + body + "\x02")})
	}
	b := s.brokers["a"]
	b.on(protocol.PullMessage, q.pull)
	b.on(protocol.GetMinOffset, offset(min))
	b.on(protocol.GetMaxOffset, offset(min+int64(len(bodies))))
	return s
}

// texts polls until n messages came or something went wrong.
func texts(t *testing.T, r *Reader, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var got []string
	for len(got) < n {
		messages, err := r.Poll(ctx)
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		for _, m := range messages {
			got = append(got, string(m.Body))
		}
	}
	return got
}

func TestReaderBeginsWhereItIsTold(t *testing.T) {
	for _, test := range []struct {
		situation string
		start     Start
		want      []string
	}{
		{"at the beginning, which is not 0", Beginning(), []string{"a", "b", "c"}},
		{"at an offset", AtOffset(6), []string{"b", "c"}},
		{"at an offset before the beginning", AtOffset(1), []string{"a", "b", "c"}},
		{"at an offset behind the end", AtOffset(99), nil},
		{"at a time", AtTime(time.UnixMilli(5000)), []string{"c"}},
		{"where the group left off", Committed(), []string{"b", "c"}},
		{"at the end", Latest(), nil},
	} {
		t.Run(test.situation, func(t *testing.T) {
			s := newScripted(t, "a").withMessages(5, "a", "b", "c")
			s.brokers["a"].on(protocol.SearchOffsetByTimestamp, offset(7))
			s.brokers["a"].on(protocol.QueryConsumerOffset, offset(6))
			r := s.reader(StartAt(test.start), ReadQueues(queue0), UntilEnd())
			var got []string
			for {
				messages, err := r.Poll(t.Context())
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range messages {
					got = append(got, string(m.Body))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if p, ok := r.Position(queue0); !ok || p != 8 {
				t.Errorf("position %d, %v; want 8", p, ok)
			}
			if _, err := r.Poll(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("another Poll: %v, want io.EOF again", err)
			}
		})
	}
}

func TestReaderWithoutProgressBeginsAtTheBeginning(t *testing.T) {
	s := newScripted(t, "a").withMessages(5, "a")
	s.brokers["a"].on(protocol.QueryConsumerOffset, code(protocol.QueryNotFound))
	if got := texts(t, s.reader(StartAt(Committed()), ReadQueues(queue0)), 1); got[0] != "a" {
		t.Errorf("got %v", got)
	}
}

func TestReaderFilterIsExact(t *testing.T) {
	// The broker lets all of them pass, as it compares hashes; Aa and BB have the same.
	s := newScripted(t, "a").withMessages(0, "Aa", "BB", "C", "Aa")
	r := s.reader(ReadFilter(Tags("Aa || D")), ReadQueues(queue0), UntilEnd())
	if diff := cmp.Diff([]string{"Aa", "Aa"}, texts(t, r, 2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var h protocol.PullRequest
	if err := h.Decode(s.brokers["a"].requests(protocol.PullMessage)[0].Request.Fields); err != nil {
		t.Fatal(err)
	}
	if h.SysFlag != protocol.PullSuspend|protocol.PullSubscription || string(h.Subscription) != "Aa || D" {
		t.Errorf("pull with sysFlag %d and subscription %q", h.SysFlag, h.Subscription)
	}
}

func TestReaderSeeks(t *testing.T) {
	s := newScripted(t, "a").withMessages(5, "a", "b", "c")
	r := s.reader(ReadQueues(queue0))
	texts(t, r, 3)
	if err := r.Seek(t.Context(), queue0, AtOffset(6)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "c"}, texts(t, r, 2)); diff != "" {
		t.Errorf("after a seek back (-want +got):\n%s", diff)
	}
	if err := r.Seek(t.Context(), queue0, Beginning()); err != nil {
		t.Fatal(err)
	}
	// Messages of the first place may have been pulled already; they must not come.
	if err := r.Seek(t.Context(), queue0, AtOffset(7)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c"}, texts(t, r, 1)); diff != "" {
		t.Errorf("after two seeks in a row (-want +got):\n%s", diff)
	}
	if err := r.Seek(t.Context(), Queue{"T", "z", 0}, Beginning()); CodeOf(err) != CodeClient {
		t.Errorf("seek in a queue of nobody: %v", err)
	}
}

func TestReaderTellsWhatCanNotBeRead(t *testing.T) {
	for _, test := range []struct {
		situation string
		answer    func(*remoting.Exchange)
		code      Code
		pulls     int // that failed until it was told
	}{
		{"no permission", code(protocol.NoPermission), CodeNoPermission, 1},
		{"the topic is gone", code(protocol.TopicNotExist), CodeTopicNotExist, 1},
		{"the group may not be created", code(protocol.SubscriptionGroupNotExist), CodeGroupNotExist, 1},
		{"a filter that the broker does not understand", code(protocol.SubscriptionParseFailed), CodeBadSubscription, 1},
		{"an error that may pass, twice", code(protocol.SystemError), CodeSystemError, 2},
		{"a connection that breaks, twice", hangUp, CodeConnect, 2},
	} {
		t.Run(test.situation, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, "a").withMessages(0, "a")
			s.brokers["a"].on(protocol.PullMessage, test.answer)
			_, err := s.reader(ReadQueues(queue0)).Poll(t.Context())
			if CodeOf(err) != test.code {
				t.Errorf("error %v, want code %v", err, test.code)
			}
			if got := len(s.brokers["a"].requests(protocol.PullMessage)); got != test.pulls {
				t.Errorf("told after %d pulls, want %d", got, test.pulls)
			}
		})
	}
}

func TestReaderThatCanNotBeginIsAnError(t *testing.T) {
	for _, test := range []struct {
		situation string
		change    func(s *scripted)
		code      Code
	}{
		{"the topic does not exist", func(s *scripted) { s.ns.on(protocol.GetRouteInfoByTopic, code(protocol.TopicNotExist)) }, CodeNoRoute},
		{"the broker does not tell the begin", func(s *scripted) { s.brokers["a"].on(protocol.GetMinOffset, code(protocol.SystemError)) }, CodeSystemError},
		{"the broker does not answer", func(s *scripted) { s.brokers["a"].on(protocol.GetMinOffset, silence) }, CodeTimeout},
	} {
		t.Run(test.situation, func(t *testing.T) {
			s := newScripted(t, "a").withMessages(0, "a")
			test.change(s)
			r := s.reader(CallTimeout(150*time.Millisecond), ReadQueues(queue0))
			if messages, err := r.Poll(t.Context()); CodeOf(err) != test.code || messages != nil {
				t.Fatalf("%v, error %v; want code %v", messages, err, test.code)
			}
			// It can be tried again.
			s.ns.on(protocol.GetRouteInfoByTopic, s.route)
			s.brokers["a"].on(protocol.GetMinOffset, offset(0))
			if got := texts(t, r, 1); got[0] != "a" {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestReaderGoesOnAfterAnOffsetThatIsNotThere(t *testing.T) {
	s := newScripted(t, "a").withMessages(5, "a", "b")
	s.brokers["a"].on(protocol.GetMinOffset, offset(2)) // since then the oldest were deleted
	if diff := cmp.Diff([]string{"a", "b"}, texts(t, s.reader(ReadQueues(queue0)), 2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReaderCommits(t *testing.T) {
	s := newScripted(t, "a").withMessages(5, "a", "b")
	r := s.reader(ReadQueues(queue0), ReadGroup("G"))
	texts(t, r, 2)
	if err := r.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := s.brokers["a"].requests(protocol.UpdateConsumerOffset)[0]
	if f := x.Request.Fields; f.Text("consumerGroup") != "G" || f.Text("commitOffset") != "7" || f.Text("bname") != "a" {
		t.Errorf("commit with %v", f)
	}
	s.brokers["a"].on(protocol.UpdateConsumerOffset, code(protocol.SubscriptionGroupNotExist))
	if err := r.Commit(t.Context()); CodeOf(err) != CodeGroupNotExist {
		t.Errorf("a commit that is refused: %v", err)
	}
}

func TestReaderCloses(t *testing.T) {
	s := newScripted(t, "a").withMessages(0, "a")
	r := s.reader()
	texts(t, r, 1)
	failed := make(chan error, 1)
	go func() {
		_, err := r.Poll(context.Background())
		failed <- err
	}()
	time.Sleep(10 * time.Millisecond) // most often Poll waits by then; both orders are right
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("a Poll that waited: %v", err)
	}
	for what, err := range map[string]error{
		"Poll": second(r.Poll(t.Context())), "Seek": r.Seek(t.Context(), queue0, Latest()), "Close": r.Close(),
	} {
		if want := what != "Close"; (err != nil) != want {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	unused := s.reader()
	if err := unused.Close(); err != nil {
		t.Error(err)
	}
	if _, err := unused.Poll(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Poll of a reader that was closed before it began: %v", err)
	}
}
