// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package segment

import (
	"fmt"
	"strconv"
)

// nameDigits is the length of a file's name: 20 decimal digits.
const nameDigits = 20

// Name is the name of the file that begins at an offset (RocketMQ: UtilAll.offset2FileName).
func Name(start int64) string { return fmt.Sprintf("%0*d", nameDigits, start) }

// ParseName gives the offset that a file's name stands for; ok is false when it is not such a name.
func ParseName(name string) (start int64, ok bool) {
	if len(name) != nameDigits {
		return 0, false
	}
	for i := range len(name) {
		if name[i] < '0' || name[i] > '9' {
			return 0, false
		}
	}
	start, err := strconv.ParseInt(name, 10, 64)
	return start, err == nil
}
