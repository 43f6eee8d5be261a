// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package commitlog

import (
	"bytes"
	"hash/crc32"
)

// A seal is a checksum over a whole record, kept as its last property (RocketMQ: enabledAppendPropCRC):
//
//	__CRC32# 0x01 dddddddddd 0x02
//
// The ten digits stand in reverse order, the lowest first. It covers the record from its first byte to the seal.
const (
	SealName = "__CRC32#"
	SealSize = len(SealName) + 1 + sealDigits + 1

	sealDigits = 10
)

// AppendSeal appends a seal without its digits to property text, which must be empty or end in 0x02.
func AppendSeal(properties []byte) []byte {
	properties = append(properties, SealName...)
	properties = append(properties, 0x01)
	for range sealDigits {
		properties = append(properties, '0')
	}
	return append(properties, 0x02)
}

// fillSeal computes the checksum of a record that ends in a seal.
func fillSeal(record []byte) {
	sum := crc32.ChecksumIEEE(record[:len(record)-SealSize]) & 0x7FFFFFFF
	at := len(record) - 1 - sealDigits
	for i := range sealDigits {
		record[at+i] = '0' + byte(sum%10)
		sum /= 10
	}
}

// sealState says whether a record has a seal, and whether it is right.
func sealState(record []byte) (present, right bool) {
	if len(record) < SealSize {
		return false, false
	}
	seal := record[len(record)-SealSize:]
	if !bytes.HasPrefix(seal, []byte(SealName)) || seal[len(SealName)] != 0x01 || seal[SealSize-1] != 0x02 {
		return false, false
	}
	sum := crc32.ChecksumIEEE(record[:len(record)-SealSize]) & 0x7FFFFFFF
	for _, digit := range seal[len(SealName)+1 : SealSize-1] {
		if digit != '0'+byte(sum%10) {
			return true, false
		}
		sum /= 10
	}
	return true, sum == 0
}
