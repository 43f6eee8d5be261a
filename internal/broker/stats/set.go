// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package stats

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/nametable"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// Names of counters, as tools ask for them (VIEW_BROKER_STATS_DATA). Topics and
// groups are keys like "topic" and "topic@group", the broker's own have its cluster's
// name as key.
const (
	TopicPutNums = "TOPIC_PUT_NUMS"
	TopicPutSize = "TOPIC_PUT_SIZE"
	GroupGetNums = "GROUP_GET_NUMS"
	GroupGetSize = "GROUP_GET_SIZE"
	SendBackNums = "SNDBCK_PUT_NUMS"
	DeadNums     = "DLQ_PUT_NUMS"

	TopicPutLatency = "TOPIC_PUT_LATENCY" // ms; key "queue@topic"
	GroupGetLatency = "GROUP_GET_LATENCY" // ms; key "queue@topic@group" or, without details, "topic@group"

	GroupDiskNums  = "GROUP_GET_FROM_DISK_NUMS"
	GroupDiskSize  = "GROUP_GET_FROM_DISK_SIZE"
	BrokerDiskNums = "BROKER_GET_FROM_DISK_NUMS"
	BrokerDiskSize = "BROKER_GET_FROM_DISK_SIZE"

	// Of the queues of delayed messages; keys "topic@queue" and "topic@queue@group".
	QueuePutNums = "QUEUE_PUT_NUMS"
	QueuePutSize = "QUEUE_PUT_SIZE"
	QueueGetNums = "QUEUE_GET_NUMS"
	QueueGetSize = "QUEUE_GET_SIZE"

	BrokerPutNums              = "BROKER_PUT_NUMS"
	BrokerGetNums              = "BROKER_GET_NUMS"
	BrokerPutNumsWithoutSystem = "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC"
	BrokerGetNumsWithoutSystem = "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC"
)

var names = []string{
	TopicPutNums, TopicPutSize, GroupGetNums, GroupGetSize, SendBackNums, DeadNums, TopicPutLatency, GroupGetLatency,
	GroupDiskNums, GroupDiskSize, BrokerDiskNums, BrokerDiskSize, QueuePutNums, QueuePutSize, QueueGetNums, QueueGetSize,
	BrokerPutNums, BrokerGetNums, BrokerPutNumsWithoutSystem, BrokerGetNumsWithoutSystem,
}

// How often samples are taken.
const (
	minuteStep = 10 * time.Second
	hourStep   = 10 * time.Minute
	dayStep    = time.Hour
)

// Options of a Set.
type Options struct {
	Cluster  string
	IsSystem func(topic string) bool // its messages are left out of the day's totals
	// Store gives the store's running totals for the rates of Rates.
	Store func() Totals
	// Details: latencies of pulls by queue, and the counters of queues (enableDetailStat).
	Details bool
	Now     func() time.Time // nil: time.Now
}

// Set is all counters of a broker. Counting takes no lock and, for names that are
// known, no memory.
type Set struct {
	o      Options
	byName map[string]*nametable.Table[counter] // fixed
	own    map[string]*counter                  // the broker's, fixed
	put    families
	get    families
	rates  rates
	// Latencies of puts and pulls.
	putTook, getTook *nametable.Table[counter]

	mu   sync.Mutex // samples, days
	days days
}

// families are the tables that one event counts in.
type families struct {
	nums, size            *nametable.Table[counter]
	broker, withoutSystem *counter
}

// New gives a set that counts from nothing. Run takes its samples.
func New(o Options) *Set {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Set{o: o, byName: map[string]*nametable.Table[counter]{}, own: map[string]*counter{}}
	for _, name := range names {
		s.byName[name] = nametable.New[counter]()
		if strings.HasPrefix(name, "BROKER_") {
			s.own[name] = s.counter(name, o.Cluster)
		}
	}
	s.put = families{s.byName[TopicPutNums], s.byName[TopicPutSize], s.own[BrokerPutNums], s.own[BrokerPutNumsWithoutSystem]}
	s.get = families{s.byName[GroupGetNums], s.byName[GroupGetSize], s.own[BrokerGetNums], s.own[BrokerGetNumsWithoutSystem]}
	s.putTook, s.getTook = s.byName[TopicPutLatency], s.byName[GroupGetLatency]
	s.days.start(o.Now())
	return s
}

