// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// bodies are the bodies of messages, in order.
func bodies(found []message.Record) []string {
	var texts []string
	for _, m := range found {
		texts = append(texts, string(m.Body))
	}
	return texts
}

func wantBodies(t *testing.T, what string, found []message.Record, want ...string) {
	t.Helper()
	if got := bodies(found); !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// A query by key gives the messages that have the key: each once, in the order of the log, no neighbours of theirs, no
// more than asked for.
func TestQueryGivesExactlyTheMessagesWithTheKey(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := dial(t, s.broker)
	for _, topic := range []string{"query", "query_other", "query_many"} {
		w.createTopic(topic, 2)
	}
	send := func(topic, body, keys string, unique ...string) {
		t.Helper()
		pairs := []string{"KEYS", keys}
		if len(unique) > 0 {
			pairs = append(pairs, "UNIQ_KEY", unique[0])
		}
		w.send(outgoing{topic: topic, queue: int32(len(body) % 2), body: []byte(body), props: properties(true, pairs...)})
	}
	send("query", "first", "wanted")
	send("query", "neighbour", "another")
	send("query_other", "elsewhere", "wanted")
	send("query", "second", "wanted")
	send("query", "three keys", "k1 k2 k3")
	send("query", "twice", "double double")
	send("query", "by its id", "same", "UNIQUE-1")
	send("query", "id as key", "UNIQUE-2", "UNIQUE-2")
	for i := range 100 {
		send("query_many", fmt.Sprint(i), "many")
	}
	send("query", "last", "last")
	eventually(t, "the index having come to the last message", func() bool { return len(w.query("query", "last", 32)) == 1 })

	wantBodies(t, "key of two", w.query("query", "wanted", 32), "first", "second")
	wantBodies(t, "key in another topic", w.query("query_other", "wanted", 32), "elsewhere")
	for _, key := range []string{"k1", "k2", "k3"} {
		wantBodies(t, "one key of three", w.query("query", key, 32), "three keys")
	}
	wantBodies(t, "key given twice", w.query("query", "double", 32), "twice")
	wantBodies(t, "unique key", w.query("query", "UNIQUE-1", 32), "by its id")
	wantBodies(t, "unique key that is a key, too", w.query("query", "UNIQUE-2", 32), "id as key")
	for _, key := range []string{"want", "wanted ", "WANTED", "k1 k2", "", "k4"} {
		wantBodies(t, fmt.Sprintf("key %q", key), w.query("query", key, 32))
	}
	for _, row := range []struct{ most, want int32 }{{1, 1}, {10, 10}, {64, 64}, {100, 64}, {math.MaxInt32, 64}} {
		found := w.query("query_many", "many", row.most)
		if len(found) != int(row.want) {
			t.Errorf("at most %d of 100: got %d", row.most, len(found))
		}
		for i := range found { // the newest, in the order of the log
			if want := fmt.Sprint(100 - len(found) + i); string(found[i].Body) != want {
				t.Errorf("at most %d: message %d is %s, want %s", row.most, i, found[i].Body, want)
				break
			}
		}
	}
}

// The index knows hashes, many texts have the same. What a query gives must have the very topic and key asked for.
func TestQueryWithTextsOfEqualHash(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := dial(t, s.broker)
	for _, text := range []string{"AaTopic#BB", "BBTopic#Aa", "BBTopic#BB"} {
		if message.HashString([]byte(text)) != message.HashString([]byte("AaTopic#Aa")) {
			t.Fatalf("the hash of %s is another", text)
		}
	}
	w.createTopic("AaTopic", 1)
	w.createTopic("BBTopic", 1)
	w.send(outgoing{topic: "AaTopic", body: []byte("A/Aa"), props: properties(true, "KEYS", "Aa")})
	w.send(outgoing{topic: "BBTopic", body: []byte("B/BB"), props: properties(true, "KEYS", "BB")})
	eventually(t, "the index", func() bool { return len(w.query("BBTopic", "BB", 32)) > 0 })
	wantBodies(t, "AaTopic, Aa", w.query("AaTopic", "Aa", 32), "A/Aa")
	wantBodies(t, "BBTopic, BB", w.query("BBTopic", "BB", 32), "B/BB")
	wantBodies(t, "AaTopic, BB", w.query("AaTopic", "BB", 32))
	wantBodies(t, "BBTopic, Aa", w.query("BBTopic", "Aa", 32))
}

// The smallest integer has no absolute value: texts with that hash are a key, a tag and a name like any other.
func TestTextsWhoseHashIsTheSmallestInteger(t *testing.T) {
	t.Parallel()
	const topic, key, tag = "Lowest", "sxawdlt", "polygenelubricants"
	for _, text := range []string{topic + "#" + key, tag} {
		if h := message.HashString([]byte(text)); h != math.MinInt32 {
			t.Fatalf("the hash of %s is %d", text, h)
		}
	}
	s := start(t, setup{})
	w := dial(t, s.broker)
	w.createTopic(topic, 1)
	w.createTopic(tag, 2)
	sent := w.send(outgoing{topic: topic, body: []byte("found"), props: properties(true, "KEYS", key, "TAGS", tag)})
	w.send(outgoing{topic: tag, queue: -1, body: []byte("any queue")})
	eventually(t, "the index", func() bool { return len(w.query(topic, key, 32)) > 0 })
	s.crash()
	w = dial(t, s.broker)
	wantBodies(t, "by key", w.query(topic, key, 32), "found")
	wantBodies(t, "by tag", w.pull(pull{topic: topic, tags: "other || " + tag}).messages, "found")
	wantBodies(t, "by id", []message.Record{w.view(sent.physical)}, "found")
}

// Offsets by time, at and beyond the ends of a queue.
func TestOffsetsByTime(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	w := dial(t, s.broker)
	w.createTopic("times", 2)
	var at []int64 // store times, each later than the one before
	for i := range int64(3) {
		eventually(t, "the clock to move on", func() bool { return i == 0 || time.Now().UnixMilli() > at[i-1]+2 })
		w.send(outgoing{topic: "times", body: []byte("m")})
		eventually(t, "the message", func() bool { return w.maxOffset("times", 0) == i+1 })
		at = append(at, w.readFrom("times", 0, i)[0].StoreTimestamp)
	}
	day := time.Now().Add(24 * time.Hour).UnixMilli()
	for _, row := range []struct {
		name         string
		ms           int64
		lower, upper int64
	}{
		{"before the first", at[0] - 1, 0, 0},
		{"the first", at[0], 0, 0},
		{"after the first", at[0] + 1, 1, 0},
		{"the second", at[1], 1, 1},
		{"the last", at[2], 2, 2},
		{"after the last", at[2] + 1, 3, 2},
		{"tomorrow", day, 3, 2},
		{"the beginning of time", 0, 0, 0},
		{"before time", -1, 0, 0},
	} {
		if got := w.offsetAt("times", 0, row.ms, false); got != row.lower {
			t.Errorf("%s, lower: %d, want %d", row.name, got, row.lower)
		}
		if got := w.offsetAt("times", 0, row.ms, true); got != row.upper {
			t.Errorf("%s, upper: %d, want %d", row.name, got, row.upper)
		}
		for _, upper := range []bool{false, true} {
			if got := w.offsetAt("times", 1, row.ms, upper); got != 0 {
				t.Errorf("%s, in an empty queue: %d", row.name, got)
			}
			if got := w.offsetAt("no_such_topic", 0, row.ms, upper); got != 0 {
				t.Errorf("%s, in an unknown topic: %d", row.name, got)
			}
		}
	}
	if _, there := w.topics()["no_such_topic"]; there {
		t.Error("asking for an offset made a topic")
	}

	// A group reset to now has nothing left to read.
	w.must(protocol.UpdateAndCreateSubscriptionGroup, nil, jsonOf(protocol.NewSubscriptionGroupConfig("resetters")))
	w.commit("resetters", "times", 0, 1)
	w.must(protocol.InvokeBrokerToResetOffset, protocol.ResetOffsetHeader{Topic: "times", Group: "resetters", Timestamp: -1, IsForce: true}, nil)
	if n := w.committed("resetters", "times", 0); n != 3 {
		t.Errorf("reset to now: the group stands at %d of 3", n)
	}
}
