// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package group is a broker's consumer groups: their settings, who is a member just
// now, and which member holds which queue.
//
// Table keeps the settings on disk. Members keeps the connected consumers and
// producers in memory, as their heartbeats tell. Filters keeps the SQL92 expressions
// that groups subscribe with, compiled. Locks keeps the queues that ordered consumers
// have to themselves.
//
// A subscription belongs to the group, not to a member: all members must want the
// same, the newest word counts.
//
// RocketMQ: SubscriptionGroupManager and config/subscriptionGroup.json,
// ConsumerManager, ProducerManager, ConsumerFilterManager and
// config/consumerFilter.json, RebalanceLockManager.
package group
