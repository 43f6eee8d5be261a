// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/testcluster"
)

// swallowing is a way to a server on which requests of one code are lost.
type swallowing struct {
	code      int32
	on        atomic.Bool
	swallowed atomic.Int64
}

func (s *swallowing) dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &swallowingConn{Conn: c, s: s}, nil
}

// swallowingConn looks at the frames that are written to it; their parts may come in any pieces.
type swallowingConn struct {
	net.Conn
	s    *swallowing
	rest []byte // of a frame that is not complete
}

func (c *swallowingConn) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	var out []byte
	for len(c.rest) >= 8 {
		n := 4 + int(binary.BigEndian.Uint32(c.rest))
		if len(c.rest) < n {
			break
		}
		frame := c.rest[:n]
		header := frame[8 : 8+binary.BigEndian.Uint32(frame[4:])&0xFFFFFF]
		if c.s.on.Load() && (frame[4] == 0 && bytes.Contains(header, fmt.Appendf(nil, `"code":%d,`, c.s.code)) ||
			frame[4] == 1 && int32(binary.BigEndian.Uint16(header)) == c.s.code) {
			c.s.swallowed.Add(1)
		} else {
			out = append(out, frame...)
		}
		c.rest = c.rest[n:]
	}
	if _, err := c.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// A member starts while nobody answers where its group is: it waits and asks again, and goes on where the group is when it is told,
// not at the beginning.
func TestUnansweredProgressIsAskedForAgain(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c)
	first, second := map[string]int{}, map[string]int{}
	for i := range 100 {
		body := fmt.Sprint("first", i)
		first[body] = 1
		send(t, p, &client.Message{Topic: "Asks", Body: []byte(body)})
	}
	s := newSeen()
	m := consumer(t, c, "AskGroup", "Asks", s.handler(""))
	await(t, "the first ones", func() bool { return maps.Equal(s.counts(), first) })
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		body := fmt.Sprint("second", i)
		second[body] = 1
		send(t, p, &client.Message{Topic: "Asks", Body: []byte(body)})
	}
	lost := &swallowing{code: protocol.QueryConsumerOffset}
	lost.on.Store(true)
	late := newSeen()
	m = consumer(t, c, "AskGroup", "Asks", late.handler(""), client.Dialer(lost.dial), client.CallTimeout(150*time.Millisecond),
		client.RebalanceInterval(50*time.Millisecond))
	await(t, "questions again", func() bool { return lost.swallowed.Load() >= 3*4 }) // of four queues
	if n := len(late.counts()); n > 0 || own(m, "Asks") > 0 {
		t.Errorf("%d queues were taken and %d messages consumed without knowing where to begin", own(m, "Asks"), n)
	}
	lost.on.Store(false)
	await(t, "the second ones", func() bool { return len(late.counts()) >= len(second) })
	if got := late.counts(); !maps.Equal(got, second) {
		t.Errorf("got %v", got)
	}
}

// The broker is stopped and started again under a member, with messages before, between and after: each comes once.
func TestBrokerRestartsUnderAMember(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{})
	p := producer(t, c, client.SendTimeout(20*time.Second), client.SendRetries(1000))
	s, want := newSeen(), map[string]int{}
	more := func(round int) {
		for i := range 50 {
			body := fmt.Sprint(round, "-", i)
			want[body] = 1
			send(t, p, &client.Message{Topic: "Restarts", Body: []byte(body)})
		}
	}
	more(0)
	consumer(t, c, "RestartGroup", "Restarts", s.handler(""))
	for round := range 3 {
		await(t, "all so far", func() bool { return len(s.counts()) == len(want) })
		c.Brokers[0].Stop()
		c.Brokers[0].Start()
		more(round + 1)
	}
	await(t, "all of them", func() bool { return len(s.counts()) == len(want) })
	if got := s.counts(); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
