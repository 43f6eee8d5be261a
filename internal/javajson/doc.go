// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

// Package javajson reads and writes JSON as RocketMQ's Java classes do: keys in
// alphabetical order, nulls left out, map keys that are bare numbers or whole
// objects; and reads what the field's clients send instead.
//
// Dialects: Bare writes {0:"a"} and {{"topic":"t"}:1} as fastjson does by default;
// Standard writes only legal JSON.
//
// Structs are described by tags, `json:"name"`; fields without a tag keep their
// name, those of embedded structs are the outer one's, "-" leaves one out. Nil
// pointers, maps, slices and interfaces are left out. Options after a comma:
// "omitempty" leaves out any zero value (a Java null that Go keeps as ""), "quoted"
// writes the keys of a map, and of maps below it, as text even in Bare (for places
// that fastjson 2 cannot read otherwise).
//
// What a type may say about itself: [Appender] writes itself (a method of the value,
// not of the pointer), [Parser] reads itself,
// [Enum] lists its names by ordinal, [Defaulter] sets what holds for keys that are
// absent, [Raw] passes through.
package javajson
