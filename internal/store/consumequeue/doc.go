// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package consumequeue keeps, for each queue of each topic, where its messages lie in the log.
//
// A queue is a run of units of 20 bytes; unit n belongs to the message with queue offset n. Units are readable as soon
// as they are put. They are gathered in memory and saved to the queue's files now and then, so that a queue that gets
// a message a minute costs neither an open file nor a write each. What was not saved, or saved and not synced, when
// the machine stopped is put again from the log.
//
// A Set holds what the queues of one store share. RocketMQ: ConsumeQueue, ConsumeQueueStore.
package consumequeue
