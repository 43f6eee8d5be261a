// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package topic is a broker's topics and their settings: those that administrators
// make, those that come to be by the first message, retry and dead-letter topics,
// and those of the system.
//
// A Config is a snapshot that never changes; whoever holds one may read it without
// care. An inherit bit in a topic's permission makes it a template: a message to an
// unknown topic names a template, usually TBW102, and the new topic takes over its
// queues and permission.
//
// RocketMQ: TopicConfigManager, TopicConfig, TopicAttributes, config/topics.json.
package topic
