// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package trouble

// Group is a consumer group with members, as the broker sees it at a moment.
type Group struct {
	Name    string
	Members []Member
	// Judged: its progress is kept at the broker and it may consume, so that a queue
	// with messages in which nothing moves is a fault.
	Judged bool
	// Pulls: its members pull as they like and may keep their progress elsewhere. Then
	// only queues in which they committed are judged.
	Pulls  bool
	Topics []Topic // that it subscribes to and may read here; with Judged only

	Differences []Difference
	Shared      []Shared
	// Holder gives the client that has a queue to itself, "" for none.
	Holder func(group, topic string, queue int32) string
}

// Member is one client on one connection.
type Member struct {
	Client string
	Conn   uint64 // id of the connection
}

// Topic is the queues of a topic.
type Topic struct {
	Name   string
	Queues []Queue
}

// Queue is a queue's messages and how far the group has come in it.
type Queue struct {
	First, End int64  // offsets of the first message and behind the last
	Committed  int64  // offset of the next message to consume, with Known
	Known      bool   // the group committed
	PulledAt   int64  // when the group last pulled, ns since 1970; 0: not since the start
	PulledBy   uint64 // connection of that pull
}

// waiting is how many messages the group has before it.
func (q *Queue) waiting() int64 {
	from := q.First
	if q.Known {
		from = max(from, q.Committed)
	}
	return max(q.End-from, 0)
}

// Difference is a topic that members subscribe to differently.
type Difference struct {
	Topic string
	Wants []Want // two or more
}

// Want is what some members want of a topic.
type Want struct {
	Expression string // "": nothing
	Clients    []string
}

// Shared is a client id with which several connections are alive.
type Shared struct {
	Client string
	Addrs  []string
}
