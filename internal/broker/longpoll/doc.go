// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package longpoll holds pulls until a message arrives.
//
// A pull that finds nothing is parked under its queue. It is resumed, once, when a
// message it wants arrives, when its time is over, or when the broker stops. An
// arrival that its filter refuses does not resume it at once but some seconds
// later, so that its consumer's offset does not stay behind for ever.
//
// A lot is where pulls are parked. Parking costs memory only: one goroutine watches
// the time for all, and resumed pulls run on a bounded number of goroutines that
// exist while there is work, never on the goroutine that brought the news.
//
// RocketMQ: PullRequestHoldService, NotifyMessageArrivingListener.
package longpoll