// Put counts messages that were stored.
func (s *Set) Put(topic string, messages, bytes int) {
	lookUp(s.put.nums, topic).add(int64(messages))
	lookUp(s.put.size, topic).add(int64(bytes))
	s.put.count(messages, s.o.IsSystem(topic))
}

// Get counts messages that were handed to a group.
func (s *Set) Get(group, topic string, messages, bytes int) {
	var buf [512]byte
	key := append(append(append(buf[:0], topic...), '@'), group...)
	lookUpBytes(s.get.nums, key).add(int64(messages))
	lookUpBytes(s.get.size, key).add(int64(bytes))
	s.get.count(messages, s.o.IsSystem(topic))
}

// Of messages that are stored in less than a millisecond, and so add nothing to the sum,
// one in quickShare is counted, for as many: their queues' counters are rarely at hand.
// A broker that has stored few counts each.
const (
	quickShare = 16
	quickFrom  = 1000
)

// PutTook counts how long a message took to be stored in a queue.
func (s *Set) PutTook(topic string, queue int32, took time.Duration) {
	ms, times := took.Milliseconds(), int64(1)
	if ms == 0 && s.put.broker.value.Load() >= quickFrom {
		if rand.Uint32N(quickShare) != 0 {
			return
		}
		times = quickShare
	}
	var buf [512]byte
	key := append(append(strconv.AppendInt(buf[:0], int64(queue), 10), '@'), topic...)
	c := lookUpBytes(s.putTook, key)
	c.value.Add(ms)
	c.times.Add(times)
}

// GetTook counts how long a pull took that found messages.
func (s *Set) GetTook(group, topic string, queue int32, took time.Duration) {
	var buf [512]byte
	key := buf[:0]
	if s.o.Details {
		key = append(strconv.AppendInt(key, int64(queue), 10), '@')
	}
	key = append(append(append(key, topic...), '@'), group...)
	lookUpBytes(s.getTook, key).add(took.Milliseconds())
}

// GetFromDisk counts messages, handed to a group, that were not in memory (RocketMQ
// has the counters but feeds them no more).
func (s *Set) GetFromDisk(group, topic string, messages, bytes int) {
	key := topic + "@" + group
	s.counter(GroupDiskNums, key).add(int64(messages))
	s.counter(GroupDiskSize, key).add(int64(bytes))
	s.own[BrokerDiskNums].add(int64(messages))
	s.own[BrokerDiskSize].add(int64(bytes))
}

// Delay counts a message that came into the queue of a delay level.
func (s *Set) Delay(topic string, queue int32, messages, bytes int) {
	if s.o.Details {
		key := topic + "@" + strconv.Itoa(int(queue))
		s.counter(QueuePutNums, key).add(int64(messages))
		s.counter(QueuePutSize, key).add(int64(bytes))
	}
}

// Delayed counts a message that went from the queue of a delay level to the topic that
// it was sent to. The group stands for the broker itself.
func (s *Set) Delayed(group, from string, queue int32, topic string, messages, bytes int) {
	key := from + "@" + group
	s.counter(GroupGetNums, key).add(int64(messages))
	s.counter(GroupGetSize, key).add(int64(bytes))
	if s.o.Details {
		key = from + "@" + strconv.Itoa(int(queue)) + "@" + group
		s.counter(QueueGetNums, key).add(int64(messages))
		s.counter(QueueGetSize, key).add(int64(bytes))
	}
	s.Put(topic, messages, bytes)
}

func (f *families) count(messages int, system bool) {
	f.broker.add(int64(messages))
	if !system {
		f.withoutSystem.add(int64(messages))
	}
}

// SendBack counts a message that a group gave back, Dead one that it gave up.
func (s *Set) SendBack(group, topic string) { s.counter(SendBackNums, topic+"@"+group).add(1) }

// Dead counts a message that went to a group's dead letters.
func (s *Set) Dead(group, topic string) { s.counter(DeadNums, topic+"@"+group).add(1) }

func (s *Set) counter(name, key string) *counter { return lookUp(s.byName[name], key) }

func lookUp(t *nametable.Table[counter], key string) *counter {
	if c := t.Get(key); c != nil {
		return c
	}
	c, _ := t.GetOrPut(strings.Clone(key), func() *counter { return new(counter) })
	return c
}

