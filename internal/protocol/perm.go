// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// Bits of a topic's or broker's permission (RocketMQ: PermName).
const (
	PermInherit  int32 = 1 // topics created from this template take over its permission
	PermWrite    int32 = 2
	PermRead     int32 = 4
	PermPriority int32 = 8 // unused

	PermReadWrite = PermRead | PermWrite
)

// CanRead tells whether consumers may use it.
func CanRead(perm int32) bool { return perm&PermRead != 0 }

// CanWrite tells whether producers may use it.
func CanWrite(perm int32) bool { return perm&PermWrite != 0 }

// CanInherit tells whether it serves as a template for topics created on first use.
func CanInherit(perm int32) bool { return perm&PermInherit != 0 }

// HasPriority tells whether the priority bit is set.
func HasPriority(perm int32) bool { return perm&PermPriority != 0 }

// Accessible tells whether it may be read or written.
func Accessible(perm int32) bool { return perm&PermReadWrite != 0 }

// ValidPerm tells whether perm holds nothing but read, write and inherit bits.
func ValidPerm(perm int32) bool { return perm >= 0 && perm < PermPriority }

// PermText gives "RWX" with a dash for each bit not set (RocketMQ: PermName.perm2String).
func PermText(perm int32) string {
	text := []byte("---")
	if CanRead(perm) {
		text[0] = 'R'
	}
	if CanWrite(perm) {
		text[1] = 'W'
	}
	if CanInherit(perm) {
		text[2] = 'X'
	}
	return string(text)
}
