// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package delay delivers messages some time after they were sent.
//
// A level is a fixed delay; a message with a level waits in the queue of that level
// in SCHEDULE_TOPIC_XXXX, the staging topic. Messages of one level become due in the
// order in which they were stored, so one position per level is all the progress
// there is; it is kept in delayOffset.json.
//
// RocketMQ: ScheduleMessageService.
package delay
