// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package client sends and consumes messages through Goddard, or any server that
// speaks RocketMQ's remoting protocol.
//
// A Producer sends. A Reader reads queues of a topic from a place of its choice and
// keeps its position itself; it suits tools, replays and pipelines. A Consumer is a
// member of a consumer group: the group's members share the queues of their topics,
// progress is kept by the brokers, and a message whose handler fails comes again
// later.
//
//	p, err := client.NewProducer(client.NameServers("127.0.0.1:9876"))
//	...
//	result, err := p.Send(ctx, &client.Message{Topic: "orders", Body: []byte("hello")})
//
// Each of them has its own connections and goroutines and no state is shared;
// Close ends them and waits. Options are typed by what they configure. Everything
// that waits takes a context first, and failures are of type *Error.
//
// Words are RocketMQ's: a topic has queues, spread over brokers; a queue offset is a
// message's number in its queue; name servers know where topics are.
package client
