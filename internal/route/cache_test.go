// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package route

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// servers is a set of name servers by address; each answers by its function.
type servers struct {
	mu     sync.Mutex
	answer map[string]func(ctx context.Context, topic string) (*remoting.Command, error)
	asked  []string // "address topic"
}

func (s *servers) Call(ctx context.Context, addr string, req *remoting.Command) (*remoting.Command, error) {
	frame, err := remoting.AppendFrame(nil, req)
	if err != nil {
		return nil, err
	}
	var received remoting.Command
	if err := remoting.DecodeFrame(&received, frame[4:]); err != nil {
		return nil, err
	}
	topic := received.Fields.Text("topic")
	s.mu.Lock()
	s.asked = append(s.asked, addr+" "+topic)
	f := s.answer[addr]
	s.mu.Unlock()
	if f == nil {
		return nil, errors.New("connection refused")
	}
	return f(ctx, topic)
}

func (s *servers) set(addr string, f func(ctx context.Context, topic string) (*remoting.Command, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer[addr] = f
}

func (s *servers) takeAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// knows answers with routes of topics; others do not exist.
func knows(topics map[string]*protocol.TopicRouteData) func(context.Context, string) (*remoting.Command, error) {
	return func(_ context.Context, topic string) (*remoting.Command, error) {
		data, ok := topics[topic]
		if !ok {
			return &remoting.Command{Code: protocol.TopicNotExist, Remark: "No topic route info"}, nil
		}
		return &remoting.Command{Body: javajson.Append(nil, data, javajson.Standard)}, nil
	}
}

func silent(ctx context.Context, _ string) (*remoting.Command, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func answers(code int32) func(context.Context, string) (*remoting.Command, error) {
	return func(context.Context, string) (*remoting.Command, error) { return &remoting.Command{Code: code}, nil }
}

func oneBroker(name string, queues, perm int32) *protocol.TopicRouteData {
	return &protocol.TopicRouteData{
		BrokerDatas: []protocol.BrokerData{brokerData(name, 0)},
		QueueDatas:  []protocol.QueueData{queueData(name, queues, queues, perm)},
	}
}

func newServers(addrs ...string) (*servers, *NameServers) {
	s := &servers{answer: map[string]func(context.Context, string) (*remoting.Command, error){}}
	n := NewNameServers(Addresses{Fixed: addrs}, s, 200*time.Millisecond)
	n.at = 0
	return s, n
}

func TestOneNameServerIsAskedUntilItFails(t *testing.T) {
	topics := knows(map[string]*protocol.TopicRouteData{"T": oneBroker("a", 1, 6)})
	for _, test := range []struct {
		situation string
		first     func(context.Context, string) (*remoting.Command, error)
		want      []string // asked in two questions
	}{
		{"it answers", topics, []string{"n1 T", "n1 T"}},
		{"it says that the topic does not exist", answers(protocol.TopicNotExist), []string{"n1 T", "n1 T"}},
		{"it refuses connections", nil, []string{"n1 T", "n2 T", "n2 T"}},
		{"it is silent", silent, []string{"n1 T", "n2 T", "n2 T"}},
		{"it is not ready", answers(protocol.SystemError), []string{"n1 T", "n2 T", "n2 T"}},
		{"it is leaving", answers(protocol.GoAway), []string{"n1 T", "n2 T", "n2 T"}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			s, n := newServers("n1", "n2")
			s.set("n1", test.first)
			s.set("n2", topics)
			for range 2 {
				_, err := Ask(t.Context(), n, "T")
				if err != nil && protocol.CodeOf(err) != protocol.TopicNotExist {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(test.want, s.takeAsked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSilenceIsSharedOut(t *testing.T) {
	s, n := newServers("n1", "n2")
	n.timeout = time.Minute
	s.set("n1", silent)
	s.set("n2", knows(map[string]*protocol.TopicRouteData{"T": oneBroker("a", 1, 6)}))
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	if _, err := Ask(ctx, n, "T"); err != nil {
		t.Errorf("the first of two name servers is silent: %v", err)
	}
	s.set("n2", silent)
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Ask(ctx, n, "T"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("both are silent: error %v, want that the time is over", err)
	}
}

func TestNoNameServerAnswers(t *testing.T) {
	_, n := newServers("n1", "n2")
	_, err := Ask(t.Context(), n, "T")
	if !errors.Is(err, ErrNoNameServer) {
		t.Fatalf("error %v, want ErrNoNameServer", err)
	}
	for _, addr := range []string{"n1", "n2"} {
		if got := err.Error(); !strings.Contains(got, addr+": connection refused") {
			t.Errorf("%q does not say what happened at %s", got, addr)
		}
	}

	s, n := newServers("n1")
	s.set("n1", answers(protocol.SystemError))
	if _, err := Ask(t.Context(), n, "T"); protocol.CodeOf(err) != protocol.SystemError || errors.Is(err, ErrNoNameServer) {
		t.Errorf("the only name server is not ready: error %v, want its own", err)
	}
}

func TestManyAskersOneQuestion(t *testing.T) {
	s, n := newServers("n1")
	gate := make(chan struct{})
	s.set("n1", func(ctx context.Context, topic string) (*remoting.Command, error) {
		<-gate
		return knows(map[string]*protocol.TopicRouteData{"T": oneBroker("a", 4, 6)})(ctx, topic)
	})
	c := NewCache(DefaultConfig(), n)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if r, err := c.Get(t.Context(), "T"); err != nil || len(r.Write) != 4 {
				t.Errorf("route %v, error %v", r, err)
			}
		})
	}
	close(gate)
	wg.Wait()
	if got := s.takeAsked(); len(got) != 1 {
		t.Errorf("asked %d times: %v", len(got), got)
	}
}

func TestRouteOutlivesNameServersAndTopic(t *testing.T) {
	s, n := newServers("n1")
	s.set("n1", knows(map[string]*protocol.TopicRouteData{"T": oneBroker("a", 4, 6)}))
	var changes []string
	cfg := DefaultConfig()
	cfg.Changed = func(r *Route) { changes = append(changes, fmt.Sprint(r.Topic, " ", len(r.Write))) }
	c := NewCache(cfg, n)
	if _, err := c.Get(t.Context(), "T"); err != nil {
		t.Fatal(err)
	}
	for situation, answer := range map[string]func(context.Context, string) (*remoting.Command, error){
		"away": nil, "topic forgotten": knows(nil),
	} {
		s.set("n1", answer)
		c.refreshAll(t.Context())
		if r, err := c.Get(t.Context(), "T"); err != nil || len(r.Write) != 4 {
			t.Errorf("%s: route %v, error %v", situation, r, err)
		}
	}
	s.set("n1", knows(map[string]*protocol.TopicRouteData{"T": oneBroker("b", 8, 6)}))
	c.refreshAll(t.Context())
	c.refreshAll(t.Context())
	if diff := cmp.Diff([]string{"T 4", "T 8"}, changes); diff != "" {
		t.Errorf("changes told (-want +got):\n%s", diff)
	}
	if _, ok := c.Broker("a"); ok {
		t.Error("a broker that no route names is still known")
	}
	if b, ok := c.Broker("b"); !ok || b.Master() != "b-0:10911" {
		t.Errorf("broker b: %v, %v", b, ok)
	}
}

func TestTemplate(t *testing.T) {
	for _, test := range []struct {
		situation string
		topics    map[string]*protocol.TopicRouteData
		write     []string
		template  bool
		code      int32
	}{
		{"the topic exists", map[string]*protocol.TopicRouteData{"T": oneBroker("a", 1, 6), "TBW102": oneBroker("a", 8, 7)},
			[]string{"a:0"}, false, 0},
		{"a new topic gets fewer queues than the template has", map[string]*protocol.TopicRouteData{"TBW102": oneBroker("a", 8, 7)},
			[]string{"a:0", "a:1", "a:2", "a:3"}, true, 0},
		{"the template has fewer", map[string]*protocol.TopicRouteData{"TBW102": oneBroker("a", 2, 7)},
			[]string{"a:0", "a:1"}, true, 0},
		{"no template: topics must be created", nil, nil, false, protocol.TopicNotExist},
	} {
		t.Run(test.situation, func(t *testing.T) {
			s, n := newServers("n1")
			s.set("n1", knows(test.topics))
			r, err := NewCache(DefaultConfig(), n).GetOrTemplate(t.Context(), "T", "TBW102", 4)
			if protocol.CodeOf(err) != test.code {
				t.Fatalf("error %v, want code %d", err, test.code)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(test.write, names(r.Write)); diff != "" || r.Template != test.template || r.Topic != "T" {
				t.Errorf("route of %s, template %v (-want +got):\n%s", r.Topic, r.Template, diff)
			}
		})
	}
}

func TestTemplateGivesWayToTheTopic(t *testing.T) {
	s, n := newServers("n1")
	topics := map[string]*protocol.TopicRouteData{"TBW102": oneBroker("a", 8, 7)}
	s.set("n1", knows(topics))
	c := NewCache(DefaultConfig(), n)
	if _, err := c.GetOrTemplate(t.Context(), "T", "TBW102", 4); err != nil {
		t.Fatal(err)
	}
	s.set("n1", knows(map[string]*protocol.TopicRouteData{"T": oneBroker("a", 3, 6)}))
	c.refreshAll(t.Context())
	if r, _ := c.Cached("T"); r.Template || len(r.Write) != 3 {
		t.Errorf("route %+v, want the topic's own", r)
	}
}

func TestRunRefreshes(t *testing.T) {
	s, n := newServers("n1")
	s.set("n1", knows(map[string]*protocol.TopicRouteData{"T": oneBroker("a", 1, 6)}))
	changed := make(chan *Route, 4)
	cfg := DefaultConfig()
	cfg.Refresh = 5 * time.Millisecond
	cfg.Changed = func(r *Route) { changed <- r }
	c := NewCache(cfg, n)
	if _, err := c.Get(t.Context(), "T"); err != nil {
		t.Fatal(err)
	}
	<-changed
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	s.set("n1", knows(map[string]*protocol.TopicRouteData{"T": oneBroker("a", 2, 6)}))
	select {
	case r := <-changed:
		if len(r.Write) != 2 {
			t.Errorf("%d queues, want 2", len(r.Write))
		}
	case <-time.After(10 * time.Second):
		t.Error("no refresh in 10 s")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestListService(t *testing.T) {
	status, body := http.StatusOK, "n2:9876;n1:9876\n"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer web.Close()
	addrs, err := ParseAddresses(web.URL + "/nsaddr")
	if err != nil {
		t.Fatal(err)
	}
	n := NewNameServers(addrs, &servers{}, time.Second)
	for _, step := range []struct {
		situation string
		status    int
		body      string
		want      int // addresses known
		err       bool
	}{
		{"not found, and nothing known", http.StatusNotFound, "", 0, true},
		{"two addresses", http.StatusOK, "n2:9876;n1:9876\n", 2, false},
		{"the service is broken, what was known stays", http.StatusInternalServerError, "x", 2, false},
		{"it answers nonsense", http.StatusOK, "<html>", 2, false},
		{"three addresses", http.StatusOK, "n1;n2;n3", 3, false},
	} {
		status, body = step.status, step.body
		n.listedAt = time.Time{}
		got, err := n.All(t.Context())
		if len(got) != step.want || (err != nil) != step.err {
			t.Errorf("%s: %v, error %v", step.situation, got, err)
		}
	}
}
