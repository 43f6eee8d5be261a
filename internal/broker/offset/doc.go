// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package offset is how far each group has come in each queue: the offset that the
// group takes next.
//
// The newest word counts, a smaller offset too. Beside what groups commit the table
// remembers how far they have read (pulled), and resets that an administrator made
// and that a group has not seen yet (pending): until the group's next pull of the
// queue they hide what it commits.
//
// RocketMQ: ConsumerOffsetManager, config/consumerOffset.json.
package offset
