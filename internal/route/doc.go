// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package route asks name servers for a topic's brokers, caches the answers and
// refreshes them.
//
// A route is where a topic lives: its brokers with their addresses, and how many
// queues each of them offers for writing and for reading. Name servers do not know
// each other: any one of them answers for all, so one is asked until it fails.
// Routes outlive name servers: with none of them left, what is known is used on
// (RocketMQ: TopicRouteData, the route tables of MQClientInstance).
package route