func lookUpBytes(t *nametable.Table[counter], key []byte) *counter {
	if c := t.GetBytes(key); c != nil {
		return c
	}
	return lookUp(t, string(key))
}

// View gives the windows of a counter; false when nothing was counted under that name
// and key.
func (s *Set) View(name, key string) (protocol.BrokerStatsData, bool) {
	c := s.find(name, key)
	if c == nil {
		return protocol.BrokerStatsData{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return protocol.BrokerStatsData{StatsMinute: c.minute.item(), StatsHour: c.hour.item(), StatsDay: c.day.item()}, true
}

func (s *Set) find(name, key string) *counter {
	if t := s.byName[name]; t != nil {
		return t.Get(key)
	}
	return nil
}

// PutRate is the messages a second that a topic took in the last minute.
func (s *Set) PutRate(topic string) float64 { return s.rate(TopicPutNums, topic) }

// GetRate is the messages a second that a group was handed of a topic in the last minute.
func (s *Set) GetRate(group, topic string) float64 { return s.rate(GroupGetNums, topic+"@"+group) }

func (s *Set) rate(name, key string) float64 {
	c := s.find(name, key)
	if c == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.minute.item().Tps
}

// RemoveTopic forgets what was counted for a topic.
func (s *Set) RemoveTopic(topic string) {
	s.forget(func(key string) bool {
		if queue, rest, ok := strings.Cut(key, "@"); ok && isNumber(queue) && (rest == topic || strings.HasPrefix(rest, topic+"@")) {
			return true // a latency
		}
		return key == topic || strings.HasPrefix(key, topic+"@")
	})
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// RemoveGroup forgets what was counted for a group.
func (s *Set) RemoveGroup(group string) {
	s.forget(func(key string) bool { return strings.HasSuffix(key, "@"+group) })
}

func (s *Set) forget(matches func(key string) bool) {
	for name, t := range s.byName {
		if s.own[name] != nil {
			continue
		}
		t.Each(func(key string, _ *counter) bool {
			if matches(key) {
				t.Delete(key)
			}
			return true
		})
	}
}

// Run takes samples until ctx ends.
func (s *Set) Run(ctx context.Context) error {
	ticks := []struct {
		every time.Duration
		do    func(time.Time)
	}{{time.Second, s.second}, {minuteStep, s.sampleMinute}, {hourStep, s.sampleHour}, {dayStep, s.sampleDay}}
	next := make([]time.Time, len(ticks))
	for i, t := range ticks {
		next[i] = time.Now().Add(t.every)
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			for i, t := range ticks {
				if now.After(next[i].Add(-time.Second / 2)) { // the ticker is not exact
					t.do(now)
					next[i] = now.Add(t.every)
				}
			}
		}
	}
}

func (s *Set) second(now time.Time) {
	if s.o.Store != nil {
		s.rates.take(now, s.o.Store())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.days.pass(now, s.own[BrokerPutNumsWithoutSystem].value.Load(), s.own[BrokerGetNumsWithoutSystem].value.Load())
}

func (s *Set) sampleMinute(now time.Time) {
	s.sample(now, func(c *counter, at sample) { c.minute = c.minute.take(at, minuteStep, minuteSamples) })
}

func (s *Set) sampleHour(now time.Time) {
	s.sample(now, func(c *counter, at sample) { c.hour = c.hour.take(at, hourStep, hourSamples) })
}

// sampleDay also forgets counters that did not grow for a day: nobody asks for them.
func (s *Set) sampleDay(now time.Time) {
	s.sample(now, func(c *counter, at sample) { c.day = c.day.take(at, dayStep, daySamples) })
	for name, t := range s.byName {
		if s.own[name] != nil {
			continue
		}
		t.Each(func(key string, c *counter) bool {
			if s.idle(c) {
				t.Delete(key)
			}
			return true
		})
	}
}

func (s *Set) idle(c *counter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(c.day) == daySamples && c.day[0].value == c.value.Load()
}

func (s *Set) sample(now time.Time, take func(*counter, sample)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.byName {
		t.Each(func(_ string, c *counter) bool {
			take(c, sample{at: now.UnixNano(), value: c.value.Load(), times: c.times.Load()})
			return true
		})
	}
}
