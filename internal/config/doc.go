// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package config loads files, environment and flags into the Config of each room.
//
// The key space is RocketMQ's and flat: a key is the name in the `rmq` tag of a
// field of some room's Config. A setting is a key with its value as text; a layer
// is a list of settings from one source. Layers are laid over the defaults in the
// order file, changes made by requests, environment, flags, and the result
// remembers which layer each value came from.
//
// A key that RocketMQ knows and Goddard does not act on is a warning; a key that
// nobody knows is an error that names the nearest one.
//
// RocketMQ: MixAll.properties2Object and object2Properties, Configuration, the
// start-up classes.
//
// # Tags
//
//	Interval time.Duration `rmq:"flushConsumerOffsetInterval,ms,min=100"`
//
// After the key may stand: the unit of a time.Duration (ns, us, ms, s, m, h; the text is a
// whole number of it), min= and max= (numbers, in the unit of the text), oneof=A|B
// (strings), and restart (the value is read at start only). A struct field
// without a tag is looked into; any other field without a tag is not a setting.
package config
