// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package assign divides the queues of a topic among the members of a consumer
// group. Every member computes the whole division by itself and takes its share,
// so all of them, clients and a broker that is asked, must agree to the letter.
//
// A member is a client id. A share is what one member gets. The functions are
// pure: the same queues and members give the same shares, wherever they run
// (RocketMQ: AllocateMessageQueueStrategy).
package assign
