// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package message is the message: its bytes on disk and on the wire, its
// properties, ids, flags and batches.
//
// A record is a stored message (RocketMQ: MessageExt as MessageDecoder and
// MessageExtEncoder read and write it). Properties are the text of names and
// values that travels with it. An offset id names a place in a broker's log; a
// unique id is made by the producer's client.
package message
