// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// 50,000 pulls are held at once: they take little memory and no time to speak of; a message wakes those of its queue that want
// its tag and no others; all are answered when their time is over.
func TestFiftyThousandParkedPulls(t *testing.T) {
	t.Parallel()
	p := parking{connections: 200, queues: 100, tags: 50, pulls: 50_000}
	if testing.Short() {
		p.connections, p.pulls = 20, 5_000
	}
	p.server = start(t, setup{set: []string{"flushDiskType=ASYNC_FLUSH"}})
	p.wire = dial(t, p.server.broker)
	p.wire.createTopic("lot", int32(p.queues))
	for range p.connections {
		p.wires = append(p.wires, dial(t, p.server.broker))
	}
	// All are over at the same moment, which must not come before the message does: a slow machine needs more time to park them.
	for hold := 5 * time.Second; !p.round(t, hold); hold *= 2 {
		if hold > 2*time.Minute {
			t.Fatalf("%d pulls cannot be parked within %v", p.pulls, hold)
		}
	}
}

// parking is pulls that differ in connection, queue and tag.
type parking struct {
	server                           *server
	wire                             *wire
	wires                            []*wire
	connections, queues, tags, pulls int
	next                             int64 // offset of the queue that messages go to
}

// parked is one pull and its answer.
type parked struct {
	queue int32
	tag   int
	until time.Time // it may be held, at most
	at    time.Time // it was answered
	pulled
	err error
}

const wokenQueue, wokenTag = 7, 3

// round parks all pulls, sends one message and looks at all answers. It is false when it took too long for the message to come
// before the pulls' time was over; everything else was looked at nevertheless.
func (p *parking) round(t *testing.T, hold time.Duration) bool {
	t.Helper()
	before := p.server.rss()
	until := time.Now().Add(hold)
	all := make([]parked, p.pulls)
	var answered, woken sync.WaitGroup
	answered.Add(len(all))
	var early atomic.Int64
	for i := range all {
		one := &all[i]
		one.queue, one.tag, one.until = int32(i%p.queues), i/p.queues%p.tags, until
		wanted := one.queue == wokenQueue && one.tag == wokenTag
		if wanted {
			woken.Add(1)
		}
		req := pull{topic: "lot", queue: one.queue, tags: fmt.Sprint("tag-", one.tag), offset: p.offset(one.queue), hold: max(time.Until(until), time.Millisecond)}
		p.wires[i%len(p.wires)].c.Go(req.command(), hold+patience, func(answer *remoting.Command, err error) {
			if one.at, one.err = time.Now(), err; err == nil {
				one.pulled, one.err = pulledOf(answer)
			}
			early.Add(1)
			if wanted {
				woken.Done()
			}
			answered.Done()
		})
	}
	for _, w := range p.wires { // requests of a connection are served in order
		w.must(protocol.GetMaxOffset, protocol.QueueHeader{Topic: "lot"}, nil)
	}
	inTime := early.Load() == 0
	each := (p.server.rss() - before) / int64(len(all))
	t.Logf("%d pulls parked on %d connections with %v left, %d bytes each; %v of processor time in a second", len(all), len(p.wires),
		time.Until(until).Round(time.Millisecond), each, p.server.processorTime(500*time.Millisecond)*2)
	if inTime && each > 4<<10 {
		t.Errorf("a parked pull costs %d bytes", each)
	}
	sent := time.Now()
	p.wire.send(outgoing{topic: "lot", queue: wokenQueue, body: []byte("for one tag"), props: properties(true, "TAGS", fmt.Sprint("tag-", wokenTag))})
	woken.Wait()
	inTime = inTime && time.Now().Before(until)
	t.Logf("those that wanted it were answered %v after it was sent", time.Since(sent).Round(time.Microsecond))
	answered.Wait()
	t.Logf("all were answered %v after their time was over", time.Since(until).Round(time.Millisecond))
	for i := range all {
		if fault := all[i].fault(p.next, sent, inTime); fault != "" {
			t.Fatalf("pull %d of queue %d for tag %d: %s", i, all[i].queue, all[i].tag, fault)
		}
	}
	p.next++
	return inTime
}

func (p *parking) offset(queue int32) int64 {
	if queue == wokenQueue {
		return p.next
	}
	return 0
}

// fault says what is wrong with the answer, after a message at offset next that was sent at a time. When everything was in time
// the pulls that wanted it must have got it; otherwise their time may have been over before.
func (o *parked) fault(next int64, sent time.Time, inTime bool) string {
	const clocks = 5 * time.Millisecond // requests count milliseconds
	over := o.until.Add(-clocks)
	passedOver := sent.Add(3*time.Second - clocks) // longpoll.DefaultMissDelay
	concerned := o.queue == wokenQueue
	wanted := concerned && o.tag == wokenTag
	switch {
	case o.err != nil:
		return o.err.Error()
	case wanted && o.code == protocol.Success:
		if len(o.messages) != 1 || o.messages[0].QueueOffset != next || string(o.messages[0].Body) != "for one tag" {
			return fmt.Sprintf("%d messages", len(o.messages))
		}
	case wanted && inTime:
		return fmt.Sprintf("answered %d although its message came", o.code)
	case concerned && o.code == protocol.PullRetryImmediately:
		if o.NextBeginOffset != next+1 || o.at.Before(over) && o.at.Before(passedOver) {
			return fmt.Sprintf("passed over by the message, and answered %v after it, next %d", o.at.Sub(sent), o.NextBeginOffset)
		}
	case o.code != protocol.PullNotFound || o.at.Before(over):
		return fmt.Sprintf("answered %d %s, %v before its time was over", o.code, o.remark, o.until.Sub(o.at))
	}
	return ""
}

// processorTime is what the process uses in a time, user and system.
func (p *process) processorTime(during time.Duration) time.Duration {
	p.t.Helper()
	before := p.ticks()
	time.Sleep(during)
	return (p.ticks() - before) * (time.Second / 100) // USER_HZ is 100 on all platforms of Linux
}

// ticks are fields 14 and 15 of /proc/PID/stat.
func (p *process) ticks() time.Duration {
	p.t.Helper()
	cmd, _ := p.running()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	if err != nil {
		p.t.Skip("needs /proc to see the time of another process")
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // from field 3 on
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		p.t.Fatalf("stat %q", text)
	}
	return time.Duration(user + system)
}
