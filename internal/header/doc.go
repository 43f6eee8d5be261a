// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package header is the extFields of a command: names and values as text, read
// from a frame, written into one, and mapped onto structs by tag.
//
// Package remoting carries them without knowing what they mean, package protocol
// gives them their meaning; both stand on this one (RocketMQ: extFields of
// RemotingCommand, CommandCustomHeader).
package header
